"""Who sits where: from the words that were typed to players in their seats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ...envs.core import Game
from ...envs.replay.packing import is_packed
from ..core import Agent
from .terminal import HumanAgent

__all__ = ["PERSON", "company", "seated"]

PERSON: Final = "human"

COMPANY: Final = {"gridworld": "forager"}
"""Who plays the others where nobody says so; random in other games."""


def company(words: Sequence[str], game: Game, window: bool) -> tuple[str, ...]:
    """Who sits in which seat, from the words that were typed: with more than two seats, the last takes those left.

    Without words a person plays; at the window of a world a person watches. A person alone in a world gets company.
    """
    others, players, world = COMPANY.get(game.info.name, "random"), game.info.players, is_packed(game)
    given = tuple(words) or ((others,) if world and window else (PERSON, others)[:players])
    if world and given[-1] == PERSON and len(given) < players:
        given = (*given, others)
    return (*given, *given[-1:] * (players - len(given))) if world or players > 2 else given


def seated(
    words: Sequence[str], game: Game, player: Callable[[str, Game], Agent], window: bool
) -> Iterator[Agent | None]:
    """Whoever sits there; None is a person at the window.

    In worlds one agent serves all seats of its word, and a person at the window has a stand-in.
    """
    made: dict[str, Agent] = {}
    stand_in = next((word for word in words if word != PERSON), "random")
    for word in words:
        if word == PERSON and window and not is_packed(game):
            yield None
        elif word == PERSON and not window:
            yield HumanAgent(undo=True)
        else:
            word = stand_in if word == PERSON else word
            if word not in made or not is_packed(game):
                made[word] = player(word, game)
            yield made[word]
