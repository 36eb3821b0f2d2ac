"""Kinship in kernels: what a world calls at the end of each tick, in place, without allocating.

``kinship.share`` is the same arithmetic for callers outside of kernels, in float64. One rule holds in all of them: who
is not alive neither gives nor takes. A reward earned in the tick of one's death stays with the earner, whole; what a
vanished member would have received returns to who earned it.

Letters: S slots (agents that can live at once), i who receives, j who earned, l a label.
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
    """Teams, families, groups in O(S): all keep (1 - p) of a reward; the rest is split over the living of its label.

    Args:
        rewards: [S] float32, changed in place.
        labels: [S] int16, 0..S-1, or -1: shares with nobody.
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

    What is given is rounded once (``given``) and taken off exactly as it is put in. A pool adds parts that are divided
    already, which cannot overflow, and keeps what each addition rounds off (Neumaier 1974).

    Args:
        rewards: [N, P] float64.
        labels: [P] int64, 0..L-1, or -1: shares with nobody.
        pct: [L] float64, the pooled part of each label, 0 to 1.
        alive: [N, P] bool.
        pool: [L, 3] float64, scratch: living members, sum, what was rounded off.
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
    """Write the sums over living j of ``weights[i, j]`` times j's reward; False, and nothing, where nobody has earned.

    Few earners: their columns one by one. Many: row by row, which reads the square as it lies in memory.

    ``whole``: j == i counts too, and the part of an i that is not alive is added to j's own sum.
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
    """K r instead of r, O(S) for each earner.

    Args:
        rewards: [S] float32, changed in place.
        weights: [S, S] float32, K: ``weights[i, j]`` is the part of j's reward that i receives.
        alive: [S] bool; the part of an i that is not alive returns to j.
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
        related: [S, S] float32, R, or the matrix that ``related_child`` keeps: a diagonal above 1 is 1 + F (inbreeding)
            and divides its row, as Hamilton's regression coefficient has it. Otherwise the diagonal does not count.
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
    """Add each living agent's rank: (number with less - number with more) / (number of others), -1 to 1; ties share.

    Args:
        score: [S] any number type, what is ranked (energy brought to altars).
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
    """Put labels [S] in random order (Fisher and Yates); returns the number of words drawn: ``max(0, S - 1)``.

    Args:
        labels: [S] any integer type, shuffled in place.
        seed: uint64.
        counter: of the first word.
    """
    for k in range(labels.shape[0] - 1, 0, -1):
        other = below(word(seed, counter + labels.shape[0] - 1 - k), k + 1)
        label = labels[k]
        labels[k] = labels[other]
        labels[other] = label
    return len(labels) - 1 if len(labels) > 1 else 0


@kernel
def partition(labels: NDArray[Any], size: int, seed: Word, counter: int) -> int:
    """A random partition into families of ``size``; the last one takes what is left, so it may be smaller.

    Args:
        labels: [S] int16 (any integer type), overwritten with 0..ceil(S / size)-1. Pass a slice to leave slots out.
        size: at least 1.
        seed: uint64.
        counter: of the first word.

    Returns:
        The number of words drawn.
    """
    for k in range(labels.shape[0]):
        labels[k] = k // size
    drawn: int = shuffle_labels(labels, seed, counter)
    return drawn


@kernel
def related_child(matrix: NDArray[Any], slot: int, mother: int, father: int) -> None:
    """Write a newborn's row and column of the relationship matrix: the mean of its parents' rows, diagonal 1 + F.

    The matrix A has A_ij = twice the chance that a gene of i and one of j descend from one gene of a founder. It begins
    as the identity (or with 0.5 between full siblings); the rows of the dead may stay until their slot is used again.

    Args:
        matrix: [S, S] float32 (or float64), changed in place.
        slot: the newborn's; what stood there is overwritten. It may be that of a parent who died in the birth.
        mother: slot of a parent; -1: a stranger without kin here.
        father: slot of the other; the same one is selfing.

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
