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
