"""The proposer is paid for problems that are solved half of the time."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from coterie.agents.engines.mock import MockEngine
from coterie.errors import UnknownName, UsageError
from coterie.training.episodes import Arena
from coterie.training.episodes.data.arithmetic import value_of
from coterie.training.episodes.tasks import make_task
from coterie.training.episodes.tasks.proposer_solver import goldilocks


@pytest.mark.parametrize(("rate", "reward"), [(0.5, 1), (0.25, 0.5), (0.75, 0.5), (0, 0), (1, 0), (0.125, 0.25)])
def test_goldilocks(rate: float, reward: float) -> None:
    assert goldilocks(rate) == reward
    assert goldilocks(rate, extremes=True) == (reward if 0 < rate < 1 else -0.5)


def played(engine, **options):
    arena = Arena(engine, seed=3)
    task = make_task("proposer_solver", **options)
    task.join(arena)
    results = arena.play(task.source(arena, np.random.default_rng(0)))
    assert not any(r.error for root in results for r in root.walk())
    return arena, results


def test_a_tree_of_proposals_and_answers():
    arena, results = played(MockEngine(), batch=6, fresh=False)
    assert len(results) == 6
    for root in results:
        level = int(root.rollout.steps[0].text.removeprefix("level "))
        assert [child.rollout.artifact for child in root.children] == [root.rollout.extras["problem"]] * 8
        assert root.rollout.extras["level"] == root.children[0].rollout.artifact["level"] == level
        rate = np.mean([child.rewards["Solver"] for child in root.children])
        assert root.rollout.extras["pass_rate"] == rate
        assert root.rewards == {"Proposer": goldilocks(rate)}
    arena.assign(results)
    batch = arena.build_training_batch(results)
    assert [r.role_id for r in batch] == (["Proposer"] + ["Solver"] * 8) * 6
    assert [r.datum.lora for r in batch] == [r.role_id for r in batch]
    for k in range(6):  # solvers are compared with solvers of the same problem
        assert sum(r.advantage for r in batch[9 * k + 1 : 9 * k + 9]) == pytest.approx(0)


def test_everybody_and_nobody():
    def knows(ask):
        """Proposes level 2; solves what ends in an even number."""
        said = bytes(ask.context.ids).decode()
        if "Choose" in said:
            return 1
        a, b = (int(x) for x in said.removesuffix("=").split("+"))
        return a + b if a % 2 == 0 else 3 * (a + b < 3)

    _, results = played(MockEngine(knows), batch=12, fresh=False, extremes=True)
    even = [r.rollout.extras["problem"]["question"][0] in "02" for r in results]
    assert 0 < sum(even) < 12
    assert [r.rollout.extras["pass_rate"] for r in results] == [float(e) for e in even]
    assert {r.rewards["Proposer"] for r in results} == {-0.5}


def test_every_solver_may_get_a_problem_of_its_own():
    _, results = played(MockEngine(lambda ask: 4), batch=3)
    for root in results:
        asked = [child.rollout.artifact for child in root.children]
        assert len({p["question"] for p in asked}) > 1
        assert {p["level"] for p in asked} == {5}
        assert root.rollout.extras["pass_rate"] == np.mean([p["answer"] == "4" for p in asked])


def writes(text):
    return lambda ask: list(text.encode()) if b"Your problem" in bytes(ask.context.ids) else list(b"so Answer: 49")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("7 * 7", "7 * 7 ="),
        ("Here it is:\n7*(3 + 4)\n", "7*(3 + 4) ="),
        ("7 * 7 = ?", "7 * 7 ="),
        ("What is (50 - 1)?", "(50 - 1) ="),
        ("<|im_end|>\x00", None),
        ("seven", None),
        ("49", None),
        ("1 / 0", None),
        ("9" * 60 + " + 1", None),
        ("((((((" * 100, None),
    ],
)
def test_written_proposals(text, question):
    _, results = played(MockEngine(writes(text)), kind="free", batch=1, n_solver_rollouts=2, max_tokens=5000)
    (root,) = results
    if question is None:
        assert (root.rewards, root.children) == ({"Proposer": -1.0}, [])
        assert root.rollout.extras == {"problem": None, "level": 0, "pass_rate": None}
    else:
        assert root.rollout.extras["problem"] == {"question": question, "answer": "49", "choices": [], "level": 0}
        assert root.rollout.extras["pass_rate"] == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) / 4", Fraction(3, 4)),
        ("-(3)", -3),
        ("2 ** 9", None),
        ("7 // 2", None),
        ("5()", None),
        ("1 / (2 - 2)", None),
        ("0x10", None),
        ("٣ + ١", None),
        ("-" * 150 + "1", 1),
        ("(" * 100 + "1" + ")" * 99, None),
    ],
)
def test_expressions(text, value):
    assert value_of(text) == value


def test_one_adapter_for_both():
    arena, results = played(MockEngine(), batch=2, shared=True)
    assert {r.datum.lora for r in arena.build_training_batch(results)} == {"main"}


def test_refused():
    with pytest.raises(UnknownName, match=r"Unknown kind of problems 'sum'\. Did you mean 'sums'"):
        make_task("proposer_solver", kind="sum")
    with pytest.raises(UsageError, match="Levels go from 1 to 4; 12 came"):
        make_task("proposer_solver", kind="knights")
    with pytest.raises(UsageError, match="both must be at least 1"):
        make_task("proposer_solver", n_solver_rollouts=0)
    with pytest.raises(UsageError, match="no option 'rollout'"):
        make_task("proposer_solver", rollout=3)
