"""``coterie tournament``: how good players are against each other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .arguments import parse, tournament_arguments

if TYPE_CHECKING:
    from ..training.runs.tournament import Tournament

__all__ = ["run", "show"]


def run(words: list[str]) -> int:
    """Run the command; returns the exit code.

    Raises:
        CoterieError: no such player or game, or arguments that do not go together.
    """
    from ..training.runs.tournament import Tournament

    asked = dict(vars(parse(tournament_arguments(), "tournament", words)))
    as_json = asked.pop("json")
    return show(Tournament(**asked), as_json)


def show(asked: Tournament, as_json: bool = False) -> int:
    """Play a tournament and print its results; returns the exit code.

    Raises:
        CoterieError: see ``run``.
    """
    results = asked.play()
    if as_json:
        print(json.dumps(results))
        return 0
    from ..training.evaluation.leaderboard import in_text

    print(in_text(results))
    if asked.out is not None:
        print(f"\nThe page: {asked.out / 'leaderboard.html'}")
    return 0
