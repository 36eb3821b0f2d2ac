"""Sharing: against formulas written as dense matrices, conserved sums, the rule for the dead, and what is refused."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.envs.kinship import Families, Groups, Matrix, Pedigree, Prestige, Relatedness, Teams, share
from coterie.errors import UsageError

EPS = np.finfo(float).eps


def team_matrix(labels, parts, alive):
    """K of pooled labels, entry by entry: [i, j] is the part of j's reward that i receives. ``parts`` by label."""
    P = len(labels)
    K = np.zeros((P, P))
    for j in range(P):
        if labels[j] is None or not alive[j]:
            K[j, j] = 1
            continue
        members = [i for i in range(P) if labels[i] == labels[j] and alive[i]]
        for i in members:
            K[i, j] += parts[labels[j]] / len(members)
        K[j, j] += 1 - parts[labels[j]]
    return K


rewards_of = st.floats(-1e6, 1e6, allow_nan=False)
part = st.floats(0, 1)


@st.composite
def groups(draw, most=12):
    """(rewards, labels, {label: part}, alive)"""
    P = draw(st.integers(1, most))
    labels = draw(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=P, max_size=P))
    parts = {label: draw(part) for label in "abc"}
    alive = draw(st.lists(st.booleans(), min_size=P, max_size=P))
    return draw(st.lists(rewards_of, min_size=P, max_size=P)), labels, parts, alive


@settings(deadline=None)
@given(groups())
def test_groups_are_their_matrix(game):
    rewards, labels, parts, alive = game
    K = team_matrix(labels, parts, alive)
    assert np.allclose(K.sum(0), 1)
    assert np.allclose(share(rewards, Groups(labels, parts), alive), K @ rewards, atol=1e-8)


@settings(deadline=None)
@given(groups(), part)
def test_teams_are_their_matrix(game, p):
    rewards, labels, _, alive = game
    K = team_matrix(labels, dict.fromkeys("abc", p), alive)
    assert np.allclose(share(rewards, Teams(labels, p=p), alive), K @ rewards, atol=1e-8)


@settings(deadline=None)
@given(st.integers(1, 20), st.integers(1, 8), part, st.integers(0, 2**64 - 1))
def test_families_are_teams_drawn_by_lot(players, size, p, seed):
    rewards = np.arange(players) - 2.0
    for families, sizes in (
        (Families(size=size, p=p, seed=seed), [size] * (players // size) + [players % size] * (players % size > 0)),
        (Families(number=size, p=p, seed=seed), [len(x) for x in np.array_split(rewards, min(size, players))]),
    ):
        labels, parts = families.tables(players)
        assert sorted(np.bincount(labels), reverse=True) == sizes
        assert parts.tolist() == [p] * len(sizes)
        K = team_matrix(labels.tolist(), parts, [True] * players)
        assert np.allclose(share(rewards, families), K @ rewards)


def test_partitions_are_uniform():
    """Four players in two families of two: three partitions, each a third of the seeds."""
    partner = [int(np.flatnonzero(labels == labels[0])[1]) for labels in seeds(Families, 3000, size=2)]
    assert (np.bincount(partner, minlength=4)[1:] > 900).all()
    assert [x.tolist() for x in seeds(Families, 20, size=2)] == [x.tolist() for x in seeds(Families, 20, size=2)]


def seeds(mode, n, **how):
    return [mode(seed=seed, **how).tables(4)[0] for seed in range(n)]


@settings(deadline=None)
@given(st.data())
def test_matrix_is_its_formula(data):
    P = data.draw(st.integers(1, 6))
    square = st.lists(st.lists(st.floats(0, 10), min_size=P, max_size=P), min_size=P, max_size=P)
    weights = np.array(data.draw(square))
    weights[weights < 1e-3] = 0
    rewards = np.array(data.draw(st.lists(rewards_of, min_size=P, max_size=P)))
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=P, max_size=P)))
    for normalise in (True, False):
        K = weights.copy()
        for i in range(P):
            if normalise and K[i].sum() > 0:
                K[i] /= K[i].sum()
        expected = np.zeros(P)
        for j in range(P):
            for i in range(P):
                receiver = i if alive[i] and alive[j] else j
                if alive[j]:
                    expected[receiver] += K[i, j] * rewards[j]
            if not alive[j]:
                expected[j] = rewards[j]
        assert np.allclose(share(rewards, Matrix(weights, normalise), alive), expected, atol=1e-6)


def test_matrix_rows_of_zeros_receive_nothing():
    assert share([3.0, 4.0], Matrix([[0, 0], [1, 3]])).tolist() == [0.0, 3.75]
    assert share([3.0], Matrix([[0]])).tolist() == [0.0]


def test_a_conserving_matrix_conserves():
    K = np.array([[0.5, 0.25, 0.0], [0.25, 0.5, 0.5], [0.25, 0.25, 0.5]])
    for alive in ([True] * 3, [True, False, True], [False, False, True]):
        assert share([1.0, 2.0, 4.0], Matrix(K, normalise=False), alive).sum() == 7


@settings(deadline=None)
@given(st.data())
def test_relatedness_is_its_formula(data):
    P = data.draw(st.integers(1, 6))
    R = np.array(data.draw(st.lists(st.lists(st.floats(0, 1), min_size=P, max_size=P), min_size=P, max_size=P)))
    rewards = data.draw(st.lists(rewards_of, min_size=P, max_size=P))
    alive = data.draw(st.lists(st.booleans(), min_size=P, max_size=P))
    for normalise in (True, False):
        expected = list(rewards)
        for i in range(P):
            if alive[i]:
                kin = [j for j in range(P) if j != i and alive[j]]
                expected[i] += sum(R[i, j] * rewards[j] for j in kin)
                expected[i] /= 1 + sum(R[i, j] for j in kin) * normalise
        assert np.allclose(share(rewards, Relatedness(R, normalise), alive), expected, atol=1e-6)


def test_relatedness_from_a_pedigree():
    family = Pedigree(2)
    family.birth(0, 1)
    family.birth(0, 1)
    rewards = [1.0, 0.0, 0.0, 8.0]
    assert share(rewards, Relatedness(family)).tolist() == [5.0, 4.0, 4.5, 8.5]
    family.birth()
    assert share([*rewards, 2.0], Relatedness(family)).tolist() == [5.0, 4.0, 4.5, 8.5, 2.0]


def test_the_inbred_value_others_by_regression():
    """A_ij / A_ii: of what a selfed child has, its parent has all of one half only."""
    line = Pedigree(1)
    line.birth(0, 0)
    assert share([0.0, 3.0], Relatedness(line)).tolist() == [3.0, 3.0]
    assert share([3.0, 0.0], Relatedness(line)).tolist() == [3.0, 2.0]
    assert share([3.0, 0.0], Relatedness([[1, 1], [1, 1.5]])).tolist() == [3.0, 2.0]


# -- conservation ------------------------------------------------------------------------------------------------------

magnitudes = st.floats(1e-200, 1e300).flatmap(lambda x: st.sampled_from([x, -x, 0.0]))


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_sums_are_conserved(data):
    """Exact rational sums: at most 4 eps of the sum of magnitudes is lost, whatever the sizes and signs."""
    P = data.draw(st.integers(1, 60))
    rewards = data.draw(st.lists(st.one_of(magnitudes, rewards_of), min_size=P, max_size=P))
    rewards = [r if abs(r) > 1e-200 else 0.0 for r in rewards]
    labels = data.draw(st.lists(st.sampled_from([0, 1, 2, -1]), min_size=P, max_size=P))
    alive = data.draw(st.one_of(st.none(), st.lists(st.booleans(), min_size=P, max_size=P)))
    p = data.draw(part)
    for mode in (
        Teams(labels, p=p),
        Teams(size=data.draw(st.integers(1, P)), p=p),
        Families(size=data.draw(st.integers(1, P)), p=p, seed=P),
        Groups(labels, [p, 1 - p, 1.0]),
    ):
        assert lost(rewards, share(rewards, mode, alive)) <= 4 * EPS * sum(abs(Fraction(r)) for r in rewards)


@pytest.mark.slow
@pytest.mark.bounds
@pytest.mark.parametrize("players", [1, 7, 1000, 100_000])
@pytest.mark.parametrize("p", [0.1, 1.0])
def test_sums_are_conserved_in_crowds(players, p):
    draw = np.random.default_rng(players)
    for rewards in (
        draw.normal(size=players),
        draw.normal(size=players) * 10.0 ** draw.integers(-100, 100, players),
        np.full(players, 0.1),
        np.where(np.arange(players) % 2, 1e16, -1e16) + draw.normal(size=players),
    ):
        for mode in (Teams(["all"] * players, p=p), Teams(size=3, p=p), Families(number=7, p=p)):
            after = share(rewards, mode)
            assert lost(rewards.tolist(), after) <= 4 * EPS * math.fsum(np.abs(rewards))


def lost(before, after):
    return abs(sum(map(Fraction, after.tolist())) - sum(map(Fraction, before)))


def test_the_largest_numbers_do_not_overflow():
    largest = np.finfo(float).max
    assert share([largest] * 4, Teams(size=4, p=1.0)).tolist() == [largest] * 4
    assert share([largest, -largest], Teams(size=2, p=1.0)).tolist() == [0.0, 0.0]


# -- shapes, purity ----------------------------------------------------------------------------------------------------

MODES = [
    Teams(size=2),
    Teams(["x", "y", "x", None], p=0.3),
    Families(size=3, p=0.8, seed=5),
    Matrix(np.arange(16).reshape(4, 4)),
    Groups([0, 1, 1, 0], [0.5, 1.0]),
    Relatedness(np.full((4, 4), 0.25), normalise=True),
    Relatedness(Pedigree([2, 2])),
]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: type(mode).__name__)
def test_games_side_by_side_are_shared_alone(mode):
    draw = np.random.default_rng(0)
    rewards, alive = draw.normal(size=(5, 4)), draw.random((5, 4)) < 0.7
    before = rewards.copy()
    together = share(rewards, mode, alive)
    assert together.dtype == np.float64
    for n in range(5):
        assert np.allclose(together[n], share(rewards[n].tolist(), mode, alive[n]), rtol=1e-15, atol=1e-15)
    assert np.array_equal(share(rewards, mode, alive[0]), share(rewards, mode, np.tile(alive[0], (5, 1))))
    assert np.array_equal(share(rewards, mode), share(rewards, mode, np.ones(4, bool)))
    assert np.array_equal(rewards, before)
    assert np.array_equal(
        share(rewards.astype(np.float32), mode), share(rewards.astype(np.float32).astype(float), mode)
    )
    assert share(np.zeros((0, 4)), mode).shape == (0, 4)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: type(mode).__name__)
def test_modes_are_pickled(mode):
    rewards = [1.0, 2.0, 4.0, 8.0]
    expected = share(rewards, mode)
    assert np.array_equal(share(rewards, pickle.loads(pickle.dumps(mode))), expected)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: type(mode).__name__)
def test_the_dead_neither_give_nor_take(mode):
    assert share([1.0, 2.0, 4.0, 8.0], mode, [False] * 4).tolist() == [1.0, 2.0, 4.0, 8.0]
    after = share([0.0, 2.0, 0.0, 0.0], mode, [True, False, True, True])
    assert after.tolist() == [0.0, 2.0, 0.0, 0.0]
    assert share([1.0, 0.0, 4.0, 8.0], mode, [True, False, True, True])[1] == 0


def test_records_are_frozen():
    with pytest.raises(AttributeError):
        Teams(size=2).p = 0.1
    with pytest.raises(ValueError, match="read-only"):
        Matrix([[1.0]]).weights[0, 0] = 2
    given = {"ann": 1}
    teams = Teams(given)
    given["ann"] = 2
    assert teams == Teams({"ann": 1})


# -- prestige ----------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=12))
def test_prestige_counts_who_is_below_and_above(agents):
    scores, alive = [s for s, _ in agents], [a for _, a in agents]
    living = [s for s, a in agents if a]
    expected = [
        (sum(x < s for x in living) - sum(x > s for x in living)) / max(1, len(living) - 1) if a else 0.0
        for s, a in agents
    ]
    rewards = Prestige(10).rewards(scores, alive)
    assert np.allclose(rewards, expected)
    assert abs(rewards.sum()) < 1e-12
    assert np.array_equal(Prestige(10).rewards([scores, scores], alive)[1], rewards)


def test_prestige_of_known_ranks():
    assert Prestige().rewards([30, 10, 20]).tolist() == [1.0, -1.0, 0.0]
    assert Prestige().rewards([5, 5, 9]).tolist() == [-0.5, -0.5, 1.0]
    assert Prestige().rewards([7]).tolist() == [0.0]
    assert [step for step in range(10) if Prestige(3).due(step)] == [3, 6, 9]


# -- what is refused ---------------------------------------------------------------------------------------------------

BAD = [
    (lambda: Teams(), "labels or a size"),
    (lambda: Teams(["a"], size=2), "labels or a size"),
    (lambda: Teams(size=2, p=1.5), "p=1.5 must be.*0 to 1"),
    (lambda: Teams(size=2, p=float("nan")), "p=nan"),
    (lambda: Teams(size=2, p="half"), "p='half'"),
    (lambda: Teams(size=0), "size=0 must be"),
    (lambda: Teams(size=2.0), "size=2.0 must be"),
    (lambda: Teams("red"), "labels='red'"),
    (lambda: Teams([["a"], "b"]), r"label \['a'\]"),
    (lambda: share([1, 2, 3], Teams(["a", "b"])), "2 labels for 3 players"),
    (lambda: share([1, 2], Teams({"x": 1, "y": 1})), "by name"),
    (lambda: Families(), "size or a number"),
    (lambda: Families(number=-1), "number=-1"),
    (lambda: Families(size=1, seed=-1), "seed=-1"),
    (lambda: Groups([0, 1], [0.5, 1.1]), "pct of group 1=1.1"),
    (lambda: Groups([0, 1], 0.5), "pct=0.5"),
    (lambda: share([1, 2], Groups(["a", "b"], {"a": 1})), "'b' has no pct.*'a'"),
    (lambda: Matrix([[1, 0]]), r"\[1, 2\].*square"),
    (lambda: Matrix([[1, 0], [1]]), "equally long rows"),
    (lambda: Matrix([[1, -1], [0, 1]]), r"-1 at \[0, 1\]"),
    (lambda: Matrix([[1, math.inf], [0, 1]]), r"inf at \[0, 1\]"),
    (lambda: share([1, 2, 3], Matrix(np.eye(2))), "2 x 2, but there are 3 players"),
    (lambda: share([1, 2], Matrix({"a": {"b": 1}})), "by name"),
    (lambda: Relatedness([[1, 0.5]]), "square"),
    (lambda: Relatedness([[1, 1.2], [0.5, 1]]), r"1.2 at \[0, 1\]"),
    (lambda: Relatedness([[1, -0.1], [0.5, 1]]), r"-0.1 at \[0, 1\]"),
    (lambda: Relatedness([[2.5]]), "2.5"),
    (lambda: Relatedness([[math.nan]]), "nan"),
    (lambda: share([1, 2, 3], Relatedness(Pedigree(2))), "2 x 2, but there are 3"),
    (lambda: Prestige(0), "every=0"),
    (lambda: Prestige(5).rewards([1, math.nan]), "scores must be finite"),
    (lambda: share([1, 2], Prestige(5)), r"Prestige.rewards\(scores\)"),
    (lambda: share([1, 2], Teams), "does not share"),
    (lambda: share([1, 2], "teams"), "'teams' does not share"),
    (lambda: share([1, math.inf], Teams(size=2)), "rewards must be finite; inf"),
    (lambda: share([[[1]]], Teams(size=2)), r"\[P\] or \[N, P\]"),
    (lambda: share("abc", Teams(size=2)), "must be numbers"),
    (lambda: share([1, 2], Teams(size=2), [True]), r"alive has the shape \[1\]"),
    (lambda: share([1, 2], Teams(size=2), [1, 0]), "booleans"),
]


@pytest.mark.parametrize(("call", "said"), BAD, ids=range(len(BAD)))
def test_bad_input_is_one_sentence(call, said):
    with pytest.raises(UsageError, match=said) as error:
        call()
    assert "\n" not in str(error.value)
