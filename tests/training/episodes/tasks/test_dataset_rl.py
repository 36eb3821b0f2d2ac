"""Problems of a data set come in random order, each once before any comes again."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from coterie.agents.engines.mock import MockEngine
from coterie.errors import UsageError
from coterie.training.episodes import Arena
from coterie.training.episodes.tasks import make_task


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(json.dumps({"q": f"{k}?", "a": str(k)}) for k in range(10)))
    return str(path)


def test_every_problem_once_in_a_pass_whatever_the_batch(table):
    task = make_task("dataset_rl", data=table, question="q", answer="a", batch=4, rollouts=2)
    arena = Arena(MockEngine(), seed=5)
    asked = []
    for update in range(5):
        arena.updates = update
        requests = task.source(arena, np.random.default_rng(update))
        assert [r.group for r in requests] == [0, 0, 1, 1, 2, 2, 3, 3]
        asked += [r.artifact["answer"] for r in requests[::2]]
    assert set(Counter(asked).values()) == {2}
    assert sorted(asked[:10]) == sorted(asked[10:])
    assert asked[:10] != asked[10:]
    arena.updates = 2  # a resumed run gets the same
    assert [r.artifact["answer"] for r in task.source(arena, np.random.default_rng(9))[::2]] == asked[8:12]


def test_rewards_for_right_marked_and_short_answers(table, play):
    said = {"0?": "Answer: 0", "1?": "1", "2?": "I don't know", "3?": "x" * 2000 + " 3"}
    _, results = play(
        "dataset_rl",
        lambda who, prompt, _: said.get(prompt.splitlines()[-1], "Answer: no"),
        data=table,
        question="q",
        answer="a",
        batch=10,
        rollouts=1,
        free=True,
        max_tokens=3000,
        marked=0.5,
        brief=0.1,
    )
    paid = {r.rollout.artifact["question"]: r.rewards["Solver"] for r in results}
    assert paid["0?"] == pytest.approx(1.5 + 0.1 * (1 - 9 / 1000))
    assert paid["1?"] == pytest.approx(1 + 0.1 * 0.999)
    assert paid["2?"] == pytest.approx(0.1 * (1 - 12 / 1000))
    assert paid["3?"] == 1
    assert paid["4?"] == pytest.approx(0.5 + 0.1 * 0.99)


def test_rows_that_are_held_out_are_for_evaluations_alone(table):
    task = make_task("dataset_rl", data=table, question="q", answer="a", batch=3, rollouts=2, held_out=4)
    arena = Arena(MockEngine(), seed=5)
    learned, evaluated = set(), set()
    for update in range(8):
        arena.updates = update
        learned |= {r.artifact["answer"] for r in task.source(arena, np.random.default_rng(update))}
        evaluated |= {r.artifact["answer"] for r in task.held_out(arena, np.random.default_rng(update))}
    assert (len(learned), len(evaluated)) == (6, 4)
    assert not learned & evaluated
    task.join(arena)
    row = arena.evaluate()
    assert row["episodes"] == 6
    with pytest.raises(UsageError, match=r"held_out is 10; .* has 10 rows"):
        make_task("dataset_rl", data=table, question="q", answer="a", held_out=10)


def test_made_problems_are_held_out_without_end():
    task = make_task("dataset_rl", data="word:3", batch=40, rollouts=1)
    arena = Arena(MockEngine())
    known = set()
    for update in range(25):
        arena.updates = update
        known |= {r.artifact["question"] for r in task.source(arena, np.random.default_rng(0))}
    new = {r.artifact["question"] for r in task.held_out(arena, np.random.default_rng(1))}
    assert len(known) > 900
    assert len(new - known) > 35


def test_refused(table):
    with pytest.raises(UsageError, match="no column 'question'"):
        make_task("dataset_rl", data=table)
    with pytest.raises(UsageError, match="both must be at least 1"):
        make_task("dataset_rl", batch=0)
