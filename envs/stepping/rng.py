"""Counter-based random numbers: 64 random bits are a pure function of (seed, counter).

No hidden state, so the same seed gives the same game on one thread or eight, alone or among a million, on every
platform. A game that samples keeps its counter in its state row. The mixer is SplitMix64's finaliser.

Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 17 (constants of
variant 13).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .jit import disabled, kernel

__all__ = ["Word", "below", "episode_seed", "episode_seed_plain", "mix64", "word", "word_plain", "words"]

Word: TypeAlias = Any
"""64 random bits: np.uint64, or Python's int with the JIT off."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_EPISODE = np.uint64(0xA0761D6478BD642F)  # keeps the seeds of later episodes apart from a game's own random bits
_64 = (1 << 64) - 1


def _mix64(x: Word) -> Word:
    """A bijection of 64-bit integers whose output looks random."""
    y = np.uint64(x)
    y = (y ^ (y >> np.uint64(30))) * _MIX_1
    y = (y ^ (y >> np.uint64(27))) * _MIX_2
    return y ^ (y >> np.uint64(31))


def _word(seed: Word, counter: int) -> Word:
    """The 64 random bits of a seed at ``counter``."""
    return mix64(np.uint64(seed) + _GOLDEN * (np.uint64(counter) + np.uint64(1)))


def _mix64_plain(x: Word) -> Word:
    """``mix64`` in Python's integers, which do not warn on overflow (used with the JIT off)."""
    y = int(x) & _64
    y = ((y ^ (y >> 30)) * int(_MIX_1)) & _64
    y = ((y ^ (y >> 27)) * int(_MIX_2)) & _64
    return np.uint64(y ^ (y >> 31))


def word_plain(seed: Word, counter: int) -> Word:
    """``word`` in Python's integers."""
    return _mix64_plain(int(seed) + int(_GOLDEN) * (int(counter) + 1))


mix64 = _mix64_plain if disabled() else kernel(_mix64)
word = word_plain if disabled() else kernel(_word)


def words(seeds: NDArray[np.uint64], counters: NDArray[np.uint64] | int) -> NDArray[np.uint64]:
    """``word`` for arrays, which are broadcast; the result has at least one dimension (NumPy's scalars warn)."""
    mixed: NDArray[np.uint64] = _mix64(
        seeds + _GOLDEN * (np.atleast_1d(np.asarray(counters, np.uint64)) + np.uint64(1))
    )
    return mixed


@kernel
def below(random_word: Word, n: Any) -> Any:
    """A number in 0..n-1 from 64 random bits, by multiply and shift; n < 2**31. The bias is under n / 2**32."""
    return np.int64(((np.uint64(random_word) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


def _episode_seed(seed: Word, episode: int) -> Word:
    """The seed of game number ``episode`` of a row: the row's own seed for game 0, a derived one for later games."""
    if episode == 0:
        return np.uint64(seed)
    return word(np.uint64(seed) ^ _EPISODE, episode)


def episode_seed_plain(seed: Word, episode: int) -> Word:
    """``episode_seed`` in Python's integers."""
    return np.uint64(seed) if episode == 0 else word_plain(np.uint64(seed) ^ _EPISODE, episode)


episode_seed = episode_seed_plain if disabled() else kernel(_episode_seed)
