"""The kernels that worlds call: they agree with share(), in place and in float32, and draw fair families."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.envs.kinship import (
    Groups,
    Matrix,
    Pedigree,
    Prestige,
    Relatedness,
    partition,
    prestige,
    related_child,
    share,
    share_labels,
    share_matrix,
    share_relatives,
    shuffle_labels,
)
from coterie.envs.stepping.rng import word

EPS = np.finfo(np.float32).eps


@st.composite
def worlds(draw, most=40):
    """(rewards [S] float32, alive [S], a NumPy generator); rewards are often rare."""
    S = draw(st.integers(1, most))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    rewards = (
        random.normal(size=S)
        * 10.0 ** random.integers(-3, 4, S)
        * (random.random(S) < draw(st.sampled_from([0.0, 0.1, 1])))
    )
    alive = random.random(S) < draw(st.sampled_from([0.0, 0.7, 1]))
    return rewards.astype(np.float32), alive, random


def close(after, expected, before):
    return np.abs(after.astype(float) - expected).max() <= 4 * EPS * max(1e-30, np.abs(before).sum(dtype=float))


@settings(deadline=None)
@given(worlds())
def test_labels_agree_with_share(world):
    rewards, alive, random = world
    S = len(rewards)
    labels = (
        random.integers(-1, S, S).astype(np.int16) if random.random() < 0.5 else (np.arange(S) // 3).astype(np.int16)
    )
    pct = random.random(S).astype(np.float32)
    expected = share(rewards, Groups(labels, pct.astype(float)), alive)
    after = rewards.copy()
    share_labels(after, labels, pct, alive, np.full((S, 2), np.nan))
    assert close(after, expected, rewards)
    lost = abs(after.sum(dtype=float) - rewards.sum(dtype=float))
    assert lost <= 4 * EPS * np.abs(rewards).sum(dtype=float)


@settings(deadline=None)
@given(worlds())
def test_matrix_agrees_with_share(world):
    rewards, alive, random = world
    S = len(rewards)
    weights = Matrix(random.random((S, S)) * (random.random((S, S)) < 0.5)).table(S).astype(np.float32)
    expected = share(rewards, Matrix(weights, normalise=False), alive)
    after = rewards.copy()
    share_matrix(after, weights, alive, np.full(S, np.nan))
    assert close(after, expected, rewards)


@settings(deadline=None)
@given(worlds(), st.booleans())
def test_relatives_agree_with_share(world, normalise):
    rewards, alive, random = world
    S = len(rewards)
    related = random.random((S, S)).astype(np.float32)
    np.fill_diagonal(related, random.choice([0.0, 1.0, 1.5], S))
    expected = share(rewards, Relatedness(related, normalise), alive)
    after = rewards.copy()
    share_relatives(after, related, alive, normalise, np.full(S, np.nan))
    assert close(after, expected, rewards)


@settings(deadline=None)
@given(worlds(), st.sampled_from([np.int32, np.float32]))
def test_prestige_agrees(world, dtype):
    rewards, alive, random = world
    score = random.integers(0, 5, len(rewards)).astype(dtype)
    after = rewards.copy()
    prestige(score, alive, after)
    assert np.allclose(after, rewards + Prestige().rewards(score, alive), rtol=1e-6, atol=1e-6)


def test_the_dead_neither_give_nor_take():
    S = 3
    alive = np.array([True, False, True])
    for rewards, expected in (([6.0, 0, 0], [4.5, 0, 1.5]), ([0.0, 6, 0], [0, 6, 0])):
        after = np.array(rewards, np.float32)
        share_labels(after, np.zeros(S, np.int16), np.full(S, 0.5, np.float32), alive, np.empty((S, 2)))
        assert after.tolist() == expected
    K = np.full((S, S), 1 / 4, np.float32) + np.eye(S, dtype=np.float32) / 4  # columns sum to 1
    for rewards, expected in (([4.0, 0, 0], [3, 0, 1]), ([0.0, 4, 0], [0, 4, 0])):
        after = np.array(rewards, np.float32)
        share_matrix(after, K, alive, np.empty(S))
        assert after.tolist() == expected
    for rewards, expected in (([4.0, 0, 0], [4, 0, 1]), ([0.0, 4, 0], [0, 4, 0])):
        after = np.array(rewards, np.float32)
        share_relatives(after, K, alive, False, np.empty(S))
        assert after.tolist() == expected


def test_who_has_no_label_keeps_everything():
    after = np.array([1, 2, 4], np.float32)
    share_labels(after, np.array([-1, 0, 0], np.int16), np.ones(3, np.float32), np.ones(3, bool), np.empty((3, 2)))
    assert after.tolist() == [1, 3, 3]


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(1, 12), st.integers(0, 2**64 - 1), st.integers(0, 2**31))
def test_partitions_have_the_size_asked_for(slots, size, seed, counter):
    labels = np.full(slots, 99, np.int16)
    assert partition(labels, size, np.uint64(seed), counter) == max(0, slots - 1)
    sizes = Counter(labels.tolist())
    assert sizes == Counter(k // size for k in range(slots))


def test_shuffles_are_uniform():
    """24 orders of four labels: each comes in about one of 24 seeds; the words are those from the counter on."""
    orders: Counter[tuple[int, ...]] = Counter()
    for seed in range(4800):
        labels = np.arange(4, dtype=np.int16)
        assert shuffle_labels(labels, np.uint64(seed), 7) == 3
        orders[tuple(labels.tolist())] += 1
    assert len(orders) == 24
    assert sum((n - 200) ** 2 / 200 for n in orders.values()) < 60  # chi-squared, 23 degrees: p < 0.0001


def test_the_words_are_those_counted():
    first, second = np.arange(5), np.arange(5)
    shuffle_labels(first, np.uint64(3), 10)
    order = list(range(5))
    for step, k in enumerate(range(4, 0, -1)):
        other = ((int(word(np.uint64(3), 10 + step)) >> 32) * (k + 1)) >> 32
        order[k], order[other] = order[other], order[k]
    assert first.tolist() == order
    shuffle_labels(second, np.uint64(3), 11)
    assert first.tolist() != second.tolist()


def test_a_newborn_in_any_slot():
    """The matrix of a world with recycled slots is that of the pedigree."""
    random = np.random.default_rng(1)
    S = 7
    matrix = np.eye(S, dtype=np.float32)
    family = Pedigree(S)
    slots = list(range(S))  # the id that lives in each slot
    for _ in range(60):
        mother, father, slot = (int(x) for x in random.integers(0, S, 3))  # slot may be a parent's, who dies in birth
        child = family.birth(slots[mother], slots[father])
        family.death(slots[slot])
        related_child(matrix, slot, mother, father)
        slots[slot] = child  # type: ignore[call-overload]
        assert np.allclose(matrix, family.matrix(slots), atol=1e-5)
        assert np.array_equal(matrix, matrix.T)


def test_a_stranger_is_kin_to_nobody():
    matrix = np.full((3, 3), 0.5, np.float32)
    related_child(matrix, 1, -1, -1)
    assert matrix.tolist() == [[0.5, 0, 0.5], [0, 1, 0], [0.5, 0, 0.5]]
    related_child(matrix, 2, 1, -1)
    assert matrix[2].tolist() == [0, 0.5, 1]


PLAIN = """
import numpy as np
from coterie.envs.kinship import *
r = np.linspace(-1, 1, 6, dtype=np.float32)
alive = np.array([1, 1, 0, 1, 1, 1], bool)
labels = np.empty(6, np.int16)
partition(labels, 4, np.uint64(2**64 - 1), 3)
share_labels(r, labels, np.full(6, 0.25, np.float32), alive, np.empty((6, 2)))
matrix = np.eye(6, dtype=np.float32)
related_child(matrix, 2, 0, 1)
share_relatives(r, matrix, alive, True, np.empty(6))
share_matrix(r, matrix, alive, np.empty(6))
prestige(np.arange(6), alive, r)
print(labels.tolist(), r.tolist(), share(r, Families(size=4, seed=2**64 - 1)).tolist())
"""


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_without_the_compiler_and_with_bounds(setting, tmp_path):
    said = []
    for extra in ({}, {setting: "1", "NUMBA_CACHE_DIR": str(tmp_path)}):
        run = [sys.executable, "-W", "error", "-c", PLAIN]
        env = {**os.environ, **extra}
        done = subprocess.run(run, env=env, capture_output=True, text=True, cwd=Path.cwd(), check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        said.append(done.stdout)
    assert said[0] == said[1]
