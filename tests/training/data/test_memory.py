"""What is remembered of positions, and what that changes in credit."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.errors import UsageError
from coterie.training.data import credit
from coterie.training.data.memory import PositionMemory

KEYS = np.array([7, 2**63 + 5, 7], np.uint64)  # a key is any 64 bits


def test_what_is_remembered_fades_and_is_forgotten():
    memory = PositionMemory(0.5)
    assert [x.tolist() for x in memory.recall("a/0", KEYS)] == [[0, 0, 0], [0, 0, 0]]
    memory.learn("a/0", KEYS, np.array([1.0, -1.0, 0.5]))
    sums, visits = memory.recall("a/0", KEYS)
    assert sums.tolist() == [0.75, -0.5, 0.75]
    assert visits.tolist() == [1.0, 0.5, 1.0]
    memory.learn("a/0", KEYS[:1], np.array([1.0]))
    sums, visits = memory.recall("a/0", np.array([2**63 + 5, 7, 8], np.uint64))
    assert sums.tolist() == [-0.25, 0.5 * 1.75, 0.0]
    assert visits.tolist() == [0.25, 1.0, 0.0]
    for _ in range(2):
        memory.learn("a/0", KEYS[:1], np.array([0.0]))
    assert memory.recall("a/0", KEYS[1:2])[1].tolist() == [0.0]  # 0.0625 of a visit
    assert memory.recall("b/0", KEYS)[1].tolist() == [0, 0, 0]  # roles don't mix


def test_a_memory_goes_through_a_checkpoint(tmp_path):
    torch = pytest.importorskip("torch")
    memory = PositionMemory(0.9)
    memory.learn("a/0", KEYS, np.array([1.0, -1.0, 0.5]))
    torch.save(memory.state_dict(), tmp_path / "memory.pt")
    memory.learn("a/0", KEYS, np.zeros(3))  # what was saved does not change with it
    again = PositionMemory(0.9)
    again.load_state_dict(torch.load(tmp_path / "memory.pt", weights_only=True))
    assert [x.tolist() for x in again.recall("a/0", KEYS[:2])] == [[1.35, -0.9], [1.8, 0.9]]


def test_nothing_is_kept_where_nothing_is_asked_for():
    memory = PositionMemory(0.0)
    memory.learn("a/0", KEYS, np.ones(3))
    assert memory.state_dict() == {}
    with pytest.raises(UsageError, match="memory is 1"):
        PositionMemory(1.0)


def test_a_position_met_once_is_judged_by_its_earlier_visits():
    """Without a memory a draw (0) in a lost position looks bad beside the seat's mean; with one it looks good."""
    returns, keys, seats = np.array([0.0, 1.0, 1.0, 1.0]), np.array([1, 2, 2, 2], np.uint64), np.zeros(4, int)
    alone = credit.by_state(returns, keys, seats)
    np.testing.assert_allclose(alone.advantages, [-0.75, 0, 0, 0])
    past = np.array([-3.0, 0, 0, 0]), np.array([3.0, 0, 0, 0])
    found = credit.by_state(returns, keys, seats, past=past)
    np.testing.assert_allclose(found.advantages, [0.75, 0, 0, 0])  # the mean of -1, -1, -1 and 0 is -0.75
    assert found.keep.tolist() == [True, False, False, False]


def test_earlier_visits_count_in_the_values_of_next_positions():
    rewards, games = [0, 1, 0, -1], [0, 0, 1, 1]
    keys, seats = np.array([1, 9, 2, 8], np.uint64), [0] * 4
    past = np.array([0, 2.0, 0, 0]), np.array([0, 2.0, 0, 0])
    found = credit.pooled(rewards, games, keys, seats, lam=0.0, past=past)
    np.testing.assert_allclose(found, [1, 1, -1, -1])  # 9 is worth (1 + 2) / 3; 8 is met once and passes on its own


def test_kept_groups_are_those_in_which_something_is_judged_by_memory_too():
    """Two of three positions came once in this batch; one of them did as well as its memory says, one did not."""
    returns, keys = np.array([0.0, 1.0, 1.0, -1.0, 0.0]), np.array([1, 2, 3, 3, 3], np.uint64)
    past = np.array([-3.0, 3.0, 0, 0, 0]), np.array([3.0, 3.0, 0, 0, 0])
    found = credit.by_state(returns, keys, np.zeros(5, int), past=past)
    assert found.keep.tolist() == [True, False, True, True, True]
    assert (found.groups, found.flat_groups) == (3, 1)
    assert found.kept_groups == 2 / 3  # by the batch's own variance it would be one
