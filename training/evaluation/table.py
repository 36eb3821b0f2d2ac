"""Everybody meets everybody: matches between all pairs of n players, and the payoff matrices that they make."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agents.core import Agent
from ...agents.seeds import stream
from ...envs.core import Game
from ...errors import UsageError
from .intervals import Interval
from .match import MatchResult, play_match

__all__ = ["Meeting", "Table", "check_table", "play_table", "swiss_round"]


MOST = 1e12
"""Larger returns are not read from files."""


@dataclass(frozen=True)
class Meeting:
    """A match of two players, as the first of them sees it; plain data.

    Attributes:
        players: who met.
        games: number of games.
        distinct: games that differ.
        opening_plies: the most random plies of an opening.
        results: a letter a game: ``w`` the first player won, ``d``, ``l``.
        effective: as many independent games would say as much.
        points: mean of 1 for a game won and 1/2 for one drawn; with its 95 % interval.
        margin: mean of half of what the first got more than the second (its return, if the game is zero-sum); with its
            95 % interval.
        scores: mean returns of both.
    """

    players: tuple[str, str]
    games: int
    distinct: int
    opening_plies: int
    results: str
    effective: float
    points: float
    points_interval: Interval
    margin: float
    margin_interval: Interval
    scores: tuple[float, float]

    @classmethod
    def of(cls, players: tuple[str, str], match: MatchResult) -> Meeting:
        """What a table keeps of a match."""
        return cls(
            players,
            match.games,
            match.distinct,
            match.opening_plies,
            "".join("wdl"[result] for result in match.results),
            match.effective,
            float(match.points.mean()),
            match.points_interval,
            float(match.margins.mean()),
            match.margin_interval,
            (match.score, float(match.others.mean())),
        )

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Meeting:
        """Read what ``dataclasses.asdict`` and JSON made of one.

        Raises:
            LookupError, TypeError, ValueError, OverflowError: it is something else.
        """
        found = cls(
            players=(str(row["players"][0]), str(row["players"][1])),
            games=int(row["games"]),
            distinct=int(row["distinct"]),
            opening_plies=int(row["opening_plies"]),
            results=str(row["results"]),
            effective=float(row["effective"]),
            points=float(row["points"]),
            points_interval=_interval(row["points_interval"]),
            margin=float(row["margin"]),
            margin_interval=_interval(row["margin_interval"]),
            scores=_interval(row["scores"]),
        )
        returns = (found.margin, *found.margin_interval, *found.scores)
        if (
            found.players[0] == found.players[1]
            or set(found.results) - set("wdl")
            or not 0 < len(found.results) == found.games
            or not 0 < found.effective <= found.games
            or not all(0 <= share <= 1 for share in (found.points, *found.points_interval))
            or not all(abs(value) <= MOST for value in returns)
        ):
            raise ValueError(f"{' against '.join(found.players)[:80]!r} is no match that can have been played")
        return found


def _interval(pair: Sequence[float]) -> Interval:
    low, high = pair
    return float(low), float(high)


@dataclass(frozen=True)
class Table:
    """Results of n players against each other; pairs that have not met have no games.

    Attributes:
        players: n names.
        meetings: one for each pair that met.
    """

    players: tuple[str, ...]
    meetings: tuple[Meeting, ...]

    @property
    def complete(self) -> bool:
        """Whether every pair has met."""
        return len(self.meetings) == len(self.players) * (len(self.players) - 1) // 2

    @property
    def games(self) -> NDArray[np.int64]:
        """[n, n] games of each pair."""
        return self._both(lambda m: (m.games, m.games)).astype(np.int64)

    @property
    def effective(self) -> NDArray[np.float64]:
        """[n, n] independent games that would say as much."""
        return self._both(lambda m: (m.effective, m.effective))

    @property
    def points(self) -> NDArray[np.float64]:
        """[n, n] points of the row player per game; 1/2 without games."""
        return self._both(lambda m: (m.points, 1 - m.points), 0.5)

    @property
    def payoff(self) -> NDArray[np.float64]:
        """[n, n] margin of the row player, antisymmetric; 0 without games."""
        return self._both(lambda m: (m.margin, 0.0 - m.margin))

    @property
    def low(self) -> NDArray[np.float64]:
        """[n, n] lower ends of the payoff's intervals."""
        return self._both(lambda m: (m.margin_interval[0], -m.margin_interval[1]))

    @property
    def high(self) -> NDArray[np.float64]:
        """[n, n] upper ends."""
        return self._both(lambda m: (m.margin_interval[1], -m.margin_interval[0]))

    @property
    def scores(self) -> NDArray[np.float64]:
        """[n] mean return over all games; NaN without games."""
        scores, games = self._both(lambda m: m.scores), self.games
        with np.errstate(invalid="ignore"):
            mean: NDArray[np.float64] = (scores * games).sum(1) / games.sum(1)
        return mean

    def _both(self, ends: Callable[[Meeting], tuple[float, float]], empty: float = 0.0) -> NDArray[np.float64]:
        """[n, n] a figure of each meeting, for both players; the diagonal and pairs that did not meet are ``empty``."""
        number = {name: k for k, name in enumerate(self.players)}
        table = np.full((len(number), len(number)), empty)
        for meeting in self.meetings:
            a, b = (number[name] for name in meeting.players)
            table[a, b], table[b, a] = ends(meeting)
        return table


def check_table(game: Game, players: Sequence[str], games: int) -> None:
    """Raise UsageError where a table of matches makes no sense: one player, one twice, no games, not two seats."""
    if game.info.is_world or game.info.players != 2:
        kind = "a world that many share" if game.info.is_world else f"a game of {game.info.players}"
        raise UsageError(
            f"{game.info.id} is {kind}, and a table is made of matches between two. "
            "Compare players in it with: coterie eval PLAYER --vs PLAYER ... --game GAME"
        )
    twice = sorted({name for name in players if list(players).count(name) > 1})
    if twice:
        raise UsageError(f"{twice[0]} is named twice: it would play against itself. Name each player once.")
    if len(players) < 2:
        raise UsageError(f"{len(players)} player{'s' * (not players)} cannot meet anybody: name two or more.")
    if games < 2:
        raise UsageError(f"{games} game{'s' * (games != 1)} a pair: play at least 2, one from either seat.")


def play_table(
    game: Game,
    agents: Mapping[str, Agent],
    games: int,
    seed: int,
    *,
    opening_plies: int | None = None,
    known: Iterable[Meeting] = (),
    pairs: Sequence[tuple[str, str]] | None = None,
    begun: Callable[[tuple[str, str]], None] = lambda pair: None,
    done: Callable[[Meeting], None] = lambda meeting: None,
) -> Table:
    """Play a match (``play_match``) between each two players.

    A pair's games depend on ``seed`` and its names alone, not on who else takes part.

    Args:
        game: of two players.
        agents: players by name.
        games: games of a pair, half of them from either seat.
        seed: the same seed gives the same table.
        opening_plies: as for ``play_match``.
        known: meetings that need not be played again.
        pairs: who meets; None: everybody everybody.
        begun: called before each match.
        done: called after each match.

    Raises:
        UsageError: ``check_table``, or ``play_match``.
    """
    names = tuple(agents)
    check_table(game, names, games)
    found = {frozenset(meeting.players): meeting for meeting in known if set(meeting.players) <= set(names)}
    for pair in pairs if pairs is not None else [(a, b) for k, a in enumerate(names) for b in names[k + 1 :]]:
        if frozenset(pair) in found:
            continue
        begun(pair)
        own = stream(seed, zlib.crc32("\n".join(pair).encode()))
        match = play_match(game, (agents[pair[0]], agents[pair[1]]), games, own, opening_plies=opening_plies)
        found[frozenset(pair)] = Meeting.of(pair, match)
        done(found[frozenset(pair)])
    return Table(names, tuple(found.values()))


def swiss_round(table: Table) -> list[tuple[str, str]]:
    """Pairs of the next round of a Swiss tournament: neighbours by points that have not met.

    With an odd number of players one sits out, the last that can; it gets a full point a game for that. No pairs: there
    are none in which all others meet somebody new.
    """
    met = table.games > 0
    points = (table.points * met).sum(1) + met.sum(1).max() - met.sum(1)
    order = sorted(range(len(points)), key=lambda k: -points[k])

    def paired(left: list[int], may_sit_out: bool) -> list[tuple[int, int]] | None:
        """Pairs of all that are left, or None if there are none."""
        if not left:
            return []
        first, rest = left[0], left[1:]
        for other in rest:
            others = None if met[first, other] else paired([k for k in rest if k != other], may_sit_out)
            if others is not None:
                return [(first, other), *others]
        return paired(rest, False) if may_sit_out else None

    found = paired(order, len(order) % 2 == 1)
    return [(table.players[a], table.players[b]) for a, b in found or ()]
