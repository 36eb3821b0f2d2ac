"""What a run of a net is told to do, and how that stands in its folder: ``config.yaml``, marked ``policy: net``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ...envs.core import Game
from ...envs.registry import game_arguments, make_game
from ...errors import UnknownName, UsageError
from ..learn.ppo_net import PPOConfig

__all__ = ["NetConfig", "is_net_run", "read_net_config"]


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
        eval_every: updates between looks at held-out worlds; 0: at the end alone, where there always is one.
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
