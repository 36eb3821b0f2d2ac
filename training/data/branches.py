"""Siblings: games that branch from one decision of an earlier game.

Each group plays one scouted game. One of the learners' decisions in it is sampled uniformly, and the group's games
begin there: the learner decides again, and each game continues with its own random numbers::

    scouted     o---o---o---o---o---o
                        |\
    the group           | o---o---o      advantage: its return less the group's mean
                        o---o---o---o

The scouted game itself is not learned from: which decision is sampled depends on how long the game became.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agents.core import Agent
from ...agents.seeds import Seed, stream
from ...envs.core import Game
from ...envs.words.vec import vec_of
from .records import Rollout
from .rollout import Seating, opening_states, rollout

__all__ = ["branched"]

_SCOUTS = 1
"""The random stream of scouted games, separate from that of the games that branch from them."""


def branched(
    game: Game,
    agents: Mapping[str, Agent],
    seatings: Sequence[Seating],
    *,
    seed: int,
    group_size: int,
    opening_plies: int = 0,
    illegal_penalty: float = -1.0,
    starts: Any = None,
    **how: Any,
) -> Rollout:
    """Play a game for each seating, then play ``group_size`` games from one of its decisions to their ends.

    A scouted game begins after 0 to ``opening_plies`` random plies, or from its row of ``starts``. ``illegal_penalty``
    and ``how``, which is for the siblings alone, are as in ``rollout``.

    Returns:
        The siblings' games and decisions. A group's first decisions are siblings of each other: their ``ply`` is the
        episode's ``opening_plies``, which include the scouted plies. ``scouts`` holds the scouted games, one a group;
        their decisions count in ``decisions``. If no learner decided in a scouted game, its group begins where the
        scouted game began.

    Raises:
        UsageError: a name without an agent.
    """
    own = stream(seed, _SCOUTS)
    scouted = rollout(
        game,
        agents,
        seatings,
        seed=own,
        opening_plies=opening_plies,
        illegal_penalty=illegal_penalty,
        keep_actions=True,
        starts=starts,
    )
    deals = [stream(own, number) for number in range(len(seatings))]
    began, _ = opening_states(game, deals, opening_plies, starts)
    cuts = _cuts(scouted, deals)
    batch = rollout(
        game,
        agents,
        [Seating(scout.players, scout.learners) for scout in scouted.episodes],
        seed=seed,
        group_size=group_size,
        illegal_penalty=illegal_penalty,
        starts=_replayed(game, began, scouted, cuts, illegal_penalty),
        **how,
    )
    before = [scout.opening_plies + int(cut) for scout, cut in zip(scouted.episodes, cuts, strict=True)]
    for episode in batch.episodes:
        episode.opening_plies = before[episode.group]
    for visit in batch.visits:
        visit.ply += before[batch.episodes[visit.episode].group]
    return dataclasses.replace(batch, scouts=scouted.episodes, decisions=batch.decisions + scouted.decisions)


def _cuts(scouted: Rollout, deals: Sequence[int]) -> NDArray[np.int64]:
    """[G] for each game, the number of plies before one sampled decision of a learner; 0 if there is none."""
    plies: list[list[int]] = [[] for _ in scouted.episodes]
    for visit in scouted.visits:
        plies[visit.episode].append(visit.ply - scouted.episodes[visit.episode].opening_plies)
    drawn = [Seed(stream(deal, _SCOUTS), 0).uniform() for deal in deals]
    return np.array([found[int(u * len(found))] if found else 0 for found, u in zip(plies, drawn, strict=True)])


def _replayed(game: Game, began: Any, scouted: Rollout, cuts: NDArray[np.int64], illegal_penalty: float) -> Any:
    """[G] the states of the scouted games after ``cuts`` [G] plies."""
    vec: Any = vec_of(game, len(cuts), autoreset_mode="Disabled", illegal_reward=illegal_penalty)
    vec.reset(seed=0)
    vec.set_state(began)
    actions: Any = vec.sample_actions()
    for ply in range(int(cuts.max())):
        on = cuts > ply
        for row in np.flatnonzero(on).tolist():
            actions[row] = scouted.episodes[row].actions[ply]
        vec.step(actions, rows=on)
    return vec.get_state()
