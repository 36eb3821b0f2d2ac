"""From what a game paid to what each decision is worth: pure functions on flat arrays.

Letters: D decisions of one batch, in any order unless a function says otherwise. Every credit function returns a
``Credit``: ``advantages`` [D] float64 and ``keep`` [D] bool. A decision whose group has no variance has no direction to
learn in; it is not kept, and the loss then gives it neither policy gradient nor KL.

Columns mean the same in all functions: ``rewards`` what is paid after each decision, up to the seat's next one;
``returns`` what its seat got from there on; ``keys`` uint64 ``Game.key`` of the position; ``seats`` int who decided, or
any label that must not share a baseline. A *trajectory* (one seat of one game, [D] int) matters where a mean is meant
over games: a game of nine turns must not weigh more than one of five, so functions that take ``trajectories`` count
each of them once. ``epsilon`` keeps a quotient finite, ``gamma`` is the discount a decision. Columns of different
length, another type or with numbers that are not finite are a ``UsageError``.

The file is longer than most: every credit stands beside the others, so that they can be compared.
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
"""What an advantage is divided by, in GRPOConfig's words (``scale_rewards``): the group's deviation, the batch's, 1."""

FLAT = 1e-8
"""A deviation up to this counts as none: TRL's ``isclose(std, 0)``."""

SWEEPS = 6
"""How often ``pooled`` computes its values anew; each sweep carries an outcome at least one decision further back."""


@dataclass(frozen=True)
class Credit:
    """What one batch of decisions is worth.

    Attributes:
        advantages: [D] float64; 0 where ``keep`` is False.
        keep: [D] bool, False where the decision's group has no variance or the decision takes no part.
        groups: how many groups there were.
        flat_groups: how many of them had no variance.
    """

    advantages: NDArray[np.float64]
    keep: NDArray[np.bool_]
    groups: int
    flat_groups: int

    @property
    def kept_groups(self) -> float:
        """Share of groups that have something to say; 0 without groups."""
        return (self.groups - self.flat_groups) / self.groups if self.groups else 0.0


def group_index(keys: Sequence[Hashable]) -> NDArray[np.int64]:
    """[D] group numbers from explicit keys, numbered in order of first appearance.

    A key is whatever makes results comparable, e.g. ``(opening, seat, opponent)``. Equal keys, equal group; nothing is
    ever grouped by its place in the batch.
    """
    numbers: dict[Hashable, int] = {}
    return np.fromiter((numbers.setdefault(key, len(numbers)) for key in keys), np.int64, len(keys))


def check_groups(groups: ArrayLike, keys: Sequence[Hashable]) -> None:
    """Check that group numbers [D] and their keys [D] tell the same story, one to one.

    Raises:
        UsageError: a group holds two keys, or a key is spread over two groups; names the first decision where it shows.
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
        rewards: [D] the return that each decision is judged by.
        groups: [D] int, see ``group_index``.
        scale: "group" as in GRPO, "none" as in Dr.GRPO, "batch" for the deviation of the whole batch.
        trajectories: [D] their decisions share one reward and count once. None: each decision counts.
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

    A position visited less than ``min_visits`` times falls back on its seat's mean over the whole batch, every decision
    counting once. Opponents, openings and moves to come are averaged over: the mean is an unbiased value of the
    position as this batch plays, which is why one baseline a position learns where one baseline a seat does not.

    Earlier visits, ``past``, count too. A decision is then kept where it did better or worse than the mean, be it the
    only one of its position.

    Returns:
        Credit; its groups are the positions with a mean of their own and one for each seat that something falls back
        on.

    Raises:
        UsageError: ``min_visits`` is below 1.
    """
    value, position, seat = _columns(returns=returns, keys=keys, seats=seats)
    if min_visits < 1:
        raise UsageError(f"min_visits is {min_visits}: a position needs at least one visit, say 1 or more.")
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

    V(s) is the mean of G over all visits of position s by the same seat in this batch. One game's luck after a position
    that many games reach is thus averaged away for the decisions that led there. ``lam`` 0 trusts the values, 1 the
    outcomes, which is ``discounted``. Within a trajectory decisions stand in order of time. A position with fewer than
    ``min_visits`` visits, ``past`` ones included, has no value of its own; its decisions pass on their own G.

    Raises:
        UsageError: ``lam`` is outside 0 to 1.

    Source: Sutton and Barto 2018, Reinforcement learning, equation 12.18, with a table made anew from each batch.
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
    """Compare alternatives with each other, as ``grpo`` does: decisions made from clones of one state, each played out.

    ``branches`` [D] int tell the states that were branched: equal numbers are siblings, -1 takes no part.
    """
    value, branch = _columns(returns=returns, branches=branches)
    part = branch >= 0
    advantage, keep = np.zeros(value.size), np.zeros(value.size, np.bool_)
    inner = grpo(value[part], branch[part], scale=scale)
    advantage[part], keep[part] = inner.advantages, inner.keep
    return dataclasses.replace(inner, advantages=advantage, keep=keep)


def turn_level(returns: ArrayLike, roles: ArrayLike, *, epsilon: float = 1e-4) -> Credit:
    """Sum first, then normalise: each decision's own return against all decisions of its role, [D] int, in the batch.

    Source: Yuan et al. 2025, MARSHAL (turn-level advantage, agent-specific normalisation).
    """
    return grpo(returns, roles, scale="group", epsilon=epsilon)


def constant(returns: ArrayLike, *, baseline: float = 0.0, positive_only: bool = False) -> Credit:
    """A = R - baseline, the plainest REINFORCE; with ``positive_only`` whatever did worse is left out, not punished."""
    advantage = _columns(returns=returns)[0] - baseline
    keep = advantage > FLAT if positive_only else np.abs(advantage) > FLAT
    return _credit(advantage, keep, np.zeros(advantage.size, np.int64))


class RoleBaseline:
    """Role-conditioned advantage estimation: one running mean a role, A = R - b with b as it stood before this game.

    The running means are state that a checkpoint must keep: ``state_dict`` is plain data, exact through JSON.

    Args:
        decay: share of the old mean that stays at each game.

    Source: Liu et al. 2025, SPIRAL (role-conditioned advantage estimation). b takes this game's reward only after it
    was subtracted, so that the baseline is independent of the reward it judges.
    """

    def __init__(self, decay: float = 0.95) -> None:
        if not 0.0 <= decay < 1.0:
            raise UsageError(f"decay is {decay}: say a share from 0 up to, not including, 1.")
        self.decay = decay
        self.means: dict[str, float] = {}

    def advantages(self, returns: ArrayLike, roles: Sequence[str], trajectories: ArrayLike | None = None) -> Credit:
        """[D] advantages; each trajectory moves its role's mean once, in order of first appearance.

        A role is a name such as ``"tictactoe-v0/0"``, game and seat. Without ``trajectories`` each decision is one.
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

    def state_dict(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        return {"decay": self.decay, "means": dict(self.means)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        self.decay = float(state["decay"])
        self.means = {str(role): float(mean) for role, mean in state["means"].items()}


def discounted(rewards: ArrayLike, trajectories: ArrayLike, *, gamma: float = 1.0) -> NDArray[np.float64]:
    """[D] what is still to come: G_k = r_k + gamma G_{k+1}, within each trajectory, which stands in order of time."""
    value, ids = _columns(rewards=rewards, trajectories=trajectories)
    ids = _dense(ids)
    out, later = np.empty(value.size), np.zeros(_count(ids))
    for d in range(value.size - 1, -1, -1):
        later[ids[d]] = out[d] = value[d] + gamma * later[ids[d]]
    return out


def gae(
    rewards: ArrayLike, values: ArrayLike, ended: ArrayLike, *, gamma: float = 1.0, lam: float = 0.95
) -> NDArray[Any]:
    """Generalised advantage estimation along the first axis: [T, ...], T steps of as many trajectories as there are.

    Added to ``values[:-1]`` the advantages are what a value head learns.

    Args:
        rewards: [T, ...] paid after each step.
        values: [T + 1, ...] the value head's estimate before each step, and behind the last.
        ended: [T, ...] bool, the episode ended with this step: nothing flows back over its end.
        gamma: discount a step.
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
    """A group without a kept decision is flat."""
    groups = np.unique(group).size
    return Credit(np.where(keep, advantage, 0.0), keep, groups, groups - np.unique(group[keep]).size)


def _moments(value: NDArray[np.float64], index: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and sample deviation of each group; a group of one deviates by 0."""
    size, count = np.bincount(index), _count(index)
    mean = np.bincount(index, value, count) / np.maximum(size, 1)
    square = np.bincount(index, (value - mean[index]) ** 2, count)
    return mean, np.sqrt(square / np.maximum(size - 1, 1))


def _visited(position: NDArray[np.int64], seat: NDArray[np.int64]) -> NDArray[np.int64]:
    """[D] numbers 0, 1, ... of the pairs of position and seat."""
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
        before[visited], often[visited] = past  # decisions of one position have the same
        sums, visits = sums + before, visits + often
    return sums / visits, visits


def _once(reward: NDArray[np.float64], index: NDArray[np.int64], trajectories: ArrayLike | None) -> NDArray[np.int64]:
    """Positions of one decision of each trajectory, after checking that its others agree with it."""
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
        UsageError: another shape or length, a number that is not finite, no integers.
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
            raise UsageError(
                f"{name}[{d}] is {array[d]}: only finite numbers can be credited. Look at the game's rewards."
            )
    if len({len(array) for array in found.values()}) > 1:
        listed = ", ".join(f"{name} {len(array)}" for name, array in found.items())
        raise UsageError(f"Lengths differ: {listed}. Each needs one entry a decision.")
    return list(found.values())
