"""Small nets as players: makes them for a game, finds them by name, loads them."""

from __future__ import annotations

from pathlib import Path

import torch

from ...agents.net import NetAgent, PolicyNet, load_net
from ...envs.core import Game
from ...envs.gridworld.config.presets import configured
from ...envs.gridworld.config.world import plane_names
from ...errors import RunError, UsageError
from .config import is_net_run
from .folder import saved_version

__all__ = ["find_net", "load_net_player", "need_planes", "new_net"]


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
    """Check that nets can play a game.

    Raises:
        UsageError: it has no plane observations.
    """
    info = game.info
    if not info.is_world or len(info.observation_shape) != 3:
        raise UsageError(
            f"{info.id} with these arguments has observations of shape {list(info.observation_shape)}; nets need "
            "gridworlds with observation.kind=planes."
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


def find_net(spec: str) -> Path:
    """The folder of the net that ``spec`` names: ``net`` (ships with the package), a run, or a folder with a net.

    Raises:
        RunError: it names none of these.
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
    return saved_version(folder, "main", version)


def load_net_player(spec: str, game: Game, *, greedy: bool = False) -> NetAgent:
    """An agent that plays a saved net.

    Raises:
        RunError, ModelError: there is no such net, or it is damaged.
        UsageError: it was made for other observations or actions.
    """
    return NetAgent(load_net(find_net(spec)), game, greedy=greedy, name=Path(spec).name)
