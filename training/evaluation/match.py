"""Measures a player in matches, with intervals over the independent units of a match.

If both sides are deterministic, a thousand games from the usual start would repeat one game per seat: such matches
begin after random openings, each played from every seat. Letters: n games, P seats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agents.baselines import an_agent
from ...agents.core import Agent
from ...agents.search.information_sets import NashConv, nash_conv
from ...agents.search.information_tree import LIMIT
from ...agents.search.solver import explore
from ...agents.seeds import stream
from ...envs.core import Game
from ...envs.registry import make_game
from ...envs.state import bare, take
from ...errors import UsageError
from ..data.records import Episode
from ..data.rollout import Seating, opening_states, rollout
from .exact import (
    Exploitability,
    HasPolicy,
    Optimality,
    exact_match,
    exploitability,
    exploitability_of_mixture,
    optimal_share,
    policy_table,
    tabulate,
)
from .intervals import Interval, independent, mean_interval, share_interval, wilson

__all__ = [
    "Exploitability",
    "HasPolicy",
    "MatchResult",
    "Optimality",
    "evaluate",
    "exact_match",
    "exploitability",
    "mixture_row",
    "optimal_share",
    "play_match",
    "policy_row",
    "policy_table",
    "usual_opening",
    "wilson",
]

LONGEST_OPENING = 8
"""Plies of the openings of long games; in short games openings take a quarter of the longest game."""


@dataclass(frozen=True)
class MatchResult:
    """A match, from the measured player's point of view.

    Attributes:
        seats: [n] int64 the player's seat.
        results: [n] int64 0 won, 1 drawn, 2 lost. A game is won if the player got more than every other seat, lost if
            another seat got more, drawn otherwise. A lone player wins what pays more than 0.
        returns: [n] float64 the player's returns.
        others: [n] float64 the largest return of another seat, what it takes to win; 0 where the player is alone.
        units: [n] int64: games with the same number are not independent: they share an opening, or are copies.
        distinct: number of games that differ in seat, start, actions or returns.
        illegal_games: games in which the player gave at least one illegal answer.
        opening_plies: the most random plies of an opening.
        span: bounds on a return for the interval: -m and m, m the largest absolute return in the match, at least 1.
    """

    seats: NDArray[np.int64]
    results: NDArray[np.int64]
    returns: NDArray[np.float64]
    others: NDArray[np.float64]
    units: NDArray[np.int64]
    distinct: int
    illegal_games: int
    opening_plies: int
    span: Interval

    @property
    def games(self) -> int:
        """Number of games played."""
        return len(self.results)

    @property
    def by_seat(self) -> NDArray[np.int64]:
        """[P, 3] games won, drawn and lost from each seat."""
        table = np.zeros((int(self.seats.max()) + 1, 3), np.int64)
        np.add.at(table, (self.seats, self.results), 1)
        return table

    @property
    def won_drawn_lost(self) -> tuple[int, int, int]:
        """Numbers of games over all seats."""
        won, drawn, lost = np.bincount(self.results, minlength=3).tolist()
        return won, drawn, lost

    @property
    def shares(self) -> tuple[float, float, float]:
        """Won, drawn, lost; they sum to 1."""
        won, drawn, lost = (count / self.games for count in self.won_drawn_lost)
        return won, drawn, lost

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """95 % intervals of the three shares."""
        return tuple(share_interval(self.results == k, self.units) for k in range(3))

    @property
    def score(self) -> float:
        """Mean return."""
        return float(self.returns.mean())

    @property
    def score_interval(self) -> Interval:
        """95 % interval of the mean return."""
        return self._mean_interval(self.returns, self.span)

    @property
    def points(self) -> NDArray[np.float64]:
        """[n] 1 for a game won, 1/2 for one drawn, 0 for one lost."""
        return 1 - self.results / 2

    @property
    def points_interval(self) -> Interval:
        """95 % interval of the mean of ``points``."""
        return self._mean_interval(self.points, (0.0, 1.0))

    @property
    def margins(self) -> NDArray[np.float64]:
        """[n] half of what the player got more than the best other seat: in a zero-sum game of two, its return."""
        return (self.returns - self.others) / 2

    @property
    def margin_interval(self) -> Interval:
        """95 % interval of the mean of ``margins``."""
        most = max(1.0, float(np.abs(self.margins).max()))
        return self._mean_interval(self.margins, (-most, most))

    @property
    def effective(self) -> float:
        """As many independent games would say as much about the mean of ``points``; at most n."""
        return independent(self.points, self.units)

    def _mean_interval(self, values: NDArray[np.float64], span: Interval) -> Interval:
        """95 % interval of the mean of values [n] of the games."""
        unit = np.unique(self.units, return_inverse=True)[1]
        count = int(unit.max()) + 1
        found = mean_interval(np.bincount(unit, values) * count / self.games, span)
        assert found is not None  # it has a span
        return found

    @property
    def illegal(self) -> float:
        """Share of games with an illegal answer."""
        return self.illegal_games / self.games

    def as_row(self, opponent: str) -> dict[str, Any]:
        """Plain data, as ``coterie eval --json`` prints it."""
        row: dict[str, Any] = {"opponent": opponent, "games": self.games, "distinct": self.distinct}
        row |= {"opening_plies": self.opening_plies}
        row |= dict(zip(("win", "draw", "loss"), self.shares, strict=True))
        for name, interval in zip(("win", "draw", "loss"), self.intervals, strict=True):
            row[f"{name}_interval"] = list(interval)
        row |= {"illegal": self.illegal, "score": self.score, "score_interval": list(self.score_interval)}
        return row | {"by_seat": self.by_seat.tolist()}


def usual_opening(game: Game, agents: tuple[Agent, ...]) -> int:
    """The default ``opening_plies`` of a match: 0 if games differ without openings.

    They do if an agent samples (``greedy`` is not True) or the game begins at random (cards, maps). Otherwise a quarter
    of the longest game, at most ``LONGEST_OPENING``: 2 in tic-tac-toe, 8 in chess.
    """
    alike = all(getattr(agent, "greedy", False) is True for agent in agents)
    return min(LONGEST_OPENING, game.info.max_cycles // 4) if alike and _begins_alike(game) else 0


def play_match(
    game: Game | str,
    agents: tuple[Agent | str, Agent | str],
    games: int = 100,
    seed: int = 0,
    *,
    opening_plies: int | None = None,
) -> MatchResult:
    """Play a match in lock-step; the player takes each seat in turn, equally often give or take one game.

    With openings, each is a different position, and the player plays it from every seat in turn. If both sides are
    deterministic and there are too few openings to fill the match, it has fewer games rather than repeated ones.

    Args:
        game: a registered game, or its name.
        agents: the measured player and its opponent, which fills all other seats: agents, or names of baselines.
        games: number of games.
        seed: of the games and of the agents' choices; the same seed gives the same match.
        opening_plies: games start after 0 to this many uniformly random plies; None takes ``usual_opening``.

    Raises:
        UsageError: ``games`` is below 1, ``opening_plies`` below 0, or these are not two agents.
    """
    if isinstance(agents, str) or len(agents) != 2:
        raise UsageError(f"{agents!r} came; a match has two sides: the measured player and its opponent.")
    game = make_game(game) if isinstance(game, str) else game
    first, other = (an_agent(agent, game) for agent in agents)
    if games < 1:
        raise UsageError(f"{games} games are not a match: play at least one.")
    if opening_plies is not None and opening_plies < 0:
        raise UsageError(f"opening_plies is {opening_plies}: set 0 or more random plies.")
    players = game.info.players
    usual = usual_opening(game, (first, other))
    plies = usual if opening_plies is None else opening_plies
    if plies:
        openings = _openings(game, -(-games // players), plies, seed)
        count = len(openings[1])
        number = min(games, count * players) if usual else games
        units = np.arange(number) // players % count
    else:
        openings = opening_states(game, _deals(seed, games), 0)
        number, units = games, np.arange(games)
    starts = take(openings[0], units)
    seats = np.arange(number) % players
    seatings = [
        Seating(tuple("measured" if s == seat else "opponent" for s in range(players)), (False,) * players)
        for seat in seats.tolist()
    ]
    played = rollout(
        game,
        {"measured": first, "opponent": other},
        seatings,
        seed=seed,
        starts=starts,
        keep_actions=True,
    )
    return _result(game, starts, played.episodes, seats, units, plies)


def _result(
    game: Game, starts: Any, episodes: list[Episode], seats: NDArray[np.int64], units: NDArray[np.int64], plies: int
) -> MatchResult:
    returns = np.array([episode.returns for episode in episodes], np.float64)
    rows = np.arange(len(episodes))
    own = returns[rows, seats]
    others = returns.copy()
    others[rows, seats] = -np.inf
    best = others.max(1) if game.info.players > 1 else np.zeros(len(rows))
    distinct = {
        (int(seats[k]), game.key(bare(starts), k), str(episode.actions), *episode.returns)
        for k, episode in enumerate(episodes)
    }
    if len(distinct) <= game.info.players:  # one game per seat, however often it was played
        units = np.zeros_like(units)
    most = max(1.0, float(np.abs(returns).max()))
    return MatchResult(
        seats=seats,
        results=np.where(own > best, 0, np.where(own == best, 1, 2)),
        returns=own,
        others=best,
        units=units,
        distinct=len(distinct),
        illegal_games=sum(episode.illegal[seat] > 0 for episode, seat in zip(episodes, seats.tolist(), strict=True)),
        opening_plies=plies,
        span=(-most, most),
    )


def _begins_alike(game: Game) -> bool:
    """Whether games begin in the same position for all seeds (tries 8)."""
    states = game.new_state(8)
    for i in range(8):
        game.kernels.reset(states, i, i)
    return len({game.key(states, i) for i in range(8)}) == 1


def _deals(seed: int, count: int) -> list[int]:
    """A seed for each opening."""
    return [stream(seed, number) for number in range(count)]


def _openings(game: Game, count: int, plies: int, seed: int) -> tuple[Any, NDArray[np.int64]]:
    """Up to ``count`` openings, and the plies of each; no position twice if games begin alike."""
    if not _begins_alike(game):
        return opening_states(game, _deals(seed, count), plies)
    states, played = opening_states(game, _deals(seed, 4 * count), plies)
    known: dict[int, int] = {}
    for i in range(4 * count):
        known.setdefault(game.key(states.state, i), i)
    first = list(known.values())[:count]
    return take(states, first), played[first]


_EXACT = ("exploitability", "nash_conv", "optimal_share", "optimal_share_on_path", "optimal_mass", "positions")
"""Columns of a policy's row."""


def evaluate(
    game: Game,
    agent: Agent,
    opponents: Mapping[str, Agent],
    games: int,
    seed: int,
    *,
    exact: bool = True,
    limit: int = LIMIT,
    opening_plies: int | None = None,
) -> list[dict[str, Any]]:
    """Rows for ``coterie eval``: one for each opponent, by name, and one for the agent's ``policy`` if it has one.

    The policy's row needs its probabilities in every position of the game; without ``exact`` it is left out. ``limit``
    is the most decisions of a game with hidden information for this, see ``nash_conv``. Games are
    played as in ``play_match``, with the same seed for every opponent.

    Returns:
        ``opponent``, ``games``, ``distinct`` (number of different games), ``opening_plies``, ``win``, ``draw``,
        ``loss`` (shares), ``win_interval``, ``draw_interval``, ``loss_interval`` (95 %), ``illegal`` (share of games
        with an illegal answer), ``score`` and ``score_interval`` (mean return, 95 %), ``by_seat``. The policy's row has
        ``opponent`` None, ``policy`` (its name), ``exploitability``, ``nash_conv``, ``optimal_share``,
        ``optimal_share_on_path``, ``optimal_mass`` and ``positions``; if they cannot be computed they are None, and
        ``why`` gives the reason. With hidden information, or where all act at once, no single move is optimal: the
        three ``optimal_`` figures are None, and ``positions`` counts information sets.
    """
    rows = [
        play_match(game, (agent, other), games, seed, opening_plies=opening_plies).as_row(name)
        for name, other in opponents.items()
    ]
    if exact and hasattr(agent, "policy"):
        rows.append(policy_row(game, agent, limit))
    return rows


def mixture_row(game: Game, agents: Sequence[HasPolicy], shares: Sequence[float]) -> dict[str, Any]:
    """As ``policy_row``, for a player that draws one of the agents before each game, by its share."""
    row: dict[str, Any] = {"opponent": None, "policy": "mixture"} | dict.fromkeys(_EXACT)
    try:
        tables = [tabulate(game, agent) for agent in agents]
        worst = exploitability_of_mixture(game, tables, shares)
    except UsageError as error:
        return row | {"why": str(error)}
    positions = worst.information_sets if isinstance(worst, NashConv) else len(tables[0])
    return row | {"exploitability": worst.value, "nash_conv": worst.nash_conv, "positions": positions}


def policy_row(game: Game, agent: Any, limit: int = LIMIT) -> dict[str, Any]:
    """The policy's row of ``evaluate``, for an agent that has a method ``policy``; ``limit``: see ``nash_conv``."""
    row: dict[str, Any] = {"opponent": None, "policy": str(agent.name)}
    try:
        if game.info.hidden or game.info.simultaneous:
            hidden = nash_conv(game, agent, limit)
            return row | dict(
                zip(_EXACT, (hidden.value, hidden.nash_conv, None, None, None, hidden.information_sets), strict=True)
            )
        table = policy_table(explore(game), agent)
    except UsageError as error:  # too large, or a policy that can only be sampled
        return row | dict.fromkeys(_EXACT) | {"why": str(error)}
    worst, known = exploitability(game, table), optimal_share(game, table)
    values = (worst.value, worst.nash_conv, known.share, known.on_path, known.mass, known.positions)
    return row | dict(zip(_EXACT, values, strict=True))
