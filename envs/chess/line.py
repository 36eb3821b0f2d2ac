"""Plays a game move by move on a bare position, for readers and writers of notation."""

from __future__ import annotations

from ...aliases import Action
from ...errors import IllegalAction
from . import fen as _fen
from .position import META, Position, make
from .rules import move_of
from .san import find, moves_and_sans, with_marks

__all__ = ["Line"]


class Line:
    """A position and its moves. Claims and repetitions do not count, so play can continue after them.

    Args:
        position: a FEN, or a row [WORDS], which is copied.

    Raises:
        NotationError: the FEN cannot be read.
    """

    def __init__(self, position: str | Position = _fen.START) -> None:
        self.position = _fen.parse(position) if isinstance(position, str) else position.copy()

    @property
    def white(self) -> bool:
        """Whether white is to move."""
        return not int(self.position[META]) & 1

    @property
    def number(self) -> int:
        """The number of the next move."""
        return int(self.position[META]) >> 32

    def fen(self) -> str:
        """The position as FEN."""
        return _fen.write(self.position)

    def play(self, text: str) -> str:
        """Play a move in any notation that ``san.find`` reads; returns it as UCI. Raises the errors of ``san.find``."""
        move = find(self.position, text)
        make(self.position, move)
        return _fen.uci(move)

    def act(self, action: Action) -> str:
        """Play an action number; returns it as UCI.

        Raises:
            IllegalAction: the action is not legal in this position.
        """
        move = int(move_of(self.position, action))
        if move not in _fen.legal(self.position):
            raise IllegalAction(f"Action {action} cannot be played in {self.fen()}.")
        make(self.position, move)
        return _fen.uci(move)

    def write(self, uci: str) -> str:
        """Play a move given as UCI; returns its SAN with ``+`` or ``#``.

        Raises:
            InvalidAction, IllegalAction: the move cannot be read, or is not legal in this position.
        """
        move = _fen.parse_uci(self.position, uci)
        moves, sans = moves_and_sans(self.position)
        san = with_marks(self.position, move, sans[moves.index(move)])
        make(self.position, move)
        return san
