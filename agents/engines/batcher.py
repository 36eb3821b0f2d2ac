"""Batches the asks of concurrent coroutines into few calls of an engine.

An episode is a coroutine that asks and awaits the answer; any number of them run concurrently::

    async def episode(batcher, number):
        context = Context(prompt)
        for turn in range(5):
            answer = await batcher.ask(Ask(context, form, "ann", Seed(stream(seed, number), turn)))
            context = context.extend(answer.ids, by="ann", logprobs=answer.logprobs)

The engine is called once all coroutines wait for answers, or once ``at_most`` asks have been collected. An answer
depends on its ask alone, so the order and grouping of the asks don't matter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from ..deadline import OutOfTime
from .base import Answer, Ask
from .protocol import Engine

__all__ = ["Batcher"]

PATIENCE = 2
"""After this many rounds of the event loop without a new ask, no coroutine is assumed to be about to ask."""


class Batcher:
    """Collects asks for an engine, within one event loop. The engine runs in a thread, one call at a time.

    Args:
        engine: the engine that answers.
        at_most: the most asks per call.

    Attributes:
        sizes: the number of asks of every call so far, in order.
    """

    def __init__(self, engine: Engine, at_most: int = 1024) -> None:
        self.engine, self.at_most = engine, at_most
        self.sizes: list[int] = []
        self._waiting: list[tuple[Ask, asyncio.Future[Answer]]] = []
        self._task: asyncio.Task[None] | None = None

    async def ask(self, ask: Ask) -> Answer:
        """The answer to an ask.

        Raises:
            Exception: the engine's exception for this ask. If a call with several fails, its halves are called again,
                so that one bad ask doesn't cost the others their answers. An engine that has ``sample_each`` says
                itself which of them failed.
        """
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((ask, future))
        if self._task is None:
            self._task = asyncio.create_task(self._serve())
        return await future

    async def _serve(self) -> None:
        """Call the engine until no asks are waiting."""
        try:
            while self._waiting:
                await self._quiet()
                part, self._waiting = self._waiting[: self.at_most], self._waiting[self.at_most :]
                part = [(ask, future) for ask, future in part if not future.done()]  # drop cancelled asks
                if part:
                    await self._call(part)
        finally:
            self._task = None

    async def _quiet(self) -> None:
        """Return once no new ask has arrived for ``PATIENCE`` rounds, or ``at_most`` are waiting."""
        known, rounds = len(self._waiting), 0
        while rounds < PATIENCE and known < self.at_most:
            await asyncio.sleep(0)
            rounds = rounds + 1 if len(self._waiting) == known else 0
            known = len(self._waiting)

    async def _call(self, part: list[tuple[Ask, asyncio.Future[Answer]]]) -> None:
        self.sizes.append(len(part))
        sample: Callable[[list[Ask]], Sequence[Answer | Exception]]
        sample = getattr(self.engine, "sample_each", self.engine.sample)
        answers: Sequence[Answer | Exception]
        try:
            answers = await asyncio.to_thread(sample, [ask for ask, _ in part])
        except Exception as error:
            if len(part) > 1 and not isinstance(error, OutOfTime):
                await self._call(part[: len(part) // 2])
                await self._call(part[len(part) // 2 :])
                return
            answers = [error] * len(part)
        for (_, future), answer in zip(part, answers, strict=True):
            if future.done():
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
