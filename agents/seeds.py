"""Counter-based random numbers: a decision's numbers depend on its stream and counter alone.

A ``Seed`` names one decision (or one question to a model): its stream is a game of a run, its counter a turn in it.
Every number that the decision samples is a pure function of the seed, so a game goes the same way alone, among a
thousand, in any order and in any process.

Letters: B seeds, K samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..envs.stepping.rng import word, words

__all__ = ["Seed", "pick", "stream", "streams", "uniforms"]

_FORK = 1 << 32
"""Counters of forks start here, above those of samples."""


class Seed(NamedTuple):
    """Where the random numbers of one decision come from.

    Attributes:
        stream: names a game: ``stream(run's seed, group, member)``. 0 <= stream < 2**64.
        counter: names a turn of it, e.g. ply * players + seat. 0 <= counter < 2**63.
    """

    stream: int
    counter: int

    def uniform(self, draw: int = 0) -> float:
        """Sample number ``draw`` of this seed, in [0, 1)."""
        return (int(word(np.uint64(self.integer()), draw)) >> 11) * 2.0**-53

    def integer(self) -> int:
        """64 random bits, for example to seed a search."""
        return int(word(np.uint64(self.stream), self.counter))

    def generator(self) -> np.random.Generator:
        """A generator, for decisions that need many numbers; equal seeds give equal generators."""
        return np.random.Generator(np.random.Philox(key=self.integer()))

    def fork(self, number: int) -> Seed:
        """The seed of question ``number`` of a decision that asks several questions."""
        return Seed(self.integer(), _FORK + number)


def stream(*numbers: int) -> int:
    """Hash several numbers, e.g. a run's seed, a group and a member, into one 64-bit stream."""
    found = len(numbers)
    for number in numbers:
        found = int(word(np.uint64(found ^ int(word(np.uint64(number % 2**64), 0))), 0))
    return found


def streams(*numbers: int | Sequence[int]) -> list[int]:
    """[B] ``stream`` of B lists of numbers at once, where a single number stands for B equal ones."""
    found = np.full(1, len(numbers), np.uint64)
    for number in numbers:
        each = number if isinstance(number, Sequence) else [number]
        found = words(found ^ words(np.array([one % 2**64 for one in each], np.uint64), 0), 0)
    return [int(one) for one in found.tolist()]


def uniforms(seeds: Sequence[Seed], count: int = 1) -> NDArray[np.float64]:
    """[B, K] in [0, 1): the first ``count`` samples of each seed, as ``Seed.uniform`` gives them."""
    table = np.array(seeds, np.uint64).reshape(-1, 2)
    drawn = words(words(table[:, 0], table[:, 1])[:, None], np.arange(count, dtype=np.uint64))
    return (drawn >> np.uint64(11)) * np.float64(2.0**-53)


def pick(among: NDArray[np.bool_], seeds: Sequence[Seed]) -> NDArray[np.intp]:
    """[B] one column sampled uniformly from the marked ones of each row [B, A]; 0 if a row has none."""
    wanted = (uniforms(seeds)[:, 0] * among.sum(1)).astype(np.int64)
    chosen: NDArray[np.intp] = (among.cumsum(1) > wanted[:, None]).argmax(1)
    return chosen
