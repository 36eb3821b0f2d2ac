"""Matches against exact chances; exact measures against known ceilings, hand-made games and a slow tree walk."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest

from coterie.agents.baselines import MinimaxAgent, RandomAgent
from coterie.agents.core import Decision, Turn
from coterie.agents.search.solver import Graph, explore, solve
from coterie.envs.core import Game
from coterie.envs.registry import make_game
from coterie.errors import UsageError
from coterie.training.evaluation.exact import exploitability_of_mixture
from coterie.training.evaluation.intervals import wilson
from coterie.training.evaluation.match import (
    evaluate,
    exact_match,
    exploitability,
    optimal_share,
    play_match,
    policy_table,
    usual_opening,
)


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("tictactoe")


@pytest.fixture(scope="module")
def graph(game: Game) -> Graph:
    return explore(game)


@pytest.fixture(scope="module")
def uniform(graph: Graph) -> np.ndarray:
    return policy_table(graph, RandomAgent())


@pytest.fixture(scope="module")
def perfect(graph: Graph, game: Game) -> np.ndarray:
    return policy_table(graph, MinimaxAgent(game))


class Table:
    """Plays a table of probabilities."""

    name = "table"

    def __init__(self, graph: Graph, table: np.ndarray) -> None:
        self.graph, self.table = graph, table

    def policy(self, turns: Sequence[Turn]) -> list[np.ndarray]:
        return list(self.table[self.graph.find(np.array([t.key for t in turns], np.uint64))])

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        drawn = zip(turns, self.policy(turns), strict=True)
        return [Decision(int(turn.seed.generator().choice(len(p), p=p))) for turn, p in drawn]


class Always:
    """Gives one answer, legal or not."""

    name = "always"

    def __init__(self, action: int | None) -> None:
        self.action = action

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        return [Decision(self.action) for _ in turns]


# -- exact numbers ---


def test_exact_ceilings_against_random(game: Game, graph: Graph, uniform: np.ndarray, perfect: np.ndarray) -> None:
    assert exact_match(graph, uniform, uniform) == pytest.approx((0.4365, 0.1270, 0.4365), abs=1e-4)
    assert exact_match(graph, perfect, uniform) == pytest.approx((0.8726, 0.1274, 0.0), abs=1e-4)
    assert exact_match(graph, perfect, perfect) == pytest.approx((0, 1, 0))
    best = _never_losing_best(graph, solve(game).optimal, uniform)
    assert exact_match(graph, best, uniform) == pytest.approx((0.956, 0.044, 0.0), abs=5e-4)
    assert optimal_share(game, best).share == 1.0


def _never_losing_best(graph: Graph, optimal: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Among perfect moves, the one that beats a random mover most often."""
    table = np.zeros(graph.legal.shape)
    wins = np.zeros((2, len(graph)))
    for layer in graph.layers:
        for s in layer.tolist():
            seat = int(graph.movers[s])
            gains = np.zeros((2, graph.legal.shape[1]))
            for a in np.flatnonzero(graph.legal[s]):
                child = int(graph.children[s, a])
                gains[:, a] = wins[:, child] if child >= 0 else graph.rewards[s, a] > 0
            choice = int(np.where(optimal[s], gains[seat], -1.0).argmax())
            table[s, choice] = 1.0
            wins[seat, s], wins[1 - seat, s] = gains[seat, choice], uniform[s] @ gains[1 - seat]
    return table


def test_perfect_play_cannot_be_exploited(game: Game, perfect: np.ndarray) -> None:
    found = exploitability(game, MinimaxAgent(game))
    assert (found.value, found.nash_conv, found.best_responses) == (0, 0, (0, 0))
    known = optimal_share(game, perfect)
    assert (known.share, known.on_path, known.mass, known.positions) == (1, 1, 1, 4520)


def test_random_play_against_a_slow_tree_walk(game: Game, graph: Graph, uniform: np.ndarray) -> None:
    found = exploitability(game, RandomAgent())
    expected = [_response(graph, uniform, seat) for seat in (0, 1)]
    assert found.best_responses == pytest.approx(expected)
    assert found.nash_conv == pytest.approx(sum(expected))
    assert found.value == pytest.approx(0.95983, abs=1e-5)
    known = optimal_share(game, uniform)
    legal, optimal = graph.legal.sum(1), solve(game).optimal.sum(1)
    assert known.share == pytest.approx(known.mass) == pytest.approx((optimal / legal).mean())


def test_a_mixture_of_players_against_a_slow_walk_over_histories(game: Game, graph: Graph) -> None:
    rng, shares = np.random.default_rng(0), (0.6, 0.4)
    tables = [_one_move(graph, rng) for _ in shares]
    for seat in (0, 1):
        found = exploitability_of_mixture(game, tables, shares).best_responses[seat]
        assert found == pytest.approx(_against(graph, tables, shares, seat, 0))
    alone = [exploitability(game, table).best_responses[0] for table in tables]
    assert exploitability_of_mixture(game, tables, (1, 0)).best_responses[0] == pytest.approx(alone[0])


def _one_move(graph: Graph, rng: np.random.Generator) -> np.ndarray:
    """Each position has one move."""
    table = np.zeros(graph.legal.shape)
    table[np.arange(len(graph)), np.where(graph.legal, rng.random(table.shape), -1.0).argmax(1)] = 1.0
    return table


def _against(graph: Graph, tables: list[np.ndarray], chances: Sequence[float], seat: int, s: int) -> float:
    """What a best response wins from here on, times the chance to get here."""
    values = []
    for a in np.flatnonzero(graph.legal[s]):
        own, child = graph.movers[s] == seat, int(graph.children[s, a])
        there = [p * (1.0 if own else table[s, a]) for p, table in zip(chances, tables, strict=True)]
        onward = _against(graph, tables, there, seat, child) if child >= 0 and any(there) else 0.0
        values.append(sum(there) * graph.rewards[s, a, seat] + onward)
    return float(max(values) if own else sum(values))


def _response(graph: Graph, table: np.ndarray, seat: int) -> float:
    memory: dict[int, float] = {}

    def value(s: int) -> float:
        if s not in memory:
            gains = {
                int(a): float(graph.rewards[s, a, seat]) + (value(int(c)) if (c := graph.children[s, a]) >= 0 else 0.0)
                for a in np.flatnonzero(graph.legal[s])
            }
            own = graph.movers[s] == seat
            memory[s] = max(gains.values()) if own else sum(float(table[s, a]) * g for a, g in gains.items())
        return memory[s]

    return value(0)


@pytest.mark.parametrize("seed", range(3))
def test_exploitability_of_arbitrary_policies(game: Game, graph: Graph, seed: int) -> None:
    noise = np.random.default_rng(seed).exponential(size=graph.legal.shape) * graph.legal
    table = noise / noise.sum(1, keepdims=True)
    found = exploitability(game, table)
    assert found.best_responses == pytest.approx([_response(graph, table, seat) for seat in (0, 1)])


def test_one_losing_move_is_found_by_the_best_response_and_on_the_path(
    game: Game, graph: Graph, perfect: np.ndarray
) -> None:
    solution = solve(game)
    corner = int(graph.children[0, 0])  # X took a corner: O holds by the middle alone
    table = perfect.copy()
    table[corner] = np.eye(9)[8]
    found = exploitability(game, table)
    assert found.best_responses == pytest.approx((1, 0))
    assert found.value == pytest.approx(0.5)
    known = optimal_share(game, table)
    assert known.share == pytest.approx(4519 / 4520)
    assert known.on_path < 1
    unreached = next(
        s for s in range(len(graph)) if not _occurs(graph, perfect, s) and (graph.legal[s] & ~solution.optimal[s]).any()
    )
    table = perfect.copy()
    table[unreached] = np.eye(9)[int(np.flatnonzero(graph.legal[unreached] & ~solution.optimal[unreached])[0])]
    assert exploitability(game, table).value == 0
    known = optimal_share(game, table)
    assert known.share == pytest.approx(4519 / 4520)
    assert known.on_path == 1


def test_on_path_share_against_a_slow_walk(game: Game, graph: Graph) -> None:
    noise = np.random.default_rng(0).random(graph.legal.shape) * graph.legal
    table = (noise == noise.max(1, keepdims=True)).astype(float)  # a deterministic player who knows nothing
    right = (table * solve(game).optimal).sum(1)
    met = [s for seat in (0, 1) for s in _walk(graph, table, seat) if graph.movers[s] == seat]
    assert 100 < len(met) < 2000
    assert optimal_share(game, table).on_path == pytest.approx(right[met].mean())


def _occurs(graph: Graph, table: np.ndarray, wanted: int) -> bool:
    return wanted in _walk(graph, table, int(graph.movers[wanted]))


def _walk(graph: Graph, table: np.ndarray, seat: int) -> set[int]:
    """Positions that ``seat`` can meet when it plays the table and the other anything."""
    seen: set[int] = set()
    todo = [0]
    while todo:
        s = todo.pop()
        if s not in seen:
            seen.add(s)
            moves = table[s] > 0 if graph.movers[s] == seat else graph.legal[s]
            todo += [int(c) for c in graph.children[s][moves] if c >= 0]
    return seen


def test_bad_policies_and_games_are_named(game: Game, graph: Graph) -> None:
    with pytest.raises(UsageError, match=r"position 0 of tictactoe-v0 .*4520 such positions"):
        policy_table(graph, Table(graph, np.full(graph.legal.shape, 0.01)))
    broken = np.where(graph.legal, np.nan, 0.0)
    with pytest.raises(UsageError, match="they must sum to 1"):
        policy_table(graph, Table(graph, broken))
    with pytest.raises(UsageError, match="more than 20,000 decisions"):
        exploitability(make_game("matrix"), RandomAgent())


# -- matches ---


def test_matches_agree_with_the_exact_chances(
    game: Game, graph: Graph, uniform: np.ndarray, perfect: np.ndarray
) -> None:
    random, minimax = RandomAgent(), MinimaxAgent(game)
    for agent, table in ((random, uniform), (minimax, perfect)):
        match = play_match(game, (agent, random), 4000, seed=1)
        exact = exact_match(graph, table, uniform)
        for count, chance in zip(match.won_drawn_lost, exact, strict=True):
            low, high = wilson(count, match.games, 0.9999)
            assert low <= chance + 1e-9
            assert high >= chance - 1e-9


def test_both_seats_are_taken_and_told_apart(game: Game) -> None:
    match = play_match(game, (RandomAgent(), RandomAgent()), 2001, seed=2)
    assert match.by_seat.sum(1).tolist() == [1001, 1000]
    first, second = match.by_seat / match.by_seat.sum(1, keepdims=True)
    assert first[0] - second[0] == pytest.approx(0.297, abs=0.08)  # 58.5 % against 28.8 %: who begins wins more often
    assert sum(match.shares) == pytest.approx(1)
    assert match.score == pytest.approx(match.shares[0] - match.shares[2])


def test_the_same_seed_gives_the_same_match(game: Game) -> None:
    one, two, other = (play_match(game, (RandomAgent(), MinimaxAgent(game)), 200, seed=s) for s in (3, 3, 4))
    assert (one.by_seat == two.by_seat).all()
    assert (one.by_seat != other.by_seat).any()


def test_openings_make_perfect_play_losable(game: Game) -> None:
    minimax = MinimaxAgent(game)
    assert play_match(game, (minimax, minimax), 300, seed=0).won_drawn_lost == (0, 300, 0)
    won, _, lost = play_match(game, (minimax, minimax), 300, seed=0, opening_plies=4).won_drawn_lost
    assert min(won, lost) > 10


def test_illegal_answers_are_counted_and_lost(game: Game) -> None:
    match = play_match(game, (Always(None), MinimaxAgent(game)), 50, seed=0)
    assert match.illegal == 1.0
    assert match.won_drawn_lost == (0, 0, 50)
    match = play_match(game, (RandomAgent(), Always(None)), 50, seed=0)
    assert match.illegal == 0.0
    assert match.won_drawn_lost[2] == 0


def test_simultaneous_games_are_matched_too() -> None:
    game = make_game("highest_number", max_number=5)
    match = play_match(game, (Always(5), Always(3)), 10, seed=0)
    assert match.won_drawn_lost == (10, 0, 0)
    assert play_match(game, (Always(5), Always(5)), 10, seed=0).won_drawn_lost == (0, 10, 0)


def test_no_games_is_no_match(game: Game) -> None:
    with pytest.raises(UsageError, match="0 games are not a match"):
        play_match(game, (RandomAgent(), RandomAgent()), 0, seed=0)


# -- copies ---


class Lowest:
    """Always the lowest legal action, or the highest: no lots are drawn."""

    greedy = True

    def __init__(self, *, highest: bool = False) -> None:
        self.name, self.highest = "highest" if highest else "lowest", highest

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        return [Decision(turn.legal_actions[-1 if self.highest else 0]) for turn in turns]


def _by_hand(game: Game, opening: tuple[int, ...], players: tuple[Lowest, Lowest]) -> tuple[list[int], float]:
    """Actions of a game after an opening, and what the first of the players, who sits in seat 0, gets."""
    state = game.new_state(1)
    game.kernels.reset(state, 0, 0)
    actions, rewards = list(opening), np.zeros(2, np.float32)
    for ply in range(9):
        if ply >= len(actions):
            mover = game.mover(state, 0)
            turn = Turn(game, state, 0, mover, game.legal_mask(state, 0, mover), 0)
            actions.append(int(players[mover].act([turn])[0].action or 0))
        if game.kernels.step(state, 0, np.full(2, actions[ply], np.int32), rewards):
            break
    return actions[: ply + 1], float(rewards[0])


def test_players_that_draw_no_lots_meet_once_from_every_opening_and_seat(game: Game) -> None:
    low, high = Lowest(), Lowest(highest=True)
    match = play_match(game, (low, high), 1000, seed=0)
    openings = [(), *((a,) for a in range(9)), *((a, b) for a in range(9) for b in range(9) if a != b)]
    assert match.opening_plies == 2
    assert match.games == match.distinct == 2 * len(openings) == 164
    first = [_by_hand(game, opening, (low, high))[1] for opening in openings]
    second = [-_by_hand(game, opening, (high, low))[1] for opening in openings]
    for seat, returns in enumerate((first, second)):
        assert match.by_seat[seat].tolist() == [returns.count(1), returns.count(0), returns.count(-1)]
    assert match.score == pytest.approx(np.mean(first + second))
    assert play_match(game, (low, high), 100, seed=0).games == 100
    again = play_match(game, (low, high), 100, seed=0)
    assert (again.results == play_match(game, (low, high), 100, seed=0).results).all()


def test_copies_are_counted_once_and_narrow_nothing(game: Game) -> None:
    few, many = (play_match(game, (Lowest(), Lowest(highest=True)), n, 0, opening_plies=0) for n in (2, 1000))
    assert (few.games, many.games, few.distinct, many.distinct) == (2, 1000, 2, 2)
    assert few.intervals == many.intervals
    assert few.score_interval == many.score_interval
    assert many.intervals[0][1] - many.intervals[0][0] > 0.5
    silent = play_match(game, (Always(4), Always(None)), 500, seed=0)  # nobody said that they always answer alike
    assert silent.distinct <= 2
    assert silent.intervals[0][1] - silent.intervals[0][0] > 0.5


def test_games_that_differ_by_themselves_begin_as_usual(game: Game) -> None:
    low = Lowest()
    assert usual_opening(game, (low, low)) == 2
    assert usual_opening(game, (low, RandomAgent())) == 0
    assert [usual_opening(make_game(name), (low, low)) for name in ("chess", "kuhn_poker", "highest_number")] == [
        8,
        0,
        0,
    ]
    match = play_match(game, (low, RandomAgent()), 300, seed=0)
    assert match.opening_plies == 0
    assert 60 < match.distinct < 300  # among 300 random games some come twice, and are evidence all the same
    assert match.intervals[0] == wilson(match.won_drawn_lost[0], 300)
    deals = play_match(make_game("kuhn_poker"), (low, Lowest(highest=True)), 200, seed=0)
    assert deals.games == 200
    assert deals.distinct == 12  # six deals from two seats


def test_openings_belong_to_both_games_that_begin_there(game: Game) -> None:
    match = play_match(game, (RandomAgent(), RandomAgent()), 301, seed=0, opening_plies=3)
    assert match.games == 301
    assert match.units.tolist() == [k // 2 for k in range(301)]
    perfect = MinimaxAgent(game)
    match = play_match(game, (perfect, perfect), 400, seed=0, opening_plies=4)
    won, drawn, lost = np.bincount(match.results[match.seats == 0], minlength=3)
    assert [won, drawn, lost] == np.bincount(match.results[match.seats == 1], minlength=3)[::-1].tolist()
    assert match.score == 0  # what an opening gives one of them it takes from the other
    assert match.score_interval[0] == pytest.approx(0, abs=0.03)


def test_the_score_has_an_interval(game: Game) -> None:
    match = play_match(game, (RandomAgent(), RandomAgent()), 1000, seed=5)
    low, high = match.score_interval
    assert low < match.score < high
    half = 1.96 * match.returns.std() / 1000**0.5
    assert high - low == pytest.approx(2 * half, rel=0.02)
    drawn = play_match(game, (MinimaxAgent(game), MinimaxAgent(game)), 1000, seed=5)
    assert drawn.score == 0
    assert drawn.score_interval == pytest.approx((-0.0038, 0.0038), abs=1e-4)  # up to 0.38 % might be won or lost


# -- rows ---


def test_rows_of_an_evaluation(game: Game) -> None:
    agent = MinimaxAgent(game)
    rows = evaluate(game, agent, {"random": RandomAgent(), "minimax": agent}, 100, seed=0)
    assert [json.loads(json.dumps(row)) for row in rows] == rows
    assert [row["opponent"] for row in rows] == ["random", "minimax", None]
    for row in rows[:2]:
        assert row["win"] + row["draw"] + row["loss"] == pytest.approx(1)
        assert row["games"] == 100
        assert row["illegal"] == 0
        assert 10 < row["distinct"] <= 100
        for name in ("win", "draw", "loss", "score"):
            low, high = row[f"{name}_interval"]
            assert low <= row[name] <= high
    assert rows[1]["draw"] == 1
    assert rows[2] == {
        "opponent": None, "policy": "minimax", "exploitability": 0, "nash_conv": 0, "optimal_share": 1,
        "optimal_share_on_path": 1, "optimal_mass": 1, "positions": 4520,
    }  # fmt: skip


def test_the_policy_row_can_be_left_out_and_says_why_it_is_empty(game: Game) -> None:
    random = RandomAgent()
    assert [row["opponent"] for row in evaluate(game, random, {"random": random}, 10, seed=0, exact=False)] == [
        "random"
    ]
    assert len(evaluate(game, Always(None), {"random": random}, 10, seed=0)) == 1
    row = evaluate(make_game("matrix"), random, {}, 10, seed=0)[0]
    assert row["exploitability"] is None
    assert "more than 20,000 decisions" in row["why"]
