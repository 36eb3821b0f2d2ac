"""A person at the terminal, and games printed there."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING
from ...envs.alarm import alarm
from ...envs.core import Game
from ...envs.words import TextGame
from ...envs.words.talk import TalkGame
from ...errors import ActionError, CoterieError, PlayerLeft
from ..core import Agent, Decision, Turn
from ..deadline import OutOfTime, remaining
from .adviser import Adviser
from .clock import told_time
from .table import Ended, Match, Moment, TakeBack, can_resign, can_undo, follow, tell, winner

__all__ = ["HumanAgent", "play_games", "result"]

LEAVE = ("quit", "exit", "q")
HELP = ("help", "rules", "?", "h")
UNDO = ("undo", "takeback")

COMMANDS = {"moves": "lists what you can do", "hint": "asks another player", "undo": "takes your last move back"} | {
    "draw": "offers a draw",
    "resign": "gives the game up",
    "help": "shows the rules",
    "quit": "leaves; what was played is kept",
}
LISTED = 100  # moves at a time
SEATS, TROUBLE, BOLD = ("36", "35"), "33", "1"
"""Colours of the terminal."""


def painted(text: str, code: str) -> str:
    """The text in a colour, where standard output is a terminal that wants colours (https://no-color.org)."""
    wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"\x1b[{code}m{text}\x1b[0m" if wanted else text


def _folded(text: str) -> str:
    """The text, in lines that fit the terminal if there is one."""
    width = shutil.get_terminal_size().columns
    lines = text.splitlines() if sys.stdout.isatty() else []
    return "\n".join(textwrap.fill(line, width, break_on_hyphens=False) for line in lines) or text


class HumanAgent:
    """Shows each position and reads lines until one is a legal action, explaining what is wrong with the others.

    A line may be a command instead, see ``help``, unless it is an action; in games of words only ``quit``, ``help`` and
    ``undo`` are commands, and not their short forms. ``quit`` or the end of the input (EOFError from ``read``) leaves
    the game.

    Args:
        name: the player's name.
        read: reads a line, given a prompt.
        write: shows a text.
        undo: the caller handles ``TakeBack`` and ``Ended``, as ``table.follow`` does.
        adviser: gives hints, and judges the draws that are offered to agents; None: nobody does.
        shared: the opponent is a person at the same terminal.
    """

    def __init__(
        self,
        name: str = "human",
        read: Callable[[str], str] = input,
        write: Callable[[str], None] = print,
        undo: bool = False,
        adviser: Adviser | None = None,
        shared: bool = False,
    ) -> None:
        self.name, self.adviser = name, adviser
        self._undo, self._shared = undo, shared
        self._read, self._write = read, write
        self._welcomed, self._shown = False, ""

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """Ask for every turn, one after the other.

        Raises:
            PlayerLeft: ``quit`` was typed or the input ended.
            TakeBack: ``undo`` was typed, and ``undo`` was True.
            Ended: ``resign`` was typed, or ``draw`` and it was accepted, and ``undo`` was True.
            OutOfTime: a deadline (``agents.deadline``) has passed; the prompt shows the time until then.
        """
        return [self._ask(turn) for turn in turns]

    def _ask(self, turn: Turn) -> Decision:
        known, said = self._commands(turn.game), isinstance(turn.game, TextGame)
        if not self._welcomed:
            what = "a message" if said else "an action"
            goal = f"{turn.game.goal}\n" if turn.game.goal else ""
            self._write(f"{goal}Type {what}, or a command: {', '.join(map(repr, known))}.")
            self._welcomed = True
        if (position := turn.describe()) != self._shown:
            self._write(f"\n{position}")
        self._shown = position
        while True:
            line = self._line()
            word = line.lower() if not said or line.lower() in known else ""
            if word in LEAVE:
                raise PlayerLeft(f"{self.name} left the game.")
            if word in HELP:
                told = "\n".join(f"  {name:<8}{COMMANDS[name]}" for name in known)
                self._write(f"{_folded(turn.game.rules)}\n\n{told}")
            elif word in UNDO and self._undo:
                if can_undo(turn.game):
                    self._shown = ""
                    raise TakeBack
                self._write("Nothing can be taken back in this game: it has hidden information or simultaneous moves.")
            elif word in known and line not in map(turn.action_to_text, turn.legal_actions):
                self._obey(word, turn)
            elif line:
                try:
                    return Decision(turn.parse_action(line), line)
                except ActionError as error:
                    self._write(painted(str(error), TROUBLE))

    def _commands(self, game: Game) -> list[str]:
        """The commands that a game has here."""
        words = isinstance(game, TextGame)
        left_out = {
            "moves": words,
            "hint": words or self.adviser is None,
            "undo": not (self._undo and can_undo(game)),
            "draw": not (self._undo and can_resign(game)),
            "resign": not (self._undo and can_resign(game)),
        }
        return [name for name in COMMANDS if not left_out.get(name)]

    def _line(self, prompt: str = "> ") -> str:
        """A line that was typed, with editing and history at a terminal."""
        if self._read is input and sys.stdin.isatty():
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401 its import is what gives ``input`` these
        left = remaining()
        try:
            if math.isinf(left):
                return self._read(prompt).strip()
            with alarm(max(left, 0.001), OutOfTime):
                return self._read(f"{told_time(left)} {prompt}").strip()
        except OutOfTime:
            self._write("")  # ends the line of the prompt
            raise
        except EOFError:
            self._write("")  # ends the line of the prompt
            raise PlayerLeft(f"{self.name} left the game.") from None

    def _obey(self, word: str, turn: Turn) -> None:
        """Do what ``moves``, ``hint``, ``draw`` or ``resign`` asks for."""
        if word == "resign":
            raise Ended(agreed=False)
        if word == "moves":
            moves = [turn.action_to_text(action) for action in turn.legal_actions]
            more = f" ... and {len(moves) - LISTED} more" if len(moves) > LISTED else ""
            self._write(_folded((" | " if " " in "".join(moves) else "  ").join(moves[:LISTED]) + more))
            return
        shared = word == "draw" and self._shared
        if shared and self._line("A draw is offered. Does the other player accept it (y, n)? ").lower() in ("y", "yes"):
            raise Ended(agreed=True)
        if shared or self.adviser is None:
            self._write("The draw is declined.")
            return
        try:
            decision = self.adviser.act([turn])[0]
        except CoterieError as error:
            self._write(painted(str(error), TROUBLE))
            return
        if word == "hint":
            move = "nothing" if decision.action is None else turn.action_to_text(decision.action)
            self._write(f"{self.adviser.name} would play {move}.")
            return
        if not (why := self.adviser.declines(turn, decision)):
            raise Ended(agreed=True)
        self._write(f"The draw is declined: {why}.")


def play_games(
    begin: Callable[[int], Match],
    agents: Sequence[Agent],
    games: int = 1,
    ticks: int = 0,
    left: Callable[[Match], None] = lambda match: None,
    ended: Callable[[Match], None] = lambda match: None,
) -> None:
    """Play games one after the other and print them.

    It prints the moves of a single game or of games with a person (not of worlds), and the result of those and of every
    world; for more than one game, the totals.

    Args:
        begin: starts a game, given its number (from 0).
        agents: the agents of seats 0..P-1.
        games: how many.
        ticks: stop each game after this many turns; 0 plays to the end.
        left: called with every match, also one that a person or an error ended.
        ended: called with every match that was played and printed.
    """
    people = [seat for seat, agent in enumerate(agents) if isinstance(agent, HumanAgent)]
    returns: list[NDArray[np.float64]] = []
    for number in range(games):
        match = begin(number)
        shown = games == 1 or bool(people)
        try:
            for moment in itertools.islice(follow(match, agents), ticks + 1 if ticks else None):
                if shown and not match.world:
                    tell(_audible(moment, match.game, people), agents, partial(_tell, match))
        finally:
            left(match)
        if not match.ended and (people or (shown and not match.world)):
            # Show a person only what its seat may know: folded hands stay hidden.
            print(f"\n{match.game.describe(match.state, 0, people[0] if people else 0)}\n")
        if shown or match.world:
            print(painted(result(match), BOLD))
        ended(match)
        returns.append(match.returns)
    if games > 1:
        print("\n".join(_totals(match, returns)))


def _tell(match: Match, line: str) -> None:
    """Print who did what, with ``player_N`` in the colour of its seat, and the time that is left on a clock."""
    who, space, what = line.partition(" ")
    left = f"  ({told_time(match.clock.left[match.plies[-1].seats[0]])} left)" if match.clock else ""
    print(painted(who, SEATS[int(who[7:]) % len(SEATS)]) + space + what + left)


def _audible(moment: Moment, game: Game, people: Sequence[int]) -> Moment:
    """The moment without what none of the people may know: messages that they did not hear, secret actions."""
    if people and game.info.secret:
        moment = replace(moment, actions={seat: text for seat, text in moment.actions.items() if seat in people})
    if not people or not isinstance(game, TalkGame):
        return moment
    actions = {
        seat: text if not text or any(game.hears(p, text, seat) for p in people) else text[text.index("[") :]
        for seat, text in moment.actions.items()
    }
    return replace(moment, actions=actions)


def result(match: Match) -> str:
    """The result of a match: the winner; in a world, ticks, living agents and the returns by player name."""
    if match.world:
        alive, players = match.game.kernels.alive, range(match.game.info.players)
        living = sum(alive is None or bool(alive(match.state, 0, p)) for p in players)
        lines = [f"{len(match.plies):,} ticks, {living} of {len(players)} alive."]
        for name, paid in _by_name(match.names, match.returns):
            spread = f" ({paid.min():.4g} to {paid.max():.4g})" if len(paid) > 1 else ""
            lines.append(f"{name} x {len(paid)}: mean return {paid.mean():.4g}{spread}, total {paid.sum():.5g}")
        return "\n".join(lines)
    if match.status == RUNNING:
        return f"Unfinished after {len(match.plies)} turns."
    if match.game.info.players == 1:
        return f"player_0 ({match.names[0]}) gets {match.returns[0]:g}."
    seat, how = winner(match.returns), f"{match.ended}. " if match.ended else ""
    if seat is None and match.flagged is not None:
        return how.strip()
    return how + ("A draw." if seat is None else f"player_{seat} ({match.names[seat]}) wins.")


def _totals(match: Match, returns: Sequence[NDArray[np.float64]]) -> Iterator[str]:
    """Totals of several games with [P] returns each: wins per seat; in worlds and of lone players, mean returns."""
    if match.world or match.game.info.players == 1:
        for name, paid in _by_name(match.names, np.array(returns).T):
            means = paid.mean(axis=0)
            span = f"({means.min():.4g} to {means.max():.4g})"
            yield f"{name:<28} mean return {means.mean():.4g} over {len(means)} games {span}"
        return
    won = Counter(winner(paid) for paid in returns)
    for seat, name in enumerate(match.names):
        yield f"player_{seat} {name:<28} won {won[seat]:>6} of {len(returns)}"
    yield f"{'drawn':<37} {won[None]:>10} of {len(returns)}"


def _by_name(names: Sequence[str], returns: NDArray[np.float64]) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Each distinct name, and its rows of ``returns`` [P, ...]."""
    for name in dict.fromkeys(names):
        yield name, returns[[other == name for other in names]]
