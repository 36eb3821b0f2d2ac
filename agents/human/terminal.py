"""A person at the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...envs.words import TextGame
from ...errors import ActionError, PlayerLeft
from ..core import Decision, Turn
from .table import TakeBack, can_undo

__all__ = ["HumanAgent"]

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
