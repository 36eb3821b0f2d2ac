"""Tables of matches: who meets whom, what a pair's figures say, what is kept and what is refused."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from coterie.agents.baselines import make_baseline
from coterie.envs.registry import make_game
from coterie.errors import UsageError
from coterie.training.evaluation.exact import exact_match, policy_table
from coterie.training.evaluation.match import play_match
from coterie.training.evaluation.table import Meeting, Table, play_table, swiss_round


class Always:
    """Plays one action of a matrix game."""

    greedy = True

    def __init__(self, action: int) -> None:
        self.action, self.name = action, "always"

    def act(self, turns):
        from coterie.agents.core import Decision

        return [Decision(self.action) for _ in turns]


@pytest.fixture(scope="module")
def tictactoe():
    game = make_game("tictactoe")
    return game, {name: make_baseline(name, game) for name in ("random", "minimax", "mcts:10")}


def test_everybody_meets_everybody(tictactoe):
    game, agents = tictactoe
    table = play_table(game, agents, 40, seed=3)
    assert table.complete
    assert table.players == ("random", "minimax", "mcts:10")
    assert [m.players for m in table.meetings] == [("random", "minimax"), ("random", "mcts:10"), ("minimax", "mcts:10")]
    np.testing.assert_array_equal(table.games, 40 * (1 - np.eye(3)))
    np.testing.assert_array_equal(table.payoff, -table.payoff.T)
    np.testing.assert_allclose(table.points + table.points.T, 1)
    np.testing.assert_allclose(table.payoff, 2 * table.points - 1)  # returns are 1, 0 and -1
    assert (table.low <= table.payoff).all()
    assert (table.payoff <= table.high).all()
    np.testing.assert_allclose(table.low, -table.high.T)
    np.testing.assert_allclose(table.scores, table.payoff.sum(1) / 2)
    assert table.payoff[0, 1] < -0.5  # random against minimax
    assert {len(m.results) for m in table.meetings} == {40}


def test_intervals_hold_what_can_be_computed_exactly(tictactoe):
    """Random against minimax: the exact shares of won and drawn games."""
    from coterie.agents.search.solver import explore

    game, agents = tictactoe
    graph = explore(game)
    won, drawn, _ = exact_match(graph, *(policy_table(graph, agents[name]) for name in ("minimax", "random")))
    points, margins = 0, 0
    for seed in range(30):
        match = play_match(game, (agents["minimax"], agents["random"]), 100, seed)
        assert match.effective == 100
        low, high = match.points_interval
        points += low < won + drawn / 2 < high
        low, high = match.margin_interval
        margins += low < 2 * won + drawn - 1 < high
    assert points == margins
    assert points >= 25  # 95 % intervals; below 25 of 30 about once in 300


def test_a_pairs_games_depend_on_nobody_else(tictactoe):
    game, agents = tictactoe
    both = play_table(game, {name: agents[name] for name in ("random", "minimax")}, 20, seed=5)
    assert both.meetings[0] == play_table(game, agents, 20, seed=5).meetings[0]
    assert both.meetings[0] != play_table(game, agents, 20, seed=6).meetings[0]


def test_what_is_known_is_not_played_again(tictactoe):
    game, agents = tictactoe
    table = play_table(game, agents, 20, seed=5)
    kept = [Meeting.read(json.loads(json.dumps(dataclasses.asdict(m)))) for m in table.meetings[:2]]
    assert kept == list(table.meetings[:2])
    played = []
    again = play_table(game, agents, 20, seed=5, known=kept, done=played.append)
    assert again == table
    assert [m.players for m in played] == [("minimax", "mcts:10")]
    # Neither are those of players that no longer take part.
    assert play_table(game, {n: agents[n] for n in ("random", "minimax")}, 20, 5, known=kept).meetings == (kept[0],)


def test_copies_of_a_game_count_as_one():
    game = make_game("matrix")
    match = play_match(game, (Always(0), Always(2)), 100, 0, opening_plies=0)
    assert match.distinct <= 2
    assert match.effective == 1
    low, high = match.points_interval
    assert high - low > 0.5


def test_rock_paper_scissors_is_a_cycle():
    game = make_game("matrix")
    table = play_table(game, {"rock": Always(0), "paper": Always(1), "scissors": Always(2)}, 2, 0)
    np.testing.assert_array_equal(np.sign(table.payoff), [[0, -1, 1], [1, 0, -1], [-1, 1, 0]])


def made(players: str, *results: tuple[str, str]) -> Table:
    """A table of ten games a pair, all won by the first."""
    meetings = [
        Meeting((a, b), 10, 10, 0, "w" * 10, 10.0, 1.0, (0.7, 1.0), 1.0, (0.4, 1.0), (1.0, -1.0)) for a, b in results
    ]
    return Table(tuple(players), tuple(meetings))


def test_swiss_rounds_pair_neighbours_that_have_not_met():
    assert swiss_round(made("abcd")) == [("a", "b"), ("c", "d")]
    assert swiss_round(made("abcd", ("a", "b"), ("c", "d"))) == [("a", "c"), ("b", "d")]
    # b and c have a point each, but have met: a (2 points) must leave one of them to d.
    table = made("abcd", ("a", "b"), ("c", "d"), ("a", "c"), ("b", "d"))
    assert swiss_round(table) == [("a", "d"), ("b", "c")]
    full = made("ab", ("a", "b"))
    assert swiss_round(full) == []


def test_in_a_swiss_round_of_an_odd_number_one_sits_out_and_each_once():
    table, out = made("abc"), []
    for _ in range(3):
        pairs = swiss_round(table)
        assert len(pairs) == 1
        out += set("abc") - set(pairs[0])
        table = made("abc", *((m.players) for m in table.meetings), *pairs)
    assert sorted(out) == ["a", "b", "c"]
    assert table.complete


@pytest.mark.parametrize(
    ("id", "players", "games", "told"),
    [
        ("tictactoe", ("random",), 10, "1 player cannot meet"),
        ("tictactoe", (), 10, "0 players cannot meet"),
        ("tictactoe", ("random", "minimax"), 0, "0 games a pair"),
        ("tictactoe", ("random", "minimax"), 1, "1 game a pair"),
        ("highest_number", ("random", "greedy"), 10, "game of 3"),
        ("gridworld", ("random", "forager"), 10, "a world that many share"),
    ],
)
def test_no_table_of_what_makes_none(id, players, games, told):
    game = make_game(id, players=3) if id == "highest_number" else make_game(id)
    with pytest.raises(UsageError, match=told):
        play_table(game, {name: make_baseline("random", game) for name in players}, games, 0)
