"""The main loop: who sits where -> roll out -> credit -> one learner step -> look, save.

Everything random in update u follows from (seed, u), so that a resumed run goes on as if nothing had happened; nothing
that changes weights reads the clock.

The file is longer than most: the loop's steps, what is saved of them and how a run is resumed belong together.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from ..agents.core import Agent
from ..agents.llm.policy import LLMAgent
from ..envs.gridworld.shaping import Dense
from ..envs.registry import make_game
from ..envs.state import take
from ..errors import CollapseError, UsageError
from .data import credit as credits
from .data.curriculum import Positions, find_curriculum, read_positions
from .data.records import Rollout
from .data.rollout import rollout
from .evaluation.goal import Goal
from .evaluation.held_out import HeldOut
from .evaluation.match import evaluate
from .evaluation.worlds import compare_worlds
from .learn.learner import Learner
from .runs.config import CreditConfig, TrainConfig
from .runs.folder import Run
from .runs.interrupts import StopFlag
from .runs.players import as_recorded, build_policy, make_player
from .schemes import make_scheme

__all__ = ["Outcome", "Trainer", "Watcher", "assign", "default_run", "train"]


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes:
        reason: ``goal``, ``budget``, ``interrupted`` or ``collapse``. message: one sentence.
        run: the folder. updates: done in all. seconds: since it was started or resumed.
        evaluation: rows of the last evaluation.
    """

    reason: str
    message: str
    run: Path
    updates: int
    seconds: float
    evaluation: list[dict[str, Any]]


class Watcher(Protocol):
    """Is shown what happens; see ``display.py``."""

    def start(self, trainer: Trainer) -> None:
        """Called once before the first update."""
        ...

    def update(self, row: Mapping[str, Any]) -> None:
        """Called with every line of metrics.jsonl."""
        ...

    def stop(self) -> None:
        """Called once at the end, whatever happened."""
        ...


class Trainer:
    """One learner, its game and its opponents.

    Args:
        config: the run. run: its folder; None keeps everything in memory.
    """

    def __init__(self, config: TrainConfig, run: Run | None = None) -> None:
        from ..agents.bank.optimizer import BankAdamW

        if config.threads:
            torch.set_num_threads(config.threads)
        self.run, self.config = run, config
        self.game = make_game(config.game, **config.game_arguments)
        self.positions: Positions | None = None
        self.held_out: HeldOut | None = None
        self.max_plies = config.rollout.max_plies
        if config.rollout.curriculum:
            self._read_curriculum(config)
        self._dense()  # refuses what this game has none of
        self.scheme = make_scheme(config.scheme, self.game.info.players)
        names = [n for n in (part.strip() for part in config.budget.eval_vs.split(",")) if n]
        self.goal = Goal.parse(config.budget.goal)
        curriculum = self.positions.source.name if self.positions else ""
        self.goal.check(names, curriculum, exact=config.budget.exact)
        self.judges: dict[str, Agent] = {n: make_player(n, self.game) for n in names}
        self.agents: dict[str, Agent] = {n: make_player(n, self.game) for n in self.scheme.opponents}
        self.policy = build_policy(config.policy, players=(self.scheme.learner,), seed=config.seed)
        assert self.policy.bank is not None
        # What "tictactoe" and "tiny" mean changes with their next version: a run remembers what they were.
        self.config = dataclasses.replace(
            config,
            game=self.game.info.id,
            policy=dataclasses.replace(config.policy, model=self.policy.loaded.id),
        )
        self.bank = self.policy.bank
        self.agents[self.scheme.learner] = LLMAgent(self.policy, self.scheme.learner)
        o = config.optimizer
        self.optimizer = BankAdamW(self.bank, lr=o.learning_rate, betas=(o.beta1, o.beta2), weight_decay=o.weight_decay)
        length = config.policy.max_completion_length
        self.learner = Learner(self.policy, self.optimizer, config.loss, o, max_completion_length=length)
        self.baseline = credits.RoleBaseline(config.credit.rae_decay)
        self.past: list[str] = []
        self.wants_past = "past" in getattr(self.scheme, "weights", ())
        self.updates = 0
        self.low = {"illegal": 0, "entropy": 0}

    def _read_curriculum(self, config: TrainConfig) -> None:
        source = find_curriculum(self.game, config.rollout.curriculum)
        self.max_plies = config.rollout.max_plies or source.max_plies
        self.positions = read_positions(self.game, source, source.train)
        if source.test is not None:
            kept = read_positions(self.game, source, source.test, config.budget.eval_games)
            self.held_out = HeldOut(self.game, kept, self.max_plies)

    def _dense(self) -> Dense | None:
        """New dense signals for one rollout, if the run wants any.

        Raises:
            UsageError: the game is no gridworld.
        """
        config = self.config.rollout
        if not config.shaping and not config.novelty:
            return None
        if self.game.info.name != "gridworld":
            name = "shaping" if config.shaping else "novelty"
            raise UsageError(f"{name} pays for what agents hold and find in gridworlds; for {self.game.info.id} say 0.")
        return Dense(self.game, config.games, config.shaping, config.novelty, self.config.credit.gamma)

    # -- one update

    def step(self) -> dict[str, Any]:
        """One update; returns its line for metrics.jsonl."""
        update, config = self.updates, self.config
        started = time.perf_counter()
        rng = np.random.default_rng([config.seed, update])
        groups = config.rollout.games // config.rollout.num_generations
        seats = self.scheme.seats(update, groups, self.past, rng)
        starts = None
        if self.positions is not None:
            starts = take(self.positions.states, self.positions.draw(update, groups, config.seed))
        batch = rollout(
            self.game,
            self.agents,
            seats,
            seed=int(rng.integers(2**62)),
            rng=rng,
            group_size=config.rollout.num_generations,
            opening_plies=config.rollout.opening_plies,
            illegal_penalty=config.rollout.illegal_penalty,
            starts=starts,
            max_plies=self.max_plies,
            dense=self._dense(),
        )
        played = time.perf_counter()
        credit = assign(batch, config.credit, self.baseline, self.game.info.id)
        stats = self.learner.step([v.tokens for v in batch.visits], credit.advantages, credit.keep, update)
        self.updates += 1
        self._snapshot()
        results = batch.learner_results()
        seconds = time.perf_counter() - started
        return {
            "update": update,
            "reward": float(results.mean()),
            "reward_std": float(results.std(ddof=1)) if len(results) > 1 else 0.0,
            "win": float((results > 0).mean()),
            "draw": float((results == 0).mean()),
            "loss_share": float((results < 0).mean()),
            "games": len(batch.episodes),
            "illegal": batch.illegal_share(),
            "kept_groups": credit.kept_groups,
            "frac_reward_zero_std": float(1.0 - credit.keep.mean()) if len(credit.keep) else 0.0,
            "decisions": len(batch.visits),
            "decisions_per_second": len(batch.visits) / seconds,
            "completions/mean_length": sum(len(v.tokens.completion) for v in batch.visits) / max(1, len(batch.visits)),
            "step_time": seconds,
            "rollout_seconds": played - started,
            "learn_seconds": started + seconds - played,
            **stats,
        }

    def _snapshot(self) -> None:
        """Remember a past self every ``snapshot_every`` updates, if the scheme may ask for one."""
        config = self.config.scheme
        if not self.wants_past or self.updates % config.snapshot_every:
            return
        name = f"past-{self.updates}"
        if len(self.past) >= config.max_past:
            gone = self.past.pop(0)
            self.bank.remove(gone)
            del self.agents[gone]
        self.bank.add(name)
        self.bank.copy(self.scheme.learner, name)
        self.past.append(name)
        self.agents[name] = LLMAgent(self.policy, name)

    # -- looking

    def evaluate(self, games: int | None = None, seed: int | None = None) -> list[dict[str, Any]]:
        """Greedy play: held-out positions of the curriculum, else whole games against the evaluation opponents.

        In worlds that many agents share, the sampled policy beside those opponents, each among its own kind.

        With ``budget.exact`` also the policy's own row, of the policy that training samples.
        """
        agent = LLMAgent(self.policy, self.scheme.learner, greedy=True)
        number = self.config.budget.eval_games if games is None else games
        at = self.config.seed + 1 if seed is None else seed
        if self.positions is not None:
            return self.held_out.measure(agent, self.judges, at) if self.held_out else []
        if self.game.info.is_world:
            sampled = LLMAgent(self.policy, self.scheme.learner, name=self.scheme.learner)
            return compare_worlds(self.game, {self.scheme.learner: sampled, **self.judges}, number, at)
        rows = evaluate(self.game, agent, self.judges, number, at, exact=False)
        if self.config.budget.exact:
            rows += evaluate(self.game, LLMAgent(self.policy, self.scheme.learner), {}, 0, at)
        return rows

    def check(self, row: Mapping[str, Any]) -> None:
        """Raise CollapseError if ``patience`` updates in a row look like one.

        Raises:
            CollapseError: too many illegal answers, too little entropy, or a jump in KL.
        """
        limits = self.config.budget
        if row.get("approx_kl", 0.0) > limits.max_kl:
            raise CollapseError(
                f"Update {row['update']} moved the policy by {row['approx_kl']:.2f} nats a decision "
                f"(max_kl {limits.max_kl}). Lower learning_rate or num_iterations."
            )
        self.low["illegal"] = self.low["illegal"] + 1 if row["illegal"] > limits.max_illegal else 0
        dull = row.get("entropy", 1e9) < limits.min_entropy
        self.low["entropy"] = self.low["entropy"] + 1 if dull else 0
        if self.low["illegal"] >= limits.patience:
            raise CollapseError(
                f"{row['illegal']:.0%} of the answers were illegal in {limits.patience} updates running "
                f"(max_illegal {limits.max_illegal}). Lower learning_rate, raise beta, or use choice decoding."
            )
        if self.low["entropy"] >= limits.patience:
            raise CollapseError(
                f"Entropy stayed at {row['entropy']:.4f} nats for {limits.patience} updates "
                f"(min_entropy {limits.min_entropy}). "
                "Raise entropy_coef or temperature, or lower learning_rate."
            )

    # -- saving

    def save(self) -> None:
        """Write a checkpoint and the learner's adapter.

        Raises:
            RunError: one could not be written.
        """
        if self.run is None:
            return
        from safetensors import SafetensorError

        name = self.scheme.learner
        folder = self.run.player_folder(name, self.updates)
        try:
            self.bank.save_peft(name, folder)
        except (OSError, SafetensorError) as error:
            raise self.run.unwritten(f"The adapter in {folder}", error) from None
        state = {
            "past": self.past,
            "baseline": self.baseline.state_dict(),
            "low": self.low,
            "model": {"id": self.policy.loaded.id, "hash": self.policy.loaded.hash},
        }
        tensors = {"bank": self.bank.state_dict(), "optimizer": self.optimizer.state_dict()}
        self.run.save(self.updates, tensors, state)

    def restore(self) -> list[str]:
        """Go back to the newest whole checkpoint; returns warnings about newer ones that weren't.

        Raises:
            RunError: see ``Run.load``; or the base model has changed.
        """
        from ..errors import RunError

        if self.run is None:
            return []
        found = self.run.load()
        if found is None:
            self.run.cut_metrics(0)
            return []
        tensors, state, warnings = found
        if state["model"]["hash"] != self.policy.loaded.hash:
            raise RunError(
                f"{self.run.folder} was trained on {state['model']['id']} with hash {state['model']['hash'][:12]}, "
                f"but {self.policy.loaded.id} has {self.policy.loaded.hash[:12]}. Name the old model with --model."
            )
        self.bank.load_state_dict(tensors["bank"])
        self.optimizer.load_state_dict(tensors["optimizer"])
        self.baseline.load_state_dict(state["baseline"])
        self.past, self.low = list(state["past"]), dict(state["low"])
        for name in self.past:
            self.agents[name] = LLMAgent(self.policy, name)
        self.updates = int(state["update"])
        self.run.cut_metrics(self.updates)
        return warnings


def assign(batch: Rollout, config: CreditConfig, baseline: credits.RoleBaseline, game: str) -> credits.Credit:
    """Advantages of all decisions of a batch.

    Args:
        batch: D decisions, in order of time within an episode.
        config: which credit.
        baseline: the running means of ``rae``; they move.
        game: its id, part of a role's name.
    """
    visits, episodes = batch.visits, batch.episodes
    seats = np.array([v.seat for v in visits], np.int64)
    who = batch.trajectories()
    returns = batch.returns()
    if config.gamma != 1.0:
        returns = credits.discounted(batch.rewards(), who, gamma=config.gamma)
    if config.credit == "state":
        keys = np.array([v.key for v in visits], np.uint64)
        return credits.by_state(returns, keys, seats, min_visits=config.min_visits)
    if config.credit == "group":
        # Whole games are compared, each counted once; decisions far from the end then take their discounted part.
        index = credits.group_index([(episodes[v.episode].group, v.seat, episodes[v.episode].players) for v in visits])
        paid = [episode.paid for episode in episodes]
        totals = np.array([paid[v.episode][v.seat] for v in visits], np.float64)
        found = credits.grpo(totals, index, scale=config.scale_rewards, trajectories=who)
        return dataclasses.replace(found, advantages=found.advantages * config.gamma ** batch.decisions_left())
    if config.credit == "turn":
        turns = [(episodes[v.episode].group, v.seat, episodes[v.episode].players, v.ply) for v in visits]
        return credits.grpo(returns, credits.group_index(turns), scale=config.scale_rewards)
    if config.credit == "sibling":
        first = [v.ply == episodes[v.episode].opening_plies for v in visits]
        index = credits.group_index([(episodes[v.episode].group, v.seat) for v in visits])
        return credits.sibling(returns, np.where(first, index, -1), scale=config.scale_rewards)
    if config.credit == "rae":
        return baseline.advantages(returns, [f"{game}/{seat}" for seat in seats], who)
    return credits.constant(returns)


def default_run(game: str) -> Path:
    """``runs/<game>-<time>``."""
    return Path("runs") / f"{game}-{datetime.now():%Y%m%d-%H%M%S}"


def train(
    config: TrainConfig,
    run: Path | str | None = None,
    *,
    resume: bool = False,
    watcher: Watcher | None = None,
) -> Outcome:
    """Train until the goal, the budget, a collapse or Ctrl-C.

    Args:
        config: what to do; with ``resume`` it must agree with the run's own but for budget and threads.
        run: folder; ``runs/<game>-<time>`` by default.
        resume: go on with the run in that folder.
        watcher: is shown every update.

    Returns:
        How it ended; the folder then holds a checkpoint of the last finished update (after a collapse: an earlier one).

    Raises:
        CoterieError: a bad setting, model or folder.
    """
    started = time.monotonic()
    folder = Path(run) if run is not None else default_run(config.game)
    # The trainer first: a misspelt scheme or model must leave no folder behind.
    kept = Run.reopen(folder, config) if resume else None
    if kept is not None:
        config = dataclasses.replace(config, policy=as_recorded(config.policy, kept.model()))
    trainer = Trainer(config)
    kept = trainer.run = kept or Run.create(folder, trainer.config)
    kept.config = trainer.config
    notes: list[str] = []
    if resume:
        notes = trainer.restore()
        kept.write_config()
    if watcher:
        watcher.start(trainer)
    reason, message = "", ""
    rows: list[dict[str, Any]] = []
    try:
        reason, message, rows = _loop(trainer, kept, started, watcher, notes)
    finally:
        if watcher:
            watcher.stop()
    return Outcome(reason, message, folder, trainer.updates, time.monotonic() - started, rows)


def _loop(
    trainer: Trainer, run: Run, started: float, watcher: Watcher | None, notes: list[str]
) -> tuple[str, str, list[dict[str, Any]]]:
    budget = trainer.config.budget
    before = max((float(row["elapsed"]) for row in run.metrics()), default=0.0)
    rows: list[dict[str, Any]] = []
    with StopFlag() as stop:
        while trainer.updates < budget.updates:
            begins = not trainer.updates and (trainer.held_out or trainer.game.info.is_world)
            start = trainer.evaluate() if begins else []
            try:
                row = trainer.step()
                trainer.check(row)
            except CollapseError as error:
                kept = run.checkpoints()
                last = f" The checkpoint of update {kept[-1]} is kept." if kept else ""
                return "collapse", f"{error}{last}", rows
            if trainer.updates % budget.eval_every == 0 or trainer.updates == budget.updates:
                row["eval"] = rows = trainer.evaluate()
            if start:
                row["before"] = start
            spent = time.monotonic() - started
            row["elapsed"] = before + spent
            if notes:
                row["notes"], notes = notes, []
            run.log(row)
            if watcher:
                watcher.update(row)
            reached = "eval" in row and trainer.goal.reached(rows)
            over = bool(budget.minutes) and spent > 60 * budget.minutes
            if reached or over or stop.asked or trainer.updates % budget.checkpoint_every == 0:
                trainer.save()
            if reached:
                return "goal", f"The goal is reached: {trainer.goal.shown(rows)}.", rows
            if stop.asked:
                return "interrupted", _how_to_resume(run, trainer.updates), rows
            if over:
                break
    trainer.save()
    return "budget", f"The budget is used up after {trainer.updates} updates.", rows


def _how_to_resume(run: Run, update: int) -> str:
    return f"Stopped; update {update} is saved. Go on with: coterie train {run.config.game} --run {run.folder} --resume"
