"""The main loop: seat players -> roll out -> assign credit -> step the learner -> update pool -> evaluate, save.

(seed, u) determines all randomness of update u, and nothing that changes weights reads the clock: a resumed run
continues as if it had never stopped.
"""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from ..agents.llm.policy import LLMAgent
from ..envs.words.talk import TalkGame
from ..errors import UsageError
from .data.assign import assign
from .data.credit import RoleBaseline
from .data.games import Games
from .data.memory import PositionMemory
from .data.rollout import names_in
from .evaluation.exam import Exam
from .garbage import collected_rarely
from .learn.learner import Learner
from .population.health import Health
from .population.pool import Pool
from .runs.config import TrainConfig, new_folder
from .runs.course import follow
from .runs.folder import Run
from .runs.outcome import Outcome, Watcher
from .runs.players import as_recorded, build_policy, make_opponents
from .runs.rows import summary
from .runs.state import restore
from .schemes import Mixing, make_scheme

__all__ = ["Outcome", "Trainer", "Watcher", "train"]


class Trainer:
    """The learners, their game and the other players.

    Args:
        config: of the run. run: its folder; None keeps everything in memory.
    """

    def __init__(self, config: TrainConfig, run: Run | None = None) -> None:
        if config.threads:
            torch.set_num_threads(config.threads)
        self.run, self.updates, self.foreseen = run, 0, 0.0
        self.games = Games(config)
        self.game = self.games.game
        groups = config.rollout.games // config.rollout.num_generations
        self.scheme = make_scheme(config.scheme, self.game.info.players, groups)
        self.exam = Exam(config, self.games)
        opponents = make_opponents(self.scheme.opponents, self.game, config.policy.device)
        self.policy = build_policy(config.policy, players=self.scheme.learners, seed=config.seed)
        explore = dict.fromkeys(self.scheme.learners, config.rollout.explore)
        self.pool = Pool(
            self.policy.engine,
            lambda name: LLMAgent(self.policy, name, explore=explore.get(name, 0.0)),
            config.scheme.max_past,
            self._shelf,
        )
        for name in self.scheme.learners:
            self.pool.add(name)
        for name, agent in opponents.items():
            self.pool.add(name, agent)
        for role, names in config.scheme.roles.items():
            for name in names:
                if name in self.pool.live:
                    self.pool.describe(name, role=role)
        for name, persona in config.scheme.persona.items():
            self.pool.describe(name, persona=persona)
        self.policy.personas = self.pool.personas
        # The next versions will change what "tictactoe" and "tiny" mean, so a run stores the full ids.
        policy = dataclasses.replace(config.policy, model=self.policy.loaded.id)
        self.config = dataclasses.replace(config, game=self.game.info.id, policy=policy)
        o, length = config.optimizer, config.policy.max_completion_length
        self.learner = Learner(
            self.policy.engine,
            config.loss,
            o,
            free=config.policy.decode == "free" or isinstance(self.game, TalkGame),
            schedules=o.own,
            max_completion_length=length,
            seed=config.seed,
        )
        self.baseline = RoleBaseline(config.credit.rae_decay)
        self.memory = PositionMemory(config.credit.memory)
        self.health = Health(config.budget, self.pool, config.scheme.snapshot_every)

    def _shelf(self, name: str) -> Path:
        if self.run is None:
            raise UsageError(f"{name} cannot wait on disk: the run has no folder. Give it one.")
        return self.run.past_folder(name)

    def headline(self) -> str:
        """The game, model, adapter and scheme in one line; a second line if the time of an update was estimated."""
        config, loaded, bank = self.config, self.policy.loaded, self.policy.bank
        trained = sum(p[0].numel() for p in bank.parameters()) if bank else 0
        return (
            f"{self.game.info.id}  model {loaded.id}  LoRA r {config.policy.lora_r} ({trained:,} weights a player)  "
            f"{config.policy.decode} decoding  scheme {config.scheme.scheme}"
            + (f" of {len(self.scheme.learners)} learners" if len(self.scheme.learners) > 1 else "")
            + f"  seed {config.seed}"
            + (f"\nan update takes at most about {self.foreseen:.0f} s" if self.foreseen else "")
        )

    @collected_rarely()
    def step(self) -> dict[str, Any]:
        """One update; returns its line for metrics.jsonl.

        Raises:
            CollapseError: the only learner broke.
        """
        update, config, started = self.updates, self.config, time.perf_counter()
        rng = np.random.default_rng([config.seed, update])
        seats = self.scheme.seats(update, config.rollout.games // config.rollout.num_generations, self.pool, rng)
        batch = self.games.play(self.pool.ready(names_in(seats)), seats, update)
        played = time.perf_counter()
        credit = assign(batch, config.credit, self.baseline, self.game.info.id, self.memory)
        stats = self.learner.step([v.tokens for v in batch.visits], credit.advantages, credit.keep, update)
        row, players = summary(update, batch, credit, stats, (played - started, time.perf_counter() - played))
        row |= self.health.look_after(update, players, self.learner.broken)
        self.updates += 1
        self.scheme.update(self.updates, batch.episodes, self.pool)
        self._welcome()
        if config.scheme.loaded and self.run is not None:
            self.pool.rest(config.scheme.loaded, names_in(seats))
        if isinstance(self.scheme, Mixing):
            row["mixture"] = self.scheme.mixture(self.pool)
        return row

    def _welcome(self) -> None:
        """Forget what belongs to weights that the scheme replaced, and welcome those who joined."""
        for name in self.pool.renewed:
            self.baseline.forget(name)
            self.memory.forget(name)
        self.learner.forget(self.pool.renewed)
        self.health.welcome(self.updates, self.pool.renewed)
        self.pool.renewed.clear()

    def evaluate(self) -> list[dict[str, Any]]:
        """Evaluate the learners, in a league the main agents, and a scheme's mixture; see ``Exam.rows``."""
        exploiters = set(self.config.scheme.names) - set(self.config.scheme.roles["main"])
        mixture = self.scheme.mixture(self.pool) if isinstance(self.scheme, Mixing) and self.updates else None
        self.pool.ready(name for name, share in (mixture or {}).items() if share > 0)
        return self.exam.rows(self.policy, [name for name in self.pool.live if name not in exploiters], mixture)


def train(
    config: TrainConfig,
    run: Path | str | None = None,
    *,
    resume: bool = False,
    watcher: Watcher | Literal["lines"] | None = "lines",
) -> Outcome:
    """Train until the goal, the budget, a collapse or Ctrl-C.

    Args:
        config: of the run; with ``resume`` it must agree with the run's own except for budget and threads.
        run: folder; ``runs/GAME-TIME`` by default.
        resume: continue the run in that folder.
        watcher: receives every update; "lines" prints a line for each, None is silent.

    Returns:
        How it ended; the folder then holds a checkpoint of the last finished update (after a collapse: an earlier one).

    Raises:
        CoterieError: a bad setting, model or folder.
    """
    started = time.monotonic()
    folder = Path(run) if run is not None else new_folder(config)
    # The trainer first: a misspelt scheme or model must leave no folder behind.
    kept = Run.reopen(folder, config) if resume else None
    if kept is not None:
        config = dataclasses.replace(config, policy=as_recorded(config.policy, kept.model()))
    trainer = Trainer(config)
    kept = trainer.run = kept or Run.create(folder, trainer.config)
    kept.config = trainer.config
    with kept.alone():
        notes = restore(trainer) if resume else []
        kept.write_config()
        return follow(trainer, kept, started, watcher, notes)
