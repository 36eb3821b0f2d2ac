"""Runs of small nets: ``coterie train GAME --policy net``. One net plays every agent and learns by PPO.

The folder and its files are those of every run (``folder.py``). The learning rate and the length of episodes depend on
the number of actions of living agents so far; nothing that changes weights reads the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import torch

from ...agents.net import NetAgent, load_net, save_net
from ...envs.faces.vec import VecEnv
from ...envs.gridworld.rules.shaping import Dense
from ...envs.registry import make_game
from ...errors import UsageError
from ..evaluation.worlds import WorldScore, compared, play_worlds
from ..learn.ppo_net import PPO
from .display import watched
from .folder import Run, fitting
from .interrupts import StopFlag
from .net_config import NetConfig
from .nets import find_net, new_net
from .outcome import Outcome, Watcher, how_to_resume

__all__ = ["NetTrainer", "train_net"]


class NetTrainer:
    """One net, its worlds and its optimizer; without a ``run`` it keeps everything in memory."""

    def __init__(self, config: NetConfig, run: Run | None = None) -> None:
        self.config, self.run = config, run
        self.game = make_game(config.game, **config.game_arguments)
        if config.threads:
            torch.set_num_threads(config.threads)
        net = new_net(self.game, config.hidden, config.seed)
        dense = None
        if config.shaping or config.novelty:
            dense = Dense(self.game, config.worlds, config.shaping, config.novelty, config.ppo.gamma)
        self.ppo = PPO(self._worlds(config.episode), net, config.ppo, config.seed, config.episode, dense)
        self.long = False
        self.references: dict[int, dict[str, WorldScore]] = {}

    def _worlds(self, episode: int) -> VecEnv:
        return VecEnv(self.game, self.config.worlds, max_cycles=episode or None)

    def _enter(self) -> None:
        """Switch to long episodes."""
        episode, self.long = self.config.long_episode, True
        self.ppo.enter(self._worlds(episode), self.config.seed + 1, episode)

    @property
    def updates(self) -> int:
        """Rollouts learned from."""
        return self.ppo.updates

    def headline(self) -> str:
        """The game, its arguments and the net in one line."""
        config, weights = self.config, sum(p.numel() for p in self.ppo.net.parameters())
        return f"{self.game.info.id}  {' '.join(config.set)}  net of {weights:,} weights  seed {config.seed}"

    def begin_with(self, name: str) -> None:
        """Copy the weights of another net.

        Raises:
            RunError, ModelError, UsageError: no such net, a damaged one, or one of another shape.
        """
        other, net = load_net(find_net(name)), self.ppo.net
        if (other.shape, other.actions, other.hidden) != (net.shape, net.actions, net.hidden):
            raise UsageError(
                f"{name} holds a net for {list(other.shape)} planes, {other.actions} actions and "
                f"{other.hidden} hidden units; this run needs {list(net.shape)}, {net.actions} and {net.hidden}."
            )
        net.load_state_dict(other.state_dict())

    def step(self) -> dict[str, Any]:
        """One update; returns its line for metrics.jsonl."""
        config, done = self.config, self.ppo.agent_steps / self.config.schedule_steps
        if done >= config.long_after and not self.long:
            self._enter()
        rate = config.ppo.learning_rate * (1 - 0.9 * min(1.0, done))
        return {"update": self.updates, **self.ppo.update(rate), "learning_rate": rate}

    def evaluate(self) -> list[dict[str, Any]]:
        """Compare the net with random and the forager in held-out worlds; the other two are played only once."""
        from ...agents.baselines import make_baseline

        config, ticks = self.config, self.config.eval_ticks

        def play(agent: Any) -> WorldScore:
            return play_worlds(self.game, agent, config.eval_worlds, config.seed, max_steps=ticks or None)

        score = play(NetAgent(self.ppo.net, self.game, name="net"))
        self.ppo.net.train()
        if ticks not in self.references:
            self.references[ticks] = {name: play(make_baseline(name, self.game)) for name in ("random", "forager")}
        return compared({"net": score, **self.references[ticks]})

    def save(self) -> None:
        """Write a checkpoint and the net as a player.

        Raises:
            RunError: one could not be written.
        """
        if self.run is None:
            return
        folder = self.run.player_folder("main", self.updates)
        facts = {"game": self.game.info.id, "set": list(self.config.set), "agent_steps": self.ppo.agent_steps}
        try:
            save_net(self.ppo.net, folder, facts)
        except (OSError, RuntimeError) as error:
            raise self.run.unwritten(f"The net in {folder}", error) from None
        self.run.save(self.updates, {"ppo": self.ppo.state_dict()}, {"long": self.long})

    def restore(self) -> list[str]:
        """Load the newest undamaged checkpoint, or ``init`` if there is none; returns the errors of newer ones.

        Raises:
            RunError: see ``Run.load``.
        """
        found = self.run.load() if self.run is not None else None
        if found is None:
            if self.config.init:
                self.begin_with(self.config.init)
            return []
        tensors, state, wrong = found
        with fitting(f"The checkpoint of update {state['update']}"):
            if state["long"]:
                self._enter()
            self.ppo.load_state_dict(tensors["ppo"])
        return wrong


def train_net(
    config: NetConfig, run: Path | str, *, resume: bool = False, watcher: Watcher | Literal["lines"] | None = "lines"
) -> Outcome:
    """Train until the budget is used up, or Ctrl-C: once finishes the update and saves, twice stops at once.

    ``resume`` continues the run in that folder; ``config`` must then agree with its own except for the ``free`` fields.
    ``watcher`` is as in ``loop.train``.

    Raises:
        RunError: the folder cannot be used.
        UsageError: nets can't play the game.
    """
    started, folder = time.monotonic(), Path(run)
    kept = Run.reopen(folder, config) if resume else None
    trainer = NetTrainer(config, kept)
    if kept is None:
        trainer.restore()  # before the folder is made: a bad ``init`` must leave none behind
        trainer.run = kept = Run.create(folder, config)
    with kept.alone():
        notes = trainer.restore() if resume else []
        if resume:
            kept.cut_metrics(trainer.updates)
            kept.write_config()
        with watched(trainer, watcher) as show:
            reason = _loop(trainer, kept, show, notes)
            trainer.save()
    message = f"Done: {trainer.ppo.agent_steps / 1e6:.2f} M agent-steps. Evaluate it with: coterie eval {folder}"
    if reason == "interrupted":
        message = how_to_resume(kept, trainer.updates)
    return Outcome(reason, message, folder, trainer.updates, time.monotonic() - started, kept.looked())


def _loop(trainer: NetTrainer, run: Run, show: Callable[[Mapping[str, Any]], None], notes: list[str]) -> str:
    """Update until the budget is spent or Ctrl-C; returns ``budget`` or ``interrupted``."""
    config = trainer.config
    elapsed = run.elapsed()

    def spent() -> bool:
        return trainer.updates >= config.updates or bool(config.minutes and elapsed >= 60 * config.minutes)

    with StopFlag() as stop:
        while not spent():
            began = time.monotonic()
            row = trainer.step()
            elapsed += time.monotonic() - began  # evaluations do not count
            row["elapsed"] = elapsed
            if config.eval_every and (spent() or trainer.updates % config.eval_every == 0):
                row["eval"] = trainer.evaluate()
            if notes:
                row["notes"], notes = notes, []
            run.log(row)
            show(row)
            if stop.asked:
                return "interrupted"
            if trainer.updates % config.checkpoint_every == 0:
                trainer.save()
    return "budget"
