"""Ratings against closed forms, the literature's examples, OpenSkill's own rules, and simulated players."""

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
from coterie.training.evaluation.ratings import PRIOR, elo, openskill, parts, rate
from coterie.training.evaluation.table import Meeting, Table

ROCK_PAPER_SCISSORS = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], np.float64)


def table(players: str, results: dict[str, str]) -> Table:
    """A table from results by pair: ``{"ab": "wwdl"}``."""
    meetings = []
    for (a, b), letters in results.items():
        points = np.array([{"w": 1, "d": 0.5, "l": 0}[letter] for letter in letters])
        mean, half = float(points.mean()), 1 / math.sqrt(len(points))
        margin = 2 * mean - 1
        meetings.append(
            Meeting(
                (a, b),
                *(len(letters), len(letters), 0, letters, float(len(letters))),
                *(mean, (max(0, mean - half), min(1, mean + half))),
                *(margin, (margin - 2 * half, margin + 2 * half)),
                (margin, -margin),
            )
        )
    return Table(tuple(players), tuple(meetings))


def test_elo_of_two_players_has_a_closed_form():
    """With the prior: games (p - share) + prior (sigma(r) - 1/2) = 0, and the ratings are r and -r."""
    found = elo(np.array([[0.5, 0.75], [0.25, 0.5]]), np.array([[0, 1e6], [1e6, 0]]))
    gap = 400 * math.log10(3)
    np.testing.assert_allclose(found.rating, [gap / 2, -gap / 2], atol=1e-3)
    # Fisher's information of a gap is games p (1 - p); each rating is half the gap.
    error = 400 / math.log(10) / math.sqrt(1e6 * 0.75 * 0.25) / 2
    np.testing.assert_allclose(found.error, [error, error], rtol=1e-3)
    assert found.misfit == pytest.approx(0, abs=1e-5)


def test_who_won_all_games_has_a_finite_rating_that_grows_with_their_number():
    def gap(games: float) -> float:
        rating = elo(np.array([[0.5, 1], [0, 0.5]]), np.array([[0, games], [games, 0]])).rating
        return float(rating[0] - rating[1])

    assert 0 < gap(2) < gap(20) < gap(2000) < 4000
    x = gap(20) / 2 * math.log(10) / 400  # the score equation, by hand
    sigma = lambda t: 1 / (1 + math.exp(-t))  # noqa: E731
    assert 20 * (1 - sigma(2 * x)) == pytest.approx(PRIOR * (sigma(x) - 0.5), rel=1e-4)


def test_elo_of_a_cycle_is_flat_and_says_that_it_fits_badly():
    found = elo((ROCK_PAPER_SCISSORS + 1) / 2, 100 * (1 - np.eye(3)))
    np.testing.assert_allclose(found.rating, 0, atol=1e-6)
    assert found.misfit == pytest.approx(0.5)
    assert found.noise == pytest.approx(0.05)  # a share of 100 fair games


def test_elos_intervals_hold_the_truth():
    rng, held, all, misfits, noises = np.random.default_rng(0), 0, 0, [], []
    for _ in range(150):
        truth = rng.normal(size=6)
        points, games = np.full((6, 6), 0.5), 60.0 * (1 - np.eye(6))
        for i, j in itertools.combinations(range(6), 2):
            points[i, j] = rng.binomial(60, 1 / (1 + math.exp(truth[j] - truth[i]))) / 60
            points[j, i] = 1 - points[i, j]
        found = elo(points, games)
        truth = (truth - truth.mean()) * 400 / math.log(10)
        held += int((np.abs(found.rating - truth) <= 1.96 * found.error).sum())
        all += 6
        misfits.append(found.misfit)
        noises.append(found.noise)
    assert 0.92 <= held / all <= 0.975
    # 5 of the 15 pairs' freedom went into the ratings.
    assert np.mean(misfits) == pytest.approx(np.mean(noises) * math.sqrt(10 / 15), rel=0.1)


def test_elo_joins_players_that_never_met():
    """a beats b as b beats c; a and c have not met."""
    points = np.array([[0.5, 0.75, 0.5], [0.25, 0.5, 0.75], [0.5, 0.25, 0.5]])
    games = 1e6 * np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    rating = elo(points, games).rating
    np.testing.assert_allclose(rating, [400 * math.log10(3), 0, -400 * math.log10(3)], atol=1e-2)


def test_no_games_no_ratings():
    with pytest.raises(UsageError, match="No games were played"):
        elo(np.full((2, 2), 0.5), np.zeros((2, 2)))
    with pytest.raises(UsageError, match="No games were played"):
        rate(Table(("a", "b"), ()))


def test_openskill_is_the_librarys():
    from openskill.models import PlackettLuce

    model = PlackettLuce(tau=0.0)
    [[a], [b]] = model.rate([[model.rating()], [model.rating()]], ranks=[0, 1])
    found = openskill("ab", table("ab", {"ab": "w"}).meetings)
    np.testing.assert_allclose(found, [[a.mu, a.sigma], [b.mu, b.sigma]])
    lost = openskill("ab", table("ab", {"ba": "l"}).meetings)
    np.testing.assert_allclose(lost, found)


def test_openskill_orders_a_ladder_and_is_surer_with_more_games():
    few = openskill("abc", table("abc", {"ab": "w" * 6, "bc": "w" * 6, "ac": "w" * 6}).meetings)
    many = openskill("abc", table("abc", {"ab": "w" * 60, "bc": "w" * 60, "ac": "w" * 60}).meetings)
    assert few[0, 0] > few[1, 0] > few[2, 0]
    assert (many[:, 1] < few[:, 1]).all()
    assert openskill("ab", []).tolist() == [[25, 25 / 3]] * 2


antisymmetric = (
    st.integers(1, 6)
    .flatmap(lambda n: arrays(np.float64, (n, n), elements=st.floats(-3, 3, allow_subnormal=False)))
    .map(lambda a: a - a.T)
)


@settings(max_examples=80, deadline=None)
@given(antisymmetric)
def test_the_parts_add_up_and_are_orthogonal(payoff):
    found = parts(payoff)
    np.testing.assert_allclose(found.transitive + found.cyclic, payoff, atol=1e-12)
    np.testing.assert_allclose(found.cyclic.sum(1), 0, atol=1e-9)
    assert abs((found.transitive * found.cyclic).sum()) < 1e-9
    assert 0 <= found.share <= 1 + 1e-12
    # What the plane shows is the largest part of rank two.
    shown = found.disc[:, None, 1] * found.disc[None, :, 0] - found.disc[:, None, 0] * found.disc[None, :, 1]
    values = np.linalg.svd(found.cyclic, compute_uv=False)
    if found.flat:
        assert ((found.cyclic - shown) ** 2).sum() == pytest.approx((values[2:] ** 2).sum(), abs=1e-6)
        assert found.flat == pytest.approx((values[:2] ** 2).sum() / (values**2).sum())


def test_a_ladder_is_transitive_and_rock_paper_scissors_cyclic():
    ladder = np.subtract.outer(np.arange(4.0), np.arange(4.0))
    assert parts(ladder).share == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(np.diff(parts(ladder).strength), 1)
    assert parts(np.zeros((3, 3))).share == 0
    cycle = parts(ROCK_PAPER_SCISSORS)
    assert cycle.share == pytest.approx(1)
    assert cycle.flat == pytest.approx(1)
    for winner, loser in ((1, 0), (2, 1), (0, 2)):  # the winner lies counter-clockwise
        a, b = cycle.disc[winner], cycle.disc[loser]
        assert b[0] * a[1] - b[1] * a[0] == pytest.approx(1)
    half = parts(ROCK_PAPER_SCISSORS + np.subtract.outer([1.0, 0, -1], [1.0, 0, -1]))
    assert half.share == pytest.approx(6 / 18)  # 6 of the cycle, 2 (1 + 1 + 4) of the ladder


def test_noise_alone_puts_as_much_into_the_cyclic_part_as_foretold():
    rng, n = np.random.default_rng(0), 6
    shares = []
    for _ in range(4000):
        upper = np.triu(rng.normal(size=(n, n)), 1)
        shares.append(parts(upper - upper.T).share)
    assert np.mean(shares) == pytest.approx((n - 2) / n, abs=0.01)
    one = np.triu(rng.normal(size=(n, n)), 1)
    found = parts(one - one.T, 1.0)
    assert found.noise == pytest.approx(min(1.0, (n - 1) * (n - 2) / (2 * (one**2).sum())))


def test_the_payoff_must_be_antisymmetric():
    with pytest.raises(UsageError, match="splits"):
        parts(np.ones((2, 2)))


def test_where_ratings_disagree():
    """A fourth player that beats two of a cycle by a hair and loses to none tops Elo; Nash averaging knows it alone."""
    results = {"rp": "l" * 50, "ps": "l" * 50, "sr": "l" * 50}
    cycle = rate(table("rps", results))
    np.testing.assert_allclose(cycle.nash, 1 / 3, atol=1e-6)
    np.testing.assert_allclose(cycle.alpha_rank, 1 / 3, atol=1e-9)
    np.testing.assert_allclose(cycle.elo.rating, 0, atol=1e-6)
    assert cycle.parts.share == pytest.approx(1)
    # A beginner that all but scissors beat: scissors lose the rating race, and Nash averaging does not care.
    beginner = results | {"rb": "w" * 50, "pb": "w" * 50, "sb": "l" * 30 + "w" * 20}
    found = rate(table("rpsb", beginner))
    assert found.elo.rating[2] < min(found.elo.rating[:2]) - 50
    assert (found.nash[:3] > 0.1).all()
    assert found.against_nash.max() <= 1e-6
    assert found.elo.misfit > 0.3


def test_intervals_of_mixtures_are_wide_where_the_payoff_is_unsure():
    sure = rate(table("ab", {"ab": "w" * 400}))
    np.testing.assert_allclose(sure.nash_interval, [[1, 1], [0, 0]], atol=1e-6)
    unsure = rate(table("ab", {"ab": "wl" * 3 + "w"}))
    np.testing.assert_allclose(unsure.nash_interval, [[0, 1], [0, 1]], atol=1e-6)
    assert unsure.nash.tolist() == [1, 0]
    assert (unsure.alpha_rank_interval[:, 0] < 0.05).all()
    assert (unsure.alpha_rank_interval[:, 1] > 0.95).all()


def test_without_all_pairs_there_is_elo_and_openskill_only():
    found = rate(table("abc", {"ab": "w" * 10, "bc": "w" * 10}))
    assert found.elo.rating[0] > found.elo.rating[1] > found.elo.rating[2]
    assert found.openskill.shape == (3, 2)
    assert found.nash is found.alpha_rank is found.parts is None
