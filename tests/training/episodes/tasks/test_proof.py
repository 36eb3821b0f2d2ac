"""Proofs in steps: what is valid, who is paid, whom nobody can fool."""

from __future__ import annotations

import pytest

from coterie.errors import UsageError
from coterie.training.episodes.tasks import make_task
from coterie.training.episodes.tasks.proof import is_valid


@pytest.mark.parametrize(
    ("before", "after", "valid"),
    [
        ("3 + 4 + 2", "7 + 2", True),
        ("3 + 4 + 2", "3 + 6", True),
        ("7 + 2", "9", True),
        ("2 * (3 + 4)", "2 * 7", True),
        ("3 + 4 + 2", "8 + 2", False),
        ("3 + 4", "4 + 3", False),  # no step at all
        ("3 + 4", "", False),
        ("3 + 4", "seven", False),
        ("nonsense", "7", False),
        ("3 + 4", "7 / 0", False),
        ("3 + 4", "9" * 10_000, False),
    ],
)
def test_a_step_keeps_the_value_and_makes_the_line_shorter(before, after, valid):
    assert is_valid(before, after) is valid


def solved(prompt):
    """The next line, if nobody errs."""
    a, b, *rest = prompt.splitlines()[-1].split(" + ")
    return " + ".join([str(int(a) + int(b)), *rest])


def honest(who, prompt, choices):
    if who == "Prover":
        return solved(prompt)
    *_, before, after, _ = prompt.splitlines()
    return "valid" if is_valid(before, after) else "invalid"


def test_a_proof_is_a_tree_of_lines_and_verdicts(play):
    arena, results = play("proof", honest, terms=4, batch=2, rollouts=3)
    for root in results:
        assert len(root.rollout.extras["lines"]) == 4
        assert root.rewards == {"Prover": 1}
        assert [child.rewards for child in root.children] == [{"Verifier": 1}] * 3
    assert arena.metrics(results) == {"proved": 1, "valid": 1, "accepted": 1, "checked": 1}


def test_steps_are_paid_one_by_one(play):
    def half(who, prompt, choices):
        if who == "Verifier":
            return honest(who, prompt, choices)
        return solved(prompt) if len(prompt.splitlines()) == 1 else next(c for c in choices if c != solved(prompt))

    arena, results = play("proof", half, batch=2, rollouts=2)
    assert {root.rewards["Prover"] for root in results} == {0.5}
    assert arena.metrics(results) == {"proved": 0, "valid": 0.5, "accepted": 0.5, "checked": 1}


@pytest.mark.parametrize(("checker", "paid"), [("model", 1), ("exact", 0)])
def test_who_believes_everything_pays_for_false_proofs(play, checker, paid):
    def credulous(who, prompt, choices):
        return "valid" if who == "Verifier" else next(c for c in choices if c != solved(prompt))

    _, results = play("proof", credulous, checker=checker)
    for root in results:
        assert (root.rollout.extras["valid"], root.rollout.extras["accepted"]) == (0, 1)
        assert root.rewards == {"Prover": paid}
        assert {child.rewards["Verifier"] for child in root.children} == {0}


@pytest.mark.parametrize(
    ("said", "valid"),
    [
        ("= {a} + {c}\n= {d}", 1),
        ("{a} + {c}\n\n  {d}  ", 1),
        ("{d}", 1),
        ("{a} + {c}", 0),  # not finished
        ("{a} + {c}\n1{d}", 0),
        ("", 0),
        ("It is {d}.", 0),
        ("1\n" * 1000, 0),
    ],
)
def test_proofs_in_own_words(play, said, valid):
    def written(who, prompt, choices):
        if who == "Verifier":
            return honest(who, prompt, choices)
        x, y, z = map(int, prompt.split("\n")[-1].split(" + "))
        return said.format(a=x + y, c=z, d=x + y + z)

    _, results = play("proof", written, free=True, batch=4, rollouts=1, level=9)
    for root in results:
        assert root.rollout.extras["proved"] == valid
        assert len(root.children) <= 20


@pytest.mark.parametrize("bad", [{"level": 0}, {"level": 100}, {"terms": 1}, {"terms": 10}])
def test_refused(bad):
    with pytest.raises(UsageError, match="level is"):
        make_task("proof", **bad)
