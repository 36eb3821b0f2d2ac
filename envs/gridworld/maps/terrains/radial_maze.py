"""Straight arms from a centre."""

from __future__ import annotations

from ....stepping.jit import kernel
from ..ground import FAR, dig, i64, open_line, wall_up
from ..terrain import Option, Options, Site, Terrain

__all__ = ["RADIAL_MAZE"]

_UNIT = 1024


@kernel
def build_radial_maze(site: Site) -> None:
    """Straight arms from the centre to points evenly spaced on a rectangle around it, the first one upwards.

    Options: a number of arms, b their width, c how far they reach (0: to the border).
    """
    ground, rules = site.ground, site.rules
    arms, side, length = i64(rules["terrain_a"]), i64(rules["terrain_b"]), i64(rules["terrain_c"])
    row, col = (ground.shape[0] - 1) // 2, (ground.shape[1] - 1) // 2
    down, right = _reach(ground.shape[0], side), _reach(ground.shape[1], side)
    if length:
        down, right = min(down, length), min(right, length)
    wall_up(ground)
    dig(ground, row, col, side + 2)
    for k in range(arms):
        # A point that moves clockwise around the square [-UNIT, UNIT] from the middle of its upper side.
        walked = 8 * _UNIT * k // arms + _UNIT
        quarter, along = walked // (2 * _UNIT) % 4, walked % (2 * _UNIT) - _UNIT
        y, x = -_UNIT, along
        for _ in range(quarter):
            y, x = x, -y
        open_line(ground, row, col, row + _scaled(y, down), col + _scaled(x, right), side)


@kernel
def _reach(length: int, side: int) -> int:
    """How far a square of a side can move from the middle of a line, either way, and stay inside it."""
    back = (side - 1) // 2
    before, after = (length - 1) // 2, length // 2
    return max(0, min(before - back, after - (side - 1 - back)))


@kernel
def _scaled(part: int, length: int) -> int:
    """Scales a length by part / UNIT; rounds to the nearest integer, halves away from 0."""
    size = (abs(part) * length + _UNIT // 2) // _UNIT
    return size if part >= 0 else -size


def _minimum(o: Options) -> tuple[int, int]:
    return o["corridor"], o["corridor"]


RADIAL_MAZE = Terrain(
    number=4,
    name="radial_maze",
    about="Arms that leave a centre.",
    build=build_radial_maze,
    options={
        "arms": Option(8, 1, 64, "how many arms leave the centre"),
        "corridor": Option(2, 1, 20, "width of an arm"),
        "length": Option(0, 0, FAR, "how far they reach, in rows or columns; 0: to the border"),
    },
    minimum=_minimum,
    room=None,
)
