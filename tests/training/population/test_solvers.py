"""Solvers against matrices solved by hand, Kuhn poker's known value, figures of OpenSpiel, and properties."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

pytest.importorskip("scipy")

from coterie.errors import UsageError
from coterie.training.population.solvers import META_SOLVERS, alpha_rank, nash, rectified, uniform

ROCK_PAPER_SCISSORS = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], np.float64)
BIASED = np.array([[0, -0.5, 1], [0.5, 0, -0.1], [-1, 0.1, 0]])
FOUR = np.array([[0, -0.3, 0.6, 0.1], [0.3, 0, -0.2, 0.4], [-0.6, 0.2, 0, 0.5], [-0.1, -0.4, -0.5, 0]])
HAWK_AND_DOVE = np.array([[-1, 4], [0, 2]], np.float64)
PENNIES = np.array([[1, -1], [-1, 2], [0, 0.5]])

numbers = st.integers(-4, 4).map(float)
tables = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=numbers)
)
squares = st.integers(1, 7).flatmap(lambda n: arrays(np.float64, (n, n), elements=numbers))
symmetric = squares.map(lambda table: table - table.T)


@pytest.mark.parametrize(
    ("payoff", "row", "column", "value"),
    [
        ([[0.0]], [1], [1], 0),
        ([[1, 2], [3, 0]], [3 / 4, 1 / 4], [1 / 2, 1 / 2], 3 / 2),
        ([[2, -1], [-1, 1]], [2 / 5, 3 / 5], [2 / 5, 3 / 5], 1 / 5),
        ([[4, 2, 3], [1, 0, 9]], [1, 0], [0, 1, 0], 2),  # a saddle
        ([[1, 0], [0, 1], [-5, -5]], [1 / 2, 1 / 2, 0], [1 / 2, 1 / 2], 1 / 2),
        (ROCK_PAPER_SCISSORS, [1 / 3] * 3, [1 / 3] * 3, 0),
        (ROCK_PAPER_SCISSORS / 2 + 1 / 2, [1 / 3] * 3, [1 / 3] * 3, 1 / 2),  # as win rates
        (BIASED, [0.1 / 1.6, 1 / 1.6, 0.5 / 1.6], [0.1 / 1.6, 1 / 1.6, 0.5 / 1.6], 0),
        (np.zeros((2, 5)), [1 / 2] * 2, [1 / 5] * 5, 0),
        ([[1, 1, 0], [1, 1, 2]], [1 / 2, 1 / 2], [1 / 2, 1 / 2, 0], 1),
        (1e-7 * BIASED, [0.1 / 1.6, 1 / 1.6, 0.5 / 1.6], [0.1 / 1.6, 1 / 1.6, 0.5 / 1.6], 0),
        ([[1e6, 0], [0, 1]], [1e-6, 1], [1e-6, 1], 1),
    ],
)
def test_matrices_solved_by_hand(payoff, row, column, value):
    found = nash(payoff)
    np.testing.assert_allclose(found[0], row, atol=2e-6)
    np.testing.assert_allclose(found[1], column, atol=2e-6)
    assert found[2] == pytest.approx(value, abs=2e-6)


def test_copies_of_a_player_share_its_weight():
    """Nash averaging (Balduzzi et al. 2018, property P3): a second scissors changes nothing for rock and paper."""
    who = [0, 1, 2, 2]
    row, _, value = nash(ROCK_PAPER_SCISSORS[np.ix_(who, who)])
    np.testing.assert_allclose(row, [1 / 3, 1 / 3, 1 / 6, 1 / 6], atol=1e-6)
    assert value == 0


def test_of_many_equilibria_the_most_mixed():
    """First beats third, all else is drawn: the equilibria are (p, 1 - p - q, q) with q = 0, and (p, 1 - p, 0) is most
    mixed at 1/2. A fourth that draws against all but the third takes its share."""
    table = np.array([[0, 0, 1], [0, 0, 0], [-1, 0, 0]])
    np.testing.assert_allclose(nash(table)[0], [1 / 2, 1 / 2, 0], atol=1e-6)
    # Two cycles of three that draw against each other, each with a free share; the most mixed is uniform.
    two = np.kron(np.eye(2), ROCK_PAPER_SCISSORS)
    np.testing.assert_allclose(nash(two)[0], np.full(6, 1 / 6), atol=1e-6)


def test_most_mixed_within_inequalities():
    """Columns allow every p >= 0.7 of the first row and nothing pays more; entropy wants 1/2, so p is 0.7."""
    row, _, value = nash([[0, 0.3], [0, -0.7]])
    assert value == pytest.approx(0, abs=1e-8)
    np.testing.assert_allclose(row, [0.7, 0.3], atol=1e-5)


def kuhn() -> np.ndarray:
    """[27, 64] Kuhn poker as a matrix: the first player's bet, check and fold, check and call for each card; the
    second's answers to a check and to a bet for each card."""
    firsts = list(itertools.product(("bet", "fold", "call"), repeat=3))
    seconds = list(itertools.product(itertools.product((False, True), repeat=2), repeat=3))
    table = np.zeros((len(firsts), len(seconds)))
    for (i, first), (j, second) in itertools.product(enumerate(firsts), enumerate(seconds)):
        for one, two in itertools.permutations(range(3), 2):
            sign = 1 if one > two else -1
            bets, calls = second[two]
            if first[one] == "bet":
                gain = 2 * sign if calls else 1
            elif not bets:
                gain = sign
            else:
                gain = 2 * sign if first[one] == "call" else -1
            table[i, j] += gain / 6
    return table


def test_kuhn_poker_is_worth_minus_one_eighteenth():
    table = kuhn()
    row, column, value = nash(table)
    assert value == pytest.approx(-1 / 18, abs=1e-7)
    assert (row @ table).min() == pytest.approx(-1 / 18, abs=1e-7)
    assert (table @ column).max() == pytest.approx(-1 / 18, abs=1e-7)


@settings(max_examples=150, deadline=None)
@given(tables)
def test_nobody_gains_by_deviating(table):
    row, column, value = nash(table)
    assert row.min() >= 0
    assert column.min() >= 0
    assert row.sum() == pytest.approx(1)
    assert column.sum() == pytest.approx(1)
    assert table.max(1).min() >= table.min() - 1e-6
    assert table.min(1).max() - 1e-6 <= value <= table.max(0).min() + 1e-6  # between the pure values
    assert (row @ table).min() >= value - 1e-6
    assert (table @ column).max() <= value + 1e-6


@settings(max_examples=100, deadline=None)
@given(symmetric, st.randoms(use_true_random=False))
def test_names_and_order_do_not_matter(table, random):
    order = list(range(len(table)))
    random.shuffle(order)
    moved = table[np.ix_(order, order)]
    np.testing.assert_allclose(nash(moved)[0], nash(table)[0][order], atol=1e-4)
    np.testing.assert_allclose(alpha_rank(moved), alpha_rank(table)[order], atol=1e-9)
    for solve in META_SOLVERS.values():
        weights, opponents = solve(table)
        assert weights.shape == (len(table),)
        assert opponents.shape == table.shape
        np.testing.assert_allclose(opponents.sum(1), 1)
        np.testing.assert_allclose(solve(moved).weights, weights[order], atol=1e-4)


@settings(max_examples=60, deadline=None)
@given(symmetric, st.floats(0.1, 5))
def test_no_equilibrium_in_reach_is_more_mixed(table, scale):
    """Entropy against that of mixtures of the equilibrium and equilibria found by other linear programs."""
    from scipy.optimize import linprog

    row = nash(table * scale)[0]
    best = -sum(p * math.log(p) for p in row if p > 0)
    for k in range(len(table)):
        aim = -np.eye(len(table))[k]
        other = linprog(aim, A_ub=-table.T, b_ub=np.zeros(len(table)), A_eq=np.ones((1, len(table))), b_eq=[1]).x
        for share in (0.01, 0.1, 0.5, 1):
            mixed = (1 - share) * row + share * np.maximum(other, 0)
            assert -sum(p * math.log(p) for p in mixed if p > 0) <= best + 1e-5


# Figures of OpenSpiel 2.0.2: alpharank.compute([payoff], m=population, alpha=alpha) of open_spiel.python.egt, or with
# use_inf_alpha=True, inf_alpha_eps=noise; the last of what it returns but one. The test below makes them anew where
# OpenSpiel is installed.
OPEN_SPIEL = [
    ((BIASED,), {"population": 50, "alpha": 0.1}, [0.2129555278, 0.6771471685, 0.1098973037]),
    ((BIASED,), {"population": 10, "alpha": 1.5}, [0.2118343999, 0.6149758379, 0.1731897622]),
    ((FOUR,), {"population": 50, "alpha": 0.1}, [0.3263871511, 0.4590027971, 0.1917952912, 0.0228147606]),
    ((FOUR,), {"noise": 0.01}, [0.3322147651, 0.3322147651, 0.3322147651, 0.0033557047]),
    ((HAWK_AND_DOVE,), {"population": 50, "alpha": 0.1}, [0.9999999969, 0.0000000031]),
    ((HAWK_AND_DOVE,), {"noise": 0.01}, [0.99, 0.01]),
    (
        (PENNIES, -PENNIES),
        {"population": 10, "alpha": 0.5},
        [[0.259989611, 0.1259967445], [0.1435577492, 0.1889222877], [0.1887140604, 0.0928195472]],
    ),
    (
        (PENNIES, -PENNIES),
        {"noise": 0.01},
        [[0.2838617147, 0.1426514633], [0.1079938839, 0.2123915121], [0.180161487, 0.072939939]],
    ),
    (
        ([[3, 0], [0, 2]], [[2, 0], [0, 3]]),  # battle of the sexes
        {"population": 50, "alpha": 0.1},
        [[0.4999860343, 0.000027725], [0.0000002065, 0.4999860342]],
    ),
]


@pytest.mark.parametrize(("payoffs", "options", "shares"), OPEN_SPIEL)
def test_alpha_rank_is_that_of_open_spiel(payoffs, options, shares):
    np.testing.assert_allclose(alpha_rank(*payoffs, **options), shares, atol=2e-9)


def test_alpha_rank_of_three_populations_is_that_of_open_spiel():
    random = np.random.RandomState(0)
    payoffs = [random.randint(-2, 3, (2, 2, 3)) for _ in range(3)]
    shares = [
        [[0.2019878733, 0.1716429151, 0.0128202683], [0.0101920941, 0.1144194876, 0.0370147376]],
        [[0.2018344954, 0.0953808027, 0.1151798114], [0.0125115451, 0.0124738112, 0.0145421583]],
    ]
    np.testing.assert_allclose(alpha_rank(*payoffs, noise=0.05), shares, atol=2e-9)


@pytest.mark.parametrize(("payoffs", "options", "shares"), OPEN_SPIEL)
def test_figures_of_open_spiel_where_it_is_installed(payoffs, options, shares):
    oracle = pytest.importorskip("open_spiel.python.egt.alpharank")
    words = {"m": options.get("population", 50), "alpha": options.get("alpha", 1.0)}
    if "noise" in options:
        words |= {"use_inf_alpha": True, "inf_alpha_eps": options["noise"]}
    found = oracle.compute([np.array(p, np.float64) for p in payoffs], **words)[2]
    np.testing.assert_allclose(found, np.ravel(shares), atol=2e-9)


def test_alpha_rank_of_cycles_and_of_a_ladder():
    np.testing.assert_allclose(alpha_rank(ROCK_PAPER_SCISSORS), 1 / 3)
    np.testing.assert_allclose(alpha_rank(ROCK_PAPER_SCISSORS, -ROCK_PAPER_SCISSORS), 1 / 9)
    ladder = np.sign(np.subtract.outer(range(4), range(4)).astype(float))  # the last beats all
    shares = alpha_rank(ladder, noise=0.001)
    assert (np.diff(shares) > 0).all()
    assert shares[-1] > 0.99
    # Strong selection in a large population: what spreads against an advantage is smaller than a float.
    assert alpha_rank(ladder, alpha=1e4)[-1] == pytest.approx(1)
    assert alpha_rank([[5.0]]) == pytest.approx([1])


def test_rectified_players_meet_those_of_the_mixture_they_do_not_lose_to():
    weights, opponents = rectified(ROCK_PAPER_SCISSORS)
    np.testing.assert_allclose(weights, 1 / 3)
    np.testing.assert_allclose(opponents, [[0.5, 0, 0.5], [0.5, 0.5, 0], [0, 0.5, 0.5]], atol=1e-7)
    weights, opponents = rectified([[0, 1], [-1, 0]])
    np.testing.assert_allclose(weights, [1, 0], atol=1e-7)
    np.testing.assert_allclose(opponents, [[1, 0], [1, 0]], atol=1e-7)  # the loser has nobody it beats


def test_uniform_is_uniform():
    weights, opponents = uniform(np.zeros((2, 4)))
    assert weights.tolist() == [0.5, 0.5]
    assert opponents.tolist() == [[0.25] * 4] * 2


@pytest.mark.parametrize("payoff", [[], [1.0, 2.0], [[0, math.nan]], [[math.inf]], np.zeros((0, 3))])
def test_what_is_not_a_matrix_is_told(payoff):
    for solve in (nash, alpha_rank, *META_SOLVERS.values()):
        with pytest.raises(UsageError, match="finite numbers, with at least one player"):
            solve(payoff)


def test_shapes_and_settings_that_do_not_fit_are_told():
    with pytest.raises(UsageError, match="one square matrix"):
        alpha_rank(np.zeros((2, 3)))
    with pytest.raises(UsageError, match="all of one shape"):
        alpha_rank(np.zeros((2, 3)), np.zeros((3, 2)))
    for bad in ({"alpha": 0}, {"population": 1}, {"noise": 0}, {"noise": 0.5}):
        with pytest.raises(UsageError, match="above 0"):
            alpha_rank(ROCK_PAPER_SCISSORS, **bad)
