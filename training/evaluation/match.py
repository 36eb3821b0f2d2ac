"""How good a player is: matches with intervals, and on small games exact numbers without any sampling.

Letters: S positions of a solved game, A actions, P seats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...agents.core import Agent, Turn
from ...agents.search.information_sets import nash_conv
from ...agents.search.solver import END, Decide, Graph, explore, solve
from ...envs.core import Game
from ...errors import UsageError
from ..data.rollout import Seating, rollout

__all__ = [
    "Exploitability",
    "HasPolicy",
    "MatchResult",
    "Optimality",
    "evaluate",
    "exact_match",
    "exploitability",
    "optimal_share",
    "play_match",
    "policy_table",
    "wilson",
]


class HasPolicy(Protocol):
    """Whoever can say how likely it plays what."""

    def policy(self, turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
        """[A] probabilities for each turn, summing to 1 over the legal actions."""
        ...


@dataclass(frozen=True)
class MatchResult:
    """A match, seen by the player that was measured.

    Attributes:
        games: how many.
        by_seat: [P, 3] int64 games won, drawn and lost from each seat. A game is won where nobody got as much, lost
            where somebody got more, drawn otherwise.
        illegal_games: games in which it gave at least one illegal answer.
        score: its mean return.
    """

    games: int
    by_seat: NDArray[np.int64]
    illegal_games: int
    score: float

    @property
    def won_drawn_lost(self) -> tuple[int, int, int]:
        """Numbers of games over all seats."""
        won, drawn, lost = self.by_seat.sum(0).tolist()
        return won, drawn, lost

    @property
    def shares(self) -> tuple[float, float, float]:
        """Won, drawn, lost; they sum to 1."""
        won, drawn, lost = (count / self.games for count in self.won_drawn_lost)
        return won, drawn, lost

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """95 % Wilson intervals of the three shares."""
        return tuple(wilson(count, self.games) for count in self.won_drawn_lost)

    @property
    def illegal(self) -> float:
        """Share of games with an illegal answer."""
        return self.illegal_games / self.games

    def as_row(self, opponent: str) -> dict[str, Any]:
        """Plain data, as ``coterie eval --json`` prints it."""
        row: dict[str, Any] = {"opponent": opponent, "games": self.games}
        row |= dict(zip(("win", "draw", "loss"), self.shares, strict=True))
        for name, interval in zip(("win", "draw", "loss"), self.intervals, strict=True):
            row[f"{name}_interval"] = list(interval)
        return row | {"illegal": self.illegal, "score": self.score, "by_seat": self.by_seat.tolist()}


def wilson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a share; right at 0 and 1 too, where the textbook one has no width.

    Raises:
        UsageError: no trials, or more successes than trials.

    Source: Wilson 1927, JASA 22; Brown, Cai and DasGupta 2001, Statistical Science 16.
    """
    if not 0 <= successes <= trials or trials < 1:
        raise UsageError(f"{successes} of {trials} is no share: give 0 <= successes <= trials and at least one trial.")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share, spread = successes / trials, z * z / trials
    centre = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * float(np.sqrt(share * (1 - share) / trials + spread / (4 * trials)))
    low = 0.0 if successes == 0 else max(0.0, centre - half)  # exact at the ends, where rounding would leave 1e-17
    return low, 1.0 if successes == trials else min(1.0, centre + half)


def play_match(
    game: Game, agents: tuple[Agent, Agent], games: int, seed: int, *, opening_plies: int = 0
) -> MatchResult:
    """Play a match in lock-step; the seats go round, so each is taken equally often (give or take one game).

    Args:
        game: a registered game.
        agents: the player that is measured and its opponent, who fills all other seats.
        games: how many.
        seed: of the games and of the agents' choices; the same seed gives the same match.
        opening_plies: each game starts after 0 to this many uniformly random plies.

    Raises:
        UsageError: no games.
    """
    if games < 1:
        raise UsageError(f"{games} games is no match: play at least one.")
    players = game.info.players
    seatings = [
        Seating(tuple("measured" if seat == k % players else "opponent" for seat in range(players)), (False,) * players)
        for k in range(games)
    ]
    played = rollout(
        game,
        {"measured": agents[0], "opponent": agents[1]},
        seatings,
        seed=seed,
        rng=np.random.default_rng(seed),
        opening_plies=opening_plies,
    )
    by_seat, illegal, score = np.zeros((players, 3), np.int64), 0, 0.0
    for k, episode in enumerate(played.episodes):
        seat = k % players
        own, best = episode.returns[seat], max(r for s, r in enumerate(episode.returns) if s != seat)
        by_seat[seat, 0 if own > best else 1 if own == best else 2] += 1
        illegal += episode.illegal[seat] > 0
        score += own
    return MatchResult(games, by_seat, illegal, score / games)


def policy_table(graph: Graph, agent: HasPolicy, *, batch: int = 4096) -> NDArray[np.float64]:
    """[S, A] how likely the agent plays what in every position.

    Args:
        graph: ``agents.solver.explore(game)``.
        agent: see ``HasPolicy``.
        batch: turns asked at once.

    Raises:
        UsageError: probabilities that don't sum to 1 over the legal actions.
    """
    masks, movers, keys = graph.legal.astype(np.int8), graph.movers.tolist(), graph.keys.tolist()
    turns = [Turn(graph.game, graph.states, s, movers[s], masks[s], keys[s]) for s in range(len(graph))]
    rows = [row for at in range(0, len(turns), batch) for row in agent.policy(turns[at : at + batch])]
    table = np.array(rows, np.float64).reshape(graph.legal.shape)
    table[~graph.legal] = 0.0
    wrong = np.flatnonzero(~(np.abs(table.sum(1) - 1.0) < 1e-4) | (table < 0).any(1))
    if wrong.size:
        s = int(wrong[0])
        raise UsageError(
            f"The policy gives {table[s].sum():.6f} to all legal actions of position {s} of {graph.game.info.id} "
            f"({wrong.size} such positions); it must be 1, and no probability below 0."
        )
    table /= table.sum(1, keepdims=True)
    return table


@dataclass(frozen=True)
class Exploitability:
    """What a perfect opponent who knows the policy gets out of it.

    Attributes:
        value: mean over the seats of (best response's return - the game's value for that seat); 0 is perfect play. This
            is what is called exploitability in a two-player zero-sum game.
        nash_conv: the sum instead of the mean.
        best_responses: [P] the best response's expected return from each seat.
    """

    value: float
    nash_conv: float
    best_responses: tuple[float, ...]


def exploitability(game: Game, policy: HasPolicy | NDArray[np.float64]) -> Exploitability:
    """Exact best response over the whole game, from either seat.

    Args:
        game: small, two-player, zero-sum; turn-based and without chance, or with hidden information.
        policy: an agent, or its table: [S, A] over ``explore(game)``; where information is hidden, [K, A] over
            ``agents.information_sets.information_tree(game)``.

    Raises:
        UsageError: the game cannot be solved, or the policy is none.

    Source: Lanctot et al. 2017, A unified game-theoretic approach to multiagent RL (NashConv).
    """
    if game.info.hidden:
        hidden = nash_conv(game, policy)
        return Exploitability(hidden.value, hidden.nash_conv, hidden.best_responses)
    solution = solve(game)
    graph = solution.graph
    table = policy if isinstance(policy, np.ndarray) else policy_table(graph, policy)
    responses = [_best_response(graph, table, seat) for seat in range(game.info.players)]
    gains = [response - float(value) for response, value in zip(responses, solution.game_values, strict=True)]
    return Exploitability(sum(gains) / len(gains), sum(gains), tuple(responses))


def _follow(table: NDArray[np.float64]) -> Decide:
    """What positions are worth where both seats play a table."""

    def decide(layer: NDArray[np.int64], ahead: NDArray[np.float64]) -> NDArray[np.float64]:
        value: NDArray[np.float64] = np.einsum("na,nak->nk", table[layer], ahead)
        return value

    return decide


def _best_response(graph: Graph, table: NDArray[np.float64], seat: int) -> float:
    """What ``seat`` gets against the table by the best of all replies."""
    expected = _follow(table)

    def decide(layer: NDArray[np.int64], ahead: NDArray[np.float64]) -> NDArray[np.float64]:
        value = expected(layer, ahead)
        own = graph.movers[layer] == seat
        value[own, 0] = np.where(graph.legal[layer[own]], ahead[own, :, 0], -np.inf).max(1)
        return value

    return float(graph.back_up(graph.rewards[:, :, seat : seat + 1], decide)[0, 0])


@dataclass(frozen=True)
class Optimality:
    """How much of perfect play a policy knows. An optimal move keeps the position's value; there may be several.

    Attributes:
        share: over all reachable positions, each counted once, those in which the likeliest move is optimal (if several
            moves are equally likely, the part of them that is).
        on_path: the same over the positions that arise where the policy plays its likeliest moves and the opponent any:
            at 1 it cannot be beaten below the game's value.
        mass: mean probability of an optimal move over all reachable positions.
        positions: how many are reachable.
    """

    share: float
    on_path: float
    mass: float
    positions: int


def optimal_share(game: Game, policy: HasPolicy | NDArray[np.float64]) -> Optimality:
    """In how many positions a policy plays an optimal move; see ``Optimality``.

    Args:
        game: small, two-player, zero-sum, turn-based, without chance.
        policy: an agent, or its table [S, A] over ``explore(game)``.

    Raises:
        UsageError: as ``exploitability``.
    """
    solution = solve(game)
    graph = solution.graph
    table = policy if isinstance(policy, np.ndarray) else policy_table(graph, policy)
    likeliest = graph.legal & (table >= table.max(1, keepdims=True) - 1e-9)
    right = (likeliest & solution.optimal).sum(1) / likeliest.sum(1)
    met = _met(graph, likeliest)
    mass = (table * solution.optimal).sum(1)
    return Optimality(float(right.mean()), float(right[met].mean()), float(mass.mean()), len(graph))


def _met(graph: Graph, moves: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[S] positions in which a player of ``moves`` is asked, from either seat, whatever the other does."""
    asked = np.zeros(len(graph), np.bool_)
    for seat in range(graph.game.info.players):
        seen = np.zeros(len(graph), np.bool_)
        seen[0] = True
        for layer in reversed(graph.layers):  # parents before their children
            here = layer[seen[layer]]
            own = graph.movers[here] == seat
            played = np.where(own[:, None], moves[here], graph.legal[here])
            children = graph.children[here][played]
            seen[children[children >= 0]] = True
        asked |= seen & (graph.movers == seat)
    return asked


def exact_match(
    graph: Graph, measured: NDArray[np.float64], opponent: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Won, drawn and lost of an endless match, both seats averaged: what ``play_match`` estimates.

    Args:
        graph: ``explore(game)`` of a two-player game that pays at its end alone.
        measured: [S, A] table of the player that is measured.
        opponent: [S, A] table of the other.

    Raises:
        UsageError: the game pays before its end.
    """
    ends = graph.children == END
    if graph.rewards[graph.children >= 0].any():
        raise UsageError(f"{graph.game.info.id} pays before its end: the last move tells no winner.")
    shares = np.zeros(3)
    for seat in (0, 1):
        sign = np.sign(graph.rewards[:, :, seat])
        leaf = np.stack([ends & (sign > 0), ends & (sign == 0), ends & (sign < 0)], axis=2).astype(np.float64)
        table = np.where((graph.movers == seat)[:, None], measured, opponent)
        shares += graph.back_up(leaf, _follow(table))[0] / 2
    won, drawn, lost = shares.tolist()
    return won, drawn, lost


def evaluate(
    game: Game, agent: Agent, opponents: Mapping[str, Agent], games: int, seed: int, *, exact: bool = True
) -> list[dict[str, Any]]:
    """Rows for ``coterie eval``: one for each opponent, one for the agent's ``policy`` if it has one.

    Args:
        game: a registered game.
        agent: the player that is measured.
        opponents: by the name that the row bears.
        games: against each opponent, both seats.
        seed: the same for every opponent.
        exact: compute the policy's row, which asks it for its probabilities in every position of the game.

    Returns:
        ``opponent``, ``games``, ``win``, ``draw``, ``loss`` (shares), ``win_interval``, ``draw_interval``,
        ``loss_interval`` (95 %), ``illegal`` (share of games with an illegal answer), ``score``, ``by_seat``. The
        policy's row has ``opponent`` None, ``policy`` (its name), ``exploitability``, ``nash_conv``, ``optimal_share``,
        ``optimal_share_on_path``, ``optimal_mass`` and ``positions``; where they cannot be had they are None, and
        ``why`` says why. Where information is hidden, no move is optimal by itself: those shares are None, and
        ``positions`` counts information sets.
    """
    rows = [play_match(game, (agent, other), games, seed).as_row(name) for name, other in opponents.items()]
    if exact and hasattr(agent, "policy"):
        rows.append(_policy_row(game, agent))
    return rows


def _policy_row(game: Game, agent: Any) -> dict[str, Any]:
    names = ("exploitability", "nash_conv", "optimal_share", "optimal_share_on_path", "optimal_mass", "positions")
    row: dict[str, Any] = {"opponent": None, "policy": str(agent.name)}
    try:
        if game.info.hidden:
            hidden = nash_conv(game, agent)
            return row | dict(
                zip(names, (hidden.value, hidden.nash_conv, None, None, None, hidden.information_sets), strict=True)
            )
        table = policy_table(explore(game), agent)
    except UsageError as error:  # too large, simultaneous, or a policy that can only be sampled
        return row | dict.fromkeys(names) | {"why": str(error)}
    worst, known = exploitability(game, table), optimal_share(game, table)
    values = (worst.value, worst.nash_conv, known.share, known.on_path, known.mass, known.positions)
    return row | dict(zip(names, values, strict=True))
