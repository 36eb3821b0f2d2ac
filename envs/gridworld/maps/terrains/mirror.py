"""Mirrored maps. The builder places the counts of region 0, which has no cells."""

from __future__ import annotations

from .....errors import UsageError
from ....stepping.jit import kernel
from ...config.sections import MapRules, Region
from ...state import AGENT_KIND, OBJECT_KIND
from ..ground import Rules, chance, i64
from ..terrain import Option, Options, Site, Terrain, inside

__all__ = ["MIRROR", "axis_of", "image"]

_NUMBER = 6


@kernel
def axis_of(rules: Rules) -> int:
    """The axis of a mirrored map; -1: the map is not mirrored."""
    axis: int = i64(rules["terrain_a"]) if rules["terrain"] == _NUMBER else i64(-1)
    return axis


@kernel
def image(axis: int, height: int, width: int, cell: int) -> int:
    """The mirror image of a cell (row x width + column) on a ground of height x width."""
    row, col = cell // width, cell % width
    if axis != 0:
        row = height - 1 - row
    if axis != 1:
        col = width - 1 - col
    return row * width + col


@kernel
def build_mirror(site: Site) -> None:
    """Places everything in mirrored pairs; an odd one out goes on the line between the halves.

    Option: a the axis.
    """
    ground, rules, counts, work = site.ground, site.rules, site.counts, site.work
    axis, types = i64(rules["terrain_a"]), len(counts) - 1
    high, wide = ground.shape
    pairs, middle, end = 0, 0, high * wide
    for cell in range(end):
        other = image(axis, high, wide, cell)
        if cell < other:  # the list begins with one cell of each pair and ends with the cells on the line
            work[pairs] = cell
            pairs += 1
        elif cell == other:
            middle += 1
            work[end - middle] = cell
    for t in range(types + 1):
        value = AGENT_KIND if t == types else OBJECT_KIND + t
        left = i64(counts[t])
        while left > 0 and pairs + middle > 0:
            if pairs and (left > 1 or middle == 0):
                k = chance(rules, pairs)
                cell = i64(work[k])
                pairs -= 1
                work[k] = work[pairs]
                other = image(axis, high, wide, cell)
                ground[other // wide, other % wide] = value
                left -= 2
            else:
                k = end - 1 - chance(rules, middle)
                cell = i64(work[k])
                work[k] = work[end - middle]
                middle -= 1
                left -= 1
            ground[cell // wide, cell % wide] = value


def _regions(here: MapRules, o: Options, named: list[Region]) -> list[Region]:
    return [Region(0, 0, 0, 0, here.agents, here.objects), *named]


def _check(here: MapRules, o: Options) -> None:
    """Check that odd counts fit on the line in the middle; everything else comes in pairs."""
    high, wide = inside(here)
    middle = (high * (wide % 2), wide * (high % 2), (wide % 2) * (high % 2))[o["axis"]]
    counts = {"agents": here.agents} | {f"objects.{name}": count for name, count in here.objects.items()}
    odd = [f"map.{name} ({count})" for name, count in counts.items() if count % 2]
    if len(odd) > middle:
        raise UsageError(
            f"A mirrored map needs two of everything: {', '.join(odd)} cannot be halved, and "
            + (f"only {middle} cells lie" if middle else "no cell lies")
            + " on the line in the middle. Make the counts even."
        )


MIRROR = Terrain(
    number=_NUMBER,
    name="mirror",
    about="Both halves are equal: walls, objects and agents come in pairs.",
    build=build_mirror,
    options={"axis": Option(0, 0, 2, "0: left mirrors right; 1: top mirrors bottom; 2: half a turn changes nothing")},
    regions=_regions,
    check=_check,
)
