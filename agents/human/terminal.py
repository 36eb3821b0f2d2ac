"""A person at the terminal, and games that are shown there."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING
from ...envs.words import TextGame
from ...errors import ActionError, PlayerLeft
from ..core import Agent, Decision, Turn
from .table import Match, TakeBack, can_undo, follow, tell, winner

__all__ = ["HumanAgent", "play_games", "result"]

LEAVE = ("quit", "exit", "q")
HELP = ("help", "rules", "?")
UNDO = ("undo", "takeback")


class HumanAgent:
    """Shows each position, reads a line and explains what was wrong with it until it is a legal action.

    ``help`` tells the rules, ``undo`` takes the last own move back, where whoever asks understands ``TakeBack`` as
    ``table.follow`` does; ``quit`` or the end of the input (EOFError of ``read``) leaves the game.
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
            TakeBack: ``undo`` was typed, where it is understood.
        """
        return [self._ask(turn) for turn in turns]

    def _ask(self, turn: Turn) -> Decision:
        if not self._welcomed:
            undo = " 'undo' takes your last move back," if self._undo and can_undo(turn.game) else ""
            what = "a message" if isinstance(turn.game, TextGame) else "an action"
            self._write(f"Type {what}; 'help' tells the rules,{undo} 'quit' leaves.")
            self._welcomed = True
        self._write(f"\n{turn.describe()}")
        while True:
            try:
                line = self._read("> ").strip()
            except EOFError:
                self._write("")  # the prompt still waits on its line
                raise PlayerLeft(f"{self.name} left the game.") from None
            if line.lower() in LEAVE:
                raise PlayerLeft(f"{self.name} left the game.")
            if line.lower() in HELP:
                self._write(f"{turn.game.rules}\n\n{turn.describe()}")
                continue
            if line.lower() in UNDO and self._undo:
                if can_undo(turn.game):
                    raise TakeBack
                self._write("Nothing can be taken back in this game: its players know what others do not.")
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
    """Play games one after the other and print how they go: moves where one game or a person plays, results always.

    Args:
        begin: from the number of a game (the first is 0) to its beginning.
        agents: who sits in seats 0..P-1.
        games: how many; of more than one, the totals are printed.
        ticks: leave each after so many turns; 0: at its end.
        left: is given every match that is left, also where a person or an error ended it.
        ended: is given every match that was played and shown.
    """
    people = [seat for seat, agent in enumerate(agents) if isinstance(agent, HumanAgent)]
    returns: list[NDArray[np.float64]] = []
    for number in range(games):
        match = begin(number)
        shown = games == 1 or bool(people)
        try:
            for moment in itertools.islice(follow(match, agents), ticks + 1 if ticks else None):
                if shown and not match.world:
                    tell(moment, agents)
        finally:
            left(match)
        if people or (shown and not match.world):
            # Who was at the table is told no more than it may know: hands that were folded stay hidden.
            print(f"\n{match.game.describe(match.state, 0, people[0] if people else 0)}\n")
        if shown or match.world:
            print(result(match))
        ended(match)
        returns.append(match.returns)
    if games > 1:
        print("\n".join(_totals(match, returns)))


def result(match: Match) -> str:
    """How a match stands: who won; in a world, ticks, the living, what each kind of player was paid."""
    if match.world:
        alive, players = match.game.kernels.alive, range(match.game.info.players)
        living = sum(alive is None or bool(alive(match.state, 0, p)) for p in players)
        lines = [f"{len(match.plies):,} ticks, {living} of {len(players)} alive."]
        for name, paid in _by_name(match.names, match.returns):
            spread = f" ({paid.min():.4g} to {paid.max():.4g})" if len(paid) > 1 else ""
            lines.append(f"{name} x {len(paid)}: mean return {paid.mean():.4g}{spread}, all {paid.sum():.5g}")
        return "\n".join(lines)
    if match.status == RUNNING:
        return f"Left after {len(match.plies)} turns."
    seat = winner(match.returns)
    return "A draw." if seat is None else f"player_{seat} ({match.names[seat]}) wins."


def _totals(match: Match, returns: Sequence[NDArray[np.float64]]) -> Iterator[str]:
    """Of several games, [P] returns each: who won how many; of worlds, what each kind of player was paid."""
    if match.world:
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
    """Each kind of player, and its rows of ``returns`` [P, ...]."""
    for name in dict.fromkeys(names):
        yield name, returns[[other == name for other in names]]
