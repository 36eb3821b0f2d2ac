"""A game goes the same way whatever is played beside it: all at once, in batches of seven, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.agents.baselines import make_baseline
from coterie.envs.registry import make_game
from coterie.training.data.rollout import Seating, rollout

LEARNS = (True, True)


def played(game, agents, count, batch, *, seatings=None, **settings):
    """[(actions, returns, opening)] and [(seat, ply, completion, log-probs)] of each game, in batches."""
    names = list(agents)
    seatings = seatings or [Seating((names[k % 2], names[(k + 1) % 2]), LEARNS) for k in range(count)]
    games, said = [], []
    for first in range(0, count, batch):
        numbers = range(first, min(first + batch, count))
        part = [seatings[k] for k in numbers]
        made = rollout(game, agents, part, seed=11, numbers=numbers, keep_actions=True, **settings)
        games += [(e.actions, e.returns, e.opening_plies) for e in made.episodes]
        spoken = [[] for _ in made.episodes]
        for v in made.visits:
            spoken[v.episode].append((v.seat, v.ply, v.tokens.completion, v.tokens.logprobs))
        said += spoken
    return games, said


BASELINES = [
    ("tictactoe", {}, ("random", "minimax"), 1000, {"opening_plies": 3}),
    ("tictactoe", {}, ("mcts:20", "random"), 15, {}),
    ("connect_four", {}, ("mcts:20", "greedy"), 8, {}),
    ("kuhn_poker", {}, ("random", "equilibrium"), 60, {"group_size": 2}),
    ("chess", {}, ("alphabeta:2", "random"), 8, {"opening_plies": 4, "max_plies": 8}),
]


@pytest.mark.parametrize(("name", "config", "players", "count", "settings"), BASELINES)
def test_baselines(name, config, players, count, settings):
    game = make_game(name, **config)
    agents = {who: make_baseline(who, game) for who in players}
    together, _ = played(game, agents, count, count, **settings)
    assert together == played(game, agents, count, 7, **settings)[0]
    assert together == played(game, agents, count, 1, **settings)[0]
    assert len({str(g) for g in together}) > len(together) / 20, "the games differ from each other"


def test_worlds():
    game = make_game("gridworld", preset="a3_11x11")
    agents = {who: make_baseline(who, game) for who in ("forager", "random")}
    seatings = [Seating(("forager", "random", "forager"), (True,) * 3)] * 9
    together, _ = played(game, agents, 9, 9, seatings=seatings, max_plies=25)
    assert together == played(game, agents, 9, 4, seatings=seatings, max_plies=25)[0]
    assert together == played(game, agents, 9, 1, seatings=seatings, max_plies=25)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decode", "name", "config", "count"),
    [
        ("choice", "tictactoe", {}, 1000),
        ("constrained", "highest_number", {"max_number": 12}, 40),
        ("free", "tictactoe", {}, 16),
    ],
)
def test_language_models(mini, decode, name, config, count):
    pytest.importorskip("torch")
    from peft import LoraConfig

    from coterie.agents.bank.bank import LoraBank
    from coterie.agents.llm.models import load_model
    from coterie.agents.llm.policy import LLMAgent, LoraPolicy

    loaded = load_model(str(mini))
    bank = LoraBank(loaded.model, LoraConfig(r=2, target_modules="all-linear"), ("ann", "bob"), seed=1)
    policy = LoraPolicy(loaded, bank, decode=decode, max_new_tokens=6)
    game = make_game(name, **config)
    agents = {who: LLMAgent(policy, who) for who in ("ann", "bob")}
    games, said = played(game, agents, count, count)
    for batch in (7, 1):
        again, spoken = played(game, agents, count, batch)
        assert again == games
        for one, other in zip(said, spoken, strict=True):
            assert [x[:3] for x in one] == [x[:3] for x in other]
            for (*_, logprobs), (*_, others) in zip(one, other, strict=True):
                np.testing.assert_allclose(logprobs, others, atol=2e-5)  # float32, sums of a few tokens
    assert len({str(s) for s in said}) > count / 4, "the games differ from each other"
