"""The credit that a configuration asks for, learner by learner: no baseline depends on another learner's decisions."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ..runs.config import CreditConfig
from . import credit as credits
from .memory import PositionMemory
from .records import Rollout

__all__ = ["assign"]


def assign(
    batch: Rollout,
    config: CreditConfig,
    baseline: credits.RoleBaseline,
    game: str,
    memory: PositionMemory | None = None,
) -> credits.Credit:
    """Advantages of all D decisions of a batch, which are in order of time within an episode.

    An explored answer with a negative advantage is not kept: unlikely answers would be pushed down without end.
    ``rae`` updates the running means of ``baseline``; ``state`` adds the batch to the ``memory`` of positions.
    The game's id is part of a role's name.
    """
    advantages, keep = np.zeros(len(batch.visits)), np.zeros(len(batch.visits), np.bool_)
    groups = flat = 0
    whose = np.array(batch.whose(), np.str_)
    for learner in dict.fromkeys(whose.tolist()):
        rows = np.flatnonzero(whose == learner)
        part = Rollout(batch.episodes, [batch.visits[d] for d in rows.tolist()], len(rows))
        found = _of_one(part, config, baseline, f"{learner}/{game}", memory)
        advantages[rows], keep[rows] = found.advantages, found.keep
        groups, flat = groups + found.groups, flat + found.flat_groups
    in_vain = np.array([v.tokens.explored for v in batch.visits], np.bool_) & (advantages < 0)
    return credits.Credit(advantages, keep & ~in_vain, groups, flat)


def _of_one(
    batch: Rollout,
    config: CreditConfig,
    baseline: credits.RoleBaseline,
    role: str,
    memory: PositionMemory | None,
) -> credits.Credit:
    """Advantages of the decisions of one learner."""
    visits, episodes = batch.visits, batch.episodes
    seats = np.array([v.seat for v in visits], np.int64)
    who = batch.trajectories()
    returns = batch.returns()
    fade = config.gamma * (config.lam if config.credit == "turn" else 1.0)
    if fade != 1.0:
        returns = credits.discounted(batch.rewards(), who, gamma=fade, left=batch.decisions_left())
    if config.credit == "state":
        return _by_state(batch, config, returns, seats, role, memory)
    # Only decisions with the same opening, seat and opponents are compared.
    alike = [(episodes[v.episode].group, v.seat, episodes[v.episode].players) for v in visits]
    if config.credit == "group":
        # Compares whole games, each counted once, then discounts the advantage by the decisions left in the game.
        paid = [episode.paid for episode in episodes]
        totals = np.array([paid[v.episode][v.seat] for v in visits], np.float64)
        found = credits.grpo(totals, credits.group_index(alike), scale=config.scale_rewards, trajectories=who)
        return dataclasses.replace(found, advantages=found.advantages * config.gamma ** batch.decisions_left())
    if config.credit == "turn":
        turns = [(key, v.ply) for key, v in zip(alike, visits, strict=True)]
        return credits.grpo(returns, credits.group_index(turns), scale=config.scale_rewards)
    if config.credit == "sibling":
        first = [v.ply == episodes[v.episode].opening_plies for v in visits]
        return credits.sibling(returns, np.where(first, credits.group_index(alike), -1), scale=config.scale_rewards)
    if config.credit == "rae":
        return baseline.advantages(returns, [f"{role}/{seat}" for seat in seats], who)
    return credits.constant(returns)


def _by_state(
    batch: Rollout,
    config: CreditConfig,
    returns: NDArray[np.float64],
    seats: NDArray[np.int64],
    role: str,
    memory: PositionMemory | None,
) -> credits.Credit:
    """State credit, over lambda-returns if ``lam`` is not 1, with the memory of each position."""
    keys, least = np.array([v.key for v in batch.visits], np.uint64), config.min_visits
    past, of_seat = None, {seat: seats == seat for seat in np.unique(seats).tolist()}
    if memory is not None and memory.keep:
        past = np.zeros(len(keys)), np.zeros(len(keys))
        for seat, rows in of_seat.items():
            past[0][rows], past[1][rows] = memory.recall(f"{role}/{seat}", keys[rows])
    if config.lam != 1.0:
        who = batch.trajectories()
        returns = credits.pooled(
            batch.rewards(), who, keys, seats, lam=config.lam, gamma=config.gamma, min_visits=least, past=past
        )
    if memory is not None:
        for seat, rows in of_seat.items():
            memory.learn(f"{role}/{seat}", keys[rows], returns[rows])
    return credits.by_state(returns, keys, seats, min_visits=least, past=past)
