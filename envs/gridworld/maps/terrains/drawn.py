"""Maps that a configuration draws."""

from __future__ import annotations

from ....stepping.jit import kernel
from ...config.sections import MapRules
from ..terrain import Options, Site, Terrain

__all__ = ["ASCII"]


@kernel
def build_drawn(site: Site) -> None:
    """Copies the drawing, which includes its border."""
    for row in range(site.plan.shape[0]):
        for col in range(site.plan.shape[1]):
            site.whole[row, col] = site.plan[row, col]


def _room(here: MapRules, o: Options) -> int:
    return sum(c in ". " for line in here.lines for c in line)


ASCII = Terrain(
    number=7,
    name="ascii",
    about="A drawn map, border included.",
    build=build_drawn,
    room=_room,
    drawn=True,
)
