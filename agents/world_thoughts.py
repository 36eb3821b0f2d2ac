"""What players of a world think at each tick: the probabilities of all legal actions of some of its agents.

Letters: T ticks, A actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..aliases import RUNNING, Player
from ..envs.core import Game, GameRecord
from ..envs.replay.file import replay
from .core import Agent, Turn, seeded
from .thoughts import policy_of

__all__ = ["ALL", "MOST", "world_thoughts"]

MOST: Final = 600_000
"""Most numbers that are kept, 1.6 MB of a page."""

ALL: Final = 32767
"""The number that stands for the probability 1."""


def world_thoughts(
    game: Game, record: GameRecord, thinkers: Mapping[Player, Agent], most: int = MOST
) -> dict[Player, NDArray[np.int16]]:
    """[T + 1, A] for each agent: the probabilities of its actions at each tick, as shares of ``ALL``.

    -1 is an action that would not succeed. In ticks in which an agent is dead or the world is over, all are -1.

    Args:
        game: a world.
        record: what was played.
        thinkers: whom to ask, by slot; where they are too many, the first ones are.
        most: how many numbers there may be.

    Raises:
        UsageError: a player has no probabilities to give in this game.
    """
    ticks, actions = len(record.actions), game.info.num_actions
    slots = list(thinkers)[: most // ((ticks + 1) * actions)]
    found = {slot: np.full((ticks + 1, actions), -1, np.int16) for slot in slots}
    asked: dict[int, list[Player]] = {}
    for slot in slots:
        asked.setdefault(id(thinkers[slot]), []).append(slot)
    policies = [(members, policy_of(thinkers[members[0]])) for members in asked.values()]
    for tick, (state, _, status) in enumerate(replay(game, record)):
        if status != RUNNING:
            break
        key = game.key(state, 0)
        for members, policy in policies:
            masks = {slot: mask for slot in members if (mask := game.legal_mask(state, 0, slot)).any()}
            turns = seeded(Turn(game, state, 0, slot, mask, key) for slot, mask in masks.items())
            for (slot, mask), shares in zip(masks.items(), policy(turns) if turns else [], strict=True):
                found[slot][tick] = np.where(mask != 0, np.round(ALL * shares), -1)
    return found
