"""Turns a game's rewards into the advantage of each decision: functions on flat arrays, pure but for ``RoleBaseline``.

Letters: D decisions of one batch, in any order unless a function says otherwise. Every credit function returns a
``Credit``: ``advantages`` [D] float64 and ``keep`` [D] bool. A decision whose group has no variance gives no direction
to learn in; it is not kept, and the loss then gives it neither policy gradient nor KL.

Columns mean the same in all functions: ``rewards`` are paid after each decision, up to the seat's next one;
``returns`` are what the seat gets from the decision on; ``keys`` uint64 are ``Game.key`` of the position; ``seats`` int
are the seats that decided, or any labels that must not share a baseline. A *trajectory* (one seat of one game, [D] int)
matters where a mean is taken over games: a game of nine turns must not weigh more than one of five, so functions that
take ``trajectories`` count each of them once. ``epsilon`` keeps a quotient finite, ``gamma`` is the discount per
decision. Columns of different lengths, of another type or with numbers that are not finite raise ``UsageError``.

The file is longer than most: it holds all kinds of credit together, so that they can be compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import UnknownName, UsageError

__all__ = [
    "Credit",
    "RoleBaseline",
    "Scale",
    "by_state",
    "check_groups",
    "constant",
    "discounted",
    "gae",
    "group_index",
    "grpo",
    "pooled",
    "sibling",
    "turn_level",
]

Scale = Literal["group", "batch", "none"]
"""The divisor of an advantage, as in GRPOConfig's ``scale_rewards``: the group's deviation, the batch's, or 1."""

FLAT = 1e-8
"""A deviation up to this counts as zero: TRL's ``isclose(std, 0)``."""

SWEEPS = 6
"""How often ``pooled`` recomputes its values; each sweep carries an outcome at least one decision further back."""


@dataclass(frozen=True)
class Credit:
    """The advantages of one batch of decisions.

    Attributes:
        advantages: [D] float64; 0 where ``keep`` is False.
        keep: [D] bool, False where the decision's group has no variance or the decision is in no group.
        groups: how many groups there were.
        flat_groups: how many of them had no variance.
    """

    advantages: NDArray[np.float64]
    keep: NDArray[np.bool_]
    groups: int
    flat_groups: int

    @property
    def kept_groups(self) -> float:
        """Share of groups that have variance; 0 without groups."""
        return (self.groups - self.flat_groups) / self.groups if self.groups else 0.0


def group_index(keys: Sequence[Hashable]) -> NDArray[np.int64]:
    """[D] group numbers from explicit keys, numbered in order of first appearance.

    A key is whatever makes results comparable, e.g. ``(opening, seat, opponent)``. Decisions with equal keys share a
    group; their place in the batch does not matter.
    """
    numbers: dict[Hashable, int] = {}
    return np.fromiter((numbers.setdefault(key, len(numbers)) for key in keys), np.int64, len(keys))


def check_groups(groups: ArrayLike, keys: Sequence[Hashable]) -> None:
    """Check that group numbers [D] and their keys [D] correspond one to one.

    Raises:
        UsageError: a group holds two keys, or a key is in two groups; names the first such decision.
    """
    numbers, _ = _columns(groups=groups, keys=group_index(keys))
    key_of: dict[int, Hashable] = {}
    group_of: dict[Hashable, int] = {}
    for d, (group, key) in enumerate(zip(numbers.tolist(), keys, strict=True)):
        if key_of.setdefault(group, key) != key:
            wrong = f"Decision {d} with key {key!r} is in group {group}, which began with key {key_of[group]!r}"
        elif group_of.setdefault(key, group) != group:
            wrong = f"Key {key!r} is in group {group_of[key]} and, at decision {d}, in group {group}"
        else:
            continue
        raise UsageError(f"{wrong}. Equal keys, and no others, share a baseline: number them with group_index(keys).")


def grpo(
    rewards: ArrayLike,
    groups: ArrayLike,
    *,
    scale: Scale = "group",
    trajectories: ArrayLike | None = None,
    epsilon: float = 1e-4,
) -> Credit:
    """Group-relative advantage: A = R - mean(group), divided by the deviation + ``epsilon`` unless scale is "none".

    Args:
        rewards: [D] the return of each decision.
        groups: [D] int, see ``group_index``.
        scale: "group" as in GRPO, "none" as in Dr.GRPO, "batch" for the deviation of the whole batch.
        trajectories: [D] the decisions of a trajectory share one reward and count once. None: each decision counts.
        epsilon: see above.

    Returns:
        Credit; the deviation is the sample's (n - 1), as in TRL; a group of one has none and is not kept.

    Raises:
        UnknownName, UsageError: no such scale; a trajectory spans two groups or has two rewards.

    Source: Shao et al. 2024, DeepSeekMath, section 4.1 (GRPO); Liu et al. 2025, Understanding R1-Zero-like training
    (Dr.GRPO, without the deviation).
    """
    reward, index = _columns(rewards=rewards, groups=groups)
    if scale not in get_args(Scale):
        raise UnknownName("scale", scale, get_args(Scale))
    index = _dense(index)
    once = _once(reward, index, trajectories)
    mean, deviation = _moments(reward[once], index[once])
    advantage = reward - mean[index]
    if scale == "group":
        advantage = advantage / (deviation[index] + epsilon)
    elif scale == "batch":
        spread = float(np.std(reward[once], ddof=1)) if once.size > 1 else 0.0
        advantage = advantage / (spread + epsilon)
    return _credit(advantage, deviation[index] > FLAT, index)


Past = tuple[NDArray[np.float64], NDArray[np.float64]]
"""[D] sums of returns and [D] visits of each decision's position in earlier batches (``memory.PositionMemory``)."""


def by_state(
    returns: ArrayLike, keys: ArrayLike, seats: ArrayLike, *, min_visits: int = 3, past: Past | None = None
) -> Credit:
    """Return minus the mean return of all visits of the same position by the same seat in this batch.

    A position visited fewer than ``min_visits`` times falls back on its seat's mean over the whole batch, where every
    decision counts once. A position's mean averages over opponents, openings and later moves: it is an unbiased value
    of the position as this batch plays, so one baseline per position learns where one baseline per seat does not.

    Earlier visits, ``past``, count too. A decision is then kept if its return differs from the mean, even if it is the
    only one of its position.

    Returns:
        Credit; its groups are the positions that have their own mean, and one for each seat that positions fall back
        on.

    Raises:
        UsageError: ``min_visits`` is below 1.
    """
    value, position, seat = _columns(returns=returns, keys=keys, seats=seats)
    if min_visits < 1:
        raise UsageError(f"min_visits is {min_visits}: a position needs at least one visit; set 1 or more.")
    visited, seat = _visited(position, seat), _dense(seat)
    _, deviation = _moments(value, visited)
    mean, visits = _values(value, visited, past)
    seat_mean, seat_deviation = _moments(value, seat)
    lonely = visits[visited] < min_visits
    advantage = value - np.where(lonely, seat_mean[seat], mean[visited])
    keep = np.where(lonely, seat_deviation[seat], deviation[visited]) > FLAT
    if past is not None:
        keep |= np.abs(advantage) > FLAT
    return _credit(advantage, keep, np.where(lonely, seat + len(visits), visited))


def pooled(
    rewards: ArrayLike,
    trajectories: ArrayLike,
    keys: ArrayLike,
    seats: ArrayLike,
    *,
    lam: float,
    gamma: float = 1.0,
    min_visits: int = 3,
    past: Past | None = None,
) -> NDArray[np.float64]:
    """[D] lambda-returns over the batch's own values: G_k = r_k + gamma ((1 - lam) V(s_{k+1}) + lam G_{k+1}).

    V(s) is the mean of G over all visits of position s by the same seat in this batch. If many games reach a position,
    this averages away each game's luck after it for the decisions that led there. ``lam`` 0 trusts the values, 1 the
    outcomes, which is ``discounted``. Decisions of a trajectory are in order of time. A position with fewer than
    ``min_visits`` visits, ``past`` ones included, has no value; its decisions pass on their own G.

    Raises:
        UsageError: ``lam`` is outside 0 to 1.

    Source: Sutton and Barto 2018, Reinforcement learning, equation 12.18, with a new table for each batch.
    """
    if not 0.0 <= lam <= 1.0:
        raise UsageError(f"lam is {lam}: say a number from 0 (trust the values) to 1 (trust the outcomes).")
    value, ids, position, seat = _columns(rewards=rewards, trajectories=trajectories, keys=keys, seats=seats)
    found = discounted(value, ids, gamma=gamma)
    if lam == 1.0:
        return found
    ids, visited = _dense(ids), _visited(position, seat)
    following, left = np.full(value.size, -1), np.zeros(value.size, np.int64)
    later = np.full(_count(ids), -1)
    for d in range(value.size - 1, -1, -1):
        following[d] = later[ids[d]]
        left[d] = left[following[d]] + 1 if following[d] >= 0 else 0
        later[ids[d]] = d
    levels = [np.flatnonzero(left == k) for k in range(1, _count(left))]
    for _ in range(SWEEPS):
        mean, visits = _values(found, visited, past)
        for rows in levels:
            after = following[rows]
            ahead = np.where(visits[visited[after]] >= min_visits, mean[visited[after]], found[after])
            found[rows] = value[rows] + gamma * ((1.0 - lam) * ahead + lam * found[after])
    return found


def sibling(returns: ArrayLike, branches: ArrayLike, *, scale: Scale = "none") -> Credit:
    """Compare siblings, as ``grpo`` does: decisions made from copies of one state, each played to its end.

    ``branches`` [D] int number the states that games branched from: equal numbers are siblings, -1 is left out.
    """
    value, branch = _columns(returns=returns, branches=branches)
    part = branch >= 0
    advantage, keep = np.zeros(value.size), np.zeros(value.size, np.bool_)
    inner = grpo(value[part], branch[part], scale=scale)
    advantage[part], keep[part] = inner.advantages, inner.keep
    return dataclasses.replace(inner, advantages=advantage, keep=keep)


def turn_level(returns: ArrayLike, roles: ArrayLike, *, epsilon: float = 1e-4) -> Credit:
    """Sum first, then normalise: compares each decision's return with those of its role, [D] int, in the batch.

    Source: Yuan et al. 2025, MARSHAL (turn-level advantage, agent-specific normalisation).
    """
    return grpo(returns, roles, scale="group", epsilon=epsilon)


def constant(returns: ArrayLike, *, baseline: float = 0.0, positive_only: bool = False) -> Credit:
    """A = R - baseline, the plainest REINFORCE; ``positive_only`` leaves out negative advantages."""
    advantage = _columns(returns=returns)[0] - baseline
    keep = advantage > FLAT if positive_only else np.abs(advantage) > FLAT
    return _credit(advantage, keep, np.zeros(advantage.size, np.int64))


class RoleBaseline:
    """Role-conditioned advantage estimation: one running mean b per role, A = R - b with b from before this game.

    A checkpoint must keep the running means: ``state_dict`` is plain data, exact through JSON.

    Args:
        decay: share of the old mean that each game keeps.

    Source: Liu et al. 2025, SPIRAL (role-conditioned advantage estimation). A game's reward enters b only after b was
    subtracted from it, so the baseline is independent of the reward.
    """

    def __init__(self, decay: float = 0.95) -> None:
        if not 0.0 <= decay < 1.0:
            raise UsageError(f"decay is {decay}: set a share of at least 0 and less than 1.")
        self.decay = decay
        self.means: dict[str, float] = {}

    def advantages(self, returns: ArrayLike, roles: Sequence[str], trajectories: ArrayLike | None = None) -> Credit:
        """[D] advantages; each trajectory updates its role's mean once, in order of first appearance.

        A role is a name such as ``"tictactoe-v0/0"``: game and seat. Without ``trajectories`` each decision is one.
        """
        ids = np.arange(len(roles)) if trajectories is None else trajectories
        value, ids, role_index = _columns(returns=returns, trajectories=ids, roles=group_index(roles))
        judged: dict[int, float] = {}
        advantage = np.empty(value.size)
        for d, (trajectory, role, reward) in enumerate(zip(ids.tolist(), roles, value.tolist(), strict=True)):
            if trajectory not in judged:
                mean = self.means.get(role, 0.0)
                judged[trajectory] = mean
                self.means[role] = self.decay * mean + (1.0 - self.decay) * reward
            advantage[d] = reward - judged[trajectory]
        return _credit(advantage, np.abs(advantage) > FLAT, role_index)

    def forget(self, learner: str) -> None:
        """Forget a learner's means, in all its roles."""
        self.means = {role: mean for role, mean in self.means.items() if not role.startswith(f"{learner}/")}

    def state_dict(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        return {"decay": self.decay, "means": dict(self.means)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        self.decay = float(state["decay"])
        self.means = {str(role): float(mean) for role, mean in state["means"].items()}


def discounted(
    rewards: ArrayLike, trajectories: ArrayLike, *, gamma: float = 1.0, left: ArrayLike | None = None
) -> NDArray[np.float64]:
    """[D] discounted returns G_k = r_k + gamma G_{k+1} within each trajectory, whose decisions are in order of time.

    ``left`` [D] is the number of later turns of the trajectory: within a turn nothing is discounted. None: every
    decision is a turn.
    """
    left = None if left is None else _columns(left=left, trajectories=trajectories)[0]
    value, ids = _columns(rewards=rewards, trajectories=trajectories)
    ids = _dense(ids)
    out, later = np.empty(value.size), np.zeros(_count(ids))
    before = np.zeros(_count(ids))
    for d in range(value.size - 1, -1, -1):
        steps = 1.0 if left is None else left[d] - before[ids[d]]
        later[ids[d]] = out[d] = value[d] + gamma**steps * later[ids[d]]
        before[ids[d]] += steps
    return out


def gae(
    rewards: ArrayLike, values: ArrayLike, ended: ArrayLike, *, gamma: float = 1.0, lam: float = 0.95
) -> NDArray[Any]:
    """Generalised advantage estimation along the first axis: [T, ...], T steps of any number of trajectories.

    The advantages plus ``values[:-1]`` are the targets of the value head.

    Args:
        rewards: [T, ...] paid after each step.
        values: [T + 1, ...] the value head's estimate before each step, and after the last.
        ended: [T, ...] bool, the episode ended with this step: no advantage flows back across it.
        gamma: discount per step.
        lam: 0 trusts the value head, 1 the outcome.

    Source: Schulman et al. 2016, High-dimensional continuous control using GAE, equation 16.
    """
    reward, value = np.asarray(rewards), np.asarray(values)
    on = (~np.asarray(ended, np.bool_)).astype(value.dtype)
    if value.shape != (len(reward) + 1, *reward.shape[1:]) or on.shape != reward.shape:
        raise UsageError(
            f"rewards has shape {list(reward.shape)}, values {list(value.shape)}, ended {list(on.shape)}: give "
            "[T, ...], [T + 1, ...] and [T, ...]."
        )
    delta: NDArray[Any] = reward + gamma * on * value[1:] - value[:-1]
    for t in range(len(delta) - 2, -1, -1):
        delta[t] += gamma * lam * on[t] * delta[t + 1]
    return delta


def _credit(advantage: NDArray[np.float64], keep: NDArray[np.bool_], group: NDArray[np.int64]) -> Credit:
    """A Credit, in which a group without a kept decision is flat."""
    groups = np.unique(group).size
    return Credit(np.where(keep, advantage, 0.0), keep, groups, groups - np.unique(group[keep]).size)


def _moments(value: NDArray[np.float64], index: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and sample deviation of each group; a group of one has deviation 0."""
    size, count = np.bincount(index), _count(index)
    mean = np.bincount(index, value, count) / np.maximum(size, 1)
    square = np.bincount(index, (value - mean[index]) ** 2, count)
    return mean, np.sqrt(square / np.maximum(size - 1, 1))


def _visited(position: NDArray[np.int64], seat: NDArray[np.int64]) -> NDArray[np.int64]:
    """[D] numbers 0, 1, ... of the (position, seat) pairs."""
    seat = _dense(seat)
    return _dense(_dense(position) * _count(seat) + seat)


def _values(
    value: NDArray[np.float64], visited: NDArray[np.int64], past: Past | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and visits of each visited position, earlier visits included."""
    count = _count(visited)
    sums, visits = np.zeros(count), np.zeros(count)
    np.add.at(sums, visited, value)
    np.add.at(visits, visited, 1.0)
    if past is not None:
        before, often = np.zeros(count), np.zeros(count)
        before[visited], often[visited] = past  # equal for all decisions of a position
        sums, visits = sums + before, visits + often
    return sums / visits, visits


def _once(reward: NDArray[np.float64], index: NDArray[np.int64], trajectories: ArrayLike | None) -> NDArray[np.int64]:
    """Index of each trajectory's first decision, after checking that the others have its group and reward."""
    if trajectories is None:
        return np.arange(reward.size)
    _, ids = _columns(rewards=reward, trajectories=trajectories)
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    inverse = inverse.reshape(-1)
    for what, array in (("groups", index), ("rewards", reward)):
        other = np.flatnonzero(array != array[first][inverse])
        if other.size:
            raise UsageError(
                f"Trajectory {ids[other[0]]} has two different {what}: decision {other[0]} differs from decision "
                f"{first[inverse[other[0]]]}. All decisions of a trajectory share one group and one reward."
            )
    return first.astype(np.int64)


def _count(index: NDArray[np.int64]) -> int:
    return int(index.max(initial=-1)) + 1


def _dense(values: NDArray[Any]) -> NDArray[np.int64]:
    """The same partition, numbered 0, 1, ..."""
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _columns(**columns: ArrayLike) -> list[NDArray[Any]]:
    """Columns of equal length D: rewards and returns as finite float64, all others as int64.

    Raises:
        UsageError: a wrong shape or length, a number that is not finite, a dtype other than integers.
    """
    found: dict[str, NDArray[Any]] = {}
    for name, values in columns.items():
        array = np.asarray(values)
        whole = name not in ("rewards", "returns")
        if array.ndim != 1 or (whole and array.size and array.dtype.kind not in "iub"):
            kind = "integers" if whole else "numbers"
            raise UsageError(f"{name} has shape {list(array.shape)} and dtype {array.dtype}: give {kind} of shape [D].")
        found[name] = array.astype(np.int64 if whole else np.float64)
        for d in np.flatnonzero(~np.isfinite(found[name]))[:1].tolist():
            raise UsageError(f"{name}[{d}] is {array[d]}: credit needs finite numbers. Check the game's rewards.")
    if len({len(array) for array in found.values()}) > 1:
        listed = ", ".join(f"{name} {len(array)}" for name, array in found.items())
        raise UsageError(f"Lengths differ: {listed}. Each needs one entry per decision.")
    return list(found.values())
