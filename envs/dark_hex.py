"""Dark hex: X connects top and bottom, O left and right, and nobody sees the other player's stones.

Cells are numbered row by row, with neighbours as in ``hex``; 3x3::

    a1 b1 c1          0  1  2
      a2 b2 c2          3  4  5
        a3 b3 c3          6  7  8

``phantom`` holds the rules.
"""

from __future__ import annotations

from .answers import known_name, whole_number
from .core import Game
from .phantom import OBSTYPES, SIDE, phantom

__all__ = ["dark_hex"]

VERSIONS = ("cdh", "adh")


def dark_hex(num_cols: int = 3, num_rows: int = 3, gameversion: str = "cdh", obstype: str = "reveal-nothing") -> Game:
    """Dark hex. Arguments are those of OpenSpiel.

    Args:
        num_cols: 2 to 11.
        num_rows: 2 to 11.
        gameversion: who tries a taken cell tries another ("cdh", classical) or loses the turn ("adh", abrupt).
        obstype: "reveal-nothing", or "reveal-numturns": each player is told which turns were the other's.

    Raises:
        UsageError: another number.
        UnknownName: another name.
    """
    columns = whole_number("dark_hex: num_cols", num_cols, 2, SIDE)
    rows = whole_number("dark_hex: num_rows", num_rows, 2, SIDE)
    known_name("gameversion", gameversion, VERSIONS)
    known_name("obstype", obstype, OBSTYPES)
    return phantom(
        rows,
        columns,
        three=False,
        abrupt=gameversion == "adh",
        counted=obstype == "reveal-numturns",
        rules=(
            f"Dark hex on a rhombus of {columns} columns and {rows} rows of six-sided cells. X and O place stones; X "
            "begins. X wins by connecting the top edge with the bottom edge, O by connecting left with right. A cell "
            "touches the ones left and right of it, above and above to the right, below and below to the left."
        ),
        goal="Connect your two edges with a chain of stones, without seeing the other player's.",
        config={"num_cols": columns, "num_rows": rows, "gameversion": gameversion, "obstype": obstype},
    )
