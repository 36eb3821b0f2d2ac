"""Credit against hand-made numbers, slow loops and TRL's formula."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.errors import UsageError
from coterie.training.data import credit


def test_group_index_numbers_keys_in_order_of_appearance() -> None:
    assert credit.group_index([("a", 0), ("b", 0), ("a", 0), ("a", 1)]).tolist() == [0, 1, 0, 2]


def test_check_groups_accepts_any_numbering_of_the_same_partition() -> None:
    credit.check_groups([7, 3, 7], ["x", "y", "x"])


@pytest.mark.parametrize(
    ("groups", "message"), [([0, 0, 1], "is in group 0, which began"), ([0, 1, 2], "Key 'x' is in group 0 and")]
)
def test_check_groups_catches_a_wrong_index(groups: list[int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        credit.check_groups(groups, ["x", "y", "x"])


def test_check_groups_catches_positions_in_the_batch_taken_for_keys() -> None:
    keys = [(opening, seat) for opening in range(4) for seat in range(2)] * 3
    by_place = np.arange(len(keys)) // 3  # "every three rows are a group": the mistake that goes unnoticed
    with pytest.raises(UsageError):
        credit.check_groups(by_place, keys)
    credit.check_groups(credit.group_index(keys), keys)


def test_grpo_by_hand() -> None:
    got = credit.grpo([1, -1, 0, 0, 5, 5], [0, 0, 0, 0, 1, 1])
    deviation = np.sqrt(2 / 3) + 1e-4
    assert got.advantages == pytest.approx([1 / deviation, -1 / deviation, 0, 0, 0, 0])
    assert got.keep.tolist() == [True, True, True, True, False, False]
    assert (got.groups, got.flat_groups, got.kept_groups) == (2, 1, 0.5)


def test_grpo_counts_each_trajectory_once() -> None:
    rewards, groups, trajectories = [1, 1, 1, -1], [0, 0, 0, 0], [4, 4, 4, 2]
    assert credit.grpo(rewards, groups, scale="none", trajectories=trajectories).advantages.tolist() == [1, 1, 1, -1]
    assert credit.grpo(rewards, groups, scale="none").advantages.tolist() == [0.5, 0.5, 0.5, -1.5]


@pytest.mark.parametrize("what", ["rewards", "groups"])
def test_grpo_refuses_a_trajectory_in_two_minds(what: str) -> None:
    rewards = [1, 0] if what == "rewards" else [1, 1]
    groups = [0, 0] if what == "rewards" else [0, 1]
    with pytest.raises(UsageError, match=f"Trajectory 9 has two different {what}"):
        credit.grpo(rewards, groups, trajectories=[9, 9])


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_grpo_is_trls_formula_on_equal_groups(scale: credit.Scale) -> None:
    torch = pytest.importorskip("torch")
    rewards = np.random.default_rng(0).normal(size=(5, 8))
    table = torch.tensor(rewards)
    expected = table - table.mean(1, keepdim=True)
    if scale != "none":
        expected = expected / ((table.std(1, keepdim=True) if scale == "group" else table.std()) + 1e-4)
    got = credit.grpo(rewards.reshape(-1), np.repeat(np.arange(5), 8), scale=scale)
    np.testing.assert_allclose(got.advantages, expected.reshape(-1).numpy(), atol=1e-12)


def test_grpo_single_member_has_no_say() -> None:
    got = credit.grpo([3.0], [0])
    assert got.advantages.tolist() == [0.0]
    assert not got.keep.any()


@pytest.mark.parametrize("function", [credit.grpo, credit.turn_level, credit.sibling])
def test_empty_batches(function: object) -> None:
    got = function([], np.zeros(0, int))  # type: ignore[operator]
    assert got.advantages.shape == (0,)
    assert got.kept_groups == 0.0


def test_by_state_by_hand() -> None:
    returns = [1, -1, 0, 1, 1, -1, 1, 1, 1]
    keys = [5, 5, 5, 5, 6, 7, 8, 8, 8]
    seats = [0, 0, 0, 1, 1, 1, 0, 0, 0]
    got = credit.by_state(returns, keys, seats)
    third = 1 / 3  # the mean of seat 1: (1 + 1 - 1) / 3, where no position has three visits
    assert got.advantages == pytest.approx([1, -1, 0, 1 - third, 1 - third, -1 - third, 0, 0, 0])
    assert got.keep.tolist() == [True] * 6 + [False] * 3
    assert (got.groups, got.flat_groups) == (3, 1)


def test_by_state_never_mixes_seats() -> None:
    got = credit.by_state([1, 1, 1, -1, -1, -1], [5] * 6, [0, 0, 0, 1, 1, 1])
    assert not got.keep.any()
    assert not got.advantages.any()


def test_by_state_takes_full_64_bit_keys() -> None:
    top = np.array([2**64 - 1, 2**64 - 2] * 3, np.uint64)
    got = credit.by_state([1, 0, 0, 0, 0, 0], top, [0] * 6)
    assert got.advantages == pytest.approx([2 / 3, 0, -1 / 3, 0, -1 / 3, 0])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(0, 5), st.integers(0, 1)), min_size=1, max_size=40))
def test_by_state_against_a_slow_loop(rows: list[tuple[int, int, int]]) -> None:
    returns, keys, seats = zip(*rows, strict=True)
    got = credit.by_state(returns, keys, seats)
    for d, (value, key, seat) in enumerate(rows):
        visits = [r for r, k, s in rows if (k, s) == (key, seat)]
        peers = visits if len(visits) >= 3 else [r for r, _, s in rows if s == seat]
        assert got.keep[d] == (len(set(peers)) > 1)
        assert got.advantages[d] == pytest.approx(value - np.mean(peers) if got.keep[d] else 0.0)


def test_by_state_is_unchanged_by_the_order_of_the_batch() -> None:
    rng = np.random.default_rng(1)
    returns, keys, seats = rng.integers(-1, 2, 300), rng.integers(0, 40, 300), rng.integers(0, 2, 300)
    order = rng.permutation(300)
    straight = credit.by_state(returns, keys, seats).advantages
    shuffled = credit.by_state(returns[order], keys[order], seats[order]).advantages
    np.testing.assert_allclose(shuffled, straight[order], atol=1e-12)


def test_sibling_compares_only_what_was_branched() -> None:
    got = credit.sibling([1, 0, 7, -1, -1], [3, 3, -1, 4, 4])
    assert got.advantages == pytest.approx([0.5, -0.5, 0, 0, 0])
    assert got.keep.tolist() == [True, True, False, False, False]
    assert got.kept_groups == 0.5


def test_turn_level_normalises_each_role() -> None:
    got = credit.turn_level([1, 2, 3, 10, 20, 30], [0, 0, 0, 1, 1, 1])
    assert got.advantages == pytest.approx([-1, 0, 1, -1, 0, 1], abs=1e-3)


def test_constant() -> None:
    assert credit.constant([1, 0, -1]).advantages.tolist() == [1, 0, -1]
    assert credit.constant([1, 0, -1]).keep.tolist() == [True, False, True]
    assert credit.constant([1, 0, -1], positive_only=True).keep.tolist() == [True, False, False]
    assert credit.constant([2, 2], baseline=2).kept_groups == 0.0


def test_role_baseline_judges_by_the_mean_before_the_game() -> None:
    baseline = credit.RoleBaseline(decay=0.5)
    got = baseline.advantages([1, 1, 1, -1], ["x", "x", "x", "o"], trajectories=[0, 0, 1, 2])
    assert got.advantages.tolist() == [1, 1, 0.5, -1]  # 0, 0 (same game), 0.5 after it; o starts at 0
    assert baseline.means == {"x": 0.75, "o": -0.5}


def test_role_baseline_survives_json() -> None:
    rng = np.random.default_rng(2)
    first = credit.RoleBaseline()
    first.advantages(rng.normal(size=20), ["a", "b"] * 10)
    second = credit.RoleBaseline(decay=0.1)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    returns = rng.normal(size=6)
    expected = first.advantages(returns, ["a", "b"] * 3).advantages
    assert (second.advantages(returns, ["a", "b"] * 3).advantages == expected).all()


def test_discounted_runs_within_trajectories() -> None:
    got = credit.discounted([0, 9, 1, 0], [0, 1, 0, 1], gamma=0.5)
    assert got.tolist() == [0.5, 9, 1, 0]


def test_gae_ends_are_monte_carlo_and_one_step() -> None:
    rewards, values, ended = [0.0, 0.0, 1.0, -1.0], [0.2, 0.4, 0.5, 0.1, 7.0], [False, False, True, True]
    far = credit.gae(rewards, values, ended, lam=1.0)
    assert far == pytest.approx([0.8, 0.6, 0.5, -1.1])
    near = credit.gae(rewards, values, ended, gamma=0.9, lam=0.0)
    assert near == pytest.approx([0.9 * 0.4 - 0.2, 0.9 * 0.5 - 0.4, 0.5, -1.1])


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 9), st.integers(0, 2**32 - 1), st.floats(0.5, 1.0), st.floats(0.0, 1.0))
def test_gae_is_the_sum_of_the_paper(ticks: int, seed: int, gamma: float, lam: float) -> None:
    rng = np.random.default_rng(seed)
    reward, value, ended = rng.normal(size=(ticks, 2)), rng.normal(size=(ticks + 1, 2)), rng.random((ticks, 2)) < 0.3
    found = credit.gae(reward, value, ended, gamma=gamma, lam=lam)
    for row in range(2):
        for t in range(ticks):
            total, factor = 0.0, 1.0
            for k in range(t, ticks):
                ahead = 0.0 if ended[k, row] else value[k + 1, row]
                total += factor * (reward[k, row] + gamma * ahead - value[k, row])
                factor *= gamma * lam
                if ended[k, row]:
                    break
            assert found[t, row] == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: credit.grpo([1, 2], [0]), "Lengths differ: rewards 2, groups 1"),
        (lambda: credit.grpo([1, np.nan], [0, 0]), r"rewards\[1\] is nan"),
        (lambda: credit.grpo([1, 2], [0, 0], scale="std"), "scale 'std'"),  # type: ignore[arg-type]
        (lambda: credit.grpo([1, 2], [0.5, 0]), "give integers"),
        (lambda: credit.gae([1.0, 2.0], [0.0, 0.0], [False, True]), r"values \[2\]"),
        (lambda: credit.grpo([[1, 2]], [0, 0]), r"shape \[1, 2\]"),
        (lambda: credit.by_state([1], [1], [0], min_visits=0), "at least one visit"),
        (lambda: credit.discounted([1.0, 2.0], [0, 0], left=[0]), "Lengths differ: left 1, trajectories 2"),
        (lambda: credit.RoleBaseline(1.0), "decay is 1.0"),
    ],
)
def test_bad_input_is_named(call: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()  # type: ignore[operator]


def test_five_thousand_decisions_take_no_time_to_speak_of() -> None:
    import time

    rng = np.random.default_rng(3)
    args = rng.integers(-1, 2, 5000), rng.integers(0, 800, 5000, dtype=np.uint64), rng.integers(0, 2, 5000)
    credit.by_state(*args)
    start = time.perf_counter()
    credit.by_state(*args)
    assert time.perf_counter() - start < 2.0  # vectorised; a loop over pairs would take minutes


# -- pooled ------------------------------------------------------------------------------------------------------------


def test_pooled_shares_what_games_did_after_a_position_that_they_share():
    # Three games of two decisions; all pass through position 9 with their second, which pays 1, 1 and -2.
    rewards, games = [0, 1, 0, 1, 0, -2], [0, 0, 1, 1, 2, 2]
    keys, seats = np.array([1, 9, 2, 9, 3, 9], np.uint64), [0] * 6
    values = credit.pooled(rewards, games, keys, seats, lam=0.0)
    np.testing.assert_allclose(values, [0, 1, 0, 1, 0, -2])  # the mean of 9 is 0
    half = credit.pooled(rewards, games, keys, seats, lam=0.5, gamma=0.5)
    np.testing.assert_allclose(half, [0.25, 1, 0.25, 1, -0.5, -2])
    np.testing.assert_allclose(credit.pooled(rewards, games, keys, seats, lam=1.0), [1, 1, 1, 1, -2, -2])
    # Two visits are too few for a value: each game keeps its own outcome.
    np.testing.assert_allclose(credit.pooled(rewards, games, keys, seats, lam=0.0, min_visits=4), [1, 1, 1, 1, -2, -2])
    # The other seat's visits are others.
    split = credit.pooled(rewards, games, keys, [0, 0, 0, 0, 1, 1], lam=0.0, min_visits=2)
    np.testing.assert_allclose(split, [1, 1, 1, 1, -2, -2])


def test_pooled_is_the_value_of_the_chain_that_the_batch_describes():
    """Two routes meet twice; with lam 0 each decision is worth what the empirical chain says, solved by hand."""
    games = np.repeat(np.arange(4), 3)
    keys = np.array([1, 5, 8, 1, 6, 8, 2, 5, 8, 2, 6, 8], np.uint64)
    rewards = np.array([0, 0, 1, 0, 0, -1, 0, 0.5, 1, 0, 0, 1])
    found = credit.pooled(rewards, games, keys, np.zeros(12, int), lam=0.0, min_visits=2)
    eight = 0.5  # the mean of 1, -1, 1, 1
    five, six = (eight + 0.5 + eight) / 2, eight
    np.testing.assert_allclose(found[1::3], [eight, eight, 0.5 + eight, eight])
    np.testing.assert_allclose(found[0::3], [five, six, five, six])


def test_pooled_refuses_what_makes_no_sense():
    with pytest.raises(UsageError, match="lam is 2"):
        credit.pooled([0.0], [0], np.zeros(1, np.uint64), [0], lam=2.0)
    assert credit.pooled([], [], np.zeros(0, np.uint64), [], lam=0.5).size == 0
