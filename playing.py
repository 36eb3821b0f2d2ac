"""``coterie play``: games in the terminal or in a window, shown, drawn and kept in files."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from .agents.core import Agent
from .agents.human import HumanAgent
from .agents.table import Match, follow, picture, tell, winner
from .aliases import RUNNING
from .arguments import Play, wanted
from .envs.core import Game, GameRecord
from .envs.record import SavedGame, read_games, write_json
from .envs.registry import game_arguments, make_game, spec
from .errors import UsageError, did_you_mean

__all__ = ["Keeper", "play"]

PERSON = "human"
JSON = (".json", ".jsonl")
"""JSON lines; with one game in it, such a file is JSON as well."""


def play(asked: Play, player: Callable[[str, Game], Agent]) -> int:
    """Play what was asked for; returns the exit code.

    Args:
        asked: the arguments of the command.
        player: whoever a word means.

    Raises:
        CoterieError: anything that cannot be played, drawn, read or written.
        PlayerLeft: the person at the terminal left; what was played is kept where ``--save`` said so.
    """
    if asked.games < 1:
        raise UsageError(f"--games is {asked.games}; it must be at least 1.")
    found = spec(asked.game)
    if asked.gif and not found.draw:
        raise UsageError(f"{found.id} has no pictures, so there is nothing to put into {asked.gif}; leave --gif away.")
    if asked.window:
        from .renderers.board import load_pygame

        load_pygame()  # before anything slow is loaded
    saved = _saved(asked) if asked.from_ else None
    game = saved.game if saved else make_game(found.id, **wanted(found.id, asked.set, asked.preset))
    words = asked.players or (saved.words if saved else ()) or (PERSON, *["random"] * (game.info.players - 1))
    if game.info.players > 2:
        words = (*words, *words[-1:] * (game.info.players - len(words)))  # the last one takes the seats that are left
    keeper = Keeper(asked.save or asked.from_, game, words, saved.record if saved else None)
    agents: list[Agent | None] = []
    try:
        for word in words:
            agents.append(_seat(word, game, player, asked.window))
        names = [agent.name if agent else PERSON for agent in agents]
        seed = saved.seed if saved and saved.seed is not None and not asked.seed else asked.seed
        start = _start(game, asked)

        def begin(number: int) -> Match:
            if saved and not number:
                return Match(game, names, seed, record=saved.record)
            return Match(game, names, seed + number, record=start and start(seed + number))

        begin(0)  # the wrong number of players is told first
        keeper.check()
        if asked.window:
            _in_window(asked, begin, agents, keeper, found.draw)
        else:
            _in_terminal(asked, begin, [agent for agent in agents if agent], keeper, found.draw)
    finally:
        for agent in agents:  # engines are programs of their own
            close = getattr(agent, "close", None)
            if close:
                close()
    return 0


def _seat(word: str, game: Game, player: Callable[[str, Game], Agent], window: bool) -> Agent | None:
    """Who sits there; None is a person at the window."""
    if word != PERSON:
        return player(word, game)
    return None if window else HumanAgent(undo=True)


def _start(game: Game, asked: Play) -> Callable[[int], GameRecord] | None:
    """From a seed to the game that begins where ``--start`` says; None: at the beginning."""
    options = game_arguments(asked.start)
    if asked.start and asked.from_:
        raise UsageError(f"--start cannot go with --from: {asked.from_} says where its game stands.")
    for name in options:
        if name not in game.options:
            takes = f"It takes {', '.join(sorted(game.options))}." if game.options else "It takes none."
            raise UsageError(f"{game.info.id} knows no start {name!r}.{did_you_mean(name, game.options)} {takes}")

    def begun(seed: int) -> GameRecord:
        state, nothing = game.new_state(1), (0.0,) * game.info.players
        game.kernels.reset(state, 0, np.uint64(seed % 2**64))
        for name, value in options.items():
            game.options[name](state, 0, value)
        if not any(game.legal_mask(state, 0, seat).any() for seat in range(game.info.players)):
            said = game.describe(state, 0, 0).splitlines()[-1]
            raise UsageError(
                f"--start {' '.join(asked.start)} leaves nothing to play, the game is over there: {said!r} Start from "
                "a position with a move to play."
            )
        return GameRecord(state, [], ("",) * game.info.players, nothing, RUNNING)

    return begun if options else None


def _saved(asked: Play) -> SavedGame:
    """The last game of the file."""
    assert asked.from_
    if asked.set or asked.preset:
        flag = "--set" if asked.set else "--preset"
        raise UsageError(f"{flag} cannot go with --from: {asked.from_} says how its game is configured.")
    if asked.from_.suffix.lower() not in JSON:
        raise UsageError(f"{asked.from_} cannot be gone on with: --from reads the .json files that --save writes.")
    games = read_games(asked.from_)
    if not games:
        raise UsageError(f"{asked.from_} holds no game.")
    if games[-1].game.info.name != spec(asked.game).name:
        name = games[-1].game.info.name
        raise UsageError(f"{asked.from_} holds a game of {name}: coterie play {name} --from {asked.from_}")
    return games[-1]


# -- terminal ----------------------------------------------------------------------------------------------------------


Begin: TypeAlias = Callable[[int], Match]
"""From the number of a game to its beginning."""


def _in_terminal(asked: Play, begin: Begin, agents: Sequence[Agent], keeper: Keeper, draw: str | None) -> None:
    game = keeper.game
    shown = asked.games == 1 or any(isinstance(agent, HumanAgent) for agent in agents)
    # Who was at the table is told no more than it may know: hands that were folded stay hidden.
    told = next((seat for seat, agent in enumerate(agents) if isinstance(agent, HumanAgent)), 0)
    won = [0] * game.info.players
    for number in range(asked.games):
        match = begin(number)
        try:
            for moment in follow(match, agents):
                if shown:
                    tell(moment, agents)
        finally:
            if asked.save or asked.from_:
                keeper.keep(match)
        seat = winner(match.returns)
        if seat is not None:
            won[seat] += 1
        if shown:
            print(f"\n{game.describe(match.state, 0, told)}\n")
            print(_result(match))
        if asked.gif and number == 0:
            _draw(asked.gif, match, draw)
    if asked.games > 1:
        for seat, agent in enumerate(agents):
            print(f"player_{seat} {agent.name:<28} won {won[seat]:>6} of {asked.games}")
        print(f"{'drawn':<37} {asked.games - sum(won):>10} of {asked.games}")


def _result(match: Match) -> str:
    seat = winner(match.returns)
    return "A draw." if seat is None else f"player_{seat} ({match.names[seat]}) wins."


def _draw(path: Path, match: Match, draw: str | None) -> None:
    """The game as a GIF, every position a frame."""
    from .renderers.gif import write_gif

    frames = [picture(draw or "", match.game, state, match.names) for state in match.positions()]
    print(f"Drawn: {write_gif(path, frames)}")


# -- window ------------------------------------------------------------------------------------------------------------


def _in_window(asked: Play, begin: Begin, agents: Sequence[Agent | None], keeper: Keeper, draw: str | None) -> None:
    from .agents.window import Session

    drawn: list[Match] = []

    def left(one: Match) -> None:
        if asked.gif and not drawn:
            drawn.append(one)
            _draw(asked.gif, one, draw)
        if one.status != RUNNING:
            print(_result(one))
        person = any(agents[seat] is None for ply in one.plies for seat in ply.seats)
        if asked.save or (person and (one.status == RUNNING or asked.from_)):
            keeper.keep(one)

    Session(begin, agents, draw, games=asked.games, left=left).run()


# -- keeping -----------------------------------------------------------------------------------------------------------


class Keeper:
    """Appends games to a file, in the format that its suffix names; the file and its folder are made when needed.

    Args:
        path: the file; None: one of its own for each game that is left in the middle.
        game: what is played.
        words: what was typed for each seat.
        known: a game that stands in the file already: kept again only once it has gone on.

    Raises:
        UsageError: a suffix that this game cannot be written in.
    """

    def __init__(
        self, path: Path | None, game: Game, words: Sequence[str] = (), known: GameRecord | None = None
    ) -> None:
        can = [*JSON, *sorted(game.formats)]
        if path is not None and path.suffix.lower() not in can:
            raise UsageError(f"{path} cannot be written: a game of {game.info.name} can be saved as {', '.join(can)}.")
        self.path, self.game, self.words = path, game, tuple(words)
        self._known = known
        self._told: set[Path] = set()

    def check(self) -> None:
        """See that the file can be written, before anything is played.

        Raises:
            UsageError: it cannot.
        """
        if self.path is not None:
            there = self.path.exists()
            _append(self.path, "")
            if not there:
                self.path.unlink()

    def keep(self, match: Match) -> None:
        """Write a game, and say so; one that was left in the middle always in a form in which it can be gone on with.

        Where the file cannot be written any more, the game goes to the folder for temporary files.

        Raises:
            UsageError: nothing can be written there either.
        """
        record = match.record()
        if not match.plies or (self._known is not None and record.actions == self._known.actions):
            return
        name = f"{self.game.info.name}-{time.strftime('%Y%m%d-%H%M%S')}{JSON[0]}"
        line = write_json(self.game, record, match.seed, self.words)
        paths = [self.path or Path(name)]
        if match.status == RUNNING and paths[0].suffix.lower() not in JSON:
            paths.append(paths[0].with_suffix(JSON[0]))
        try:
            for path in paths:
                suffix = path.suffix.lower()
                _append(path, line if suffix in JSON else self.game.formats[suffix](record))
        except UsageError as error:
            print(error)
            paths = [Path(tempfile.gettempdir()) / name]
            _append(paths[0], line)
        for path in paths:
            if path not in self._told:
                print(f"Saved: {path}")
        self._told.update(paths)
        if match.status == RUNNING:
            print(f"Go on with it: coterie play {self.game.info.name} --from {paths[-1]}")


def _append(path: Path, text: str) -> None:
    """Add a text to a file; an empty line stands between games, except in JSON lines."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        begun = path.exists() and path.stat().st_size > 0
        with path.open("a", encoding="utf-8") as file:
            if begun and text and path.suffix.lower() not in JSON:
                file.write("\n")
            file.write(text.rstrip("\n") + "\n" if text else "")
    except OSError as error:
        raise UsageError(f"Cannot write the game to {path}: {error.strerror or error}.") from error
