"""``coterie play`` in worlds, films of any game, and replays: what is watched rather than played turn by turn."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from ..agents.core import Agent, Decision, Turn
from ..agents.human.table import Match, follow, picture
from ..agents.human.terminal import HumanAgent
from ..aliases import RUNNING, Player
from ..envs.core import Game, GameRecord
from ..envs.registry import spec
from ..envs.replay.file import SavedGame, read_games, replay
from ..envs.replay.packing import is_packed
from ..errors import NotationError, UsageError
from .arguments import Play

if TYPE_CHECKING:
    from ..envs.replay.keeping import Keeper
    from ..renderers.board import Frame

__all__ = ["PERSON", "company", "draw_films", "followed", "in_terminal", "in_window", "result", "show_replay"]

PERSON: Final = "human"

COMPANY: Final = {"gridworld": "forager"}
"""Who plays the others of a world where nobody says so; random in others."""

LONGEST_GIF: Final = 1000
"""Frames; of longer games every second, third ... tick is drawn. MP4s have them all."""


def company(words: Sequence[str], game: Game, window: bool) -> tuple[str, ...]:
    """Who sits in which seat of a world, from the words that were typed: the last takes the seats that are left.

    Without words a person plays at the terminal and watches at the window. A person alone gets company.
    """
    others = COMPANY.get(game.info.name, "random")
    given = tuple(words) or ((others,) if window else (PERSON,))
    if given[-1] == PERSON and len(given) < game.info.players:
        given = (*given, others)
    return (*given, *given[-1:] * (game.info.players - len(given)))


# -- at the terminal -------------------------------------------------------------------------------------------------


def in_terminal(asked: Play, begin: Callable[[int], Match], agents: Sequence[Agent], keeper: Keeper) -> None:
    """Play worlds; people are asked tick by tick, the others are told of in the end."""
    draw = spec(keeper.game.info.id).draw
    told = next((seat for seat, agent in enumerate(agents) if isinstance(agent, HumanAgent)), None)
    means: dict[str, list[float]] = {}
    for number in range(asked.games):
        match = begin(number)
        left = asked.ticks + 1 if asked.ticks else None
        try:
            for _ in itertools.islice(follow(match, agents), left):
                pass
        finally:
            if asked.save or asked.from_:
                keeper.keep(match.record(), match.seed)
        if told is not None:
            print(f"\n{match.game.describe(match.state, 0, told)}\n")
        print(result(match))
        for name, returns in _by_name(match).items():
            means.setdefault(name, []).append(float(returns.mean()))
        if number == 0:
            draw_films(asked, match, draw)
    if asked.games > 1:
        for name, found in means.items():
            low, high = min(found), max(found)
            print(f"{name:<28} mean return {np.mean(found):.4g} over {len(found)} games ({low:.4g} to {high:.4g})")


def result(match: Match) -> str:
    """How a world stands: ticks, the living, what each kind of player was paid."""
    alive = match.game.kernels.alive
    players = range(match.game.info.players)
    living = sum(bool(alive(match.state, 0, p)) for p in players) if alive is not None else len(players)
    lines = [f"{len(match.plies):,} ticks, {living} of {len(players)} alive."]
    for name, returns in _by_name(match).items():
        spread = f" ({returns.min():.4g} to {returns.max():.4g})" if len(returns) > 1 else ""
        lines.append(f"{name} x {len(returns)}: mean return {returns.mean():.4g}{spread}, all {returns.sum():.5g}")
    return "\n".join(lines)


def _by_name(match: Match) -> dict[str, NDArray[np.float64]]:
    names = np.array(match.names)
    return {name: match.returns[names == name] for name in dict.fromkeys(match.names)}


# -- at the window ---------------------------------------------------------------------------------------------------


def in_window(
    asked: Play, begin: Callable[[int], Match], agents: Sequence[Agent], words: Sequence[str], keeper: Keeper
) -> None:
    """Play worlds in the game's own window.

    Raises:
        UsageError: the game has no window, or more than one person came.
    """
    from ..agents.human.world_window import WorldSession

    draw, window = spec(keeper.game.info.id).draw, _window(keeper.game)
    people = [seat for seat, word in enumerate(words) if word == PERSON]
    if len(people) > 1:
        raise UsageError(
            f"{len(people)} people came, but one sits at the window; it can take over any agent there. Name human once."
        )
    drawn: list[Match] = []

    def left(match: Match) -> None:
        if not drawn:
            drawn.append(match)
            draw_films(asked, match, draw)
        print(result(match))
        if asked.save or session.touched or asked.from_:
            keeper.keep(match.record(), match.seed)

    own = people[0] if people else None
    session = WorldSession(
        begin, agents, window, own=own, look=followed(asked, keeper.game), games=asked.games, left=left
    )
    session.run()


def _window(game: Game) -> str:
    """The window of a world's own, as its drawer's module names it.

    Raises:
        UsageError: there is none.
    """
    draw = spec(game.info.id).draw
    window: str | None = getattr(importlib.import_module(draw.partition(":")[0]), "WINDOW", None) if draw else None
    if window is None:
        raise UsageError(f"{game.info.id} has no window; leave --window away.")
    return window


# -- films -----------------------------------------------------------------------------------------------------------


def draw_films(asked: Play, match: Match, draw: str | None) -> None:
    """Write the files of ``--gif`` and ``--mp4``, every position a frame.

    Raises:
        CoterieError: they cannot be drawn or written.
    """
    from ..renderers.film import film

    for path in (asked.gif, asked.mp4):
        if path is None:
            continue
        if match.world:
            every = 1 + (len(match.plies) - 1) // LONGEST_GIF if path.suffix.lower() == ".gif" else 1
            frames = _world_frames(match.game, match.record(), str(draw), followed(asked, match.game), max(1, every))
            print(f"Drawn: {film(frames, path, 0.1 if path.suffix.lower() == '.gif' else 0.05, 1.0)}")
        else:
            pictures = (picture(draw or "", match.game, state, match.names) for state in match.positions())
            print(f"Drawn: {film(pictures, path, 0.8, 2.5)}")


def _world_frames(game: Game, record: GameRecord, draw: str, slot: Player | None, every: int) -> Iterator[Frame]:
    """Every so-manieth tick of a world, with a line below; the first and the last always."""
    from ..renderers.board import PALETTE, captioned

    module, _, function = draw.partition(":")
    draws: Callable[..., Frame] = getattr(importlib.import_module(module), function)
    returns, last = np.zeros(game.info.players), len(record.actions)
    for tick, (state, rewards, _) in enumerate(replay(game, record)):
        returns += rewards
        if tick % every and tick != last:
            continue
        paid = f"{returns.sum():.4g} in all" if slot is None else f"{record.players[slot]} {returns[slot]:.4g}"
        words = f"tick {tick:,}     return: {paid}"
        yield captioned(draws(game, state, 0, player=slot), [(words, PALETTE.text)])


def followed(asked: Play, game: Game) -> Player | None:
    """The slot that ``--follow`` names.

    Raises:
        UsageError: there is none, or it is no world.
    """
    if asked.follow < 0:
        return None
    if not is_packed(game):
        raise UsageError(f"--follow is for worlds; {game.info.name} is always shown whole.")
    if asked.follow >= game.info.players:
        raise UsageError(f"There is no agent {asked.follow} to follow, only 0..{game.info.players - 1}.")
    return asked.follow


# -- replays ---------------------------------------------------------------------------------------------------------


def show_replay(asked: Play) -> int:
    """Show, draw or only check the games of ``--replay``; returns the exit code.

    Where a line of the file cannot be read, the games before it are shown, and then it is told.

    Raises:
        CoterieError: the file holds nothing, or a game of another name than was asked for.
    """
    assert asked.replay
    fault: NotationError | None = None
    try:
        games = read_games(asked.replay)
    except NotationError as error:
        fault = NotationError(f"{asked.replay}, {error}", error.at, error.read)
        games = error.read if isinstance(error.read, list) else []
        if not games:
            raise fault from None
    if not games:
        raise UsageError(f"{asked.replay} holds no game.")
    saved = games[-1]
    if asked.game and spec(asked.game).name != saved.game.info.name:
        name = saved.game.info.name
        raise UsageError(f"{asked.replay} holds a game of {name}: coterie play {name} --replay {asked.replay}")
    for number, one in enumerate(games, 1):
        print(f"{asked.replay}, game {number}: {_told(one)}")
    if fault is not None:
        print(fault, file=sys.stderr)
    seed = saved.seed or 0
    followed(asked, saved.game)
    match = Match(saved.game, saved.record.players, seed, record=saved.record)
    if (asked.gif or asked.mp4 or asked.window) and not spec(saved.game.info.id).draw:
        raise UsageError(f"{saved.game.info.id} has no pictures to show.")
    draw_films(asked, match, spec(saved.game.info.id).draw)
    if asked.window:
        _replay_in_window(asked, saved)
    return 0 if fault is None else 2


def _told(saved: SavedGame) -> str:
    record, info = saved.record, saved.game.info
    turns = f"{len(record.actions):,} {'ticks' if info.simultaneous else 'turns'}"
    begun = f"seed {saved.seed}" if saved.seed is not None else "a start of its own"
    same = "; played again, every state is as it was" if record.keys else "; it can be played again"
    return f"{info.id}, {begun}, {turns}{same}."


def _replay_in_window(asked: Play, saved: SavedGame) -> None:
    game, record = saved.game, saved.record
    if is_packed(game):
        from ..agents.human.world_window import Replayed, WorldSession

        WorldSession(Replayed(game, record), [], _window(game), look=followed(asked, game)).run()
        return
    from ..agents.human.window import Session

    seats = range(game.info.players)
    again = _Again(game, record, saved.seed or 0)
    agents = [_Recorded(again, seat, record.players[seat]) for seat in seats]
    Session(lambda number: again.begin(), agents, spec(game.info.id).draw).run()


class _Again:
    """A recorded game that is played once more, turn by turn.

    Args:
        game: the rules.
        record: what was played.
        seed: of the game.
    """

    def __init__(self, game: Game, record: GameRecord, seed: int) -> None:
        self.game, self.record, self.seed = game, record, seed
        self.match = self.begin()

    def begin(self) -> Match:
        start = GameRecord(self.record.start, [], self.record.players, (0.0,) * self.game.info.players, RUNNING)
        self.match = _Ending(self.game, self.record.players, self.seed, record=start)
        self.match.last = len(self.record.actions)
        return self.match


class _Ending(Match):
    """A match that nobody is asked in once the record is over."""

    last = 0

    def seats(self) -> list[Player]:
        return super().seats() if len(self.plies) < self.last else []


class _Recorded:
    """Plays what a seat played."""

    def __init__(self, again: _Again, seat: Player, name: str) -> None:
        self.name, self._again, self._seat = name, again, seat

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        actions = self._again.record.actions[len(self._again.match.plies)]
        return [Decision(actions[self._seat]) for _ in turns]
