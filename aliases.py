"""Names for ints and arrays, so that signatures say what they hold.

Letters in shapes mean the same everywhere: N games, P players, A actions, B rows of a batch, T tokens, H W grid.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Player: TypeAlias = int
"""A seat, 0..P-1, as the rules number it."""

Action: TypeAlias = int
"""An action number, 0..A-1."""

Seed: TypeAlias = int
"""A 64-bit seed."""

Mask: TypeAlias = NDArray[np.int8]
"""[..., A] 1 = legal, 0 = not."""

Rewards: TypeAlias = NDArray[np.float32]
"""[..., P] one reward per player."""

Status: TypeAlias = int
"""What a step returns: one of RUNNING, TERMINATED, TRUNCATED."""

RUNNING: Status = 0
TERMINATED: Status = 1
TRUNCATED: Status = 2

State: TypeAlias = Any
"""N games: one structured array [N], or a NamedTuple of arrays that all have the leading axis N."""
