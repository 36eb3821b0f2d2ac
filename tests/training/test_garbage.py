"""Python's garbage collector while games are played."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from coterie.training.garbage import collected_rarely


@pytest.fixture
def usual() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield (700, 10, 10)
    gc.set_threshold(*before)


def test_many_objects_bring_no_collection_until_there_are_enough(usual: tuple[int, int, int]) -> None:
    gc.collect()
    before = gc.get_stats()[0]["collections"]
    with collected_rarely(100_000):
        kept = [[k] for k in range(50_000)]
        assert gc.get_stats()[0]["collections"] == before
        kept += [[k] for k in range(100_000)]
        assert gc.get_stats()[0]["collections"] > before


def test_the_collector_is_as_before_after_an_error(usual: tuple[int, int, int]) -> None:
    with pytest.raises(KeyError), collected_rarely():
        raise KeyError
    assert gc.get_threshold() == usual


@pytest.mark.parametrize("own", [0, 1_000_000])
def test_a_collector_that_looks_more_rarely_or_never_is_left_alone(usual: tuple[int, int, int], own: int) -> None:
    gc.set_threshold(own, 5, 5)
    with collected_rarely():
        assert gc.get_threshold() == (own, 5, 5)
    assert gc.get_threshold() == (own, 5, 5)
