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
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import yaml

from ..agents.net import NetAgent, PolicyNet, load_net, save_net
from ..envs.core import Game
from ..envs.gridworld.presets import configured
from ..envs.gridworld.world import plane_names
from ..envs.registry import game_arguments, make_game
from ..envs.vec import VecEnv
from ..errors import RunError, UnknownName, UsageError
from .ppo import PPO, PPOConfig
from .shaping import Dense
from .worlds import compare_worlds

__all__ = ["NetConfig", "is_net_run", "load_net_player", "new_net", "plot_net_curves", "read_net_config", "train_net"]


@dataclass(frozen=True)
class NetConfig:
    """What a run of a net does.

    Attributes:
        game: id or name of a registered game with plane observations and many agents.
        set: the game's own arguments, e.g. preset=a5_25x25_simple; the run remembers them.
        seed: of weights, worlds and actions.
        threads: torch threads; 0 takes all cores. Bit-equal results need the same number.
        worlds: games side by side.
        episode: ticks after which a world begins anew while learning, so that beginnings are seen often; 0: as it says.
        long_episode: the same later on, so that what comes after is seen too.
        long_after: the part of the budget after which that is.
        hidden: units of the GRU.
        shaping: weight of the potential of what agents hold, 0 to below 1; scores never count it.
        novelty: paid for each cell that an agent enters for the first time in an episode; scores never count it.
        init: a run, a folder with a net, or ``net`` for the one that ships: begin with its weights.
        minutes: stop after so many of training; 0: never.
        updates: stop after so many rollouts.
        eval_every: updates between looks at held-out worlds; 0: at the end alone.
        eval_worlds: held-out worlds.
        eval_ticks: of each look; 0: whole episodes.
        checkpoint_every: updates.
        ppo: how it learns.
    """

    game: str = "gridworld"
    set: tuple[str, ...] = ("preset=a5_25x25_simple",)
    seed: int = 0
    threads: int = 0
    worlds: int = 48
    episode: int = 400
    long_episode: int = 2500
    long_after: float = 0.4
    hidden: int = 128
    shaping: float = 0.3
    novelty: float = 0.02
    init: str = ""
    minutes: float = 20.0
    updates: int = 100_000
    eval_every: int = 100
    eval_worlds: int = 8
    eval_ticks: int = 1000
    checkpoint_every: int = 25
    ppo: PPOConfig = field(default_factory=PPOConfig)

    def __post_init__(self) -> None:
        """Reject what cannot work.

        Raises:
            UsageError: names the field, what came and what would do.
        """
        for name in ("worlds", "hidden", "updates", "eval_worlds", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        for name in (
            "seed",
            "threads",
            "episode",
            "long_episode",
            "long_after",
            "minutes",
            "novelty",
            "eval_every",
            "eval_ticks",
        ):
            if getattr(self, name) < 0:
                raise UsageError(f"{name} is {getattr(self, name)}; it must be 0 or more.")
        if not 0 <= self.shaping < 1:
            raise UsageError(f"shaping is {self.shaping}; it must be at least 0 and below 1.")

    @property
    def game_arguments(self) -> dict[str, Any]:
        """``set`` as keyword arguments of the game."""
        return game_arguments(self.set)

    def make_game(self) -> Game:
        """The game, configured."""
        return make_game(self.game, **self.game_arguments)


def is_net_run(folder: Path) -> bool:
    """Whether a folder holds a run of a net."""
    try:
        data = yaml.safe_load((folder / "config.yaml").read_text())
    except (OSError, ValueError, yaml.YAMLError):
        return False
    return isinstance(data, Mapping) and data.get("policy") == "net"


def read_net_config(path: Path) -> NetConfig:
    """The configuration of a run.

    Raises:
        UsageError, UnknownName: it cannot be read, or names fields that don't exist.
    """
    try:
        data = dict(yaml.safe_load(path.read_text()))
    except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
        raise UsageError(f"{path} can't be read as YAML: {' '.join(str(error).split())}") from None
    data.pop("policy", None)
    inner = data.pop("ppo", {})
    for kind, given in ((NetConfig, data), (PPOConfig, inner)):
        known = [f.name for f in dataclasses.fields(kind)]
        for name in given:
            if name not in known:
                raise UnknownName("field", name, known)
    data["set"] = tuple(data.get("set", ()))
    return NetConfig(**data, ppo=PPOConfig(**inner))


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


def new_net(game: Game, hidden: int, seed: int) -> PolicyNet:
    """A net with fresh weights for a game.

    Raises:
        UsageError: the game has no plane observations.
    """
    info = game.info
    if not info.simultaneous or len(info.observation_shape) != 3 or info.noop is None:
        raise UsageError(
            f"{info.id} as it is configured here has observations of shape {list(info.observation_shape)}; nets are "
            "for gridworlds with observation.kind=planes."
        )
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
    from ..agents import net as nets

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
    found = folder / "players" / "main" / f"v{int(version.lstrip('v') or 0):06d}"
    if not found.is_dir():
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
        self.game = config.make_game()
        if config.threads:
            torch.set_num_threads(config.threads)
        net = new_net(self.game, config.hidden, config.seed)
        if config.init and not resume:
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

    def _lengthen(self) -> None:
        """Go over to long episodes."""
        self.long = True
        self.ppo.enter(self._worlds(self.config.long_episode), self.config.seed + 1, self.config.long_episode)

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
        data = {"policy": "net"} | dataclasses.asdict(self.config) | {"set": list(self.config.set)}
        _write(self.folder / "config.yaml", yaml.safe_dump(data, sort_keys=False))

    def _reopen(self) -> None:
        for path in reversed(self._checkpoints()):
            try:
                kept = torch.load(path, weights_only=True)
                if kept["long"]:
                    self._lengthen()
                self.ppo.load_state_dict(kept["ppo"])
            except (OSError, RuntimeError, KeyError, ValueError, EOFError) as error:
                self.tell(f"{path} is not whole ({' '.join(str(error).split())[:80]}); the one before it is used.")
                continue
            self.elapsed = float(kept["elapsed"])
            rows = [row for row in self.metrics() if row["update"] < self.ppo.updates]
            _write(self.folder / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
            return
        if self._checkpoints():
            raise RunError(f"No checkpoint of {self.folder} is whole. Start a new run.")

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
        from ..agents.baselines import make_baseline

        config = self.config
        agents: dict[str, Any] = {"net": NetAgent(self.ppo.net, self.game, name="net")}
        if str(ticks) not in self.references:
            agents |= {name: make_baseline(name, self.game) for name in ("random", "forager")}
        rows = compare_worlds(self.game, agents, config.eval_worlds, config.seed, max_steps=ticks or None)
        self.ppo.net.train()
        self.references.setdefault(str(ticks), rows[1:])
        return [rows[0], *self.references[str(ticks)]]

    def go_on(self) -> str:
        """Until the budget is spent; returns why it stopped."""
        config, ppo = self.config, self.ppo
        began = time.monotonic() - self.elapsed
        with (self.folder / "metrics.jsonl").open("a") as out:
            while ppo.updates < config.updates and not (config.minutes and self.elapsed >= 60 * config.minutes):
                spent = ppo.updates / config.updates
                if config.minutes:
                    spent = max(spent, self.elapsed / (60 * config.minutes))
                if spent >= config.long_after and not self.long:
                    self._lengthen()
                rate = config.ppo.learning_rate * (1 - 0.9 * min(1.0, spent))
                row: dict[str, Any] = {"update": ppo.updates, **ppo.update(rate), "learning_rate": rate}
                looked = time.monotonic()
                if config.eval_every and ppo.updates % config.eval_every == 0:
                    row["eval"] = self.evaluate(config.eval_ticks)
                    began += time.monotonic() - looked  # looking is not learning
                self.elapsed = time.monotonic() - began
                row["elapsed"] = self.elapsed
                out.write(json.dumps(row) + "\n")
                out.flush()
                self.tell(plain_line(row, config))
                if ppo.updates % config.checkpoint_every == 0:
                    self.save()
        return "budget"


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
    """Train, or go on; returns what to tell the user at the end. Ctrl-C saves and stops.

    Raises:
        RunError: the folder cannot be used.
        UsageError: the game is none for nets.
    """
    run = NetRun(config, folder, resume, tell)
    reason = "budget"
    try:
        run.go_on()
    except KeyboardInterrupt:
        reason = "interrupted"
    run.save()
    if run.metrics():
        plot_net_curves(run.metrics(), folder / "curves.png")
    steps = f"{run.ppo.agent_steps / 1e6:.2f} M agent-steps, {run.elapsed / 60:.1f} min"
    if reason == "interrupted":
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
