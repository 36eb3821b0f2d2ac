"""A proof in steps, and a verifier who checks each of them.

::

    3 + 4 + 2 ──> Prover: 7 + 2, then 9 ──> Verifier, once a step: valid or invalid ──> accepted if all are valid

The prover rewrites a sum until one number is left. A step is valid if the value stays the same and fewer operations are
left, which is checked exactly; the verifier is paid for verdicts that are true, the prover for steps that are accepted,
once its proof is finished.
"""

from __future__ import annotations

import itertools
from typing import Any, Literal

import numpy as np

from ....errors import UsageError
from ..arena import Arena
from ..data.arithmetic import value_of
from ..episode import Episode, SingleTurnEpisode
from ..records import EpisodeRequest, EpisodeState, Rollout
from ..role import Role
from .single_turn import quoted
from .task import Task, averages, drawn

__all__ = ["ProofEpisode", "is_valid", "proof"]

VALID, INVALID = "valid", "invalid"
SIGNS = "+-*/"
STEPS = 20
"""The most lines of a proof that are read."""
NEAR = 5
"""Results to choose from for the next line: the right one, and its neighbours."""

DEFAULTS = {
    "credit": {"credit": "rae"},  # verdicts of one proof are too few, and too alike, to be compared with each other
    "loss": {"cover_coef": 0.03, "entropy_coef": 0.02},
    "optimizer": {"learning_rate": 2e-3},
}
WARMTH = 10.0
"""The temperature of a verifier who chooses: the built-in model finds one of the two words far likelier."""

PROVE = (
    "Simplify the expression step by step. Write one line for each step: the whole expression with one operation "
    "carried out. The last line is a single number. Write nothing else."
)
CHECK = "You check a step of a proof: is the second line equal to the first, and simpler?"


def is_valid(before: str, after: str) -> bool:
    """Whether a line follows from the one before: the same value, and fewer operations."""
    value = value_of(after)
    return value is not None and value == value_of(before) and _operations(after) < _operations(before)


def _operations(line: str) -> int:
    """The signs of a line."""
    return sum(line.count(sign) for sign in SIGNS)


def next_lines(line: str, rng: np.random.Generator) -> list[str]:
    """Lines that may come next: the first two numbers are replaced by their sum, or by a number near to it."""
    a, b, *rest = line.split(" + ")
    least = max(0, int(a) + int(b) - int(rng.integers(NEAR)))
    return [" + ".join([str(k), *rest]) for k in range(least, least + NEAR)]


def true_verdict(rollout: Rollout, arena: object) -> dict[str, float]:
    """1 for a verdict that is true, else 0."""
    said = rollout.steps[-1].text.strip().casefold().rstrip(".")
    return {"Verifier": float(said == (VALID if is_valid(*rollout.artifact) else INVALID))}


class ProofEpisode(Episode):
    """The prover's episode; the verdicts on its steps are its children.

    ``extras``: the ``lines``; shares of steps that are ``valid`` and that were ``accepted``, 0 for a proof that isn't
    finished; the share of verdicts that were true, ``checked`` (None without steps); 1 or 0 for a whole proof
    (``proved``).

    Args:
        checker: ``model``: the prover is paid for steps that the verifier accepts; ``exact``: for valid ones.
        free: the prover writes its lines at once; otherwise it chooses one after another.
    """

    def __init__(self, checker: str, *, free: bool = False) -> None:
        super().__init__(self.reward)
        self.checker, self.free = checker, free

    def reward(self, rollout: Rollout, arena: object) -> dict[str, float]:
        """The share of steps that pass."""
        return {"Prover": rollout.extras["accepted" if self.checker == "model" else "valid"]}

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Prove, and have each step checked."""
        lines = [str(artifact["question"])]
        if self.free:
            text = (await self.call_model("Prover", lines[0], arena)).text
            lines += [line.strip().strip("= ") for line in text.splitlines() if line.strip()][:STEPS]
        while not self.free and _operations(lines[-1]):
            options = next_lines(lines[-1], state.rng)
            lines.append((await self.call_model("Prover", "\n".join(lines), arena, choices=options)).text)
        steps = list(itertools.pairwise(lines))
        state.child_results = await arena.generate_rollouts([EpisodeRequest("check", step) for step in steps])
        state.data["lines"] = lines
        return state

    def get_extras(self, state: EpisodeState) -> dict[str, Any]:
        """How good the proof is, and what the verifier says of it."""
        lines, checks = state.data["lines"], [child for child in state.child_results if not child.error]
        if state.child_results and not checks:
            raise UsageError("No step was checked.")
        done = len(lines) > 1 and lines[-1].isdecimal()
        steps = len(lines) - 1
        valid = sum(itertools.starmap(is_valid, itertools.pairwise(lines)))
        accepted = sum(child.rewards["Verifier"] == is_valid(*child.rollout.artifact) for child in checks)
        return {
            "lines": lines,
            "proved": float(done and valid == steps),
            "valid": valid / steps if done else 0.0,
            "accepted": accepted / steps if done else 0.0,
            "checked": float(np.mean([child.rewards["Verifier"] for child in checks])) if checks else None,
        }


def proof(
    *,
    level: int = 4,
    terms: int = 3,
    checker: Literal["model", "exact"] = "model",
    batch: int = 8,
    rollouts: int = 8,
    free: bool = False,
    max_tokens: int = 128,
) -> Task:
    """The roles Prover and Verifier: proofs that a sum has a value, checked step by step.

    Args:
        level: numbers go from 0 to this, 1 to 99.
        terms: numbers of a sum, 2 to 9.
        checker: who pays the prover: model, the verifier by its verdicts; exact, the known truth. The verifier is
            always paid for true verdicts.
        batch: sums of an update.
        rollouts: proofs for each sum, compared with each other.
        free: the prover writes its own lines; otherwise it chooses each among five.
        max_tokens: the longest proof in the prover's own words.

    Raises:
        UsageError: another level or number of terms.
    """
    if not (1 <= level <= 99 and 2 <= terms <= 9):
        raise UsageError(f"level is {level} and terms {terms}: 1 to 99 and 2 to 9 are possible.")

    def draw(rng: np.random.Generator) -> Any:
        numbers = rng.integers(level + 1, size=terms).tolist()
        return {"question": " + ".join(map(str, numbers)), "answer": str(sum(numbers)), "choices": [], "level": level}

    check = SingleTurnEpisode(
        "Verifier",
        lambda step: f"{quoted(step[0])}\n{quoted(step[1])}\nvalid or invalid?",
        lambda step: [VALID, INVALID],
        true_verdict,
    )
    roles = (
        Role("Prover", PROVE if free else "", max_tokens=max_tokens),
        Role("Verifier", CHECK if free else "", 1.0 if free else WARMTH),
    )
    figures = averages("proved", "valid", "accepted", "checked")
    episodes = {"prove": ProofEpisode(checker, free=free), "check": check}
    return Task("proof", roles, episodes, drawn("prove", draw, batch, rollouts), {}, figures)
