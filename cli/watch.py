"""The windows, films and ``--replay`` of ``coterie play``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..agents.core import Agent
from ..agents.human.adviser import Adviser
from ..agents.human.films import draw_film
from ..agents.human.replayed import Again, Replayed
from ..agents.human.seating import PERSON, company
from ..agents.human.table import Match
from ..agents.human.terminal import result
from ..aliases import RUNNING, Player
from ..envs.core import Game
from ..envs.registry import spec
from ..envs.replay.file import SavedGame, read_games
from ..envs.replay.keeping import Keeper
from ..envs.replay.packing import is_packed
from ..errors import NotationError, UsageError
from .arguments import Play

if TYPE_CHECKING:
    from ..agents.human.window import BoardSession
    from ..agents.human.world_window import WorldSession

__all__ = ["company", "draw_films", "followed", "in_window", "last_game", "show_replay"]


def in_window(
    asked: Play,
    begin: Callable[[int], Match],
    agents: Sequence[Agent | None],
    words: Sequence[str],
    keeper: Keeper,
    adviser: Adviser,
) -> None:
    """Play in the game's window.

    Raises:
        UsageError: a world that has no window.
    """
    game = keeper.game
    people = [seat for seat, word in enumerate(words) if word == PERSON]
    world = is_packed(game)
    own: dict[str, Any] = {"people": people} if world else {"adviser": adviser}
    drawn: list[Match] = []

    def left(match: Match) -> None:
        if not drawn:
            drawn.append(match)
            draw_films(asked, match)
        if match.world or match.status != RUNNING:
            print(result(match))
        touched = session.touched or (match.world and asked.from_)
        if asked.save or (touched and (match.world or match.status == RUNNING or asked.from_)):
            keeper.keep(match.record(), match.seed)

    session = _session(asked, game, begin, agents, games=asked.games, left=left, **own)
    session.run()


def _session(
    asked: Play, game: Game, begin: Any, agents: Sequence[Agent | None], **more: Any
) -> BoardSession | WorldSession:
    if is_packed(game):
        from ..agents.human.world_window import WorldSession, window_of

        return WorldSession(begin, agents, window_of(game), look=followed(asked, game), **more)
    from ..agents.human.window import BoardSession

    return BoardSession(begin, agents, spec(game.info.id).draw, **more)


def draw_films(asked: Play, match: Match) -> None:
    """Write the files of ``--gif`` and ``--mp4``.

    Raises:
        CoterieError: they cannot be rendered or written.
    """
    for path in (asked.gif, asked.mp4):
        if path is not None:
            print(f"Wrote {draw_film(match, path, followed(asked, match.game))}")


def followed(asked: Play, game: Game) -> Player | None:
    """The slot that ``--follow`` names, or None.

    Raises:
        UsageError: there is no such slot, or the game is not a world.
    """
    if asked.follow is None:
        return None
    if not is_packed(game):
        raise UsageError(f"--follow is for worlds; {game.info.name} is always shown whole.")
    if not 0 <= asked.follow < game.info.players:
        raise UsageError(f"There is no agent {asked.follow} to follow, only 0..{game.info.players - 1}.")
    return asked.follow


def show_replay(asked: Play) -> int:
    """Check the games of ``--replay`` and show or render the last one; returns the exit code.

    If a line of the file cannot be read, the games before it are listed, the fault is printed, and the last game that
    could be read is shown.

    Raises:
        CoterieError: the file holds no game, or its last game is not the one that was named.
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
    saved = last_game(asked, games, "replay")
    game, record = saved.game, saved.record
    for number, one in enumerate(games, 1):
        print(f"{asked.replay}, game {number}: {_told(one)}")
    if fault is not None:
        print(fault, file=sys.stderr)
    followed(asked, game)
    if (asked.gif or asked.mp4 or asked.window) and not spec(game.info.id).draw:
        raise UsageError(f"{game.info.id} has no pictures to show.")
    if asked.gif or asked.mp4:
        draw_films(asked, Match(game, record.players, saved.seed or 0, record=record))
    if asked.window and is_packed(game):
        _session(asked, game, Replayed(game, record), []).run()
    elif asked.window:
        again = Again(game, record, saved.seed or 0)
        _session(asked, game, again.again, [again] * game.info.players).run()
    return 0 if fault is None else 2


def last_game(asked: Play, games: Sequence[SavedGame], flag: str) -> SavedGame:
    """The last game in the file of ``--from`` or ``--replay``.

    Raises:
        UsageError: there is none, or it is not a game of the kind that was named.
    """
    path = asked.replay or asked.from_
    if not games:
        raise UsageError(f"{path} holds no game.")
    name = games[-1].game.info.name
    if asked.game and spec(asked.game).name != name:
        raise UsageError(f"{path} holds a game of {name}. Type: coterie play {name} --{flag} {path}")
    return games[-1]


def _told(saved: SavedGame) -> str:
    record, info = saved.record, saved.game.info
    turns = f"{len(record.actions):,} {'ticks' if info.simultaneous else 'turns'}"
    said = [" against ".join(name or "?" for name in record.players)] if info.players == 2 else []
    said += [f"seed {saved.seed}"] if saved.seed is not None else []
    same = "; replayed, every state matches" if record.keys else "; replayed without fault"
    return ", ".join([info.id, *said, f"{turns}{same}."])
