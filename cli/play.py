"""``coterie play``: games in the terminal or in a window, shown, drawn and kept in files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from ..agents.core import Agent
from ..agents.human.table import Match, follow, tell, winner
from ..agents.human.terminal import HumanAgent
from ..aliases import RUNNING
from ..envs.arguments import wanted
from ..envs.core import Game, GameRecord
from ..envs.registry import game_arguments, make_game, spec
from ..envs.replay.file import SavedGame, read_games
from ..envs.replay.keeping import JSON, Keeper
from ..envs.replay.packing import is_packed
from ..envs.words import TextGame
from ..errors import UsageError, did_you_mean
from .arguments import Play, parse
from .watch import PERSON, company, draw_films, followed, in_terminal, in_window, show_replay

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
    words = _words(asked, game, saved.words if saved else ())
    followed(asked, game)
    keeper = Keeper(asked.save or asked.from_, game, words, saved.record if saved else None)
    agents: list[Agent | None] = []
    try:
        for agent in _seats(words, game, player, asked.window):
            agents.append(agent)
        names = [agent.name if agent and word != PERSON else PERSON for word, agent in zip(words, agents, strict=True)]
        seed = saved.seed if saved and saved.seed is not None and not asked.seed else asked.seed
        start = _start(game, asked)

        def begin(number: int) -> Match:
            if saved and not number:
                return Match(game, names, seed, record=saved.record)
            return Match(game, names, seed + number, record=start and start(seed + number))

        begin(0)  # the wrong number of players is told first
        keeper.check()
        there = [agent for agent in agents if agent]
        if is_packed(game) and asked.window:
            in_window(asked, begin, there, words, keeper)
        elif is_packed(game):
            in_terminal(asked, begin, there, keeper)
        elif asked.window:
            _in_window(asked, begin, agents, keeper, found.draw)
        else:
            _in_terminal(asked, begin, there, keeper, found.draw)
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


def _words(asked: Play, game: Game, saved: Sequence[str]) -> tuple[str, ...]:
    """Who sits in which seat, as it was typed, now or when a file was saved."""
    typed = asked.players or asked.who or tuple(saved)
    if is_packed(game):
        return company(typed, game, asked.window)
    words = typed or (PERSON, *["random"] * (game.info.players - 1))
    if game.info.players > 2:
        words = (*words, *words[-1:] * (game.info.players - len(words)))  # the last one takes the seats that are left
    return words


def _seats(
    words: Sequence[str], game: Game, player: Callable[[str, Game], Agent], window: bool
) -> Iterator[Agent | None]:
    """Whoever sits there; None is a person at the window.

    In worlds one agent serves all seats of its word, and a person at the window has a stand-in.
    """
    made: dict[str, Agent] = {}
    stand_in = next((word for word in words if word != PERSON), "random")
    for word in words:
        if word == PERSON and window and not is_packed(game):
            yield None
        elif word == PERSON and not window:
            yield HumanAgent(undo=True)
        else:
            word = stand_in if word == PERSON else word
            if word not in made or not is_packed(game):
                made[word] = player(word, game)
            yield made[word]


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
        raise UsageError(f"{asked.from_} cannot be resumed: --from reads the .json files that --save writes.")
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
            for moment in itertools.islice(follow(match, agents), asked.ticks + 1 if asked.ticks else None):
                if shown:
                    tell(moment, agents)
        finally:
            if asked.save or asked.from_:
                keeper.keep(match.record(), match.seed)
        seat = winner(match.returns)
        if seat is not None:
            won[seat] += 1
        if shown:
            print(f"\n{game.describe(match.state, 0, told)}\n")
            print(_result(match))
        if number == 0:
            draw_films(asked, match, draw)
    if asked.games > 1:
        for seat, agent in enumerate(agents):
            print(f"player_{seat} {agent.name:<28} won {won[seat]:>6} of {asked.games}")
        print(f"{'drawn':<37} {asked.games - sum(won):>10} of {asked.games}")


def _result(match: Match) -> str:
    if match.status == RUNNING:
        return f"Left after {len(match.plies)} turns."
    seat = winner(match.returns)
    return "A draw." if seat is None else f"player_{seat} ({match.names[seat]}) wins."


# -- window ------------------------------------------------------------------------------------------------------------


def _in_window(asked: Play, begin: Begin, agents: Sequence[Agent | None], keeper: Keeper, draw: str | None) -> None:
    from ..agents.human.window import Session

    drawn: list[Match] = []

    def left(one: Match) -> None:
        if not drawn:
            drawn.append(one)
            draw_films(asked, one, draw)
        if one.status != RUNNING:
            print(_result(one))
        person = any(agents[seat] is None for ply in one.plies for seat in ply.seats)
        if asked.save or (person and (one.status == RUNNING or asked.from_)):
            keeper.keep(one.record(), one.seed)

    Session(begin, agents, draw, games=asked.games, left=left).run()
