"""A person in the loop, as an episode that others start."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from ....errors import PlayerLeft, UsageError
from ..arena import Arena
from ..episode import Episode
from ..records import EpisodeState

__all__ = ["HumanEpisode", "Person", "at_the_terminal"]

Person: TypeAlias = Callable[[str], int | Awaitable[int]]
"""What was worked out -> how good it is, from 1 to 5."""

LOCK = threading.Lock()


def at_the_terminal(work: str) -> int:
    """Ask the person at the terminal, one question at a time.

    Raises:
        PlayerLeft: the input has ended.
    """
    with LOCK:
        print(f"\n{work}")
        while True:
            try:
                found = input("How good is that, from 1 (wrong) to 5 (right)? ").strip()
            except EOFError:
                raise PlayerLeft("The person at the terminal has left.") from None
            if found in ("1", "2", "3", "4", "5"):
                return int(found)


class HumanEpisode(Episode):
    """A person's episode: no model answers in it, and nobody learns from it. Its extras have a ``rating``, 0 to 1."""

    def __init__(self, person: Person) -> None:
        super().__init__()
        self.person = person

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Show the work, wait for the rating."""
        if inspect.iscoroutinefunction(self.person):
            rating = await self.person(artifact)
        else:
            rating = await asyncio.to_thread(self.person, artifact)
        if rating not in (1, 2, 3, 4, 5):
            raise UsageError(f"A person rated {rating!r}; ratings go from 1 to 5.")
        state.rollout.extras["rating"] = (int(rating) - 1) / 4
        return state
