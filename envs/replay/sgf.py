"""Games as SGF text, written the same way for every game that is saved so.

Source: Hollosi, "SGF FF[4]: Smart Game Format" (2006), https://www.red-bean.com/sgf/
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ...aliases import Player
from ...version import __version__
from ..core import GameRecord

__all__ = ["commented", "escaped", "sgf_text", "timed"]


def sgf_text(kind: int, root: Mapping[str, str | Sequence[str]], moves: Iterable[tuple[Player, str, str]]) -> str:
    """A record as SGF text; a line ends after a move with a comment, and else when it has 60 characters.

    Args:
        kind: the game's number in SGF: 1 is Go, 11 Hex.
        root: the other properties of the game, with one value or several; those without a value are left out.
        moves: (player, point, comment) each; the first player is B.
    """
    head = {"FF": "4", "GM": str(kind), "CA": "UTF-8", "AP": f"coterie:{__version__}", **root}
    lines, line = ["(;" + "".join(_property(name, values) for name, values in head.items())], ""
    for player, point, comment in moves:
        line += f";{'BW'[player]}[{point}]" + _property("C", comment)
        if comment or len(line) >= 60:
            lines, line = [*lines, line], ""
    return "\n".join([*lines, line]).rstrip("\n") + ")\n"


def _property(name: str, values: str | Sequence[str]) -> str:
    each = [values] if isinstance(values, str) else values
    return name + "".join(f"[{escaped(value, simple=name != 'C')}]" for value in each) if values else ""


def escaped(text: str, simple: bool = False) -> str:
    """Escape backslashes and closing brackets, drop control characters, keep lines (simple text: join them to one)."""
    text = re.sub(r"\r\n|\n\r|\r", "\n", text)
    text = "".join(c for c in text if c in "\n\t" or c.isprintable() or c == " ")
    if simple:
        text = " ".join(text.split())
    return text.replace("\\", "\\\\").replace("]", "\\]")


def timed(record: GameRecord) -> dict[str, str]:
    """The properties of a game's clock: TM, the seconds of each player, and OT, what a move adds."""
    if record.clock is None:
        return {}
    added = {"OT": f"{record.clock.increment} fischer"} if record.clock.increment else {}
    return {"TM": str(record.clock.base), **added}


def commented(record: GameRecord, moves: int) -> tuple[str, list[str]]:
    """The comment on a game and those on its moves; an illegal answer that ended the game is told with the last."""
    comments = [record.comments.get(turn, "") for turn in range(moves)]
    behind = record.comments.get(moves, "")
    if record.illegal is not None:
        behind = f"{'BW'[record.illegal]} answered illegally. {behind}".strip()
    if not moves:
        return behind, []
    return "", [*comments[:-1], f"{comments[-1]}\n{behind}".strip()]
