"""``coterie league``: players train against each other, then all of them are rated in a tournament."""

from __future__ import annotations

from . import tournament, train

__all__ = ["run"]


def run(words: list[str]) -> int:
    """Run the command; returns the exit code.

    ``coterie train --scheme league`` with all its flags (``--scheme`` may name another one), then ``coterie
    tournament`` of the learners, their past selves and the random player, whose page is in the run's folder.

    Raises:
        CoterieError: a bad argument, setting or folder.
    """
    code, run = train.trained(words, "league")
    if code or run is None:
        return code
    from ..training.runs.tournament import Tournament

    return tournament.show(Tournament((str(run), "random"), past=3, out=run / "leaderboard"))
