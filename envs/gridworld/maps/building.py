"""``build`` writes a world's terrain: one dispatcher over the builders of all terrains.

A builder is a kernel that takes a ``Site``. The dispatcher is a chain of links: each compares the world's terrain with
one number and otherwise calls the next link. All are compiled into one function.
"""

from __future__ import annotations

from collections.abc import Callable

from ...stepping.jit import bind, kernel
from ..state import PAD, World
from .ground import i64
from .table import TERRAINS
from .terrain import Site

__all__ = ["build"]

NUMBER = -1  # free names of ``_link``


def builder(site: Site) -> None:
    """The end of the chain: nothing is built."""


def _link(terrain: int, site: Site) -> None:
    if terrain == NUMBER:
        builder(site)
    else:
        following(terrain, site)


def following(terrain: int, site: Site) -> None:
    """The end of the chain: nothing is built."""


BUILDERS = tuple(terrain.build for terrain in TERRAINS.values() if terrain.build is not None)
"""The cache of compiled code reads from these what ``build`` depends on."""

_chain: Callable[[int, Site], None] = bind(following, {}, "end", spliced=True)
for _one in TERRAINS.values():
    if _one.build is not None:
        _chain = bind(
            _link, {"NUMBER": _one.number, "builder": _one.build, "following": _chain}, _one.name, spliced=True
        )


@kernel
def build(world: World, i: int) -> None:
    """Writes row i's terrain into ``kind``, which is empty inside the border."""
    rules = world.rules[i]
    height, width, edge = i64(rules["height"]), i64(rules["width"]), PAD + i64(rules["border"])
    whole = world.kind[i, PAD : PAD + height, PAD : PAD + width]
    ground = world.kind[i, edge : 2 * PAD + height - edge, edge : 2 * PAD + width - edge]
    site = Site(whole, ground, rules, world.regions[i], world.counts[i, 0], world.plan[i], world.work[i])
    _chain(i64(rules["terrain"]), site)
