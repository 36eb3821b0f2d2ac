"""Schedules: what they say, who may speak when, and what is refused in a sentence."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.errors import UsageError
from coterie.training.episodes.schedule import Group, Plan, drive, parse_schedule


def speakers(text: str, seed: int = 0, roles: Sequence[str] = ()) -> str:
    """The turns of a drawn schedule, as one string."""

    async def speak(role: str, heard: Sequence[str]) -> str:
        return role

    plan = parse_schedule(text, roles).draw(np.random.default_rng(seed))
    return "".join(asyncio.run(drive(plan, speak)))


def test_the_schedule_of_the_readme() -> None:
    drawn = {speakers("A -> B -> (A/B)*5", seed) for seed in range(400)}
    assert drawn == {"AB" + format(k, "05b").translate({48: "A", 49: "B"}) for k in range(32)}


def test_marks() -> None:
    assert speakers("A->B*2->A") == "ABBA"
    assert speakers("((A -> B)*2)*2") == "ABABABAB"
    assert {speakers("A*3/B*2", seed) for seed in range(20)} == {"AAA", "BB"}
    assert {speakers("A*(1..3)", seed) for seed in range(30)} == {"A", "AA", "AAA"}
    assert {speakers("*", seed, ["A", "B", "C"]) for seed in range(30)} == {"A", "B", "C"}
    assert speakers("main-2 -> a.b", roles=["main-2", "a.b", "unused"]) == "main-2a.b"


def test_choices_have_equal_shares() -> None:
    counts = Counter(speakers("A/B/C", seed) for seed in range(3000))
    assert all(abs(count - 1000) < 130 for count in counts.values())  # five standard deviations


def test_nobody_hears_who_speaks_at_the_same_time() -> None:
    heard_by: list[tuple[str, str]] = []

    async def speak(role: str, heard: Sequence[str]) -> str:
        heard_by.append((role, "".join(heard)))
        await asyncio.sleep(0.01 if role == "B" else 0)
        return role

    plan = parse_schedule("A -> (B & (C -> D -> E)) -> F").draw(np.random.default_rng(0))
    assert "".join(asyncio.run(drive(plan, speak, ["x"]))) == "ABCDEF"
    assert heard_by == [("A", "x"), ("B", "xA"), ("C", "xA"), ("D", "xAC"), ("E", "xACD"), ("F", "xABCDE")]


def test_an_exception_passes_once_all_are_done() -> None:
    done = []

    async def speak(role: str, heard: Sequence[str]) -> str:
        if role == "A":
            raise RuntimeError("no answer")
        await asyncio.sleep(0.01)
        done.append(role)
        return role

    plan = parse_schedule("A & B").draw(np.random.default_rng(0))
    with pytest.raises(RuntimeError, match="no answer"):
        asyncio.run(drive(plan, speak))
    assert done == ["B"]


def test_printed_as_a_plan() -> None:
    assert str(parse_schedule("A -> (A&B)*2 -> (*/B)*(1..5)")) == (
        "one after the other:\n  A\n  2 times:\n    at the same time:\n      A\n      B\n"
        "  1 to 5 times:\n    one of:\n      one of A, B\n      B"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names nobody"),
        ("  ", "names nobody"),
        ("*", "names nobody"),
        ("()", "')' at character 2; expected a role"),
        ("A ->", "the end at character 5; expected a role"),
        ("A - > B", "'-' at character 3"),
        ("A B", "'B' at character 3; expected '->'"),
        ("(A -> B", "expected ')'"),
        ("A)", "')' at character 2"),
        ("A*0", "'0' at character 3; expected a whole number of at least 1"),
        ("A*B", "'B' at character 3; expected a whole number"),
        ("A*(3..2)", "'2' at character 7; expected a whole number of at least 3"),
        ("A*(3,4)", "expected '..'"),
        ("A*99999999999999999999", "expected a whole number"),
        ("((A*1000)*1000)*1000", "may take 1,000,000,000 turns"),
        ("(" * 60 + "A" + ")" * 60, "at most 50 parentheses"),
        ("A" * 1_000_000, "has 1,000,000 characters"),
        ("A*2*2", "'*' at character 4; expected"),
        ("5", "'5' at character 1"),
        ("A\x00B", "'\\x00' at character 2"),
    ],
)
def test_refused_in_a_sentence(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_schedule(text)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 300


def test_unknown_roles() -> None:
    with pytest.raises(UsageError, match=r"names 'Solvr', no role\. Did you mean 'Solver'"):
        parse_schedule("Solvr -> Critic", ["Solver", "Critic"])


PLANS = st.recursive(
    st.sampled_from(["A", "B", "long-name.2", "*"]),
    lambda parts: st.one_of(
        st.builds(Group, st.sampled_from(["->", "&", "/"]), st.lists(parts, min_size=2, max_size=3).map(tuple)),
        st.builds(
            lambda part, least, more: Group("*", (part,), least, least + more),
            parts,
            st.integers(1, 3),
            st.integers(0, 2),
        ),
    ),
    max_leaves=8,
)


def written(plan: Plan) -> str:
    """A plan in the language, with parentheses around every group."""
    if isinstance(plan, str):
        return plan
    if plan.mark == "*":
        return f"({written(plan.parts[0])})*({plan.least}..{plan.most})"
    return plan.mark.join(f"({written(part)})" for part in plan.parts)


@given(PLANS)
def test_whatever_is_written_is_read(plan: Plan) -> None:
    assert parse_schedule(written(plan), ["A", "B", "long-name.2"]).plan == plan


@given(st.text(alphabet="AB ->/&*().0123\x00é", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        schedule = parse_schedule(text)
    except UsageError:
        return
    schedule.draw(np.random.default_rng(0))
