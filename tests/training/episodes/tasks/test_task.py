"""Tasks: found by name, built with options, mixed by adding."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from coterie.agents.engines.mock import MockEngine
from coterie.errors import UnknownName, UsageError
from coterie.training.episodes import Arena
from coterie.training.episodes.data.sources import draw_from
from coterie.training.episodes.sandbox import isolation
from coterie.training.episodes.tasks import TASKS, Task, make_task
from coterie.training.episodes.tasks.amplification import amplified_by


def made(name):
    """A task with its defaults; a person who likes everything a little."""
    if name == "code_generation" and isolation():
        pytest.skip(isolation())
    return amplified_by(lambda work: 4) if name == "amplification" else make_task(name)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_plays_and_can_be_learned_from(name):
    arena, task = Arena(MockEngine(), seed=1), made(name)
    task.join(arena)
    results = arena.play(task.source(arena, np.random.default_rng(0)))
    assert not any(r.error for root in results for r in root.walk())
    arena.assign(results)
    batch = arena.build_training_batch(results)
    assert {r.role_id for r in batch} == {role.id for role in task.roles if role.trainable}
    assert any(r.advantage for r in batch)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_is_seeded(name):
    def texts(seed):
        arena, task = Arena(MockEngine(), seed=seed), made(name)
        task.join(arena)
        results = arena.play(task.source(arena, np.random.default_rng(seed)))
        return [(r.path, [s.text for s in r.rollout.steps], r.rewards) for root in results for r in root.walk()]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)


def test_mixed_tasks():
    arena = Arena(MockEngine())
    task = make_task("single_turn", batch=2, rollouts=3) + make_task("proposer_solver", batch=4, n_solver_rollouts=2)
    task.join(arena)
    results = arena.play(task.source(arena, np.random.default_rng(0)))
    assert Counter(r.episode_type for root in results for r in root.walk()) == {
        "single_turn": 6,
        "propose": 4,
        "solve": 8,
    }
    assert [role.id for role in task.roles] == ["Solver", "Proposer"]
    assert make_task("single_turn+proposer_solver").name == "single_turn+proposer_solver"


def test_figures_of_an_update():
    arena, task = Arena(MockEngine()), make_task("proposer_solver", batch=6) + make_task("heavy_agent")
    task.join(arena)
    results = arena.play(task.source(arena, np.random.default_rng(0)))
    rates = [r.rollout.extras["pass_rate"] for r in results[:6]]
    levels = [r.rollout.extras["level"] for r in results[:6]]
    alone = [r.rollout.extras["alone"] for r in results[6:]]
    results[0].rollout.extras["pass_rate"] = None  # an invalid proposal
    results[1].error = "it failed"
    expected = {"pass_rate": np.mean(rates[2:]), "level": np.mean([levels[0], *levels[2:]]), "alone": np.mean(alone)}
    assert task.metrics(results) == pytest.approx(expected)


def test_tasks_that_can_not_be_mixed():
    with pytest.raises(UsageError, match="have different roles 'Solver'"):
        make_task("single_turn") + make_task("single_turn", max_tokens=9)
    with pytest.raises(UsageError, match="have different episodes 'single_turn'"):
        make_task("single_turn") + make_task("single_turn")
    with pytest.raises(UsageError, match="mixes tasks: build each"):
        make_task("single_turn+single_turn", batch=3)


def test_unknown_tasks():
    with pytest.raises(UnknownName, match=r"Unknown task 'single_trun'\. Did you mean 'single_turn'"):
        make_task("single_trun")
    assert isinstance(make_task("single-turn"), Task)


def test_where_problems_come_from(tmp_path):
    assert draw_from("sums:30")(np.random.default_rng(0))["level"] == 30
    assert draw_from("knights")(np.random.default_rng(0))["level"] == 1
    table = tmp_path / "t.csv"
    table.write_text("q,answer\na,1\nb,2\n")
    draw = draw_from(str(table), question="q")
    assert {draw(np.random.default_rng(k))["answer"] for k in range(20)} == {"1", "2"}
    with pytest.raises(UsageError, match=r"no problems 'sum:3'\. Did you mean 'sums'"):
        draw_from("sum:3")
    with pytest.raises(UsageError, match="Levels go from 1 to 10; 11 came"):
        draw_from("word:11")
    with pytest.raises(UsageError, match="the level must be a whole number"):
        draw_from("word:x")
