"""Reinforcement learning on a data set: Hugging Face ``datasets``, JSONL, CSV, or a thousand problems made here."""

from __future__ import annotations

import numpy as np

from ....errors import UsageError
from ..arena import Arena
from ..data.problems import Problem, is_marked
from ..data.sources import KINDS, draw_from, need_table
from ..data.tables import read_problems
from ..records import EpisodeRequest, Rollout
from ..role import Role
from ..rubric import Rubric
from .single_turn import ANSWER, is_right, solving
from .task import Task, check_counts, compared

__all__ = ["dataset_rl", "pays_brevity", "pays_marks"]

MADE = 1000
"""Problems of a data set that is made here."""


def pays_marks(rollout: Rollout, arena: object) -> dict[str, float]:
    """1 for an answer that is marked as one, as in ``Answer: 5``; else 0."""
    step = rollout.steps[-1]
    return {step.role_id: float(is_marked(step.text))}


def pays_brevity(rollout: Rollout, arena: object) -> dict[str, float]:
    """From 1 for an empty answer down to 0 for one of 1,000 characters and more."""
    step = rollout.steps[-1]
    return {step.role_id: max(0.0, 1 - len(step.text) / 1000)}


def dataset_rl(
    *,
    data: str = "word:1",
    question: str = "question",
    answer: str = "answer",
    choices: str = "",
    split: str = "train",
    config: str = "",
    batch: int = 8,
    rollouts: int = 8,
    free: bool = False,
    max_tokens: int = 256,
    marked: float = 0.0,
    brief: float = 0.0,
    held_out: int = 0,
) -> Task:
    """The role Solver answers the problems of a data set, in random order, each once before any comes again.

    Args:
        data: a .jsonl or .csv file, a folder of datasets or a hub name such as openai/gsm8k; or word:1 etc., for
            a thousand problems that are made here. See docs/tasks/problems.md.
        question: the column with questions.
        answer: the column with answers.
        choices: the column with choices, if there is one.
        split: of a data set.
        config: of a data set of the hub (``--set config=main``; ``--config`` is a file of settings).
        batch: problems of an update.
        rollouts: answers to each problem, compared with each other.
        free: the answer may be any text; otherwise problems with choices are answered by choice.
        max_tokens: the longest free answer.
        marked: paid for marking an answer as one, beside the 1 for a right answer.
        brief: paid for short answers: the whole of it for an empty one, nothing from 1,000 characters on.
        held_out: rows that nobody learns from, for evaluations; 0: evaluations draw from all rows, and where
            problems are made, they make new ones.

    Raises:
        UsageError: the data can't be read.
    """
    if data.partition(":")[0] in KINDS:
        draw, rng = draw_from(data), np.random.default_rng(0)
        rows = [draw(rng) for _ in range(MADE)]
    else:
        need_table(data)
        columns = {"question": question, "answer": answer, "choices": choices, "split": split}
        rows = read_problems(data, **columns, config=config or None)  # type: ignore[arg-type]
    check_counts(batch=batch, rollouts=rollouts)
    if not 0 <= held_out < len(rows):
        raise UsageError(f"held_out is {held_out}; {data} has {len(rows)} rows, of which one at least must be left.")
    aside: list[Problem] = []
    if held_out:
        mixed = [rows[k] for k in np.random.default_rng(0xA51DE).permutation(len(rows)).tolist()]
        aside, rows = mixed[:held_out], mixed[held_out:]

    def source(arena: Arena, rng: np.random.Generator) -> list[EpisodeRequest]:
        return compared("dataset", _due(rows, arena.updates * batch, batch, arena.seed), rollouts)

    def evaluated(arena: Arena, rng: np.random.Generator) -> list[EpisodeRequest]:
        if data.partition(":")[0] in KINDS and not aside:
            return compared("dataset", [draw_from(data)(rng) for _ in range(batch)], rollouts)
        among = aside or rows
        return compared("dataset", [among[k] for k in rng.permutation(len(among))[:batch].tolist()], rollouts)

    role = Role("Solver", ANSWER if free else "", max_tokens=max_tokens)
    rubric = Rubric([is_right, pays_marks, pays_brevity], [1.0, marked, brief])
    return Task("dataset_rl", (role,), {"dataset": solving(free=free, rubric=rubric)}, source, held_out=evaluated)


def _due(rows: list[Problem], start: int, count: int, seed: int) -> list[Problem]:
    """Rows number ``start`` and on, in an order that is new in every pass through the data."""
    found = []
    for place in range(start, start + count):
        turn, at = divmod(place, len(rows))
        order = np.random.default_rng([seed, 0xDA7A, turn]).permutation(len(rows))
        found.append(rows[int(order[at])])
    return found
