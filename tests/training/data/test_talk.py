"""Games with a talk channel through rollout, credit and learner."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
from coterie.agents.baselines import RandomAgent
from coterie.envs import make_game
from coterie.training.data.rollout import Seating, rollout

GAME = make_game("tictactoe", talk=12)
SELF = Seating(("a", "a"), (True, True))


@pytest.fixture(scope="module")
def policy():
    from coterie.training.runs.config import PolicyConfig
    from coterie.training.runs.players import build_policy

    return build_policy(PolicyConfig(max_completion_length=9), players=("main",), seed=0)


def test_messages_and_choices_are_both_learned_from(policy):
    from coterie.agents.llm.policy import LLMAgent
    from coterie.training.learn.learner import Learner
    from coterie.training.runs.config import LossConfig, OptimizerConfig

    agents = {"a": LLMAgent(policy, "main"), "b": RandomAgent()}
    played = rollout(
        GAME, agents, [Seating(("a", "b"), (True, False))], seed=3, group_size=4, keep_actions=True, illegal="raise"
    )
    kinds = [visit.tokens.kind for visit in played.visits]
    assert kinds == ["free", "choice"] * (len(kinds) // 2)
    mine = sum((episode.plies + 1) // 2 for episode in played.episodes)
    assert len(kinds) == 2 * mine
    # Only the choice is paid at once; the message before it counts towards all that follows.
    assert played.rewards()[::2].tolist() == [0.0] * mine
    learner = Learner(policy.engine, LossConfig(), OptimizerConfig(), free=True, max_completion_length=9)
    before = policy.bank.versions["main"]
    rows = len(played.visits)
    stats = learner.step([v.tokens for v in played.visits], np.linspace(-1, 1, rows), np.ones(rows, np.bool_), 0)
    assert policy.bank.versions["main"] > before
    assert stats["main"]["trained"] == rows
    assert stats["main"]["ratio"] == pytest.approx(1.0, abs=0.5)


def test_a_game_is_the_same_alone_and_among_others():
    agents = {"a": RandomAgent()}
    together = rollout(GAME, agents, [SELF] * 6, seed=3, keep_actions=True).episodes
    alone = [
        e for n in range(6) for e in rollout(GAME, agents, [SELF], seed=3, numbers=[n], keep_actions=True).episodes
    ]
    assert [e.actions for e in together] == [e.actions for e in alone]
