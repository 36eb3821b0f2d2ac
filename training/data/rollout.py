"""Lock-step over N games: everybody who waits is asked at once. Knows no gradients.

Each tick: collect the turns of all running games, ask each backend once (agents of one ``LoraPolicy`` share a forward
pass), step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agents.core import Agent, Decision, Turn
from ...agents.deadline import breathe
from ...aliases import RUNNING
from ...envs.core import Game
from ...envs.gridworld.shaping import Dense
from ...envs.registry import make_vec
from ...envs.state import take
from ...errors import UsageError
from .records import Episode, Rollout, Visit

__all__ = ["Seating", "ask", "opening_states", "rollout", "seated"]


@dataclass(frozen=True)
class Seating:
    """Who sits where in one group of games.

    Attributes:
        players: P names.
        learners: P flags, who learns from it.
    """

    players: tuple[str, ...]
    learners: tuple[bool, ...]


def seated(seating: Seating, mover: int) -> Seating:
    """The same people, gone round the table until a learner sits in the seat that moves first."""
    if mover < 0 or not any(seating.learners) or seating.learners[mover]:
        return seating
    players, learners = seating.players, seating.learners
    by = next(k for k in range(1, len(players)) if learners[mover - k])
    return Seating(
        tuple(players[p - by] for p in range(len(players))), tuple(learners[p - by] for p in range(len(players)))
    )


def ask(turns: Sequence[Turn], agents: Sequence[Agent], rng: np.random.Generator) -> list[Decision]:
    """Ask the agent of each turn; agents that share a backend (and are greedy or not) answer in one call.

    Backends are asked in order of first appearance, so that ``rng`` is used the same way each time.
    """
    together: dict[tuple[int, bool], list[int]] = {}
    for k, agent in enumerate(agents):
        backend = getattr(agent, "backend", agent)
        together.setdefault((id(backend), bool(getattr(agent, "greedy", False))), []).append(k)
    decisions: list[Decision | None] = [None] * len(turns)
    for (_, greedy), members in together.items():
        asked = [turns[k] for k in members]
        first: Any = agents[members[0]]
        if hasattr(first, "backend"):
            players = [agents[k].player for k in members]  # type: ignore[attr-defined]
            answers = first.backend.act(asked, players, rng, greedy=greedy)
        else:
            answers = first.act(asked, rng)
        for k, answer in zip(members, answers, strict=True):
            decisions[k] = answer
    return [d for d in decisions if d is not None]


def opening_states(
    game: Game, groups: int, plies: int, seed: int, rng: np.random.Generator, starts: Any = None
) -> tuple[Any, Any]:
    """Positions after 0 to ``plies`` uniformly random plies, none of them finished.

    Args:
        game: rules.
        groups: how many positions.
        plies: at most so many.
        seed: of the games' own randomness.
        rng: of the number of plies.
        starts: [groups] rows to begin from; None: the game's beginning.

    Returns:
        (state rows [groups] as ``vec.get_state`` gives them, [groups] int how many plies were played).
    """
    vec = make_vec(game.info.id, num_envs=groups, seed=seed, autoreset_mode="Disabled", **game.config)
    vec.reset(seed=seed)
    if starts is not None:
        vec.set_state(starts)
    wanted = rng.integers(0, plies + 1, groups)
    played = np.zeros(groups, np.int64)
    for ply in range(plies):
        before = vec.get_state()
        _, _, terminated, truncated, _ = vec.step(vec.sample_actions())
        over = (terminated | truncated).reshape(groups, -1).any(1)
        stay = over | (wanted <= ply)
        played += ~stay
        wanted = np.where(over, ply, wanted)  # a game that random play ended keeps its last open position
        kept = np.flatnonzero(stay)
        if kept.size:
            vec.set_state(take(before, kept), kept)
    return vec.get_state(), played


def rollout(
    game: Game,
    agents: Mapping[str, Agent],
    seatings: Sequence[Seating],
    *,
    seed: int,
    rng: np.random.Generator,
    group_size: int = 1,
    opening_plies: int = 0,
    illegal_penalty: float = -1.0,
    keep_actions: bool = False,
    starts: Any = None,
    max_plies: int = 0,
    dense: Dense | None = None,
) -> Rollout:
    """Play ``len(seatings) * group_size`` games to their ends, or for ``max_plies``.

    Args:
        game: rules.
        agents: by the names that the seatings use.
        seatings: one a group; the games of a group share opening (map, deal), seats and opponents.
        seed: of the games' own randomness.
        rng: of openings and of the agents' choices.
        group_size: games a group.
        opening_plies: each group starts after 0 to this many random plies.
        illegal_penalty: what an illegal answer pays its player.
        keep_actions: record what was played.
        starts: one row a group to begin from instead of the game's beginning; a group's seating goes round so that a
            learner moves first.
        max_plies: games that aren't over after so many plies of the players count as they stand; 0: play to the end.
        dense: what learners are paid besides, in gridworlds; made for as many worlds as are played.

    Raises:
        UsageError: a name that no agent has.
    """
    for seating in seatings:
        for name in seating.players:
            if name not in agents:
                raise UsageError(f"No agent is called {name!r}; there are: {', '.join(agents)}.")
    total = len(seatings) * group_size
    vec = make_vec(
        game.info.id,
        num_envs=total,
        seed=seed,
        autoreset_mode="Disabled",
        illegal=None,
        illegal_reward=illegal_penalty,
        **game.config,
    )
    vec.reset(seed=seed)
    openings = np.zeros(len(seatings), np.int64)
    states = starts
    if opening_plies or (group_size > 1 and starts is None):
        states, openings = opening_states(game, len(seatings), opening_plies, seed, rng, starts)
    if states is not None:
        vec.set_state(take(states, np.repeat(np.arange(len(seatings)), group_size)))
    if starts is not None and not game.info.simultaneous:
        seatings = [seated(s, int(vec.player[g * group_size])) for g, s in enumerate(seatings)]
    episodes = [
        Episode(
            group=row // group_size,
            players=seatings[row // group_size].players,
            learners=seatings[row // group_size].learners,
            opening_plies=int(openings[row // group_size]),
            returns=[0.0] * game.info.players,
            illegal=[0] * game.info.players,
        )
        for row in range(total)
    ]
    return _play(game, vec, agents, episodes, rng, keep_actions, max_plies, dense)


def _play(
    game: Game,
    vec: Any,
    agents: Mapping[str, Agent],
    episodes: list[Episode],
    rng: np.random.Generator,
    keep: bool,
    max_plies: int,
    dense: Dense | None,
) -> Rollout:
    visits: list[Visit] = []
    made = 0
    besides = np.zeros((len(episodes), game.info.players))
    none_begun = np.zeros(len(episodes), np.bool_)
    running = np.arange(len(episodes))
    actions = np.zeros_like(vec.sample_actions())
    plies = 0
    while running.size and (not max_plies or plies < max_plies):
        plies += 1
        breathe()
        turns, seats = _turns(game, vec, running)
        deciders = [agents[episodes[t.row].players[t.player]] for t in turns]
        decisions = ask(turns, deciders, rng)
        made += len(decisions)
        for turn, decision in zip(turns, decisions, strict=True):
            episode = episodes[turn.row]
            action = -1 if decision.action is None else decision.action
            actions[(turn.row, turn.player) if seats else turn.row] = action
            if episode.learners[turn.player] and decision.tokens is not None:
                ply = episode.opening_plies + episode.plies
                visits.append(
                    Visit(
                        turn.row,
                        turn.player,
                        ply,
                        turn.key,
                        decision.action,
                        episode.returns[turn.player] + float(besides[turn.row, turn.player]),
                        decision.tokens,
                    )
                )
        if dense is not None:
            dense.look(vec)
        _, rewards, _, _, info = vec.step(actions)
        if dense is not None:
            besides[running] += dense.pay(vec, none_begun)[running]
        wrong = info["illegal"]
        for turn in turns:
            episodes[turn.row].illegal[turn.player] += bool(wrong[turn.row, turn.player] if seats else wrong[turn.row])
        over = vec.status != RUNNING
        for row in running.tolist():
            episode = episodes[row]
            episode.plies += 1
            episode.returns = [a + b for a, b in zip(episode.returns, rewards[row].tolist(), strict=True)]
            if keep:
                episode.actions.append(actions[row].tolist())
        running = running[~over[running]]
    if dense is not None:
        for episode, paid in zip(episodes, besides.tolist(), strict=True):
            episode.dense = paid
    return Rollout(episodes, visits, made)


def _turns(game: Game, vec: Any, running: NDArray[np.int64]) -> tuple[list[Turn], bool]:
    """Turns of all running rows, and whether every seat acts (simultaneous games); the dead are asked nothing."""
    state, masks = vec.state, vec.action_mask
    rows = running.tolist()
    if game.info.simultaneous:
        able = masks.any(-1)
        keys = {r: game.key(state, r) for r in rows}
        return [
            Turn(game, state, r, p, masks[r, p], keys[r]) for r in rows for p in np.flatnonzero(able[r]).tolist()
        ], True
    movers = vec.player[running].tolist()
    key = game.kernels.key
    return [Turn(game, state, r, p, masks[r], int(key(state, r))) for r, p in zip(rows, movers, strict=True)], False
