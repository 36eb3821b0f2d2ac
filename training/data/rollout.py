"""Plays N games at once: asks all players whose turn it is together. Knows no gradients.

Each tick: collect the turns of the running games, ask each backend once (agents of one ``LoraPolicy`` share a forward
pass), step. Where players take turns, language models are asked only when every game waits for one, so that a
learner's games from all seats share its passes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agents.core import Agent, Decision, Turn, ask
from ...agents.deadline import breathe
from ...agents.seeds import Seed, pick, streams, uniforms
from ...aliases import RUNNING
from ...envs.core import Game
from ...envs.gridworld.rules.shaping import Dense
from ...envs.state import take
from ...envs.words import TextGame
from ...envs.words.vec import TextVec, vec_of
from ...errors import UsageError
from .records import Episode, Rollout, Visit

__all__ = ["Seating", "names_in", "opening_states", "rollout", "seated", "turns_of"]


@dataclass(frozen=True)
class Seating:
    """The players of one group of games, by seat.

    Attributes:
        players: P names.
        learners: P flags: whether the seat learns from the games.
    """

    players: tuple[str, ...]
    learners: tuple[bool, ...]


def names_in(seats: Sequence[Seating]) -> list[str]:
    """All players of some groups, each once."""
    return list(dict.fromkeys(name for seating in seats for name in seating.players))


def seated(seating: Seating, mover: int) -> Seating:
    """The same players, rotated until a learner sits in the seat that moves first."""
    if mover < 0 or not any(seating.learners) or seating.learners[mover]:
        return seating
    players, learners = seating.players, seating.learners
    by = next(k for k in range(1, len(players)) if learners[mover - k])
    return Seating(
        tuple(players[p - by] for p in range(len(players))), tuple(learners[p - by] for p in range(len(players)))
    )


def opening_states(game: Game, seeds: Sequence[int], plies: int, starts: Any = None) -> tuple[Any, NDArray[np.int64]]:
    """Positions after 0 to ``plies`` uniformly random plies, none of them finished.

    Args:
        game: the game's rules.
        seeds: one per position, from 0 to below 2**64, for the game's randomness and for the random plies.
        plies: the most plies.
        starts: one row per seed to begin from; None: the game's beginning.

    Returns:
        (state rows as from ``vec.get_state``, [G] plies played).
    """
    groups = len(seeds)
    vec: Any = vec_of(game, groups, autoreset_mode="Disabled")
    vec.reset(seed=np.array(seeds, np.uint64))
    if starts is not None:
        vec.set_state(starts)
    own = streams(seeds)
    wanted = (uniforms([Seed(one, 0) for one in own])[:, 0] * (plies + 1)).astype(np.int64)
    played = np.zeros(groups, np.int64)
    for ply in range(plies):
        before = vec.get_state()
        _, _, terminated, truncated, _ = vec.step(_random_actions(vec, own, ply))
        over = (terminated | truncated).reshape(groups, -1).any(1)
        stay = over | (wanted <= ply)
        played += ~stay
        wanted = np.where(over, ply, wanted)  # if random play ends a game, it keeps its last unfinished position
        kept = np.flatnonzero(stay)
        if kept.size:
            vec.set_state(take(before, kept), kept)
    return vec.get_state(), played


def _random_actions(vec: Any, streams: Sequence[int], ply: int) -> Any:
    """[G] (simultaneous: [G, P]) uniformly sampled legal actions; messages in games of words."""
    if isinstance(vec, TextVec):
        return vec.sample_actions()
    masks = np.asarray(vec.action_mask, np.bool_)
    each = masks.reshape(len(streams), -1, masks.shape[-1])
    seats = each.shape[1]
    draws = [Seed(own, 1 + ply * seats + seat) for own in streams for seat in range(seats)]
    return pick(each.reshape(-1, masks.shape[-1]), draws).reshape(masks.shape[:-1])


# Longer than most: two thirds of it are its arguments and what they mean.
def rollout(
    game: Game,
    agents: Mapping[str, Agent],
    seatings: Sequence[Seating],
    *,
    seed: int,
    numbers: Sequence[int] | None = None,
    group_size: int = 1,
    opening_plies: int = 0,
    illegal: str = "lose",
    illegal_penalty: float = -1.0,
    keep_actions: bool = False,
    starts: Any = None,
    max_plies: int = 0,
    dense: Dense | None = None,
    teacher: Agent | None = None,
) -> Rollout:
    """Play ``len(seatings) * group_size`` games to their ends, or for ``max_plies``.

    Args:
        game: the game's rules.
        agents: by the names in the seatings.
        seatings: one per group; the games of a group share opening (map, deal), seats and opponents.
        seed: of all randomness.
        numbers: one per group; None: 0, 1, 2, ... The seed and a group's number determine its games, whatever else is
            played with them: a thousand groups may be played in one call, or in many.
        group_size: games per group.
        opening_plies: each group starts after 0 to this many random plies.
        illegal: what an illegal answer does, as in ``make_vec``.
        illegal_penalty: the reward for an illegal answer.
        keep_actions: keep the actions in the episodes.
        starts: one row per group to begin from instead of the game's beginning; a group's seating is rotated so that a
            learner moves first (not in simultaneous games).
        max_plies: games stop after this many plies of the players and keep the returns they have; 0: play to the end.
        dense: additional rewards in gridworlds; made for as many worlds as there are games.
        teacher: also answers each learner's turns; its actions are kept (``Tokens.taught``).

    Raises:
        UsageError: a name without an agent.
    """
    for seating in seatings:
        for name in seating.players:
            if name not in agents:
                raise UsageError(f"No agent is called {name!r}; there are: {', '.join(agents)}.")
    groups = range(len(seatings)) if numbers is None else numbers
    total = len(seatings) * group_size
    vec = vec_of(game, total, autoreset_mode="Disabled", illegal=illegal, illegal_reward=illegal_penalty)
    deals = streams(seed, groups)
    vec.reset(seed=np.repeat(np.array(deals, np.uint64), group_size))
    openings = np.zeros(len(seatings), np.int64)
    states = starts
    if opening_plies:
        states, openings = opening_states(game, deals, opening_plies, starts)
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
    members = [(number, member) for number in groups for member in range(group_size)]
    own = streams(seed, [number for number, _ in members], [member for _, member in members])
    return _play(game, vec, agents, episodes, own, keep_actions, max_plies, dense, teacher)


def _play(
    game: Game,
    vec: Any,
    agents: Mapping[str, Agent],
    episodes: list[Episode],
    streams: list[int],
    keep: bool,
    max_plies: int,
    dense: Dense | None,
    teacher: Agent | None,
) -> Rollout:
    visits: list[Visit] = []
    made = 0
    besides = np.zeros((len(episodes), game.info.players))
    none_begun = np.zeros(len(episodes), np.bool_)
    running = np.arange(len(episodes))
    words = isinstance(vec, TextVec)
    actions = np.full(vec.action_mask.shape[:-1], None, object) if words else np.zeros_like(vec.sample_actions())
    while running.size:
        breathe()
        now = _due(game, vec, running, episodes, agents)
        turns, seats = turns_of(game, vec, now, streams, [episodes[row].plies for row in now.tolist()])
        deciders = [agents[episodes[t.row].players[t.player]] for t in turns]
        decisions = ask(turns, deciders)
        made += len(decisions)
        if teacher is not None:
            made_by = zip(turns, decisions, strict=True)
            _teach(teacher, [(t, d) for t, d in made_by if episodes[t.row].learners[t.player]])
        for turn, decision in zip(turns, decisions, strict=True):
            nothing, chosen = (None, decision.text) if words else (-1, decision.action)
            action = nothing if decision.action is None else chosen
            actions[(turn.row, turn.player) if seats else turn.row] = action
            episode, p = episodes[turn.row], turn.player
            if episode.learners[p] and decision.tokens is not None:
                ply, before = episode.opening_plies + episode.plies, episode.returns[p] + float(besides[turn.row, p])
                for tokens in (*decision.before, decision.tokens):
                    visits.append(Visit(turn.row, p, ply, turn.key, decision.action, before, tokens))
        if dense is not None:
            dense.look(vec)
        _, rewards, _, _, info = vec.step(actions, None if len(now) == len(episodes) else now)
        if dense is not None:
            besides[now] += dense.pay(vec, none_begun)[now]
        wrong = info["illegal"]
        for turn in turns:
            episodes[turn.row].illegal[turn.player] += bool(wrong[turn.row, turn.player] if seats else wrong[turn.row])
        for row in now.tolist():
            episode = episodes[row]
            episode.plies += 1
            episode.returns = [a + b for a, b in zip(episode.returns, rewards[row].tolist(), strict=True)]
            if keep:
                episode.actions += actions[row : row + 1].tolist()
        played = np.array([episodes[row].plies for row in now.tolist()])
        over = (vec.status[now] != RUNNING) | (0 < max_plies <= played)
        running = np.setdiff1d(running, now[over])
    if dense is not None:
        for episode, paid in zip(episodes, besides.tolist(), strict=True):
            episode.dense = paid
    # As if all games had gone ply by ply: mini-batches and running means follow this order.
    visits.sort(key=lambda visit: (visit.ply - episodes[visit.episode].opening_plies, visit.episode, visit.seat))
    return Rollout(episodes, visits, made)


def _due(
    game: Game, vec: Any, running: NDArray[np.int64], episodes: Sequence[Episode], agents: Mapping[str, Agent]
) -> NDArray[np.int64]:
    """The rows that play now: those whose turn no language model decides, or all."""
    if game.info.simultaneous:
        return running
    movers = zip(running.tolist(), vec.player[running].tolist(), strict=True)
    scripted = [row for row, p in movers if not hasattr(agents[episodes[row].players[p]], "backend")]
    return np.array(scripted, np.int64) if scripted else running


def _teach(teacher: Agent, learning: Sequence[tuple[Turn, Decision]]) -> None:
    """Write the teacher's actions into the decisions' tokens; it samples from forks of the turns' seeds."""
    if not learning:
        return
    answers = teacher.act([dataclasses.replace(turn, seed=turn.seed.fork(0)) for turn, _ in learning])
    for (turn, decision), answer in zip(learning, answers, strict=True):
        if decision.tokens is not None and answer.action is not None:
            if isinstance(turn.game, TextGame):
                said = turn.answers() or []
                decision.tokens.taught = said.index(answer.text) if answer.text in said else -1
            else:
                decision.tokens.taught = int(np.searchsorted(turn.legal_actions, answer.action))


def turns_of(
    game: Game, vec: Any, rows: NDArray[np.int64], streams: Sequence[int], plies: Sequence[int]
) -> tuple[list[Turn], bool]:
    """The turns of some running games, and whether every seat acts (simultaneous games); dead agents have no turn.

    Args:
        game: the game.
        vec: N games.
        rows: [K] numbers of running games.
        streams: N streams of random numbers, one per game.
        plies: K numbers of plies played; a turn's seed follows from its game's stream and this.
    """
    state, masks, seats = vec.state, vec.action_mask, game.info.players
    each = [(row, seats * played) for row, played in zip(rows.tolist(), plies, strict=True)]
    if game.info.simultaneous:
        able = masks.any(-1)
        keys = {r: game.key(state, r) for r, _ in each}
        return [
            Turn(game, state, r, p, masks[r, p], keys[r], Seed(streams[r], counter + p))
            for r, counter in each
            for p in np.flatnonzero(able[r]).tolist()
        ], True
    key = game.kernels.key
    return [
        Turn(game, state, r, p, masks[r], int(key(state, r)), Seed(streams[r], counter + p))
        for (r, counter), p in zip(each, vec.player[rows].tolist(), strict=True)
    ], False
