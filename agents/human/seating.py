"""Seating: from the player names on the command line to agents in their seats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ...envs.core import Game
from ...envs.replay.packing import is_packed
from ..core import Agent
from .adviser import Adviser
from .terminal import HumanAgent

__all__ = ["PERSON", "company", "seated"]

PERSON: Final = "human"

COMPANY: Final = {"gridworld": "forager"}
"""The default opponents by game; random in all other games."""


def company(words: Sequence[str], game: Game, window: bool) -> tuple[str, ...]:
    """One name per seat, from the names that were typed.

    In worlds and games of more than two seats, the last name takes all remaining seats. Without names, a person plays
    the default opponents, or watches them in the window of a world. In a world, if the last name is a person, the
    default opponents take the remaining seats.
    """
    others, players, world = COMPANY.get(game.info.name, "random"), game.info.players, is_packed(game)
    given = tuple(words) or ((others,) if world and window else (PERSON, others)[:players])
    if world and given[-1] == PERSON and len(given) < players:
        given = (*given, others)
    return (*given, *given[-1:] * (players - len(given))) if world or players > 2 else given


def seated(
    words: Sequence[str],
    game: Game,
    player: Callable[[str, Game], Agent],
    window: bool,
    adviser: Adviser | None = None,
) -> Iterator[Agent | None]:
    """One agent per name; None is a person at a board game's window.

    In worlds, one agent plays all seats with the same name, and at the window a person's seat has a stand-in: the first
    other name, or random. ``adviser`` gives people at the terminal hints.
    """
    made: dict[str, Agent] = {}
    stand_in = next((word for word in words if word != PERSON), "random")
    for word in words:
        if word == PERSON and window and not is_packed(game):
            yield None
        elif word == PERSON and not window:  # people share the terminal
            made.setdefault(word, HumanAgent(undo=True, adviser=adviser, shared=[*words].count(PERSON) > 1))
            yield made[word]
        else:
            word = stand_in if word == PERSON else word
            if word not in made or not is_packed(game):
                made[word] = player(word, game)
            yield made[word]
