"""Many coroutines, few calls: what concurrent episodes ask is collected and answered together.

An episode is a coroutine that asks and waits; any number of them run at once::

    async def episode(batcher, number):
        context = Context(prompt)
        for turn in range(5):
            answer = await batcher.ask(Ask(context, form, "ann", Seed(stream(seed, number), turn)))
            context = context.extend(answer.ids, by="ann", logprobs=answer.logprobs)

The engine is called once nobody can go on without it, or once so many have asked. An answer depends on its ask alone,
so it doesn't matter who happened to ask together or who was first.
"""

from __future__ import annotations

import asyncio

from .base import Answer, Ask
from .protocol import Engine

__all__ = ["Batcher"]

PATIENCE = 2
"""Rounds of the event loop without a new question, after which nobody is taken to be about to ask."""


class Batcher:
    """Collects asks for an engine. One event loop uses it; the engine runs in a thread, one call at a time.

    Args:
        engine: who answers.
        at_most: asks of one call.

    Attributes:
        sizes: asks of every call so far, in order.
    """

    def __init__(self, engine: Engine, at_most: int = 1024) -> None:
        self.engine, self.at_most = engine, at_most
        self.sizes: list[int] = []
        self._waiting: list[tuple[Ask, asyncio.Future[Answer]]] = []
        self._task: asyncio.Task[None] | None = None

    async def ask(self, ask: Ask) -> Answer:
        """The answer to an ask.

        Raises:
            Exception: whatever the engine raised in the call that held this ask; the others go on.
        """
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((ask, future))
        if self._task is None:
            self._task = asyncio.create_task(self._serve())
        return await future

    async def _serve(self) -> None:
        """Call the engine until nobody waits."""
        try:
            while self._waiting:
                await self._quiet()
                part, self._waiting = self._waiting[: self.at_most], self._waiting[self.at_most :]
                part = [(ask, future) for ask, future in part if not future.done()]  # cancelled ones want no answer
                if part:
                    await self._call(part)
        finally:
            self._task = None

    async def _quiet(self) -> None:
        """Return once no new ask has come for a while, or enough wait."""
        known, rounds = len(self._waiting), 0
        while rounds < PATIENCE and known < self.at_most:
            await asyncio.sleep(0)
            rounds = rounds + 1 if len(self._waiting) == known else 0
            known = len(self._waiting)

    async def _call(self, part: list[tuple[Ask, asyncio.Future[Answer]]]) -> None:
        self.sizes.append(len(part))
        try:
            answers = await asyncio.to_thread(self.engine.sample, [ask for ask, _ in part])
        except Exception as error:
            for _, future in part:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in zip(part, answers, strict=True):
            if not future.done():
                future.set_result(answer)
