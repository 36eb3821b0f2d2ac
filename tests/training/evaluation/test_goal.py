"""What a goal may be about."""

from __future__ import annotations

import pytest

from coterie.errors import UsageError
from coterie.training.evaluation.goal import Goal


def test_the_policy_itself_may_be_a_goal():
    goal = Goal.parse("random.win>=0.5,policy.exploitability<=0.05")
    goal.check(["random"], exact=True)
    games = {"opponent": "random", "win": 0.6}
    assert goal.reached([games, {"opponent": None, "exploitability": 0.04}])
    assert not goal.reached([games, {"opponent": None, "exploitability": 0.06}])
    assert not goal.reached([games, {"opponent": None, "exploitability": None, "why": "too large"}])
    assert goal.shown([games, {"opponent": None, "exploitability": 0.04}]).endswith(
        "policy.exploitability 0.040 <= 0.05"
    )


@pytest.mark.parametrize("goal", ["policy.exploitability<=0.1", "random.exploitability<=0.1", "policy.win>=0.1"])
def test_what_is_not_measured_is_no_goal(goal):
    with pytest.raises(UsageError, match="with --exact"):
        Goal.parse(goal).check(["random", "policy"], exact=goal.startswith("random"))


def test_a_curriculum_against_several_opponents_must_be_solved_against_all():
    goal = Goal.parse("kqk.solved>=0.5")
    goal.check(["random"], "kqk")
    rows = [{"curriculum": "kqk", "opponent": name, "solved": share} for name, share in (("a", 0.6), ("b", 0.4))]
    assert not goal.reached(rows)
    assert goal.reached(rows[:1])
    assert not goal.reached([])
