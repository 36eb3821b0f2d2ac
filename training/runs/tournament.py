"""Tournaments: who takes part, matches that are kept while they are played, ratings, and a page about it.

::

    OUT/results.json         settings, every match played so far, at the end the ratings
    OUT/leaderboard.html     one self-contained page
    OUT/*.png                its pictures
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agents.core import Agent
from ...envs.arguments import wanted
from ...envs.core import Game
from ...envs.registry import list_envs, make_game, spec
from ...errors import UsageError, needs
from ..episodes.playing import as_game, read_any
from ..evaluation.table import Meeting, Table, check_table, play_table, swiss_round
from .config import TaskConfig, config_of
from .players import make_player
from .tournament_folder import Kept, kept_in

__all__ = ["Tournament", "entrants", "results_of"]

PAST = 3
"""Earlier versions of each learner of a run that plays a tournament of its own."""


def entrants(words: Sequence[str], past: int | None = None) -> list[str]:
    """The players that ``words`` name.

    A run folder stands for all learners that it has saved, each in its newest version.

    Args:
        words: run folders, and anything else that ``make_player`` takes.
        past: how many earlier versions of those learners take part too, spaced evenly; None: 3 if a single run is
            named, otherwise 0.

    Raises:
        UsageError: ``past`` is negative.
    """
    past = (PAST if len(words) == 1 else 0) if past is None else past
    if past < 0:
        raise UsageError(f"--past is {past}; it is the number of earlier versions, 0 or more.")
    found = []
    for word in words:
        saved = _saved(Path(word))
        for name, versions in saved.items():
            older = versions[:-1]
            at = sorted({round(k) for k in np.linspace(0, len(older) - 1, min(past, len(older)))})
            player = word if list(saved) == ["main"] else f"{word}:{name}"
            found += [player, *(f"{player}@{older[k]}" for k in at)]
        found += [] if saved else [word]
    return found


def _saved(folder: Path) -> dict[str, list[int]]:
    """Versions, ascending, of the players saved in a run folder; none if it is something else."""
    players = sorted((folder / "players").glob("*")) if (folder / "config.yaml").is_file() else []
    found = {
        p.name: sorted(int(v.name[1:]) for v in p.glob("v*") if re.fullmatch("v[0-9]{1,15}", v.name)) for p in players
    }
    return {name: versions for name, versions in found.items() if versions}


def _identity(word: str) -> str:
    """What a player is, beyond its name: the folder of the weights of a run's player, else the name."""
    if config_of(word) is None:
        return word
    from .folder import saved_version
    from .players import split

    path, player, version = split(word.partition("?")[0])
    return f"{saved_version(path, player, version).resolve()}?{word.partition('?')[2]}"


def _names(words: Sequence[str]) -> list[str]:
    """Short names: without the folders that paths begin with, unless two would be alike."""
    short = [re.sub(r"[^:@?]*/(?=[^/])", "", word).rstrip("/") for word in words]
    return short if len(set(short)) == len(short) else list(words)


@dataclasses.dataclass(frozen=True)
class Tournament:
    """Who plays what, and how; ``play`` does it.

    Attributes:
        players: as ``entrants`` takes them.
        game: the game to play; needed unless a run folder is among the players.
        games: games of each pair, half of them from either seat.
        opening_plies: games start after 0 to this many random plies, and each opening is played from either seat. The
            default is 0; where both sides are deterministic, it is a quarter of the longest game, at most 8.
        seed: the same seed gives the same games.
        sample: sample the models' actions, as in training, instead of taking the likeliest.
        past: earlier versions of each learner of a run folder that take part too, spaced evenly; by default 3 if one
            run folder is all, otherwise 0.
        swiss: play this many rounds, in which players with about as many points meet, instead of all pairs.
        out: write leaderboard.html, pictures and results.json to this folder. The same command goes on where it was
            stopped, and plays no match twice.
        set: the game's own arguments, e.g. size=9; by default those of the first run.
        preset: short for --set preset=..., in games that have presets.
    """

    players: tuple[str, ...]
    game: str = ""
    games: int = 200
    opening_plies: int | None = None
    seed: int = 0
    sample: bool = False
    past: int | None = None
    swiss: int = 0
    out: Path | None = None
    set: tuple[str, ...] = ()
    preset: str = ""

    def play(self) -> dict[str, Any]:
        """Play all matches that ``out`` does not hold yet, and rate the players; progress is shown on a terminal.

        Returns:
            Plain data: see ``results_of``.

        Raises:
            CoterieError: players, game or settings that make no tournament; ``out`` holds another one.
        """
        words = entrants(self.players, self.past)
        game = self._game(words)
        names = _names(words)
        held = {name: _identity(word) for name, word in zip(names, words, strict=True)}
        check_table(game, names, self.games)
        self._check(len(names))
        for k, name in enumerate(names):
            twin = next((other for other in names[:k] if held[other] == held[name]), None)
            if twin:
                raise UsageError(f"{twin} and {name} are the same player, {held[name]}. Name each player once.")
        agents = {
            name: make_player(word, game, greedy=not self.sample, read=read_any)
            for name, word in zip(names, words, strict=True)
        }
        settings = {
            "game": game.info.id,
            "arguments": game.config,
            "games": self.games,
            "opening_plies": self.opening_plies,
            "seed": self.seed,
            "sample": self.sample,
        }
        with kept_in(self.out, settings, held) as kept:
            table = self._play(game, agents, kept)
            exact = {name: kept.exact(game, name, agent) for name, agent in agents.items()}
            results = {**settings, **results_of(table, exact, self.seed)}
            kept.finish(results)
        return results

    def _game(self, words: Sequence[str]) -> Game:
        for word in words:
            config = config_of(word)
            if isinstance(config, TaskConfig):
                config = as_game(config)
            if config is not None:
                own = not self.game or spec(config.game).name == spec(self.game).name
                arguments = config.game_arguments if own else None
                game = self.game or config.game
                return make_game(game, **wanted(game, self.set, self.preset, arguments))
        if not self.game:
            for word in words:
                if ":" not in word and (Path(word).is_dir() or ("/" in word and Path(word).parent.is_dir())):
                    raise UsageError(f"{word} holds no run (no config.yaml). If it is a model, name the game: --game.")
            games = [id.rpartition("-v")[0] for id in list_envs()]
            game = next((word for word in words if word in games), "tictactoe")
            shown = " ".join(word for word in words if word != game) or "PLAYER PLAYER"
            raise UsageError(
                f"No run folder is among the players, so name the game, e.g.: coterie tournament {shown} --game {game}"
            )
        return make_game(self.game, **wanted(self.game, self.set, self.preset))

    def _check(self, players: int) -> None:
        if not 0 <= self.swiss <= players // 2:
            raise UsageError(
                f"--swiss is {self.swiss}; {players} players can play 1 to {players // 2} rounds. "
                "Without --swiss everybody meets everybody."
            )
        if self.opening_plies is not None and self.opening_plies < 0:
            raise UsageError(f"--opening-plies is {self.opening_plies}; it must be 0 or more.")

    def _play(self, game: Game, agents: dict[str, Agent], kept: Kept) -> Table:
        """All matches, round by round."""
        number = len(agents) * (len(agents) - 1) // 2
        total = self.swiss * (len(agents) // 2) if self.swiss else number
        with _progress(total) as (begun, done):

            def finished(meeting: Meeting) -> None:
                kept.add(meeting)
                done()

            def matches(pairs: list[tuple[str, str]] | None) -> Table:
                for meeting in kept.meetings:
                    if meeting.players in pairs if pairs is not None else set(meeting.players) <= set(agents):
                        done()
                return play_table(
                    game,
                    agents,
                    self.games,
                    self.seed,
                    opening_plies=self.opening_plies,
                    known=kept.meetings,
                    pairs=pairs,
                    begun=lambda pair: begun(" - ".join(pair)),
                    done=finished,
                )

            if not self.swiss:
                return matches(None)
            table = Table(tuple(agents), ())
            for _ in range(self.swiss):
                # Pairs depend on this tournament's rounds alone, whatever else the folder holds.
                met = {frozenset(m.players) for m in table.meetings}
                pairs = swiss_round(table)
                now = met | {frozenset(pair) for pair in pairs}
                table = matches(pairs)
                table = Table(table.players, tuple(m for m in table.meetings if frozenset(m.players) in now))
            return table


@contextlib.contextmanager
def _progress(total: int) -> Iterator[tuple[Callable[[str], None], Callable[[], None]]]:
    """A progress bar on standard error, if that is a terminal: functions that name a match and that end it."""
    with needs("Tournaments", "train"):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total)
        yield (lambda named: bar.update(task, description=named)), (lambda: bar.advance(task))


def results_of(table: Table, exact: dict[str, dict[str, Any]], seed: int = 0) -> dict[str, Any]:
    """A table and its ratings as plain data, players in the order of Elo.

    Args:
        table: of matches.
        exact: figures of ``policy_row`` by player; may lack some.
        seed: see ``ratings.rate``.

    Returns:
        ``players`` (a row each: ``player``, ``games``, ``points``, ``score``, ``elo``, ``elo_interval``,
        ``openskill``, ``openskill_interval``, and if all pairs have met ``nash``, ``against_nash``, ``alpha_rank``,
        with ``nash_interval`` and ``alpha_rank_interval``; ``exploitability`` or ``why`` there is none), ``payoff``,
        ``payoff_interval`` (null where a pair did not meet), ``parts`` (``share``, ``noise``, ``flat``,
        ``strength``, ``disc``; null without all pairs), ``misfit`` of Elo, its
        ``misfit_noise``, ``cycles``, ``meetings``.

    Raises:
        UsageError: no games.
    """
    with needs("Ratings", "train"):
        import scipy  # noqa: F401
    from ..evaluation.ratings import Z, cycles, rate

    found = rate(table, seed)
    order = np.argsort(-found.elo.rating, kind="stable").tolist()
    games = table.games
    rows = []
    for k in order:
        name, elo, error = table.players[k], float(found.elo.rating[k]), float(found.elo.error[k])
        mu, sigma = found.openskill[k].tolist()
        row: dict[str, Any] = {"player": name, "games": int(games[k].sum())}
        row |= {"points": float((table.points[k] * games[k]).sum() / max(1, games[k].sum()))}
        row |= {"score": float(table.scores[k]) if games[k].any() else None}
        row |= {"elo": elo, "elo_interval": [elo - Z * error, elo + Z * error]}
        row |= {"openskill": mu, "openskill_interval": [mu - 2 * sigma, mu + 2 * sigma]}
        if found.nash is not None:
            assert found.nash_interval is not None
            assert found.against_nash is not None
            assert found.alpha_rank is not None
            assert found.alpha_rank_interval is not None
            row |= {"nash": float(found.nash[k]), "nash_interval": found.nash_interval[k].tolist()}
            row |= {"against_nash": round(float(found.against_nash[k]), 6) + 0.0}  # no -0.0
            row |= {"alpha_rank": float(found.alpha_rank[k])}
            row |= {"alpha_rank_interval": found.alpha_rank_interval[k].tolist()}
        policy = exact.get(name, {})
        rows.append(
            row | {field: policy[field] for field in ("exploitability", "why") if policy.get(field) is not None}
        )

    def ordered(values: NDArray[np.float64]) -> list[list[float]]:
        moved: list[list[float]] = values[np.ix_(order, order)].tolist()
        return moved

    payoff, low, high, met = (ordered(v) for v in (table.payoff, table.low, table.high, games.astype(np.float64)))
    at = range(len(order))
    parts = found.parts and {
        "share": found.parts.share,
        "noise": found.parts.noise,
        "flat": found.parts.flat,
        "strength": found.parts.strength[order].tolist(),
        "disc": found.parts.disc[order].tolist(),
    }
    return {
        "players": rows,
        "payoff": [[payoff[a][b] if met[a][b] else None for b in at] for a in at],
        "payoff_interval": [[[low[a][b], high[a][b]] if met[a][b] else None for b in at] for a in at],
        "parts": parts,
        "misfit": found.elo.misfit,
        "misfit_noise": found.elo.noise,
        "cycles": [list(three) for three in cycles(table)],
        "meetings": [dataclasses.asdict(meeting) for meeting in table.meetings],
    }
