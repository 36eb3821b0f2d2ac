"""Dense signals for worlds with sparse rewards: paid during training, never counted in evaluation.

There are two. A *potential* measures how far an agent has come towards a reward; paying gamma * after - before in every
tick leaves the optimal policies as they are and only speeds up learning. *Novelty* pays for each cell that an agent
enters for the first time in an episode, so that it explores; it does change the optimal policies, so keep it small
compared to the rewards.

Source: Ng, Harada and Russell 1999, Policy invariance under reward transformations, theorem 1 (potentials); Strehl and
Littman 2008, An analysis of model-based interval estimation (bonuses by visits; here only the first visit counts).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...core import Game
from ..config import GridworldConfig
from ..config.presets import configured
from ..state import PAD
from .reach import prospect

__all__ = ["Dense", "worth_of_means"]


def worth_of_means(config: GridworldConfig) -> tuple[float, dict[str, float]]:
    """The worth of one energy and of one item of each kind, in rewards.

    Energy is worth what the best object pays for it. An item is worth half of what the best use that takes it gives,
    divided by the number of items taken; half, because that use is still to come.
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
    for _ in items:  # each pass carries worth back by at least one recipe
        for kind in config.objects.values():
            given = max(0.0, kind.reward) + kind.energy_gain * energy
            given += sum(items[name] * amount for name, amount in kind.outputs.items())
            for name in kind.inputs:
                items[name] = max(items[name], 0.5 * given / sum(kind.inputs.values()))
    return energy, items


class Worlds(Protocol):
    """N worlds that step together, such as a ``VecEnv``."""

    state: Any


class Dense:
    """The dense signals of N worlds. Call ``look`` before a step and ``pay`` after it.

    Args:
        game: a gridworld.
        worlds: N.
        weight: of the potential; below 1, or else paying at an altar loses more than it earns.
        novelty: paid for the first visit to a cell.
        gamma: the learner's discount.
        reach: the potential also counts what the best use within reach would bring (``reach.prospect``).
    """

    def __init__(
        self, game: Game, worlds: int, weight: float, novelty: float, gamma: float, *, reach: bool = False
    ) -> None:
        config = configured(game.config)
        energy, items = worth_of_means(config)
        self._energy, self._items = np.float32(energy), np.array([items[name] for name in config.items], np.float32)
        self._weight, self._novelty, self._gamma = np.float32(weight), np.float32(novelty), np.float32(gamma)
        shape = (worlds, game.info.players, config.map.height, config.map.width)
        self.visited: NDArray[np.bool_] = np.zeros(shape, np.bool_)
        self._before: NDArray[np.float32] = np.zeros(shape[:2], np.float32)
        nodes = 4 * (config.map.height + 2 * PAD) * (config.map.width + 2 * PAD)
        self._reach = (
            (np.zeros(len(config.objects)), np.zeros(nodes, np.int32), np.zeros(nodes, np.int32)) if reach else None
        )

    def _potential(self, world: Any) -> NDArray[np.float32]:
        """[N, P] the weighted worth of what each agent holds."""
        held: NDArray[np.float32] = world.agents["energy"] * self._energy + world.items @ self._items
        held *= self._weight
        if self._reach is not None:
            ahead = np.zeros_like(held)
            energy, items = float(self._weight * self._energy), self._weight * self._items
            prospect(world, energy, items, float(self._gamma), *self._reach, ahead)
            held += ahead
        return held

    def look(self, vec: Worlds) -> None:
        """Store the potentials before a step; the cells where agents stand are not new to them."""
        self._before = self._potential(vec.state)
        self.visited[self._standing(vec.state)] = True

    @staticmethod
    def _standing(world: Any) -> tuple[NDArray[Any], ...]:
        """The entries of ``visited`` for each agent's cell."""
        worlds, seats = world.agents.shape
        return np.arange(worlds)[:, None], np.arange(seats)[None, :], world.agents["row"], world.agents["col"]

    def pay(self, vec: Worlds, begun: NDArray[np.bool_]) -> NDArray[np.float32]:
        """[N, P] float32 what the step since ``look`` pays; 0 in worlds whose next episode has ``begun`` [N]."""
        self.visited[begun] = False
        where = self._standing(vec.state)
        fresh = ~self.visited[where] & vec.state.agents["alive"]
        self.visited[where] = True
        paid = self._gamma * self._potential(vec.state) - self._before + self._novelty * fresh
        paid[begun] = 0
        whole: NDArray[np.float32] = paid.astype(np.float32)
        return whole
