"""From clicks on cells to an action: the current selection and how it may continue; it needs no window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..aliases import Action

__all__ = ["Picker", "nearest"]

Box = tuple[float, float, float, float]


class Picker:
    """A person's current selection.

    Args:
        cells: the legal actions, each with the cells it touches, in click order; those without cells are buttons.

    Attributes:
        chosen: the cells clicked so far.
        buttons: the actions without cells.
    """

    def __init__(self, cells: Mapping[Action, tuple[int, ...]]) -> None:
        self._paths = {action: path for action, path in cells.items() if path}
        self.buttons = [action for action, path in cells.items() if not path]
        self.chosen: tuple[int, ...] = ()

    def targets(self) -> set[int]:
        """The cells whose click continues the selection."""
        return {path[len(self.chosen)] for path in self._following(self.chosen)}

    def starts(self) -> set[int]:
        """The cells with which an action can begin."""
        return {path[0] for path in self._paths.values()}

    def first(self) -> Action:
        """An action that continues the selection."""
        return next(action for action, path in self._paths.items() if path[: len(self.chosen)] == self.chosen)

    @property
    def moving(self) -> bool:
        """Whether some action moves from cell to cell, rather than placing something on one."""
        return any(len(path) > 1 for path in self._paths.values())

    def click(self, cell: int) -> list[Action]:
        """Handle a click on a cell.

        A cell that does not continue the selection starts a new one if an action begins there, and otherwise clears it.
        A second click on the same cell clears it too.

        Returns:
            the action that the click completes; several if a choice is left (promotions); none if more clicks are
            needed or the cell belongs to no action.
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
    """The cell at a point, or None: of the boxes that contain it, the one with the nearest centre."""
    found: list[tuple[float, int]] = []
    for cell, (left, top, w, h) in enumerate(boxes):
        if left <= x < left + w and top <= y < top + h:
            found.append((((x - left) / w - 0.5) ** 2 + ((y - top) / h - 0.5) ** 2, cell))
    return min(found)[1] if found else None
