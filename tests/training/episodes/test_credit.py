"""Advantages in trees that are small enough to be computed by hand."""

from __future__ import annotations

import json

import pytest

from coterie.errors import UsageError
from coterie.training.episodes import (
    ConstantCredit,
    EpisodicRewardCredit,
    GenerateResult,
    GRPOCredit,
    RAECredit,
    Role,
    Rollout,
    Step,
    TurnCredit,
)

ROLES = {name: Role(name) for name in ("Proposer", "Solver", "Critic", "A", "B")} | {
    "Frozen": Role("Frozen", trainable=False)
}


def node(type_, rewards, *children, steps=None, paid=(), trains=True, group=None, error=""):
    """A result; every role speaks once unless ``steps`` says who speaks, ``paid`` what each step is paid."""
    speakers = list(rewards) if steps is None else steps
    said = [Step(role, [], reward=r) for role, r in zip(speakers, [*paid, *[0.0] * len(speakers)], strict=False)]
    rollout = Rollout(steps=said, rewards={} if error else dict(rewards))
    return GenerateResult(rollout, list(children), type_, trains, group, (), error)


def advantages(*results):
    return [[step.advantage for step in r.rollout.steps] for root in results for r in root.walk()]


def test_grpo_compares_roots_with_roots_and_children_with_their_own_siblings():
    first = node("ask", {"Proposer": 1.0}, *(node("solve", {"Solver": r}) for r in (1.0, 0.0, 0.0, 1.0)))
    second = node("ask", {"Proposer": 0.0}, *(node("solve", {"Solver": r}) for r in (1.0, 1.0, 0.0)))
    found = GRPOCredit().assign([first, second], ROLES)
    assert advantages(first) == [[0.5], [0.5], [-0.5], [-0.5], [0.5]]
    third = 1 / 3
    assert advantages(second) == [[-0.5], *([pytest.approx(a)] for a in (third, third, -2 * third))]
    assert found == (3, 0)


def test_grpo_scale_group_divides_by_the_samples_deviation():
    roots = [node("ask", {"A": r}) for r in (0.0, 2.0)]
    GRPOCredit(scale="group").assign(roots, ROLES)
    deviation = 2**0.5
    assert advantages(*roots) == [[pytest.approx(-1 / (deviation + 1e-4))], [pytest.approx(1 / (deviation + 1e-4))]]


def test_grpo_splits_by_role_and_by_episode_type():
    roots = [
        node("debate", {"A": 1.0, "B": -1.0}),
        node("debate", {"A": 0.0, "B": 3.0}),
        node("other", {"A": 7.0}),
        node("other", {"A": 5.0}),
    ]
    GRPOCredit().assign(roots, ROLES)
    assert advantages(*roots) == [[0.5, -2.0], [-0.5, 2.0], [1.0], [-1.0]]


def test_grpo_counts_each_episode_once_however_long_it_is():
    short, long = node("chat", {"A": 0.0}), node("chat", {"A": 3.0}, steps=["A"] * 5)
    GRPOCredit().assign([short, long], ROLES)
    assert advantages(short, long) == [[-1.5], [1.5] * 5]


def test_grpo_compares_only_within_an_explicit_group():
    roots = [node("solve", {"A": r}, group=g) for r, g in ((1.0, "x"), (0.0, "x"), (9.0, "y"), (9.0, "y"))]
    found = GRPOCredit().assign(roots, ROLES)
    assert advantages(*roots) == [[0.5], [-0.5], [0.0], [0.0]]
    assert found == (2, 1)
    assert [r.rollout.steps[0].keep for r in roots] == [True, True, False, False]


def test_a_subtree_that_nobody_learns_from_is_skipped_whole():
    inner = node("solve", {"Solver": 5.0})
    frozen = node("ask", {"Proposer": 9.0}, inner, node("solve", {"Solver": 0.0}), trains=False)
    roots = [node("ask", {"Proposer": 1.0}), frozen, node("ask", {"Proposer": 0.0})]
    for credit in (GRPOCredit(), RAECredit(), TurnCredit(), EpisodicRewardCredit(), ConstantCredit()):
        credit.assign(roots, ROLES)
        assert not any(step.keep for r in frozen.walk() for step in r.rollout.steps)
    GRPOCredit().assign(roots, ROLES)
    assert [r.rollout.steps[0].advantage for r in roots] == [0.5, 0.0, -0.5]


def test_a_failed_episode_is_no_sibling_but_its_children_are_trained():
    failed = node("ask", {}, node("solve", {"Solver": 1.0}), node("solve", {"Solver": 0.0}), steps=["A"], error="late")
    roots = [failed, node("ask", {"A": 1.0}), node("ask", {"A": 0.0})]
    GRPOCredit().assign(roots, ROLES)
    assert advantages(*roots) == [[0.0], [0.5], [-0.5], [0.5], [-0.5]]


def test_siblings_with_different_roles_are_an_error_that_names_them():
    parent = node("ask", {"Proposer": 1.0}, node("solve", {"Solver": 1.0}), node("solve", {"Critic": 0.0}))
    parent.children[0].path, parent.children[1].path = (0, 0), (0, 1)
    with pytest.raises(
        UsageError,
        match=r"Episodes 0\.. and 0\.. of type 'solve'.* different roles: (Critic|Solver) against ",
    ):
        GRPOCredit().assign([parent], ROLES)
    parent.children[1].group = "critics"
    GRPOCredit().assign([parent], ROLES)


def test_siblings_of_which_one_ended_before_a_role_spoke_are_compared():
    roots = [node("debate", {"A": -1.0}), node("debate", {"A": 1.0, "B": 0.0})]
    GRPOCredit().assign(roots, ROLES)
    assert advantages(*roots) == [[-1.0], [1.0, 0.0]]


def test_frozen_roles_get_no_credit_and_are_no_difference():
    roots = [node("debate", {"A": 1.0, "Frozen": 5.0}), node("debate", {"A": 0.0})]
    GRPOCredit().assign(roots, ROLES)
    assert advantages(*roots) == [[0.5, 0.0], [-0.5]]
    assert not roots[0].rollout.steps[1].keep


def test_rae_subtracts_the_mean_from_before_and_keeps_it_over_updates():
    credit = RAECredit(decay=0.5)
    roots = [node("debate", {"A": 1.0, "B": -1.0}), node("debate", {"A": 1.0, "B": 1.0})]
    credit.assign(roots, ROLES)
    assert advantages(*roots) == [[1.0, -1.0], [0.5, 1.5]]  # b: 0 then .5 for A, 0 then -.5 for B
    again = RAECredit(decay=0.5)
    again.load_state_dict(json.loads(json.dumps(credit.state_dict())))
    later = node("debate", {"A": 0.0})
    again.assign([later], ROLES)
    assert advantages(later) == [[-0.75]]


def test_one_global_baseline_mixes_the_roles():
    credit = RAECredit(decay=0.5, by_role=False)
    root = node("debate", {"A": 1.0, "B": -1.0})
    credit.assign([root], ROLES)
    assert advantages(root) == [[1.0, -1.5]]


def test_turn_credit_sums_what_is_left_and_normalises_by_role():
    root = node("game", {"A": 3.0, "B": 1.0}, steps=["A", "B", "A"], paid=(1.0, 1.0, 2.0))
    TurnCredit().assign([root], ROLES)  # A is left with 3 and then 2; B's only return has no variance
    deviation = 0.5**0.5
    assert advantages(root) == [
        [pytest.approx(0.5 / (deviation + 1e-4)), 0.0, pytest.approx(-0.5 / (deviation + 1e-4))]
    ]


def test_episodic_reward_and_constant():
    roots = [node("solve", {"A": r}, steps=["A", "A"]) for r in (2.0, 0.5)]
    EpisodicRewardCredit(baseline=1.0).assign(roots, ROLES)
    assert advantages(*roots) == [[1.0, 1.0], [-0.5, -0.5]]
    EpisodicRewardCredit(baseline=1.0, positive_only=True).assign(roots, ROLES)
    assert [step.keep for r in roots for step in r.rollout.steps] == [True, True, False, False]
    ConstantCredit(0.25).assign(roots, ROLES)
    assert advantages(*roots) == [[0.25, 0.25], [0.25, 0.25]]
