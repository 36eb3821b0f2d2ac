"""Phantom tic-tac-toe: three in a row win, and nobody sees the other player's marks.

Cells are numbered row by row, as in OpenSpiel's ``phantom_ttt``::

    0 | 1 | 2
    --+---+--
    3 | 4 | 5
    --+---+--
    6 | 7 | 8

``phantom`` holds the rules.
"""

from __future__ import annotations

from .answers import known_name
from .core import Game
from .phantom import OBSTYPES, phantom

__all__ = ["phantom_tictactoe"]

VERSIONS = ("classical", "abrupt")


def phantom_tictactoe(gameversion: str = "classical", obstype: str = "reveal-nothing") -> Game:
    """Phantom tic-tac-toe. Arguments are those of OpenSpiel.

    Args:
        gameversion: who tries a taken cell tries another ("classical") or loses the turn ("abrupt").
        obstype: "reveal-nothing", or "reveal-numturns": each player is told which turns were the other's.

    Raises:
        UnknownName: another value.
    """
    known_name("gameversion", gameversion, VERSIONS)
    known_name("obstype", obstype, OBSTYPES)
    return phantom(
        3,
        3,
        three=True,
        abrupt=gameversion == "abrupt",
        counted=obstype == "reveal-numturns",
        rules=(
            "Phantom tic-tac-toe: X and O mark cells of a 3x3 board; X begins. Three in a row win; a full board is a "
            "draw."
        ),
        goal="Mark three cells in a row, column or diagonal, without seeing the other player's marks.",
        config={"gameversion": gameversion, "obstype": obstype},
    )
