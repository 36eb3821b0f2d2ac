"""Four kinds of credit on one game with unequal roles: what each role learns, and whether the policy collapses.

    python -m coterie.benchmarks.credit --seeds 0 1 2 --results credit.jsonl --picture docs/images/credit.png

The game is redblue in its listed messages, four secrets and two turns: zero-sum, and the defender wins most games of
players who know nothing. One adapter plays both roles, as in SPIRAL; only the game rewards, and nothing but the credit
differs. Every few updates each role plays scripted:careful, against which an attacker gets at most 0.05 and a defender
0.35. Runs that the file of results holds are not repeated: one file for one model and one budget.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..training.episodes import Arena, CreditAssigner, EpisodeRequest, GRPOCredit, RAECredit, Role, TurnCredit
from ..training.episodes.tasks.redblue import RedBlueEpisode
from ..training.evaluation.intervals import student
from ..training.runs.config import LossConfig, OptimizerConfig, PolicyConfig
from ..training.runs.players import build_policy
from ..training.runs.task_config import LimitsConfig
from .sweep import save_picture, sweep

__all__ = ["CREDITS", "draw", "main", "train"]

CREDITS: dict[str, Callable[[], CreditAssigner]] = {
    "rae": RAECredit,
    "grpo": GRPOCredit,
    "turn": TurnCredit,
    "global": lambda: RAECredit(by_role=False),
}
GAME: dict[str, Any] = {"secrets": 4, "turns": 2, "closed": True}
GROUP = 8
"""Games about one secret, which ``grpo`` compares with each other."""

ROLES = ("Attacker", "Defender")
PANELS = {
    "Attacker": "attacker against careful",
    "Defender": "defender against careful",
    "entropy/Attacker": "attacker's entropy (nats)",
    "entropy/Defender": "defender's entropy (nats)",
    "grad_norm": "gradient norm",
}


def train(credit: str, seed: int, *, model: str, updates: int, every: int, games: int) -> Iterator[dict[str, Any]]:
    """One run; yields its figures every so many updates, the first before any.

    Args:
        credit: one of ``CREDITS``.
        seed: of everything random.
        model: the base model.
        updates: of the learner.
        every: so many updates lie between two measurements.
        games: of an update, in groups of eight with the same secret; each role plays as many for a measurement.
    """
    policy = build_policy(PolicyConfig(model=model), players=(), seed=seed)
    arena = Arena(
        policy,
        seed=seed,
        credit=CREDITS[credit](),
        loss=LossConfig(num_iterations=1),
        optimizer=OptimizerConfig(learning_rate=3e-3),
        limits=LimitsConfig(min_entropy=-1.0, max_kl=math.inf),
    )
    for role in ROLES:
        arena.add_role(Role(role, player="main", temperature=10.0))
    arena.add_episode("both", RedBlueEpisode("redblue", ROLES, **GAME))
    for seat, role in enumerate(ROLES):
        seats = [role if s == seat else None for s in range(2)]
        arena.add_episode(role, RedBlueEpisode("redblue", seats, opponents={1 - seat: "scripted:careful"}, **GAME))
    row: dict[str, Any] | None = None
    rng, started = np.random.default_rng(seed), time.monotonic()
    for update in range(updates + 1):
        if update % every == 0:
            yield {
                "credit": credit,
                "seed": seed,
                "model": policy.loaded.id,
                "update": update,
                **{role: _measured(arena, role, games) for role in ROLES},
                **({} if row is None else _figures(arena, row)),
                "seconds": round(time.monotonic() - started, 1),
            }
        secrets = rng.integers(2**63, size=games // GROUP).tolist()
        row = arena.step([EpisodeRequest("both", secret, group=secret) for secret in secrets for _ in range(GROUP)])


def _measured(arena: Arena, role: str, games: int) -> float:
    """The mean return of a role against its fixed opponent; the same secrets at every measurement."""
    results = arena.play([EpisodeRequest(role, k, is_trainable=False) for k in range(games)])
    return float(np.mean([result.rewards[role] for result in results]))


def _figures(arena: Arena, row: dict[str, Any]) -> dict[str, float]:
    """The last update's entropy of each role's decisions, gradient norm (0: nothing was learned), answers of a game."""
    surprise: dict[str, list[float]] = {role: [] for role in ROLES}
    for result in arena.results:
        for step in result.rollout.steps:
            chances = np.array(step.probabilities)
            surprise[step.role_id].append(float(-np.sum(chances * np.log(np.maximum(chances, 1e-30)))))
    return {
        **{f"entropy/{role}": float(np.mean(values)) for role, values in surprise.items() if values},
        "grad_norm": row.get("grad_norm", 0.0),
        "length": row["decisions"] / len(arena.results),
    }


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """A panel for each figure, a line for each kind of credit: means over seeds with 95 % bands (Student's t)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(PANELS), figsize=(13, 2.7), layout="constrained")
    for axis, (name, label) in zip(axes, PANELS.items(), strict=True):
        for credit in CREDITS:
            known = [row for row in rows if row["credit"] == credit and name in row]
            updates = sorted({row["update"] for row in known})
            values = [[row[name] for row in known if row["update"] == update] for update in updates]
            means = np.array([np.mean(v) for v in values])
            half = [student(len(v) - 1) * np.std(v, ddof=1) / len(v) ** 0.5 if len(v) > 1 else 0.0 for v in values]
            axis.plot(updates, means, label=credit)
            axis.fill_between(updates, means - half, means + half, alpha=0.15)
        axis.set_title(label, fontsize=10)
        axis.set_xlabel("update")
    axes[0].legend(fontsize=8)
    save_picture(figure, path)


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    sweep(
        argv,
        name="credit",
        about=__doc__,
        kind="credit",
        kinds=list(CREDITS),
        train=train,
        draw=draw,
        seeds=(0, 1, 2),
        updates=60,
        games=64,
        group=GROUP,
    )


if __name__ == "__main__":
    main()
