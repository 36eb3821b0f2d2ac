"""The promise that the README makes, watched: the preset that it names still learns as fast as when it was measured."""

from __future__ import annotations

import dataclasses

import pytest

pytest.importorskip("torch")

from coterie.agents.baselines import make_baseline
from coterie.agents.llm.policy import LLMAgent
from coterie.agents.search.solver import explore
from coterie.training.evaluation.exact import exact_match, policy_table
from coterie.training.loop import Trainer
from coterie.training.runs.config import preset

UPDATES = 60  # where the curve is steep: what learns half as fast is far below the floor

WON, DRAWN = 0.78, 0.75
"""Floors after so many updates, of the likeliest moves. Measured: 84.6 to 86.1 % won against random and 92.5 to 92.7 %
drawn against perfect play."""


@pytest.mark.slow
def test_the_default_run_learns_as_it_did():
    config = preset("tictactoe")
    trainer = Trainer(dataclasses.replace(config, threads=1))
    while trainer.updates < UPDATES:
        trainer.step()
    graph = explore(trainer.game)
    player = policy_table(graph, LLMAgent(trainer.policy, "main", greedy=True))
    perfect, random = (policy_table(graph, make_baseline(name, trainer.game)) for name in ("minimax", "random"))
    drawn, won = exact_match(graph, player, perfect)[1], exact_match(graph, player, random)[0]
    assert won > WON, f"{won:.3f} won against random"
    assert drawn > DRAWN, f"{drawn:.3f} drawn against perfect play"
