"""Exact best responses, against brute force over all strategies and against hand-computed games."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from coterie.agents.baselines import RandomAgent, make_baseline
from coterie.agents.core import Turn
from coterie.agents.search.best_response import best_response
from coterie.envs import make_game
from coterie.envs.state import packed, take
from coterie.errors import UsageError


def expected(game, row, player, strategy, others):
    """What a seat gets that plays ``strategy`` (row's bytes -> action), by walking the whole tree."""
    mover = game.mover(row, 0)
    mask = game.legal_mask(row, 0, mover)
    if not mask.any():
        return 0.0
    if mover == player:
        chances = np.zeros(len(mask))
        chances[strategy[packed(row)]] = 1
    else:
        chances = others.policy([Turn(game, row, 0, mover, mask, 0)])[0]
    total = 0.0
    for action in np.flatnonzero(chances):
        after, rewards = take(row), np.zeros(game.info.players, np.float32)
        game.kernels.step(after, 0, np.full(game.info.players, action, np.int32), rewards)
        total += chances[action] * (float(rewards[player]) + expected(game, after, player, strategy, others))
    return total


def decisions(game, row, player, found):
    """All positions in which a seat decides, with its legal actions."""
    mover = game.mover(row, 0)
    legal = game.legal_actions(row, 0, mover)
    if mover == player and legal:
        found[packed(row)] = legal
    for action in legal:
        after = take(row)
        game.kernels.step(
            after, 0, np.full(game.info.players, action, np.int32), np.zeros(game.info.players, np.float32)
        )
        decisions(game, after, player, found)
    return found


@pytest.mark.parametrize("opponent", ["random", "bargainer"])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(
    "config",
    [
        {"items": {"coin": 4}, "values": [[1], [1]]},
        {"items": {"coin": 1}, "values": [[3], [2]], "turns": 3, "discount": 0.5},
    ],
)
def test_no_strategy_gets_more(opponent, player, config):
    game = make_game("negotiation", preset="ultimatum", **config)
    others = make_baseline(opponent, game)
    row = game.new_state(1)
    game.kernels.reset(row, 0, np.uint64(0))
    found = decisions(game, row, player, {})
    every = itertools.product(*found.values())
    best = max(expected(game, row, player, dict(zip(found, chosen, strict=True)), others) for chosen in every)
    answer = best_response(game, others, player)
    assert answer.value == pytest.approx(best, abs=1e-6)
    played = dict.fromkeys(found, 0) | answer.choices
    assert expected(game, row, player, played, others) == pytest.approx(best, abs=1e-6)


def test_an_ultimatum_against_a_coin_flipper():
    """Random accepts any offer with probability 1/2: ask for everything, and get 1/2. The last to speak takes 5/10."""
    game = make_game("negotiation", preset="ultimatum")
    assert best_response(game, RandomAgent(), 0).value == pytest.approx(0.5)
    assert best_response(game, RandomAgent(), 1).value == pytest.approx(0.5)


def test_positions_by_key_give_the_same_against_players_without_memory():
    game = make_game("negotiation", preset="issues", players=2, issues=1, options=3, turns=4)
    values = [best_response(game, RandomAgent(), 0, remembers=r).value for r in (True, False)]
    assert values[0] == pytest.approx(values[1])
    assert values[0] > 0.5


@pytest.mark.slow
def test_it_plays():
    from coterie.training.data.rollout import Seating, rollout

    game = make_game("negotiation", preset="ultimatum", items={"coin": 4}, turns=4)
    answer = best_response(game, RandomAgent(), 0, remembers=False)
    played = rollout(game, {"a": answer, "b": RandomAgent()}, [Seating(("a", "b"), (False, False))] * 400, seed=1)
    assert np.mean([episode.returns[0] for episode in played.episodes]) == pytest.approx(answer.value, abs=0.08)


@pytest.mark.parametrize(
    ("name", "config", "match"),
    [
        ("matrix", {}, "turn-based"),
        ("tictactoe", {"talk": 9}, "turn-based"),
        ("negotiation", {}, "more than 100 positions"),
    ],
)
def test_games_that_are_not_small_are_refused(name, config, match):
    with pytest.raises(UsageError, match=match):
        best_response(make_game(name, **config), RandomAgent(), 0, limit=100)
