"""A person at the terminal, and games printed there."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING
from ...envs.core import Game
from ...envs.words import TextGame
from ...envs.words.talk import TalkGame
from ...errors import ActionError, PlayerLeft
from ..core import Agent, Decision, Turn
from .table import Match, Moment, TakeBack, can_undo, follow, tell, winner

__all__ = ["HumanAgent", "play_games", "result"]

LEAVE = ("quit", "exit", "q")
HELP = ("help", "rules", "?")
UNDO = ("undo", "takeback")


class HumanAgent:
    """Shows each position and reads lines until one is a legal action, explaining what is wrong with the others.

    ``help`` shows the rules. ``undo`` takes back the person's last move, if the caller handles ``TakeBack`` as
    ``table.follow`` does. ``quit`` or the end of the input (EOFError from ``read``) leaves the game.

    Args:
        name: the player's name.
        read: reads a line, given a prompt.
        write: shows a text.
        undo: the caller handles ``TakeBack``.
    """

    def __init__(
        self,
        name: str = "human",
        read: Callable[[str], str] = input,
        write: Callable[[str], None] = print,
        undo: bool = False,
    ) -> None:
        self.name = name
        self._undo = undo
        self._read, self._write = read, write
        self._welcomed = False

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """Ask for every turn, one after the other.

        Raises:
            PlayerLeft: ``quit`` was typed or the input ended.
            TakeBack: ``undo`` was typed, and ``undo`` was True.
        """
        return [self._ask(turn) for turn in turns]

    def _ask(self, turn: Turn) -> Decision:
        if not self._welcomed:
            undo = " 'undo' takes back your last move," if self._undo and can_undo(turn.game) else ""
            what = "a message" if isinstance(turn.game, TextGame) else "an action"
            goal = f"{turn.game.goal}\n" if turn.game.goal else ""
            self._write(f"{goal}Type {what}; 'help' shows the rules,{undo} 'quit' leaves.")
            self._welcomed = True
        self._write(f"\n{turn.describe()}")
        while True:
            try:
                line = self._read("> ").strip()
            except EOFError:
                self._write("")  # ends the line of the prompt
                raise PlayerLeft(f"{self.name} left the game.") from None
            if line.lower() in LEAVE:
                raise PlayerLeft(f"{self.name} left the game.")
            if line.lower() in HELP:
                self._write(f"{turn.game.rules}\n\n{turn.describe()}")
                continue
            if line.lower() in UNDO and self._undo:
                if can_undo(turn.game):
                    raise TakeBack
                self._write("Nothing can be taken back in this game: it has hidden information or simultaneous moves.")
                continue
            if not line:
                continue
            try:
                return Decision(turn.parse_action(line), line)
            except ActionError as error:
                self._write(str(error))


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
                    tell(_audible(moment, match.game, people), agents)
        finally:
            left(match)
        if people or (shown and not match.world):
            # Show a person only what its seat may know: folded hands stay hidden.
            print(f"\n{match.game.describe(match.state, 0, people[0] if people else 0)}\n")
        if shown or match.world:
            print(result(match))
        ended(match)
        returns.append(match.returns)
    if games > 1:
        print("\n".join(_totals(match, returns)))


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
    seat = winner(match.returns)
    return "A draw." if seat is None else f"player_{seat} ({match.names[seat]}) wins."


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
