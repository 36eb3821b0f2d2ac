"""``Table`` for one game of words, on one row of ``TextVec``: what the AEC and the parallel face need."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from gymnasium.spaces import Dict, Discrete, Space, Text, Tuple
from numpy.typing import NDArray

from ...aliases import RUNNING, Mask, Player
from ...errors import IllegalAction, InvalidAction
from ..core import Game
from ..faces.actions import few
from ..faces.pairs import PairTable
from ..faces.spaces import observation_space
from ..faces.table import NO_ANSWER, Table, TableOptions
from ..plain import told as shown
from ..stepping.buffers import RAISE
from .core import LONGEST, TextGame, is_sayable
from .talk import TalkGame
from .vec import TextVec

__all__ = ["Spoken", "TalkTable", "TextTable", "Utterance", "table_of"]

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


class Spoken(Tuple):  # type: ignore[type-arg]  # earlier releases of gymnasium have no arguments
    """Pairs (action number, message).

    Args:
        actions: A. length: the longest message, in characters.
    """

    def __init__(self, actions: int, length: int) -> None:
        super().__init__((Discrete(actions), Utterance(length, min_length=0)))

    def sample(self, mask: Any = None, probability: Any = None) -> tuple[Any, ...]:
        """A random pair; ``mask`` [A] is that of the observation, or as Gymnasium's ``Tuple`` has it."""
        if mask is not None and not isinstance(mask, tuple):
            mask = (mask, None)
        return super().sample(mask=mask, probability=probability)


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

    def observation_space(self) -> Space[Any]:
        """A new space of one player's observations."""
        return Utterance(LONGEST, min_length=0)

    def action_space(self) -> Space[Any]:
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


class TalkTable(TextTable):
    """A turn-based game with a talk channel: actions are pairs (number, message), or with ``text`` one text.

    Observations are the inner game's, with its mask and, as ``heard``, the messages that the player heard.
    """

    game: TalkGame

    def observation_space(self) -> Space[Any]:
        """A new space of one player's observations."""
        if self.text:
            return super().observation_space()
        return Dict({**observation_space(self.game.inner).spaces, "heard": Utterance(LONGEST, min_length=0)})

    def action_space(self) -> Space[Any]:
        """A new space of one player's actions."""
        return super().action_space() if self.text else Spoken(self.game.inner.info.num_actions, self.game.length)

    def check(self, action: Any) -> Any:
        """A pair (number, message) as a text ``message [action]``; a number alone says nothing.

        Raises:
            InvalidAction: anything else, or a number outside 0..A-1.
            IllegalAction: an action that is not legal, under the policy ``raise``.
        """
        count = self.game.inner.info.num_actions
        number, message = action if isinstance(action, tuple | list) and len(action) == 2 else (action, "")
        try:
            if isinstance(number, bool | np.bool_) or not isinstance(message, str):
                raise TypeError
            number = operator.index(number)
        except TypeError:
            raise InvalidAction(
                f"{shown(action)} is not an action of {self.game.info.id} with talk; a pair is needed: a whole number "
                f"0..{count - 1} and a message."
            ) from None
        if not 0 <= number < count:
            raise InvalidAction(f"Action {shown(number)} is outside 0..{count - 1} of {self.game.info.id}.")
        mask = self.mask(max(0, self.mover))
        if mask[number]:
            return self.game.join(self.state, 0, message, number)
        if self.limits.illegal == RAISE:
            raise IllegalAction(
                f"Action {number} of player_{self.mover} is not legal in:\n{self.describe(self.mover)}\n"
                f"Legal: {few(mask)}."
            )
        return NO_ANSWER

    def trust(self, action: Any) -> Any:
        """``check`` for ``raw_env()``: NO_ANSWER for anything that is no action."""
        try:
            return self.check(action)
        except InvalidAction:
            return NO_ANSWER

    def mask(self, player: Player) -> Mask:
        """[A] int8, a new array; zeros for a player who is not to move."""
        if self.status != RUNNING:
            return np.zeros(self.game.inner.info.num_actions, np.int8)
        return self.game.inner.legal_mask(self.game.rows(self.state[0]), 0, player)

    def seen(self, player: Player, asked: bool) -> Any:
        """A player's observation in new arrays, or a text. The mask is zeros unless ``asked``."""
        if self.text:
            return self.describe(player)
        inner, rows = self.game.inner, self.game.rows(self.state[0])
        out = np.zeros(inner.info.observation_shape, inner.info.observation_dtype)
        inner.kernels.observe(rows, 0, player, out)
        heard = self.game.overheard(self.state[0], player)
        return {"observation": out, "action_mask": self._shown(player, asked), "heard": heard}

    def info(self, player: Player, asked: bool, told: dict[str, Any]) -> dict[str, Any]:
        """A player's info: its mask unless actions are texts, its illegal actions, and the game's own entries."""
        mask = {} if self.text else {"action_mask": self._shown(player, asked)}
        return mask | super().info(player, asked, told)

    def _shown(self, player: Player, asked: bool) -> Mask:
        return self.mask(player) if asked else np.zeros(self.game.inner.info.num_actions, np.int8)


def table_of(game: Game, **options: Unpack[TableOptions]) -> Table:
    """A table for any game; games of words use texts whatever ``text`` is."""
    if isinstance(game, TalkGame):
        return TalkTable(game, **options)
    if isinstance(game, TextGame):
        options["text"] = True
        return TextTable(game, **options)
    return (PairTable if game.verbs else Table)(game, **options)
