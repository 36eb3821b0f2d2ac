"""``coterie play``: play games in the terminal or in a window, render them and save them to files."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..agents.baselines import is_built_in
from ..agents.core import Agent, close
from ..agents.human.adviser import Adviser, advisers
from ..agents.human.clock import Clock, read_times
from ..agents.human.seating import PERSON, company, seated
from ..agents.human.table import Match
from ..agents.human.terminal import play_games
from ..aliases import RUNNING
from ..envs.arguments import wanted
from ..envs.core import Game
from ..envs.registry import game_arguments, make_game, spec
from ..envs.replay.file import SavedGame, read_games
from ..envs.replay.keeping import JSON, Keeper
from ..envs.words import TextGame
from ..envs.words.talk import TalkGame
from ..errors import UsageError, did_you_mean
from .arguments import Play, parse
from .watch import draw_films, followed, in_window, last_game, show_replay

if TYPE_CHECKING:
    from ..training.runs.config import TrainConfig

__all__ = ["play", "read_run", "run"]


def run(words: list[str]) -> int:
    """Run the command; returns the exit code.

    Raises:
        CoterieError, PlayerLeft: see ``play``.
    """
    asked: Play = parse(Play, "play", words)
    from ..training.runs.players import make_player

    return play(asked, partial(make_player, read=read_run))


def read_run(path: Path) -> TrainConfig:
    """The configuration of a run of games, or of a task that is a game; imports what runs need only here."""
    from ..training.episodes.playing import read_any

    return read_any(path)


# Longer than most: what begins, leaves and ends a game shares the names of one command.
def play(asked: Play, player: Callable[[str, Game], Agent]) -> int:
    """Play, or replay saved games; returns the exit code.

    Args:
        asked: the command's arguments.
        player: makes the agent that a player's name and a game describe.

    Raises:
        CoterieError: something cannot be played, rendered, read or written.
        PlayerLeft: the person at the terminal left; the game so far is saved.
    """
    _check(asked)
    if asked.replay:
        return show_replay(asked)
    found = spec(asked.game)
    saved = _saved(asked) if asked.from_ else None
    game = saved.game if saved else make_game(found.id, **wanted(found.id, asked.set, asked.preset))
    if asked.window and isinstance(game, TextGame) and not isinstance(game, TalkGame):
        raise UsageError(f"{found.id} is a game of words, played in the terminal; remove --window.")
    named = asked.players or asked.who
    words = company(named or (_players_of(saved, asked) if saved else ()), game, asked.window)
    followed(asked, game)
    people = [seat for seat, word in enumerate(words) if word == PERSON]
    times = read_times(asked.clock) if asked.clock else saved.record.clock if saved and people else None
    if times:
        Clock(times, game, people)  # refused before anything slow is loaded
    own = asked.from_ if asked.from_ and asked.from_.suffix.lower() in JSON else None  # others' files stay as they are
    kept, known = asked.save or own, saved.record if saved else None
    keeper = Keeper(kept, game, words, known, retyped=not all(map(_harmless, words)))
    agents: list[Agent | None] = []
    adviser = Adviser([asked.hints] if asked.hints else advisers(game), player)
    try:
        for agent in seated(words, game, player, asked.window, adviser):
            agents.append(agent)
        names = [agent.name if agent and word != PERSON else PERSON for word, agent in zip(words, agents, strict=True)]
        seed = asked.seed if asked.seed is not None or not saved else saved.seed
        drawn = seed is None and PERSON in words and not saved
        seed = secrets.randbelow(10**6) if drawn else seed or 0
        start = _start(game, asked)

        def begin(number: int) -> Match:
            clock = Clock(times, game, people) if times else None
            if saved and not number:
                record = replace(saved.record, clock=None) if asked.clock else saved.record
                return Match(game, names, seed, record=record, clock=clock)
            match = Match(game, names, seed + number, start=start, clock=clock)
            if start and match.status != RUNNING:
                raise UsageError(
                    f"--start {' '.join(asked.start)} is a position where the game is over: "
                    f"{game.describe(match.state, 0, 0).splitlines()[-1]!r} Start from a position with a legal action."
                )
            return match

        def left(match: Match) -> None:
            touched = any(seat in people for ply in match.plies for seat in ply.seats)
            if asked.save or asked.from_ or (touched and match.status == RUNNING and not asked.ticks):
                keeper.keep(match.record(), match.seed)

        def ended(match: Match) -> None:
            if match.seed == first.seed:
                draw_films(asked, match)

        first = begin(0)  # a wrong number of players is reported before anything else
        keeper.check()
        if drawn:
            print(f"Seed {seed}: --seed {seed} begins the same game again.")
        if asked.window:
            in_window(asked, begin, agents, words, keeper, adviser)
        else:
            play_games(begin, [agent for agent in agents if agent], asked.games, asked.ticks, left, ended)
    finally:
        close((*agents, adviser))  # engines run as separate processes
    return 0


def _check(asked: Play) -> None:
    """Check that the arguments go together before anything slow is loaded.

    Raises:
        UsageError: they do not.
        MissingExtra: the window or a film needs a package that is not installed.
    """
    for flag, number, least in (("games", asked.games, 1), ("ticks", asked.ticks, 0)):
        if number < least:
            raise UsageError(f"--{flag} is {number}; it must be at least {least}.")
    if not asked.game and not asked.replay:
        raise UsageError("Which game? For example: coterie play tictactoe; `coterie envs` lists them.")
    if asked.clock and asked.replay:
        raise UsageError("--clock is for a game that is played, and --replay shows one; remove one of them.")
    if asked.who and asked.players:
        raise UsageError(f"{' '.join(asked.who)} and --players both say who plays; remove one.")
    found = spec(asked.game) if asked.game else None
    for flag, path in (("gif", asked.gif), ("mp4", asked.mp4)):
        if path and found and not found.draw:
            raise UsageError(f"{found.id} has no pictures to write to {path}; remove --{flag}.")
        if path and path.suffix.lower() != f".{flag}":
            raise UsageError(f"--{flag} {path} does not end in .{flag}.")
    if asked.window:
        from ..renderers.board import load_pygame

        load_pygame()
    if asked.mp4:
        from ..renderers.film import need_mp4

        need_mp4()


def _start(game: Game, asked: Play) -> dict[str, object]:
    """The start position of ``--start``, as options of ``reset``."""
    options = game_arguments(asked.start)
    if asked.start and asked.from_:
        raise UsageError(f"--start cannot go with --from: {asked.from_} already has a position to continue from.")
    for name in options:
        if name not in game.options:
            takes = f"It takes {', '.join(sorted(game.options))}." if game.options else "It takes none."
            raise UsageError(f"{game.info.id} has no start option {name!r}.{did_you_mean(name, game.options)} {takes}")
    return options


def _players_of(saved: SavedGame, asked: Play) -> tuple[str, ...]:
    """The players named in a saved file. Files may come from strangers, so they may name only harmless players.

    Raises:
        UsageError: it names a player that starts a program or opens a path.
    """
    for word in saved.words:
        if not _harmless(word):
            raise UsageError(
                f"The players in {asked.from_} are {' '.join(saved.words)}, but a file may not load {word}. If you "
                "trust it, type: "
                f"coterie play {asked.game} --from {asked.from_} --players {shlex.join(saved.words)}"
            )
    return saved.words


def _harmless(word: str) -> bool:
    return word == PERSON or is_built_in(word)


def _saved(asked: Play) -> SavedGame:
    """The last game in the ``--from`` file."""
    assert asked.from_
    if asked.set or asked.preset:
        flag = "--set" if asked.set else "--preset"
        raise UsageError(f"{flag} cannot go with --from: {asked.from_} already has its game's configuration.")
    return last_game(asked, read_games(asked.from_), "from")
