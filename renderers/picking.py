"""From clicks on cells to an action, without any window: what a person has selected and what may follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..aliases import Action

__all__ = ["Picker", "nearest"]

Box = tuple[float, float, float, float]


class Picker:
    """A selection in the making.

    Args:
        cells: the legal actions, each with the cells it touches, in click order; those without cells are buttons.

    Attributes:
        chosen: the cells that were clicked so far.
        buttons: actions without cells.
    """

    def __init__(self, cells: Mapping[Action, tuple[int, ...]]) -> None:
        self._paths = {action: path for action, path in cells.items() if path}
        self.buttons = [action for action, path in cells.items() if not path]
        self.chosen: tuple[int, ...] = ()

    def targets(self) -> set[int]:
        """Cells of which a click leads on from what was chosen."""
        return {path[len(self.chosen)] for path in self._following(self.chosen)}

    def starts(self) -> set[int]:
        """Cells with which an action can begin."""
        return {path[0] for path in self._paths.values()}

    @property
    def moving(self) -> bool:
        """Whether something is moved from cell to cell, rather than placed on one."""
        return any(len(path) > 1 for path in self._paths.values())

    def click(self, cell: int) -> list[Action]:
        """A click on a cell.

        Returns:
            the action that is decided by it; several where a choice is left (promotions); none where more clicks are
            needed or the cell means nothing. A cell that doesn't lead on begins anew; the cell clicked last, or one
            that means nothing, drops the selection.
        """
        if self.chosen and cell == self.chosen[-1] and not self._following((*self.chosen, cell), whole=True):
            self.chosen = ()
            return []
        for longer in ((*self.chosen, cell), (cell,)):
            following = self._following(longer, whole=True)
            if following:
                decided = [action for action, path in self._paths.items() if path == longer]
                self.chosen = () if decided else longer
                return decided
        self.chosen = ()
        return []

    def _following(self, begun: tuple[int, ...], whole: bool = False) -> list[tuple[int, ...]]:
        n = len(begun)
        return [path for path in self._paths.values() if path[:n] == begun and (len(path) > n or whole)]


def nearest(boxes: Sequence[Box], x: float, y: float) -> int | None:
    """The cell at a point: of the boxes that hold it, the one whose middle is nearest (hexagons' boxes overlap)."""
    found: list[tuple[float, int]] = []
    for cell, (left, top, w, h) in enumerate(boxes):
        if left <= x < left + w and top <= y < top + h:
            found.append((((x - left) / w - 0.5) ** 2 + ((y - top) / h - 0.5) ** 2, cell))
    return min(found)[1] if found else None
