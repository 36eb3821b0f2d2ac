"""Who plays whom where self-play runs in circles: distance from the equilibrium of rock-paper-scissors over updates.

    python -m coterie.benchmarks.schemes                          all of them, seed 0, about eleven minutes
    python -m coterie.benchmarks.schemes --updates 20 --schemes psro --results /tmp/schemes.jsonl

The rock that breaks the scissors is paid 2 here: the equilibrium is 1/4 rock, 1/2 paper, 1/4 scissors, and not the
uniform choice that an entropy bonus pulls to. ``distance`` is what a best response wins against a player on average: 0
at the equilibrium, 1/3 for the uniform choice, at most 2. The player is the learner in ``self_play`` and ``mmd``, the
main agent in ``league``, the average of all past selves in ``fictitious``, the mixture of the population in ``psro``.
Nothing else differs: game, model, credit, optimizer and games an update are the same, and a scheme's learners share
the games. ``mmd`` is self-play with a KL to the policy that played and one to the uniform choice. Runs that the file
of results holds are not repeated.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agents.core import Turn
from ..agents.llm.policy import LLMAgent
from ..envs.words.vec import vec_of
from ..training.loop import Trainer
from ..training.runs.config import (
    BudgetConfig,
    CreditConfig,
    LossConfig,
    OptimizerConfig,
    PolicyConfig,
    RolloutConfig,
    SchemeConfig,
    TrainConfig,
)
from .sweep import save_picture, sweep

__all__ = ["PAYOFFS", "SCHEMES", "distance", "draw", "main", "train"]

PAYOFFS = np.array([[0.0, -1.0, 2.0], [1.0, 0.0, -1.0], [-2.0, 1.0, 0.0]])
MMD = {"magnet_coef": 1.0, "entropy_coef": 0.3, "entropy_final": 0.1, "entropy_decay_updates": 240}
SCHEMES: dict[str, tuple[SchemeConfig, dict[str, Any]]] = {
    "self_play": (SchemeConfig("self_play"), {}),
    "fictitious": (SchemeConfig("fictitious", snapshot_every=5, max_past=100), {}),
    "league": (SchemeConfig("league", snapshot_every=10), {}),
    "psro": (SchemeConfig("psro", snapshot_every=10, fresh=True), {}),
    "mmd": (SchemeConfig("self_play"), MMD),
    "league_mmd": (SchemeConfig("league", snapshot_every=10), MMD),
}
"""Name -> scheme, and what differs in the loss."""


def train(name: str, seed: int, *, model: str, updates: int, every: int, games: int) -> Iterator[dict[str, Any]]:
    """One run; yields its distance every so many updates, the first before any.

    Args:
        name: one of ``SCHEMES``.
        seed: of everything random.
        model: the base model.
        updates: of the learners.
        every: so many updates lie between two measurements.
        games: of an update.
    """
    scheme, terms = SCHEMES[name]
    config = TrainConfig(
        game="matrix",
        seed=seed,
        set=("rounds=1", f"payoffs={PAYOFFS.tolist()}"),
        policy=PolicyConfig(model=model),
        rollout=RolloutConfig(games=games, num_generations=1, opening_plies=0),
        credit=CreditConfig(credit="state"),
        loss=LossConfig(num_iterations=4, **terms),
        optimizer=OptimizerConfig(learning_rate=3e-4, decay_updates=updates, beta1=0.0),
        scheme=scheme,
        budget=BudgetConfig(eval_vs="", min_entropy=-1.0, max_kl=1e9),
    )
    trainer, started = Trainer(config), time.monotonic()
    row: dict[str, Any] = {}
    for update in range(updates + 1):
        if update % every == 0:
            past = trainer.pool.past("main") if name == "fictitious" else []
            played = _played(trainer, row.get("mixture") or dict.fromkeys(past or ["main"], 1 / max(1, len(past))))
            yield {
                "scheme": name,
                "seed": seed,
                "model": trainer.policy.loaded.id,
                "update": update,
                "distance": distance(played),
                "chances": [round(float(p), 4) for p in played],
                "seconds": round(time.monotonic() - started, 1),
            }
        row = trainer.step()


def distance(chances: NDArray[np.float64]) -> float:
    """What a best response wins against the choices [3] on average; the game is symmetric, and worth 0."""
    return float((PAYOFFS @ chances).max())


def _played(trainer: Trainer, mixture: Mapping[str, float]) -> NDArray[np.float64]:
    """[3] how often a mixture of players makes each choice, mean over both seats."""
    vec: Any = vec_of(trainer.game, 1)
    vec.reset(seed=0)
    turns = [Turn(vec.game, vec.state, 0, seat, vec.action_mask[0, seat], seat) for seat in range(2)]
    chances = np.zeros(3)
    for name, share in mixture.items():
        chances += share * np.mean(LLMAgent(trainer.policy, name).policy(turns), 0)
    return chances


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """A panel for each scheme: a line for each seed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = [name for name in SCHEMES if any(row["scheme"] == name for row in rows)]
    figure, axes = plt.subplots(
        1, len(names), figsize=(2.6 * len(names), 2.6), layout="constrained", sharey=True, squeeze=False
    )
    for axis, name in zip(axes[0], names, strict=True):
        for seed in sorted({row["seed"] for row in rows if row["scheme"] == name}):
            run = [row for row in rows if (row["scheme"], row["seed"]) == (name, seed)]
            axis.plot([row["update"] for row in run], [row["distance"] for row in run], label=f"seed {seed}")
        axis.axhline(0.05, color="gray", linewidth=0.8, linestyle=":")
        axis.set_title(name, fontsize=10)
        axis.set_xlabel("update")
        axis.set_ylim(bottom=0)
    axes[0, 0].set_ylabel("distance from the equilibrium")
    save_picture(figure, path)


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    sweep(
        argv,
        name="schemes",
        about=__doc__,
        kind="scheme",
        kinds=list(SCHEMES),
        train=train,
        draw=draw,
        seeds=(0,),
        updates=240,
        games=512,
        group=16,
    )


if __name__ == "__main__":
    main()
