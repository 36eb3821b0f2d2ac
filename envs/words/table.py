"""One game of words at a table: what the AEC and the parallel face need of ``Table``, over one row of ``TextVec``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from gymnasium.spaces import Text
from numpy.typing import NDArray

from ...aliases import Player
from ..core import Game
from ..faces.pairs import PairTable
from ..faces.table import NO_ANSWER, Table, TableOptions
from ..stepping.buffers import RAISE
from .core import LONGEST, TextGame, is_sayable
from .vec import TextVec

__all__ = ["TextTable", "Utterance", "table_of"]

_ASCII = "".join(map(chr, range(32, 127))) + "\n"


class Utterance(Text):
    """A text of any characters but control characters; what it samples is printable ASCII.

    Gymnasium's ``Text`` keeps a table of its characters, which Unicode is too large for.
    """

    def __init__(self, max_length: int, *, min_length: int = 1, seed: int | None = None) -> None:
        super().__init__(max_length, min_length=min_length, charset=_ASCII, seed=seed)

    def contains(self, x: Any) -> bool:
        """Whether that is a text of this space."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length and all(map(is_sayable, x))

    def __repr__(self) -> str:
        """As Gymnasium writes spaces."""
        return f"Utterance({self.min_length}, {self.max_length})"


class TextTable(Table):
    """One game of words.

    Args:
        game: the rules.
        render_mode: None, ``"human"`` (prints) or ``"ansi"``.
        illegal, illegal_reward, max_cycles: as in ``VecEnv``.
    """

    game: TextGame

    rows, words = TextVec, True

    def _join(self) -> None:
        self.state = self.row.state
        self._look()

    def observation_space(self) -> Text:
        """A new space of what one player is told."""
        return Utterance(LONGEST, min_length=0)

    def action_space(self) -> Text:
        """A new space of one player's messages."""
        game = self.game
        if game.charset is None:
            return Utterance(game.max_length, min_length=game.min_length)
        return Text(game.max_length, min_length=game.min_length, charset=game.charset)

    # -- playing -------------------------------------------------------------------------------------------------------

    def read(self, answer: Any) -> Any:
        """What came, as ``turn`` and ``tick`` take it; what is no text is no answer."""
        return answer if isinstance(answer, str) else NO_ANSWER

    def turn(self, action: Any) -> None:
        """The mover's message, in a turn-based game."""
        self._play({self.mover: action})

    def tick(self, actions: Sequence[Any] | NDArray[Any]) -> None:
        """Everybody's message, in a simultaneous game."""
        self._play(actions)

    def _play(self, said: Any) -> None:
        self.row.status[0] = self.row.play(0, said)
        self._look()

    def refuse_illegal(self, player: Player, action: Any) -> None:
        """The policy ``raise``, of one message to a tick that is not complete.

        Raises:
            ActionError: the seat is asked, and may not say this.
        """
        if self.limits.illegal == RAISE and player in self.game.asked(self.row.state[0]):
            self.game.read(self.row.state, 0, player, action)

    # -- seeing --------------------------------------------------------------------------------------------------------

    def info(self, player: Player, asked: bool, told: dict[str, Any]) -> dict[str, Any]:
        """A player's info: its illegal messages of this game, and what the game told."""
        return {"illegal": self.faults[player]} | told


def table_of(game: Game, **options: Unpack[TableOptions]) -> Table:
    """A table for any game; games of words are told and answered in texts whatever ``text`` says."""
    if isinstance(game, TextGame):
        options["text"] = True
        return TextTable(game, **options)
    return (PairTable if game.verbs else Table)(game, **options)
