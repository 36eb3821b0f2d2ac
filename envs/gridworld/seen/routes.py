"""The first action of a quickest way to each thing in an agent's window."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

__all__ = ["AHEAD", "first_steps"]

AHEAD = ((-1, 0), (1, 0), (0, -1), (0, 1))
"""Row and column of the cell above, below, to the left and to the right."""

Cell = tuple[int, int]
Kind = tuple[int, bool]


def first_steps(
    things: Mapping[Cell, Kind], edges: Sequence[int], facing: int, arrows: Sequence[str]
) -> dict[Kind, str]:
    """The first action on a quickest way to use each kind of thing: a breadth-first search over (cell, direction).

    Args:
        things: whatever fills a cell, by row and column from the agent, which stands at (0, 0).
        edges: how many cells there are above, below, to the left and to the right of the agent.
        facing: the agent's direction: 0 up, 1 down, 2 left, 3 right.
        arrows: the names of those directions.

    Returns:
        For each kind with a way to it, two characters: the first action (F forward, B back, a direction to turn to, U
        use) and how many more follow until one such thing has been used, at most 9. Without a way, it is missing.
    """
    above, below, left, right = edges
    kinds = len(set(things.values()))
    found: dict[Kind, str] = {}
    start = (0, 0, facing)
    seen, queue = {start}, deque([(start, "U", 0)])
    while queue and len(found) < kinds:
        (row, col, turned), first, depth = queue.popleft()
        down, over = AHEAD[turned]
        ahead = things.get((row + down, col + over))
        if ahead is not None:
            found.setdefault(ahead, f"{first}{min(depth, 9)}")
        nodes = [("F", (row + down, col + over, turned)), ("B", (row - down, col - over, turned))]
        for name, node in nodes + [(arrow, (row, col, k)) for k, arrow in enumerate(arrows)]:
            free = -above <= node[0] <= below and -left <= node[1] <= right and node[:2] not in things
            if free and node not in seen:
                seen.add(node)
                queue.append((node, name if not depth else first, depth + 1))
    return found
