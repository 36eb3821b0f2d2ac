"""``coterie play``: games in the terminal or in a window, shown, drawn and kept in files."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from ..agents.baselines import is_built_in
from ..agents.core import Agent
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
from ..errors import UsageError, did_you_mean
from .arguments import Play, parse
from .watch import draw_films, followed, in_window, last_game, show_replay

__all__ = ["play", "run"]


def run(words: list[str]) -> int:
    """Run the command; returns the exit code.

    Raises:
        CoterieError, PlayerLeft: see ``play``.
    """
    asked: Play = parse(Play, "play", words)
    from ..training.runs.players import make_player

    return play(asked, make_player)


def play(asked: Play, player: Callable[[str, Game], Agent]) -> int:
    """Play what was asked for; returns the exit code.

    Args:
        asked: the arguments of the command.
        player: whoever a word means.

    Raises:
        CoterieError: anything that cannot be played, drawn, read or written.
        PlayerLeft: the person at the terminal left; what was played is kept where ``--save`` said so.
    """
    _check(asked)
    if asked.replay:
        return show_replay(asked)
    found = spec(asked.game)
    saved = _saved(asked) if asked.from_ else None
    game = saved.game if saved else make_game(found.id, **wanted(found.id, asked.set, asked.preset))
    if asked.window and isinstance(game, TextGame):
        raise UsageError(f"{found.id} is a game of words, which is played at the terminal: leave --window away.")
    named = asked.players or asked.who
    words = company(named or (_players_of(saved, asked) if saved else ()), game, asked.window)
    followed(asked, game)
    kept, known = asked.save or asked.from_, saved.record if saved else None
    keeper = Keeper(kept, game, words, known, retyped=not all(map(_harmless, words)))
    agents: list[Agent | None] = []
    try:
        for agent in seated(words, game, player, asked.window):
            agents.append(agent)
        names = [agent.name if agent and word != PERSON else PERSON for word, agent in zip(words, agents, strict=True)]
        seed = saved.seed if saved and saved.seed is not None and not asked.seed else asked.seed
        start = _start(game, asked)

        def begin(number: int) -> Match:
            if saved and not number:
                return Match(game, names, seed, record=saved.record)
            match = Match(game, names, seed + number, start=start)
            if start and match.status != RUNNING:
                raise UsageError(
                    f"--start {' '.join(asked.start)} leaves nothing to play, the game is over there: "
                    f"{game.describe(match.state, 0, 0).splitlines()[-1]!r} Start from a position with a move to play."
                )
            return match

        def left(match: Match) -> None:
            if asked.save or asked.from_:
                keeper.keep(match.record(), match.seed)

        def ended(match: Match) -> None:
            if match.seed == first.seed:
                draw_films(asked, match)

        first = begin(0)  # the wrong number of players is told first
        keeper.check()
        if asked.window:
            in_window(asked, begin, agents, words, keeper)
        else:
            play_games(begin, [agent for agent in agents if agent], asked.games, asked.ticks, left, ended)
    finally:
        for close in {id(agent): getattr(agent, "close", None) for agent in agents}.values():
            if close:  # engines are programs of their own
                close()
    return 0


def _check(asked: Play) -> None:
    """See that the arguments go together, before anything slow is loaded.

    Raises:
        UsageError: they don't.
        MissingExtra: the window, a film or a picture needs what is not installed.
    """
    for flag, number, least in (("games", asked.games, 1), ("ticks", asked.ticks, 0)):
        if number < least:
            raise UsageError(f"--{flag} is {number}; it must be at least {least}.")
    if not asked.game and not asked.replay:
        raise UsageError("Which game? For example: coterie play tictactoe; `coterie envs` lists them.")
    if asked.who and asked.players:
        raise UsageError(f"{' '.join(asked.who)} and --players both say who plays; remove one.")
    found = spec(asked.game) if asked.game else None
    for flag, path in (("gif", asked.gif), ("mp4", asked.mp4)):
        if path and found and not found.draw:
            raise UsageError(f"{found.id} has no pictures, so nothing to put into {path}; leave --{flag} away.")
        if path and path.suffix.lower() != f".{flag}":
            raise UsageError(f"--{flag} {path} does not end in .{flag}.")
    if asked.window:
        from ..renderers.board import load_pygame

        load_pygame()
    if asked.mp4:
        from ..renderers.film import need_mp4

        need_mp4()


def _start(game: Game, asked: Play) -> dict[str, object]:
    """Where ``--start`` says that games begin, as options of ``reset``."""
    options = game_arguments(asked.start)
    if asked.start and asked.from_:
        raise UsageError(f"--start cannot go with --from: {asked.from_} says where its game stands.")
    for name in options:
        if name not in game.options:
            takes = f"It takes {', '.join(sorted(game.options))}." if game.options else "It takes none."
            raise UsageError(f"{game.info.id} knows no start {name!r}.{did_you_mean(name, game.options)} {takes}")
    return options


def _players_of(saved: SavedGame, asked: Play) -> tuple[str, ...]:
    """Who played in a file. A file may come from anybody, so it names nobody who starts a program or opens a path.

    Raises:
        UsageError: it does.
    """
    for word in saved.words:
        if not _harmless(word):
            raise UsageError(
                f"{asked.from_} was played by {' '.join(saved.words)}, and a file may not start {word}. If you trust "
                "it, type: "
                f"coterie play {asked.game} --from {asked.from_} --players {shlex.join(saved.words)}"
            )
    return saved.words


def _harmless(word: str) -> bool:
    return word == PERSON or is_built_in(word)


def _saved(asked: Play) -> SavedGame:
    """The last game of the file."""
    assert asked.from_
    if asked.set or asked.preset:
        flag = "--set" if asked.set else "--preset"
        raise UsageError(f"{flag} cannot go with --from: {asked.from_} says how its game is configured.")
    if asked.from_.suffix.lower() not in JSON:
        raise UsageError(f"{asked.from_} cannot be resumed: --from reads the .json files that --save writes.")
    return last_game(asked, read_games(asked.from_), "from")
