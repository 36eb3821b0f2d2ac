"""Kinship kernels, which a world calls at the end of each tick; they work in place without allocating.

``kinship.share`` does the same arithmetic in float64 outside of kernels. One rule holds in all of them: agents that are
not alive neither give nor receive. An agent that dies in a tick keeps the whole reward that it earned in that tick, and
the part that a dead member would have received goes back to the earner.

Letters: S slots (agents that can live at once), i the receiver, j the earner, l a label.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..stepping.jit import kernel
from ..stepping.rng import Word, below, word

__all__ = [
    "partition",
    "pool_rows",
    "prestige",
    "related_child",
    "share_labels",
    "share_matrix",
    "share_relatives",
    "shuffle_labels",
]


@kernel
def share_labels(
    rewards: NDArray[np.float32],
    labels: NDArray[np.int16],
    pct: NDArray[np.float32],
    alive: NDArray[np.bool_],
    pool: NDArray[np.float64],
) -> None:
    """Teams, families, groups in O(S): each keeps (1 - p) of its reward; the rest is split over its living members.

    Args:
        rewards: [S] float32, changed in place.
        labels: [S] int16, 0..S-1, or -1 for agents that do not share.
        pct: [S] float32, ``pct[l]`` is the pooled part p of label l, 0 to 1.
        alive: [S] bool.
        pool: [S, 2] float64, scratch.
    """
    earned = False
    for i in range(rewards.shape[0]):
        earned |= rewards[i] != 0
    if not earned:
        return
    for label in range(pool.shape[0]):
        pool[label, 0] = 0.0
        pool[label, 1] = 0.0
    for i in range(rewards.shape[0]):
        label = labels[i]
        if alive[i] and label >= 0:
            pool[label, 0] += np.float64(pct[label]) * np.float64(rewards[i])
            pool[label, 1] += 1.0
    for i in range(rewards.shape[0]):
        label = labels[i]
        if alive[i] and label >= 0 and pool[label, 1] > 1.0:
            given = np.float64(pct[label]) * np.float64(rewards[i])
            rewards[i] = np.float32(np.float64(rewards[i]) - given + pool[label, 0] / pool[label, 1])


@kernel
def pool_rows(
    rewards: NDArray[np.float64],
    labels: NDArray[np.int64],
    pct: NDArray[np.float64],
    alive: NDArray[np.bool_],
    pool: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Split pools over labels, [N, P] float64, so that sums are conserved to 2 eps of the sum of magnitudes.

    The pooled part of a reward is rounded once (``given``), and that value is subtracted. A pool adds parts that are
    already divided, so it cannot overflow, and it keeps the rounding error of each addition (Neumaier 1974).

    Args:
        rewards: [N, P] float64.
        labels: [P] int64, 0..L-1, or -1 for players that do not share.
        pct: [L] float64, the pooled part of each label, 0 to 1.
        alive: [N, P] bool.
        pool: [L, 3] float64, scratch: living members, sum, accumulated rounding error.
        out: [N, P] float64, written.
    """
    for n in range(rewards.shape[0]):
        pool[:] = 0.0
        for i in range(rewards.shape[1]):
            if alive[n, i] and labels[i] >= 0:
                pool[labels[i], 0] += 1.0
        for i in range(rewards.shape[1]):
            label = labels[i]
            if alive[n, i] and label >= 0:
                part = pct[label] * rewards[n, i] / pool[label, 0]
                total = pool[label, 1] + part
                if abs(pool[label, 1]) >= abs(part):
                    pool[label, 2] += (pool[label, 1] - total) + part
                else:
                    pool[label, 2] += (part - total) + pool[label, 1]
                pool[label, 1] = total
        for i in range(rewards.shape[1]):
            label = labels[i]
            out[n, i] = rewards[n, i]
            if alive[n, i] and label >= 0 and pool[label, 0] > 1.0:
                given = pct[label] * rewards[n, i]
                out[n, i] = (rewards[n, i] - given) + (pool[label, 1] + pool[label, 2])


@kernel
def _mix(rewards: NDArray[Any], weights: NDArray[Any], alive: NDArray[Any], whole: bool, out: NDArray[Any]) -> bool:
    """Write to ``out`` the sums over living j of ``weights[i, j]`` times j's reward; False if no living j has a reward.

    With few earners it adds their columns one by one; with many it goes row by row, in memory order.

    If ``whole``, j == i counts too, and the part of an i that is not alive is added to j's sum.
    """
    slots = rewards.shape[0]
    earners = 0
    for j in range(slots):
        out[j] = 0.0
        earners += 1 if alive[j] and rewards[j] != 0 else 0
    if earners * 8 < slots:
        for j in range(slots if earners else 0):
            if alive[j] and rewards[j] != 0:
                for i in range(slots):
                    if (whole or i != j) and (whole or alive[i]):
                        out[i if alive[i] else j] += np.float64(weights[i, j]) * np.float64(rewards[j])
        return earners > 0
    for i in range(slots):
        if alive[i]:
            total = 0.0 if whole else -np.float64(weights[i, i]) * np.float64(rewards[i])
            for j in range(slots):
                total += np.float64(weights[i, j]) * np.float64(rewards[j]) if alive[j] else 0.0
            out[i] += total
        elif whole:
            for j in range(slots):
                out[j] += np.float64(weights[i, j]) * np.float64(rewards[j]) if alive[j] else 0.0
    return earners > 0


@kernel
def share_matrix(
    rewards: NDArray[np.float32],
    weights: NDArray[np.float32],
    alive: NDArray[np.bool_],
    out: NDArray[np.float64],
) -> None:
    """Replace r by K r, in O(S) for each earner.

    Args:
        rewards: [S] float32, changed in place.
        weights: [S, S] float32, K: ``weights[i, j]`` is the part of j's reward that i receives.
        alive: [S] bool; the part of an i that is not alive goes back to j.
        out: [S] float64, scratch.
    """
    if _mix(rewards, weights, alive, True, out):
        for i in range(rewards.shape[0]):
            if alive[i]:
                rewards[i] = np.float32(out[i])


@kernel
def share_relatives(
    rewards: NDArray[np.float32],
    related: NDArray[np.float32],
    alive: NDArray[np.bool_],
    normalise: bool,
    out: NDArray[np.float64],
) -> None:
    """Inclusive fitness: r_i' = r_i + the sum of R_ij r_j over the living j != i.

    Args:
        rewards: [S] float32, changed in place.
        related: [S, S] float32, R, or the matrix that ``related_child`` maintains: a diagonal above 1 is 1 + F
            (inbreeding) and divides its row, as in Hamilton's regression coefficient; otherwise it is ignored.
        alive: [S] bool.
        normalise: divide by 1 + the sum of R_ij over the living j != i.
        out: [S] float64, scratch.
    """
    if not _mix(rewards, related, alive, False, out):
        return
    for i in range(rewards.shape[0]):
        if alive[i]:
            inbred = max(1.0, np.float64(related[i, i]))
            total = np.float64(rewards[i]) + out[i] / inbred
            if normalise:
                kin = -np.float64(related[i, i])
                for j in range(rewards.shape[0]):
                    kin += np.float64(related[i, j]) if alive[j] else 0.0
                total /= 1.0 + kin / inbred
            rewards[i] = np.float32(total)


@kernel
def prestige(score: NDArray[Any], alive: NDArray[np.bool_], rewards: NDArray[np.float32]) -> None:
    """Add each living agent's rank, -1 to 1: (number with less - number with more) / (number of others).

    Args:
        score: [S] any number type, the scores to rank (energy brought to altars).
        alive: [S] bool.
        rewards: [S] float32, added to.
    """
    living = 0
    for i in range(alive.shape[0]):
        living += alive[i]
    if living < 2:
        return
    for i in range(alive.shape[0]):
        if alive[i]:
            ahead = 0
            for j in range(alive.shape[0]):
                if alive[j] and score[i] > score[j]:
                    ahead += 1
                elif alive[j] and score[i] < score[j]:
                    ahead -= 1
            rewards[i] = np.float32(np.float64(rewards[i]) + ahead / (living - 1))


@kernel
def shuffle_labels(labels: NDArray[Any], seed: Word, counter: int) -> int:
    """Shuffle labels [S] (Fisher and Yates); returns the number of random 64-bit values used: ``max(0, S - 1)``.

    Args:
        labels: [S] any integer type, shuffled in place.
        seed: uint64.
        counter: the counter of the first random value.
    """
    for k in range(labels.shape[0] - 1, 0, -1):
        other = below(word(seed, counter + labels.shape[0] - 1 - k), k + 1)
        label = labels[k]
        labels[k] = labels[other]
        labels[other] = label
    return len(labels) - 1 if len(labels) > 1 else 0


@kernel
def partition(labels: NDArray[Any], size: int, seed: Word, counter: int) -> int:
    """A random partition into families of ``size``; the last family may be smaller.

    Args:
        labels: [S] int16 (any integer type), overwritten with 0..ceil(S / size)-1. Pass a slice to leave slots out.
        size: at least 1.
        seed: uint64.
        counter: the counter of the first random value.

    Returns:
        The number of random 64-bit values used.
    """
    for k in range(labels.shape[0]):
        labels[k] = k // size
    drawn: int = shuffle_labels(labels, seed, counter)
    return drawn


@kernel
def related_child(matrix: NDArray[Any], slot: int, mother: int, father: int) -> None:
    """Write a newborn's row and column of the relationship matrix: the mean of its parents' rows, diagonal 1 + F.

    In this matrix A, A_ij is twice the probability that a gene of i and one of j descend from the same gene of a
    founder. It starts as the identity (or with 0.5 between full siblings); rows of the dead may stay until their slot
    is reused.

    Args:
        matrix: [S, S] float32 (or float64), changed in place.
        slot: the newborn's slot, which is overwritten. It may be the slot of a parent that died in the birth.
        mother: a parent's slot, or -1 for an unrelated stranger.
        father: the other parent's slot, or -1; the mother's slot means selfing.

    Source:
        Henderson, "A simple method for computing the inverse of a numerator relationship matrix", Biometrics 1976,
        the recursion of section 2 (the tabular method; Emik and Terrill 1949).
    """
    diagonal = 1.0
    if mother >= 0 and father >= 0:
        diagonal += matrix[mother, father] / 2
    for j in range(matrix.shape[0]):
        if j != slot:
            row = 0.0
            if mother >= 0:
                row += matrix[mother, j]
            if father >= 0:
                row += matrix[father, j]
            matrix[slot, j] = matrix[j, slot] = row / 2
    matrix[slot, slot] = diagonal
