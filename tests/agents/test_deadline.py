"""Whatever takes long gives up between two of its parts once its time is over."""

from __future__ import annotations

import time

import pytest

from coterie.agents.baselines import make_baseline
from coterie.agents.deadline import OutOfTime, breathe, until
from coterie.agents.search.information_sets import nash_conv
from coterie.agents.search.solver import explore
from coterie.envs.registry import make_game
from coterie.training.evaluation.exact import policy_table
from coterie.training.evaluation.match import play_match
from coterie.training.evaluation.worlds import play_worlds

RANDOM = make_baseline("random", make_game("tictactoe"))


def over():
    """Time that was over a second ago."""
    return until(time.monotonic() - 1.0)


def test_without_a_moment_there_is_no_end():
    breathe()
    with pytest.raises(OutOfTime), over():
        breathe()
    breathe()


@pytest.mark.parametrize(
    "work",
    [
        lambda: play_match(make_game("tictactoe"), (RANDOM, RANDOM), 4, 0),
        lambda: play_worlds(make_game("gridworld", preset="a3_9x9"), RANDOM, 2, 0),
        lambda: policy_table(explore(make_game("tictactoe")), RANDOM),
        lambda: nash_conv(make_game("kuhn_poker"), RANDOM),
    ],
    ids=["matches", "worlds", "exact", "information sets"],
)
def test_measuring_gives_up(work):
    with pytest.raises(OutOfTime), over():
        work()


@pytest.mark.parametrize("decode", ["choice", "constrained", "free"])
def test_a_language_model_gives_up_between_two_forward_passes(mini, decode):
    pytest.importorskip("torch")
    from coterie.agents.core import Turn, seeded
    from coterie.agents.llm.models import load_model
    from coterie.agents.llm.policy import LLMAgent, LoraPolicy

    graph = explore(make_game("tictactoe"))
    masks, movers, keys = graph.legal.astype("int8"), graph.movers.tolist(), graph.keys.tolist()
    turns = seeded([Turn(graph.game, graph.states, s, movers[s], masks[s], keys[s]) for s in range(3)])
    agent = LLMAgent(LoraPolicy(load_model(str(mini)), decode=decode, max_new_tokens=4), None)
    assert len(agent.act(turns)) == 3
    with pytest.raises(OutOfTime), over():
        agent.act(turns)


@pytest.mark.parametrize("decode", ["choice", "free"])
def test_an_update_ends_within_one_forward_pass_of_its_time(mini, monkeypatch, decode):
    """By a clock that ticks once a forward pass; whatever an update does, it looks at the clock before the next."""
    pytest.importorskip("torch")
    from coterie.agents import deadline
    from coterie.training.loop import Trainer
    from coterie.training.runs.config import LossConfig, PolicyConfig, RolloutConfig, SchemeConfig, TrainConfig
    from coterie.training.runs.state import put_back, taken

    config = TrainConfig(
        threads=1,
        policy=PolicyConfig(model=str(mini), lora_r=4, decode=decode, max_completion_length=3, batch_tokens=256),
        rollout=RolloutConfig(games=8, num_generations=2),
        loss=LossConfig(num_iterations=2, num_mini_batches=4, entropy_coef=0.1),
        scheme=SchemeConfig(opponents="random=1"),
    )
    trainer, passes = Trainer(config), [0]

    class Clock:
        @staticmethod
        def monotonic():
            return float(passes[0])

    monkeypatch.setattr(deadline, "time", Clock)
    trainer.policy.loaded.model.get_input_embeddings().register_forward_hook(
        lambda *_: passes.__setitem__(0, passes[0] + 1)
    )
    before = taken(trainer)
    trainer.step()  # the first one also checks the model
    put_back(trainer, *before)
    checked = passes[0]
    trainer.step()
    whole = passes[0] - checked
    assert whole > 8
    for limit in range(0, whole - 1, whole // 6):
        put_back(trainer, *before)
        began = passes[0]
        with pytest.raises(OutOfTime), until(began + limit):
            trainer.step()
        assert passes[0] - began == limit + 1
