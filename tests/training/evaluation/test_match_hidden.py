"""``coterie eval`` where cards are hidden: exploitability over information sets, no shares of optimal moves."""

from __future__ import annotations

import json

import pytest

from coterie.agents.baselines import RandomAgent, make_baseline
from coterie.agents.search.information_sets import information_tree
from coterie.cli import main
from coterie.envs import make_game
from coterie.training.evaluation.match import evaluate, exploitability

KUHN = make_game("kuhn_poker")


class Cheat(RandomAgent):
    """Bets with the higher of the two cards."""

    name = "cheat"

    def policy(self, turns):
        rows = super().policy(turns)
        for turn, row in zip(turns, rows, strict=True):
            cards = turn.state["cards"][turn.row]
            row[:] = [0, 1] if cards[turn.player] > cards[1 - turn.player] else [1, 0]
        return rows


def test_the_rows_of_an_evaluation():
    match, policy = evaluate(KUHN, RandomAgent(), {"equilibrium": make_baseline("equilibrium", KUHN)}, 400, 0)
    assert match["opponent"] == "equilibrium"
    assert policy["opponent"] is None
    assert policy["exploitability"] == pytest.approx(11 / 24)
    assert policy["nash_conv"] == pytest.approx(11 / 12)
    assert policy["positions"] == 12
    assert [policy[f"optimal_{name}"] for name in ("share", "share_on_path", "mass")] == [None] * 3
    assert "why" not in policy


def test_who_looks_at_hidden_cards_gets_no_figure_but_the_reason():
    policy = evaluate(KUHN, Cheat(), {}, 2, 0)[-1]
    assert policy["exploitability"] is None
    assert "uses hidden information" in policy["why"]


def test_games_that_are_too_large_say_so():
    policy = evaluate(make_game("matrix"), RandomAgent(), {}, 2, 0)[-1]
    assert policy["exploitability"] is None
    assert "more than 20,000 decisions" in policy["why"]


@pytest.mark.parametrize(
    ("id", "options", "value"),
    [
        ("matrix", {"rounds": 1}, 0),  # rock-paper-scissors: uniform is the equilibrium
        (
            "matrix",
            {"rounds": 1, "payoffs": [[3, 0], [0, 1]]},
            1 / 2,
        ),  # value 3/4; uniform rows get 1/2, uniform columns pay 3/2
        ("highest_number", {}, 20 / 21),  # the highest of 21 beats 20
    ],
)
def test_games_in_which_all_act_at_once(id, options, value):
    game = make_game(id, **options)
    policy = evaluate(game, RandomAgent(), {}, 2, 0)[-1]
    assert policy["exploitability"] == pytest.approx(value)
    assert policy["optimal_share"] is None
    assert exploitability(game, RandomAgent()).value == pytest.approx(value)


@pytest.mark.parametrize("game", ["leduc_poker", "dark_hex --set num_cols=2 num_rows=2"])
def test_larger_games_are_measured_on_request(game, capsys):
    words = f"eval random --vs random --games 2 --json --game {game} --limit".split()
    for limit, why in (("2000", None), ("20", "has more than 20 ")):
        assert main([*words, limit]) == 0
        policy = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert (policy["exploitability"] is None) == (why is not None)
        assert why is None or why in policy["why"]


def test_exploitability_takes_agents_and_tables():
    uniform = information_tree(KUHN).uniform()
    measured = exploitability(KUHN, uniform)
    assert measured == exploitability(KUHN, RandomAgent())
    assert measured.best_responses == pytest.approx((1 / 2, 5 / 12))


def test_the_command_line(capsys):
    words = ["eval", "equilibrium", "--game", "leduc_poker", "--vs", "random", "--games", "20"]
    assert main([*words, "--json"]) == 0
    policy = [json.loads(line) for line in capsys.readouterr().out.splitlines()][-1]
    assert policy["exploitability"] < 1e-3
    assert policy["positions"] == 288
    assert main(words) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "the policy itself: exploitability 0.0001 (0 is perfect play) over all 288 information sets"
    assert main(["play", "kuhn_poker", "--players", "equilibrium", "random", "--games", "10"]) == 0
