"""Dense signals for sparse worlds: potentials whose differences are paid while a net learns, and never measured.

A potential says how far an agent has come towards a reward. Paying gamma * after - before in every tick changes no
optimal policy, only how soon one is found.

Source: Ng, Harada and Russell 1999, Policy invariance under reward transformations, theorem 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..envs.core import Game
from ..envs.gridworld.config import GridworldConfig
from ..envs.gridworld.presets import configure
from ..envs.vec import VecEnv

__all__ = ["configuration", "means", "worth_of_means"]


def configuration(game: Game) -> GridworldConfig:
    """The whole configuration of a gridworld."""
    words = dict(game.config)
    return configure(words.pop("preset", None), words.pop("config", None), words)


def worth_of_means(config: GridworldConfig) -> tuple[float, dict[str, float]]:
    """What one energy and one item of each kind are good for, in rewards.

    Energy is worth what the best object pays for it; an item half of what a use that takes it gives, for there is a way
    to go yet.
    """
    energy = max(
        (
            kind.reward / kind.energy_cost
            for kind in config.objects.values()
            if kind.reward > 0 and kind.energy_cost > 0
        ),
        default=0.0,
    )
    items = dict.fromkeys(config.items, 0.0)
    for _ in items:  # from what leads to a reward at once back to what leads to that
        for kind in config.objects.values():
            given = max(0.0, kind.reward) + kind.energy_gain * energy
            given += sum(items[name] * amount for name, amount in kind.outputs.items())
            for name in kind.inputs:
                items[name] = max(items[name], 0.5 * given / sum(kind.inputs.values()))
    return energy, items


def means(game: Game, weight: float) -> Callable[[VecEnv], NDArray[np.float32]]:
    """The potential of what agents hold: [N * P] ``weight`` times the worth of their energy and items.

    Args:
        game: a gridworld.
        weight: below 1, or paying at an altar would lose more than it earns.
    """
    config = configuration(game)
    energy, items = worth_of_means(config)
    worth = np.array([items[name] for name in config.items], np.float32)

    def potential(vec: VecEnv) -> NDArray[np.float32]:
        world = vec.state
        held = world.agents["energy"] * np.float32(energy) + world.items @ worth
        return (weight * held).astype(np.float32).reshape(-1)

    return potential
