"""N agents play each other round-robin; Elo ratings say how good each is, relative to the others.

::

    elo_arena ──┬─ Agent 0 : Agent 1 ──> +1 / -1 ──> ratings
                ├─ Agent 1 : Agent 0 ──> ...
                └─ ...        every pair, in both orders of the seats

An agent learns from the results of its games; games of the same pairing from the same beginning are compared with each
other. The ratings are in the store ``ratings``, which is saved with the run.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....envs.registry import make_game
from ....errors import UsageError
from ..arena import Arena
from ..episode import Episode
from ..game import GameEpisode
from ..records import EpisodeRequest, EpisodeState, GenerateResult
from ..role import Role
from ..store import ArtifactStore
from .task import Task

__all__ = ["START", "EloEpisode", "elo_arena", "expected", "rated"]

START, K = 1500.0, 32.0


def expected(mine: float, other: float) -> float:
    """The score (1 won, 0.5 drawn) that a rating expects against another.

    Source: Elo 1978, The Rating of Chessplayers, Past and Present, 8.4: the logistic curve, 400 points a decade.
    """
    return float(1 / (1 + 10 ** ((other - mine) / 400)))


def rated(ratings: dict[str, float], one: str, other: str, score: float, k: float = K) -> None:
    """Update two ratings, in place, by the score of ``one``: 1, 0.5 or 0."""
    change = k * (score - expected(ratings[one], ratings[other]))
    ratings[one] += change
    ratings[other] -= change


class EloEpisode(Episode):
    """One round of all against all; the artifact is ignored.

    ``extras``: ``ratings`` by agent, after the round.

    Args:
        agents: roles.
        games: of each pairing, from one beginning.
    """

    def __init__(self, agents: Sequence[str], games: int) -> None:
        super().__init__()
        self.agents, self.games = tuple(agents), games

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Play all pairings at once, then rate them in a fixed order."""
        pairs = [pair for pair in itertools.permutations(self.agents, 2) for _ in range(self.games)]
        deal = int(state.rng.integers(2**63))
        results = await arena.generate_rollouts([EpisodeRequest(f"{a} : {b}", deal) for a, b in pairs])
        store = arena.stores["ratings"]
        (kept,) = store.sample(1, state.rng) or [{}]
        ratings = {agent: float(kept.get(agent, START)) for agent in self.agents}
        for (one, other), result in zip(pairs, results, strict=True):
            if not result.error:
                won = result.rewards[one] - result.rewards[other]
                rated(ratings, one, other, 0.5 + 0.5 * float(np.sign(won)))
        store.add(ratings)
        state.data["ratings"] = ratings
        return state

    def get_extras(self, state: EpisodeState) -> dict[str, Any]:
        """The ratings."""
        return {"ratings": state.data["ratings"]}


def elo_arena(
    *, env: str = "tictactoe", agents: int = 3, games: int = 8, max_plies: int = 0, free: bool = False
) -> Task:
    """Agents with an adapter each play all others, in both seats of a game for two.

    Args:
        env: the game; `coterie envs` lists them.
        agents: how many, 2 to 16.
        games: of each pairing in an update, compared with each other.
        max_plies: stop games after this many turns; 0: play to the end.
        free: answers are any text, not one of the legal actions.

    Raises:
        UnknownName: no such game.
        UsageError: a game for another number of players; another number of agents or games.
    """
    if not 2 <= agents <= 16 or games < 1:
        raise UsageError(f"agents is {agents} and games {games}: 2 to 16 agents and at least one game are needed.")
    rules = make_game(env)
    if rules.info.players != 2:
        raise UsageError(f"{rules.info.id} has {rules.info.players} players; elo_arena needs a game for two.")
    names = [f"Agent {k}" for k in range(agents)]
    episodes: dict[str, Any] = {"elo_arena": EloEpisode(names, games)}
    for pair in itertools.permutations(names, 2):
        episodes[" : ".join(pair)] = GameEpisode(rules, pair, max_plies=max_plies, free=free)

    def figures(results: Sequence[GenerateResult]) -> dict[str, float]:
        found = [r.rollout.extras["ratings"] for r in results if r.episode_type == "elo_arena" and not r.error]
        return {f"elo/{agent}": rating for agent, rating in (found[-1] if found else {}).items()}

    return Task(
        "elo_arena",
        tuple(Role(name, max_tokens=64) for name in names),
        episodes,
        lambda arena, rng: [EpisodeRequest("elo_arena")],
        {"ratings": ArtifactStore("ratings", 1)},
        figures,
    )
