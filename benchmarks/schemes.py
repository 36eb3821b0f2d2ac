"""Who plays whom: exact exploitability over decisions played, for several schemes that begin with the same player.

    python -m coterie.benchmarks.schemes kuhn_poker --seeds 0 1 2 --results kuhn.jsonl --picture kuhn.png
    python -m coterie.benchmarks.schemes matrix --updates 20 --schemes psro --results /tmp/schemes.jsonl

What a scheme finds is measured: the learner in ``self_play`` and ``mmd``, the main agent in ``league``, the average of
all past selves in ``fictitious``, the mixture of the population in ``psro``. An average or a mixture draws one player
before each game, and the measure is exact for that. ``newest`` is the learner alone, ``average`` what it was at the
measurements of the second half of the run so far. At the end of ``league``, ``population`` is everybody whom it has
kept, and its learners: their Nash mixture, by the exact payoff of each pair, and drawn alike.

Nothing else differs between the schemes of a game: model, credit, optimizer, updates and games an update are the same,
and a scheme's learners share the games. ``mmd`` is self-play with a KL to the uniform choice, in ``matrix`` also one to
the policy that played; ``fictitious_mmd``, ``league_mmd`` and ``psro_mmd`` are the others with these terms.

``matrix`` is rock-paper-scissors with a rock that is paid 2 for scissors: its equilibrium is 1/4 rock, 1/2 paper, 1/4
scissors, and not the uniform choice that an entropy bonus pulls to. In tic-tac-toe the measured players take their
likeliest move; ``sampled`` is the learner that samples its moves, and ``on_path`` the share of right moves among the
positions that its likeliest moves can lead to, with any opponent. ``oracle`` exists there alone. In dark hex on 3x3
cells (classical rules, which let X win for certain) they choose between their two likeliest cells, in proportion to the
probabilities: their play leads to few of the six million information sets. Runs that the file of results holds are not
repeated.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agents.core import HasPolicy, Turn
from ..agents.llm.policy import LLMAgent
from ..agents.search.information_sets import expected_returns, information_tree
from ..agents.search.phantom_tree import is_phantom
from ..training.evaluation.exact import exploitability, exploitability_of_mixture, optimal_share, tabulate
from ..training.loop import Trainer
from ..training.population.solvers import nash
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
from ..training.runs.presets import PRESETS
from ..training.schemes.seating import historical
from .sweep import Parser, save_picture, sweep

__all__ = ["GAMES", "SCHEMES", "Setting", "draw", "main", "train"]


SCHEMES = ("self_play", "fictitious", "league", "psro", "mmd", "fictitious_mmd", "league_mmd", "psro_mmd", "oracle")


@dataclass(frozen=True)
class Setting:
    """How schemes are compared on a game.

    Attributes:
        game: its name, where that is not the setting's.
        set: what is set of the game.
        updates, games: of a run, and of an update.
        rate: learning rate at the beginning; it falls to a tenth over all updates.
        momentum: of the optimizer.
        explore: share of the learners' answers that are sampled uniformly.
        every: updates between two past selves: fictitious, league, psro, oracle.
        mmd: what magnetic mirror descent changes in the loss.
        settled: the share of a run after which its entropy bonus no longer falls.
        loss: the loss of all schemes.
        credit: of all schemes.
        limit: decisions of the game, see ``exploitability``.
        likeliest: measure players that choose among so many of their likeliest moves; 0: among all.
        bar: a line in the picture.
        schemes: those that can be compared.
    """

    game: str = ""
    set: tuple[str, ...] = ()
    updates: int = 240
    games: int = 512
    rate: float = 3e-4
    momentum: float = 0.0
    explore: float = 0.0
    every: tuple[int, int, int, int] = (5, 10, 10, 5)
    mmd: Mapping[str, float] = field(
        default_factory=lambda: {"magnet_coef": 1.0, "entropy_coef": 0.3, "entropy_final": 0.1}
    )
    settled: float = 1.0
    loss: LossConfig = field(default_factory=lambda: LossConfig(num_iterations=4))
    credit: CreditConfig = field(default_factory=lambda: CreditConfig(credit="state"))
    limit: int = 20_000
    likeliest: int = 0
    bar: float = 0.05
    schemes: tuple[str, ...] = SCHEMES[:-1]


_CARDS = Setting(
    updates=240,
    games=1024,
    rate=6e-4,
    every=(6, 12, 12, 6),
    mmd={"entropy_coef": 0.2, "entropy_final": 0.06},
    settled=0.6,
    loss=LossConfig(num_iterations=1),
    credit=CreditConfig(credit="state", lam=0.0),
    bar=0.02,
)

GAMES = {
    "matrix": Setting(set=("rounds=1", "payoffs=[[0, -1, 2], [1, 0, -1], [-2, 1, 0]]")),
    "kuhn_poker": _CARDS,
    "leduc_poker": replace(
        _CARDS,
        updates=400,
        games=4096,
        rate=1e-3,
        every=(20, 40, 50, 20),
        mmd={"entropy_coef": 1.0, "entropy_final": 0.25},
        bar=0.3,
    ),
    "tictactoe": Setting(
        updates=200,
        rate=2e-3,
        momentum=0.9,
        explore=0.1,
        mmd={"entropy_coef": 0.1, "entropy_final": 0.02},
        settled=0.6,
        loss=replace(PRESETS["tictactoe"].loss, entropy_decay_updates=120),
        credit=CreditConfig(credit="state", lam=0.2, memory=0.9),
        likeliest=1,
        bar=0.0,
        schemes=("self_play", "fictitious", "league", "psro", "mmd", "oracle"),
    ),
    "dark_hex": replace(
        _CARDS, updates=50, games=256, rate=1e-3, every=(10, 10, 10, 10), limit=20_000_000, likeliest=2, bar=0.0
    ),
    "dark_hex_3x2": replace(
        _CARDS,
        game="dark_hex",
        set=("num_cols=3", "num_rows=2"),
        updates=60,
        games=256,
        rate=1e-3,
        every=(10, 10, 10, 10),
        bar=0.0,
    ),
    "liars_dice": replace(_CARDS, updates=80, rate=1e-3, every=(20, 20, 20, 20), limit=200_000),
    "liars_dice_2": replace(_CARDS, game="liars_dice", set=("faces=2",)),
}
"""Game, with what tells it from others -> its setting."""


def train(
    name: str, seed: int, *, model: str, updates: int, every: int, games: int, game: str
) -> Iterator[dict[str, Any]]:
    """One run; yields its exploitability every so many updates, the first before any.

    Args:
        name: one of ``SCHEMES``.
        seed: of everything random.
        model: the base model.
        updates: of the learners.
        every: so many updates lie between two measurements.
        games: of an update.
        game: one of ``GAMES``.
    """
    at = GAMES[game]
    schemes = {
        "self_play": SchemeConfig("self_play"),
        "fictitious": SchemeConfig("fictitious", snapshot_every=at.every[0], max_past=updates),
        "league": SchemeConfig("league", snapshot_every=at.every[1]),
        # A round is too short to learn tic-tac-toe from the beginning.
        "psro": SchemeConfig("psro", snapshot_every=at.every[2], fresh=at.likeliest != 1),
        "oracle": SchemeConfig("oracle", snapshot_every=at.every[3]),
    }
    base = "self_play" if name == "mmd" else name.removesuffix("_mmd")
    terms: dict[str, Any] = {} if base == name else {**at.mmd, "entropy_decay_updates": int(at.settled * updates)}
    config = TrainConfig(
        game=at.game or game,
        seed=seed,
        set=at.set,
        policy=PolicyConfig(model=model),
        rollout=RolloutConfig(games=games, num_generations=1, opening_plies=0, explore=at.explore),
        credit=at.credit,
        loss=replace(at.loss, **terms),
        optimizer=OptimizerConfig(learning_rate=at.rate, decay_updates=updates, beta1=at.momentum),
        scheme=schemes[base],
        budget=BudgetConfig(eval_vs="", min_entropy=-1.0, max_kl=1e9),
    )
    trainer, learning, decisions = Trainer(config), 0.0, 0
    tables: dict[str, NDArray[np.float64]] = {}  # past selves do not change: each is asked once
    selves: list[NDArray[np.float64]] = []
    row: dict[str, Any] = {}
    for update in range(updates + 1):
        if update % every == 0 or update == updates:
            past = trainer.pool.past("main") if base == "fictitious" else []
            shares = row.get("mixture") or dict.fromkeys(past or ["main"], 1.0)
            found = _measured(trainer, {who: share for who, share in shares.items() if share > 0}, at, tables)
            alone = found if "main" in shares else _measured(trainer, {"main": 1.0}, at, tables)
            selves.append(tables["main"])
            late = selves[len(selves) // 2 :]
            measured: dict[str, Any] = {
                "scheme": name,
                "seed": seed,
                "model": trainer.policy.loaded.id,
                "update": update,
                "games": update * games,
                "decisions": decisions,
                "exploitability": found,
                "newest": alone,
                "average": exploitability_of_mixture(trainer.game, late, [1.0] * len(late), at.limit).value,
                "seconds": round(learning, 1),
            }
            if at.likeliest == 1:
                measured |= _beside(trainer, tables["main"])
            elif base == "league" and update == updates and not is_phantom(trainer.game):
                measured |= _population(trainer, at, tables)
            yield measured
        if update < updates:
            began = time.monotonic()
            row = trainer.step()
            learning += time.monotonic() - began
            decisions += row["decisions_played"]


@dataclass(frozen=True)
class _Player:
    """An agent that chooses among so many of its likeliest moves, in proportion to their probabilities; 0: all."""

    agent: HasPolicy
    likeliest: int
    name: str = "likeliest"

    def policy(self, turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
        """[A] probabilities for each turn."""
        rows = self.agent.policy(turns)
        if not self.likeliest:
            return rows
        chances = np.array(rows)
        rank = np.argsort(np.argsort(-chances, axis=1, kind="stable"), axis=1)
        kept = np.where(rank < self.likeliest, chances, 0.0)
        return list(kept / kept.sum(1, keepdims=True))


def _measured(
    trainer: Trainer, shares: Mapping[str, float], at: Setting, tables: dict[str, NDArray[np.float64]]
) -> float:
    """The exploitability of whoever draws one of the players by these shares before each game."""
    tables.pop("main", None)
    for name in shares:
        if name not in tables:
            tables[name] = tabulate(trainer.game, _Player(LLMAgent(trainer.policy, name), at.likeliest), at.limit)
    return exploitability_of_mixture(
        trainer.game, [tables[name] for name in shares], list(shares.values()), at.limit
    ).value


def _beside(trainer: Trainer, table: NDArray[np.float64]) -> dict[str, float]:
    """What else is told of a learner that is measured by its likeliest moves, [S, A]."""
    sampled = exploitability(trainer.game, LLMAgent(trainer.policy, "main", greedy=False))
    return {"sampled": sampled.value, "on_path": optimal_share(trainer.game, table).on_path}


def _population(trainer: Trainer, at: Setting, tables: dict[str, NDArray[np.float64]]) -> dict[str, Any]:
    """The exploitability of all of a run's players, as a Nash mixture and drawn alike; the shares in the first."""
    names = [*historical(trainer.pool, trainer.scheme.learners), *trainer.scheme.learners]
    for name in names:
        if name not in tables or name in trainer.scheme.learners:
            tables[name] = tabulate(trainer.game, LLMAgent(trainer.policy, name), at.limit)
    tree, known = information_tree(trainer.game, at.limit), [tables[name] for name in names]
    first = (tree.owners == 0)[:, None]
    paid = np.array([[expected_returns(tree, np.where(first, a, b))[0] for b in known] for a in known])
    shares = nash((paid - paid.T) / 2)[0]
    weights = {"nash": shares.tolist(), "alike": [1.0] * len(names)}
    return {
        "population": {
            how: exploitability_of_mixture(trainer.game, known, each, at.limit).value for how, each in weights.items()
        },
        "mixed": {name: round(share, 4) for name, share in zip(names, shares.tolist(), strict=True) if share > 1e-3},
    }


def draw(rows: Sequence[dict[str, Any]], path: Path, bar: float) -> None:
    """A panel for each scheme, a line for each seed, ``bar`` a line across.

    Dashed are a learner's ``average`` or, where likeliest moves are measured, the learner that samples.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = [name for name in SCHEMES if any(row["scheme"] == name for row in rows)]
    wide, high = min(4, len(names)), -(-len(names) // 4)
    figure, axes = plt.subplots(
        high, wide, figsize=(3.4 * wide, 2.8 * high), layout="constrained", sharey=True, squeeze=False
    )
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    for axis, name in zip(axes.flat, names, strict=False):
        for seed in sorted({row["seed"] for row in rows if row["scheme"] == name}):
            run = [row for row in rows if (row["scheme"], row["seed"]) == (name, seed)]
            decisions = [row["decisions"] / 1000 for row in run]
            (line,) = axis.plot(decisions, [row["exploitability"] for row in run], label=f"seed {seed}")
            dashed = "sampled" if "sampled" in run[0] else "average"
            if dashed == "sampled" or name in ("self_play", "mmd"):
                axis.plot(decisions, [row[dashed] for row in run], color=line.get_color(), linestyle="--")
        axis.axhline(bar, color="gray", linewidth=0.8, linestyle=":")
        axis.set_title(name, fontsize=10)
        axis.set_xlabel("thousand decisions")
        axis.set_ylim(bottom=0)
    for axis in axes[:, 0]:
        axis.set_ylabel("exploitability")
    save_picture(figure, path)


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = Parser(prog="python -m coterie.benchmarks.schemes", add_help=False)
    parser.add_argument("game", nargs="?", choices=list(GAMES), default="matrix")
    words = sys.argv[1:] if argv is None else list(argv)
    first = [word for word in words[:1] if not word.startswith("-")]
    asked = parser.parse_args(first)
    at = GAMES[asked.game]
    sweep(
        words[len(first) :],
        name="schemes",
        about=f"{__doc__}\nGames: {', '.join(GAMES)}.",
        kind="scheme",
        kinds=list(at.schemes),
        train=partial(train, game=asked.game),
        draw=partial(draw, bar=at.bar),
        seeds=(0,),
        updates=at.updates,
        games=at.games,
        group=16,
        marks={"game": asked.game},
    )


if __name__ == "__main__":
    main()
