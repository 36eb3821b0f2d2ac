"""``coterie tournament``: how good players are against each other."""

from __future__ import annotations

import json

from .arguments import Tournament, parse

__all__ = ["run", "show"]


def run(words: list[str]) -> int:
    """Run the command; returns the exit code.

    Raises:
        CoterieError: no such player or game, or arguments that do not go together.
    """
    return show(parse(Tournament, "tournament", words))


def show(asked: Tournament) -> int:
    """Play a tournament and print its results; returns the exit code.

    Raises:
        CoterieError: see ``run``.
    """
    from ..training.runs.tournament import Tournament as Played

    results = Played(**{name: value for name, value in vars(asked).items() if name != "json"}).play()
    if asked.json:
        print(json.dumps(results))
        return 0
    from ..training.evaluation.leaderboard import in_text

    print(in_text(results))
    if asked.out is not None:
        print(f"\nThe page: {asked.out / 'leaderboard.html'}")
    return 0
