"""The buffers that every face keeps for a game's rows, and the numbers that control stepping.

Letters: N games, P players (seats), A actions.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, Action
from ...errors import UnknownName, UsageError
from ..answers import finite_number, known_name, whole_number
from ..core import Game

__all__ = [
    "AUTORESET",
    "BLOCK",
    "POLICIES",
    "Arrays",
    "Limits",
    "autoreset_index",
    "idle_action",
    "illegal_limits",
    "need_room",
    "new_arrays",
]

POLICIES = ("lose", "raise", "resample", "noop")
LOSE, RAISE, RESAMPLE, NOOP = range(4)
AUTORESET = ("NextStep", "SameStep", "Disabled")
NEXT_STEP, SAME_STEP, DISABLED = range(3)
BLOCK = 256
"""Rows in a block. Threads split N between blocks; each block has its own scratch space and sums. A rollout plays at
most this many rows side by side (``ROWS`` in ``templates``), so that their buffers stay in a near cache."""


class Arrays(NamedTuple):
    """The buffers of the faces; where two shapes are given, the first is for turn-based games.

    Attributes:
        player: [N] int32 the current player's seat; -1 in simultaneous games.
        mask: [N, A] or [N, P, A] int8.
        observation: [N, ...] or [N, P, ...].
        rewards: [N, P] float32.
        terminated, truncated: [N] or [N, P] bool.
        illegal: [N] or [N, P] bool, in this step.
        ended: [N] bool, whether this step ended a game.
        final_mask, final_observation: as mask and observation, for games that ended in this step.
        status: [N] uint8.
        cycles: [N] int32.
        seed: [N] uint64.
        episode: [N] uint32.
        faults: [N, P] int32 illegal actions so far in the current game.
        acts: [blocks, P] int32 scratch space.
        alive: [N, P] bool.
        packed: [N, W] uint64 the masks as bits, in games with a ``step_legal`` kernel; W is 0 in all others. Bit a % 64
            of entry a // 64 is action a; the bits of the entries after these say which of them are not 0.
    """

    player: NDArray[np.int32]
    mask: NDArray[np.int8]
    observation: NDArray[Any]
    rewards: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    illegal: NDArray[np.bool_]
    ended: NDArray[np.bool_]
    final_mask: NDArray[np.int8]
    final_observation: NDArray[Any]
    status: NDArray[np.uint8]
    cycles: NDArray[np.int32]
    seed: NDArray[np.uint64]
    episode: NDArray[np.uint32]
    faults: NDArray[np.int32]
    acts: NDArray[np.int32]
    alive: NDArray[np.bool_]
    packed: NDArray[np.uint64]


class Limits(NamedTuple):
    """How to step, as numbers that the drivers take as arguments.

    Attributes:
        illegal: index into POLICIES.
        illegal_reward: added to the reward of a player that acts illegally.
        max_cycles: truncate after that many turns (ticks).
        autoreset: index into AUTORESET.
        others_reward: added to the rewards of the others.
    """

    illegal: int
    illegal_reward: float
    max_cycles: int
    autoreset: int
    others_reward: float


def illegal_limits(
    game: Game, illegal: str | None, illegal_reward: float | None, max_cycles: int | None, autoreset: int
) -> Limits:
    """Check the arguments that all faces share and turn them into the drivers' numbers.

    Under ``noop`` a turn-based game, or one whose ``step`` cannot let an action fail, may last longer than its rules
    allow; without ``max_cycles`` it is truncated after four times ``info.max_cycles``.
    """
    fails = idle_action(game) >= 0
    if illegal is None:
        illegal = "noop" if fails else "lose"
    known_name("illegal-move policy", illegal, POLICIES)
    if illegal_reward is None:
        illegal_reward = game.info.forfeit[0] if illegal == "lose" else 0.0
    if max_cycles is None:
        max_cycles = 4 * game.info.max_cycles if illegal == "noop" and not fails else 2**31 - 1
    return Limits(
        POLICIES.index(illegal),
        finite_number("illegal_reward", illegal_reward),
        whole_number("max_cycles", max_cycles, 1, 2**31 - 1),
        autoreset,
        float(game.info.forfeit[1]) if illegal == "lose" else 0.0,
    )


def idle_action(game: Game) -> Action:
    """The action of a seat that gives none, in simultaneous games whose ``step`` lets illegal actions fail; else -1."""
    noop = game.info.noop
    return noop if game.info.simultaneous and noop is not None else -1


def packed_words(game: Game) -> int:
    """W, the entries per row of ``Arrays.packed``."""
    if game.kernels.step_legal is None:
        return 0
    words = -(-game.info.num_actions // 64)
    return words + -(-words // 64)


def autoreset_index(autoreset_mode: Any) -> int:
    """Index into AUTORESET of a name (case is ignored) or of gymnasium's AutoresetMode."""
    name = str(getattr(autoreset_mode, "value", autoreset_mode))
    known = {word.lower(): k for k, word in enumerate(AUTORESET)}
    if name.lower() not in known:
        raise UnknownName("autoreset mode", name, AUTORESET)
    return known[name.lower()]


def need_room(game: Game, n: int) -> None:
    """Refuse more games than fit into the machine's memory, before any are allocated.

    Raises:
        UsageError: n games do not fit; names the bytes per game.
    """
    state = game.new_state(1)
    each = sum(part.nbytes for part in (*(state if isinstance(state, tuple) else (state,)), *new_arrays(game, 1)))
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 1 << 63
    if n * each > have:
        raise UsageError(
            f"num_envs={n} of {game.info.id} takes {n * each / 1e9:,.0f} GB, {each:,} bytes each; this machine has "
            f"{have / 1e9:,.0f} GB."
        )


def new_arrays(game: Game, n: int, together: bool | None = None) -> Arrays:
    """Buffers for n games; ``together``: in the shapes of simultaneous games (None: if the game is simultaneous)."""
    info = game.info
    seats = (n, info.players) if (info.simultaneous if together is None else together) else (n,)
    observation = (*seats, *info.observation_shape)
    dtype = np.dtype(info.observation_dtype)
    return Arrays(
        player=np.full(n, -1, np.int32),
        mask=np.zeros((*seats, info.num_actions), np.int8),
        observation=np.zeros(observation, dtype),
        rewards=np.zeros((n, info.players), np.float32),
        terminated=np.zeros(seats, np.bool_),
        truncated=np.zeros(seats, np.bool_),
        illegal=np.zeros(seats, np.bool_),
        ended=np.zeros(n, np.bool_),
        final_mask=np.zeros((*seats, info.num_actions), np.int8),
        final_observation=np.zeros(observation, dtype),
        status=np.full(n, RUNNING, np.uint8),
        cycles=np.zeros(n, np.int32),
        seed=np.zeros(n, np.uint64),
        episode=np.zeros(n, np.uint32),
        faults=np.zeros((n, info.players), np.int32),
        acts=np.zeros((-(-n // BLOCK), info.players), np.int32),
        alive=np.ones((n, info.players), np.bool_),
        packed=np.zeros((n, packed_words(game)), np.uint64),
    )
