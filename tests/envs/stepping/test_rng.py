"""Random numbers: reference values, agreement of the two implementations, uniformity."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.envs.stepping import rng

WORDS = st.integers(0, 2**64 - 1)


def test_reference_values():
    """SplitMix64 from state 0, as its authors publish it."""
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    assert [int(rng.word(np.uint64(0), k)) for k in range(4)] == expected


@settings(deadline=None)  # the first call may compile
@given(WORDS, st.integers(0, 2**40))
def test_compiled_equals_plain(seed, counter):
    assert int(rng.mix64(np.uint64(seed))) == int(rng._mix64_plain(seed))
    assert int(rng.word(np.uint64(seed), counter)) == int(rng.word_plain(seed, counter))


@settings(deadline=None)  # the first call may compile
@given(WORDS, st.integers(1, 2**31 - 1))
def test_below_is_in_range_and_monotone(word, n):
    k = int(rng.below(np.uint64(word), n))
    assert k == (word >> 32) * n >> 32
    assert 0 <= k < n


def test_below_is_uniform():
    counts = np.bincount([int(rng.below(np.uint64(rng.word(np.uint64(9), k)), 7)) for k in range(14000)], minlength=7)
    assert ((counts - 2000) ** 2 / 2000).sum() < 22.5  # chi-square, 6 degrees of freedom, p = .001


def test_episode_seeds():
    seeds = {int(rng.episode_seed(np.uint64(s), e)) for s in range(20) for e in range(50)}
    assert len(seeds) == 1000
    assert int(rng.episode_seed(np.uint64(5), 0)) == 5
