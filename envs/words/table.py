"""``Table`` for one game of words, on one row of ``TextVec``: what the AEC and the parallel face need."""

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
    """Texts without control characters but line break and tab; samples are printable ASCII and line breaks.

    Gymnasium's ``Text`` keeps a set of all its characters; Unicode has too many for that.
    """

    def __init__(self, max_length: int, *, min_length: int = 1, seed: int | None = None) -> None:
        super().__init__(max_length, min_length=min_length, charset=_ASCII, seed=seed)

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a text of this space."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length and all(map(is_sayable, x))

    def __repr__(self) -> str:
        """In the form of Gymnasium's spaces."""
        return f"Utterance({self.min_length}, {self.max_length})"


class TextTable(Table):
    """One game of words.

    Args:
        game: the game.
        render_mode: None, ``"human"`` (prints) or ``"ansi"``.
        illegal, illegal_reward, max_cycles: as in ``VecEnv``.
    """

    game: TextGame

    rows, words = TextVec, True

    def _join(self) -> None:
        self.state = self.row.state
        self._look()

    def observation_space(self) -> Text:
        """A new space of one player's observations."""
        return Utterance(LONGEST, min_length=0)

    def action_space(self) -> Text:
        """A new space of one player's messages."""
        game = self.game
        if game.charset is None:
            return Utterance(game.max_length, min_length=game.min_length)
        return Text(game.max_length, min_length=game.min_length, charset=game.charset)

    # -- playing -------------------------------------------------------------------------------------------------------

    def read(self, answer: Any) -> Any:
        """An answer in the form that ``turn`` and ``tick`` take: a text, or NO_ANSWER for anything else."""
        return answer if isinstance(answer, str) else NO_ANSWER

    def turn(self, action: Any) -> None:
        """The mover's message, in a turn-based game."""
        self._play({self.mover: action})

    def tick(self, actions: Sequence[Any] | NDArray[Any]) -> None:
        """All players' messages, in a simultaneous game."""
        self._play(actions)

    def _play(self, said: Any) -> None:
        self.row.status[0] = self.row.play(0, said)
        self._look()

    def refuse_illegal(self, player: Player, action: Any) -> None:
        """Check one message of an incomplete tick under the policy ``raise``.

        Raises:
            ActionError: the seat is asked and may not say this.
        """
        if self.limits.illegal == RAISE and player in self.game.asked(self.row.state[0]):
            self.game.read(self.row.state, 0, player, action)

    # -- seeing --------------------------------------------------------------------------------------------------------

    def info(self, player: Player, asked: bool, told: dict[str, Any]) -> dict[str, Any]:
        """A player's info: the number of its illegal messages in this game, and the game's own entries.

        A seat that is asked also finds ``choices``, the messages that it may say now, where the game lists them.
        """
        row = self.row.state[0]
        listed = self.game.choices(row, player) if player in self.game.asked(row) else None
        return {"illegal": self.faults[player]} | ({} if listed is None else {"choices": list(listed)}) | told


def table_of(game: Game, **options: Unpack[TableOptions]) -> Table:
    """A table for any game; games of words use texts whatever ``text`` is."""
    if isinstance(game, TextGame):
        options["text"] = True
        return TextTable(game, **options)
    return (PairTable if game.verbs else Table)(game, **options)
