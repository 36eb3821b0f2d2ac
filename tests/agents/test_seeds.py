"""Seeds: what a decision draws follows from its own two numbers."""

from __future__ import annotations

import numpy as np
from scipy import stats

from coterie.agents.seeds import Seed, stream, streams, uniforms
from coterie.envs.stepping.rng import word, words

SEEDS = [Seed(stream(9, game), turn) for game in range(50) for turn in range(40)]


def test_many_at_once_draw_what_each_draws_alone():
    table = uniforms(SEEDS[:60], 5)
    assert [[seed.uniform(k) for k in range(5)] for seed in SEEDS[:60]] == table.tolist()
    assert uniforms(SEEDS[7:9], 2).tolist() == table[7:9, :2].tolist()
    assert uniforms([], 3).shape == (0, 3)


def test_arrays_of_words_are_the_kernels_words():
    seeds = np.array([0, 1, 2**64 - 1, 12345], np.uint64)
    assert words(seeds, 3).tolist() == [int(word(seed, 3)) for seed in seeds]


def test_draws_are_uniform_and_streams_turns_and_draws_are_independent():
    table = uniforms(SEEDS, 4)
    assert stats.kstest(table.ravel(), "uniform").pvalue > 1e-3
    games = table.reshape(50, 40, 4)
    beside = [(games[:-1], games[1:]), (games[:, :-1], games[:, 1:]), (games[..., :-1], games[..., 1:])]
    for one, other in beside:  # a correlation of n independent pairs has the deviation 1 / sqrt(n)
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 4 / np.sqrt(one.size)


def test_streams_tell_their_numbers_and_their_order_apart():
    made = [stream(*numbers) for numbers in [(), (0,), (0, 0), (1, 2), (2, 1), (1, 2, 0), (3,), (-1,)]]
    assert len(set(made)) == len(made)
    assert stream(5, 6) == stream(5, 6)
    assert all(0 <= number < 2**64 for number in made)


def test_many_streams_at_once_are_those_made_alone():
    groups, members = [0, 1, -1, 2**64 - 1], [3, 0, 2, 2**63]
    made = [stream(7, *pair) for pair in zip(groups, members, strict=True)]
    assert streams(7, groups, members) == made
    assert streams(range(3)) == [stream(0), stream(1), stream(2)]
    assert streams(5, []) == []


def test_forks_and_generators_are_their_own():
    seed = SEEDS[0]
    forks = [seed.fork(k) for k in range(3)]
    drawn = {seed.uniform(), *(fork.uniform() for fork in forks), seed.generator().random()}
    assert len(drawn) == 5
    assert seed.generator().random() == seed.generator().random()
