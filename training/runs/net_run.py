"""Runs of small nets: ``coterie train GAME --policy net``. A run is a folder, can be killed anywhere, goes on exactly.

::

    RUN/config.yaml               what was asked for; ``policy: net`` marks it
    RUN/metrics.jsonl             one JSON object an update
    RUN/checkpoints/000120.pt     net, optimizer, generator and worlds, exact; the newest two
    RUN/players/main/v000120/     net.safetensors, net.json: what plays
    RUN/curves.png
"""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import yaml

from ...agents.net import NetAgent, PolicyNet, load_net, save_net
from ...envs.core import Game
from ...envs.gridworld.presets import configured
from ...envs.gridworld.shaping import Dense
from ...envs.gridworld.world import plane_names
from ...envs.vec import VecEnv
from ...errors import RunError, UsageError
from ..evaluation.worlds import compare_worlds
from ..learn.ppo_net import PPO
from .folder import check_same, same_game
from .interrupts import StopFlag
from .net_config import NetConfig, is_net_run, read_net_config

__all__ = ["find_net", "load_net_player", "need_planes", "new_net", "plot_net_curves", "train_net"]

FREE = ("minutes", "updates", "threads", "eval_every", "eval_worlds", "eval_ticks", "checkpoint_every")
"""What a run may go on with otherwise: no weights depend on it but by when they are no longer changed."""


def _write(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text)
    os.replace(partial, path)


def plane_scale(game: Game) -> list[float]:
    """[C] about 1 / the largest value of each plane: energy 250, hit points 30, items 5, and so on."""
    config = configured(game.config)
    largest = {
        "energy": config.agent.max_energy,
        "frozen": config.agent.freeze,
        "orientation": 3,
        "stock": 30,
        "hp": 30,
        "gain": 100,
        "kinship": 255,
        "last_reward": 255,
        "last_action": game.info.num_actions,
    } | dict.fromkeys(config.items, config.agent.max_items)
    return [1 / max(1, min(255, largest.get(name.rpartition(".")[2], 1))) for name in plane_names(config)]


def need_planes(game: Game) -> None:
    """See that nets can play a game.

    Raises:
        UsageError: it has no plane observations.
    """
    info = game.info
    if not info.is_world or len(info.observation_shape) != 3:
        raise UsageError(
            f"{info.id} as it is configured here has observations of shape {list(info.observation_shape)}; nets are "
            "for gridworlds with observation.kind=planes."
        )


def new_net(game: Game, hidden: int, seed: int) -> PolicyNet:
    """A net with fresh weights for a game.

    Raises:
        UsageError: the game has no plane observations.
    """
    need_planes(game)
    info = game.info
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        planes, height, width = info.observation_shape
        return PolicyNet(planes, height, width, info.num_actions, hidden, plane_scale(game))


def _newest(folder: Path) -> Path:
    versions = sorted((folder / "players" / "main").glob("v[0-9]*"))
    if not versions:
        raise RunError(f"{folder} has saved no net yet.")
    return versions[-1]


def find_net(spec: str) -> Path:
    """The folder of the net that a name means: ``net`` (ships with the package), a run, or a folder with a net.

    Raises:
        RunError: none of these.
    """
    from ...agents import net as nets

    if spec == "net":
        return Path(nets.__file__).parent / "weights" / "net-v0"
    path, _, version = spec.partition("@")
    folder = Path(path)
    if (folder / "net.json").is_file():
        return folder
    if not is_net_run(folder):
        raise RunError(f"{spec} is neither a run of a net nor a folder with one (net.json, net.safetensors).")
    if not version:
        return _newest(folder)
    number = version.removeprefix("v")
    found = folder / "players" / "main" / f"v{number:0>6}"
    if not number.isdecimal() or not found.is_dir():
        raise RunError(f"{folder} has no version {version}; the newest is {_newest(folder).name}.")
    return found


def load_net_player(spec: str, game: Game, *, greedy: bool = False) -> NetAgent:
    """Who plays with a saved net.

    Raises:
        RunError, ModelError: there is none, or it is not whole.
        UsageError: it was made for other observations or actions.
    """
    return NetAgent(load_net(find_net(spec)), game, greedy=greedy, name=Path(spec).name)


class NetRun:
    """One run: the folder, the learner, what it does between updates."""

    def __init__(self, config: NetConfig, folder: Path, resume: bool, tell: Callable[[str], None]) -> None:
        self.config, self.folder, self.tell = config, folder, tell
        if resume:
            saved = read_net_config(folder / "config.yaml")
            if not same_game(saved.game, config.game):
                raise RunError(f"{folder} is a run of {saved.game}, not of {config.game}.")
            check_same(dataclasses.asdict(saved), dataclasses.asdict(config), str(folder), FREE)
        self.game = config.make_game()
        if config.threads:
            torch.set_num_threads(config.threads)
        net = new_net(self.game, config.hidden, config.seed)
        if config.init and not self._checkpoints():
            other = load_net(find_net(config.init))
            if (other.shape, other.actions, other.hidden) != (net.shape, net.actions, net.hidden):
                raise UsageError(
                    f"{config.init} holds a net for {list(other.shape)} planes, {other.actions} actions and "
                    f"{other.hidden} hidden units; here it would be {list(net.shape)}, {net.actions}, {net.hidden}."
                )
            net.load_state_dict(other.state_dict())
        self.ppo = PPO(
            self._worlds(config.episode),
            net,
            config.ppo,
            config.seed,
            config.episode,
            self._dense(self.game),
        )
        self.elapsed, self.long = 0.0, False
        self.references: dict[str, Any] = {}
        if resume:
            self._reopen()
        else:
            self._create()

    def _worlds(self, episode: int) -> VecEnv:
        return VecEnv(self.game, self.config.worlds, max_cycles=episode or None)

    def _enter(self, long: bool) -> None:
        """Go over to episodes of the other length."""
        self.long = long
        episode = self.config.long_episode if long else self.config.episode
        self.ppo.enter(self._worlds(episode), self.config.seed + long, episode)

    def _dense(self, game: Game) -> Dense | None:
        config = self.config
        if not (config.shaping or config.novelty):
            return None
        return Dense(game, config.worlds, config.shaping, config.novelty, config.ppo.gamma)

    def _create(self) -> None:
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise RunError(
                f"{self.folder} isn't empty. Add --resume to go on with it, or name another folder with --run."
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write_config()

    def _write_config(self) -> None:
        data = {"policy": "net"} | dataclasses.asdict(self.config) | {"set": list(self.config.set)}
        _write(self.folder / "config.yaml", yaml.safe_dump(data, sort_keys=False))

    def _reopen(self) -> None:
        """Go on from the newest checkpoint that is whole; from the beginning where none was saved."""
        checkpoints = self._checkpoints()
        for path in reversed(checkpoints):
            try:
                kept = torch.load(path, weights_only=True)
                if kept["long"] != self.long:
                    self._enter(kept["long"])
                self.ppo.load_state_dict(kept["ppo"])
                self.elapsed = float(kept["elapsed"])
                break
            except (OSError, RuntimeError, KeyError, ValueError, EOFError, pickle.UnpicklingError) as error:
                self.tell(f"{path} is not whole ({' '.join(str(error).split())[:80]}); the one before it is used.")
        else:
            if checkpoints:
                raise RunError(f"No checkpoint of {self.folder} is whole. Start a new run.")
        rows = [row for row in self.metrics() if row["update"] < self.ppo.updates]
        _write(self.folder / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        self._write_config()

    def _checkpoints(self) -> list[Path]:
        return sorted((self.folder / "checkpoints").glob("[0-9]*.pt"))

    def metrics(self) -> list[dict[str, Any]]:
        """Lines of metrics.jsonl; a line that was cut short is left out."""
        path, rows = self.folder / "metrics.jsonl", []
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                rows.append(json.loads(line))
            except ValueError:
                break
        return rows

    def save(self) -> None:
        """A checkpoint, and the net as a player."""
        folder = self.folder / "checkpoints"
        folder.mkdir(exist_ok=True)
        path = folder / f"{self.ppo.updates:06d}.pt"
        try:
            torch.save(
                {"ppo": self.ppo.state_dict(), "elapsed": self.elapsed, "long": self.long}, path.with_suffix(".partial")
            )
            os.replace(path.with_suffix(".partial"), path)
            facts = {"game": self.game.info.id, "set": list(self.config.set), "agent_steps": self.ppo.agent_steps}
            save_net(self.ppo.net, self.folder / "players" / "main" / f"v{self.ppo.updates:06d}", facts)
        except (OSError, RuntimeError) as error:
            path.with_suffix(".partial").unlink(missing_ok=True)
            raise RunError(f"{path} could not be written: {error}. Free some space, then --resume.") from None
        for old in self._checkpoints()[:-2]:
            old.unlink()

    def evaluate(self, ticks: int) -> list[dict[str, Any]]:
        """The net beside random and the forager, in held-out worlds; the references are played once."""
        from ...agents.baselines import make_baseline

        config = self.config
        agents: dict[str, Any] = {"net": NetAgent(self.ppo.net, self.game, name="net")}
        if str(ticks) not in self.references:
            agents |= {name: make_baseline(name, self.game) for name in ("random", "forager")}
        rows = compare_worlds(self.game, agents, config.eval_worlds, config.seed, max_steps=ticks or None)
        self.ppo.net.train()
        self.references.setdefault(str(ticks), rows[1:])
        return [rows[0], *self.references[str(ticks)]]

    def _spent(self) -> bool:
        """Whether the budget is used up."""
        minutes, updates = self.config.minutes, self.config.updates
        return self.ppo.updates >= updates or bool(minutes and self.elapsed >= 60 * minutes)

    def go_on(self) -> bool:
        """Until the budget is spent, or Ctrl-C: whether that was it."""
        config, ppo = self.config, self.ppo
        began = time.monotonic() - self.elapsed
        with StopFlag() as stop, (self.folder / "metrics.jsonl").open("a") as out:
            while not self._spent():
                spent = ppo.updates / config.updates
                if config.minutes:
                    spent = max(spent, self.elapsed / (60 * config.minutes))
                if spent >= config.long_after and not self.long:
                    self._enter(long=True)
                rate = config.ppo.learning_rate * (1 - 0.9 * min(1.0, spent))
                row: dict[str, Any] = {"update": ppo.updates, **ppo.update(rate), "learning_rate": rate}
                looked = time.monotonic()
                self.elapsed = row["elapsed"] = looked - began
                if self._spent() or (config.eval_every and ppo.updates % config.eval_every == 0):
                    row["eval"] = self.evaluate(config.eval_ticks)
                    began += time.monotonic() - looked  # looking is not learning
                out.write(json.dumps(row) + "\n")
                out.flush()
                self.tell(plain_line(row, config))
                if stop.asked:
                    return True
                if ppo.updates % config.checkpoint_every == 0:
                    self.save()
        return False


def plain_line(row: Mapping[str, Any], config: NetConfig) -> str:
    """One update in one line."""
    minutes, seconds = divmod(int(row["elapsed"]), 60)
    parts = [
        f"update {row['update'] + 1}",
        f"{minutes}:{seconds:02d}" + (f" of {config.minutes:g} min" if config.minutes else ""),
        f"{row['agent_steps'] / 1e6:.2f} M steps",
        f"{row['steps_per_second']:,.0f}/s",
        f"reward {1000 * row['reward']:.2f} per 1,000 ticks",
        f"entropy {row['entropy']:.2f}",
        f"KL {row['approx_kl']:.4f}",
    ]
    for one in row.get("eval", ()):
        parts.append(f"{one['player']} {one['reward']:.2f}")
    return "  ".join(parts)


def train_net(
    config: NetConfig, folder: Path, *, resume: bool = False, tell: Callable[[str], None] = lambda line: None
) -> str:
    """Train, or go on; returns what to tell the user at the end.

    Ctrl-C once: the update is finished, saved, and that is all. Twice: at once; the last checkpoint stays.

    Raises:
        RunError: the folder cannot be used.
        UsageError: the game is none for nets.
    """
    run = NetRun(config, folder, resume, tell)
    interrupted = run.go_on()
    run.save()
    if run.metrics():
        plot_net_curves(run.metrics(), folder / "curves.png")
    steps = f"{run.ppo.agent_steps / 1e6:.2f} M agent-steps, {run.elapsed / 60:.1f} min"
    if interrupted:
        again = f"coterie train {config.game} --policy net --run {folder} --resume"
        return f"Interrupted after {steps}; saved. Go on with: {again}"
    return f"Done: {steps}. Measure it with: coterie eval {folder}"


def plot_net_curves(rows: list[dict[str, Any]], path: Path) -> None:
    """Reward over minutes: while training, and on held-out worlds beside the references."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    left, middle, right = figure.subplots(1, 3)
    minutes = [row["elapsed"] / 60 for row in rows]
    left.plot(minutes, [1000 * row["reward"] for row in rows], color="#2a7f3f")
    left.set(title="training", xlabel="minutes", ylabel="reward of an agent in 1,000 ticks")
    looked = [(row["elapsed"] / 60, row["eval"]) for row in rows if "eval" in row]
    colours = {"net": "#2a7f3f", "random": "#888888", "forager": "#b63b3b"}
    for name, colour in colours.items():
        points = [(m, one) for m, found in looked for one in found if one["player"] == name]
        if points:
            x = [m for m, _ in points]
            middle.plot(x, [one["reward"] for _, one in points], color=colour, label=name)
            bounds = [one["reward_interval"] for _, one in points]
            middle.fill_between(x, [b[0] for b in bounds], [b[1] for b in bounds], color=colour, alpha=0.15)
    middle.set(title="held-out worlds", xlabel="minutes", ylabel="reward of an agent")
    if looked:
        middle.legend()
    right.plot(minutes, [row["entropy"] for row in rows], color="#c08a1e", label="entropy (nats)")
    right.plot(minutes, [row["explained_variance"] for row in rows], color="#3b6fb6", label="explained variance")
    right.set(title="training", xlabel="minutes")
    right.legend()
    for axis in (left, middle, right):
        axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]))
        axis.grid(alpha=0.25)
    figure.savefig(path, dpi=110)
