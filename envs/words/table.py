"""One game of words at a table: what the AEC and the parallel face need of ``Table``, over one row of ``TextVec``."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Text
from numpy.typing import NDArray

from ...aliases import RUNNING, Player
from ...errors import UnknownName, UsageError
from ..core import Game
from ..faces.actions import ignored
from ..faces.pairs import PairTable
from ..faces.render import render_modes
from ..faces.table import NO_ANSWER, Table
from ..state import Snapshot
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

    def __init__(
        self,
        game: TextGame,
        render_mode: str | None = None,
        illegal: str | None = None,
        illegal_reward: float | None = None,
        max_cycles: int | None = None,
        draw: str | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in render_modes(draw):
            raise UnknownName("render_mode", str(render_mode), render_modes(draw))
        row = TextVec(
            game,
            autoreset_mode="Disabled",
            illegal=illegal,
            illegal_reward=illegal_reward,
            max_cycles=max_cycles,
        )
        self.row, self.limits = row, row.limits
        self.game, self.text, self.draw, self.render_mode = game, True, draw, render_mode
        self.players, self.num_actions = game.info.players, game.info.num_actions
        self.ticks, self.state_space, self.plain = None, None, False
        self.words, self.simultaneous = True, game.info.simultaneous
        self.seed = None
        self._look()

    def _look(self) -> None:
        """Take over how the row stands."""
        row = self.row
        self.state = row.state
        self.episode, self.cycles, self.status = int(row.episode[0]), int(row.cycles[0]), int(row.status[0])
        self.mover = max(0, int(row.player[0]))
        self.rewards, self.faults = row.rewards[0].tolist(), row.faults[0].tolist()

    def observation_space(self) -> Text:
        """A new space of what one player is told."""
        return Utterance(LONGEST, min_length=0)

    def action_space(self) -> Text:
        """A new space of one player's messages."""
        game = self.game
        if game.charset is None:
            return Utterance(game.max_length, min_length=game.min_length)
        return Text(game.max_length, min_length=game.min_length, charset=game.charset)

    def _begin(self, seed: int | None, options: dict[str, Any]) -> Snapshot | None:
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
            raise UsageError(f"seed must be a whole number, not {seed!r}.")
        self.row.reset(seed=None if seed is None else int(seed))
        self.seed = int(self.row.seed[0])
        given = options.get("state")
        for name in options:
            if name != "state":
                warnings.warn(ignored(self.game, name), stacklevel=5)
        placed = self.place(given, with_seed=False) if given is not None else None
        self._look()
        return placed

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

    # -- states --------------------------------------------------------------------------------------------------------

    def snapshot(self, rewards: list[float], pending: list[float], gone: list[bool], waiting: list[Any]) -> Snapshot:
        """[1] this game in full."""
        return self.row.get_state()._replace(
            rewards=np.array([rewards], np.float32),
            pending=np.array([pending], np.float32),
            gone=np.array([gone], np.bool_),
            waiting=[list(waiting)],
        )

    def place(self, state: Any, with_seed: bool) -> Snapshot:
        """Take over a Snapshot, a bare game (in a list of one) or bytes; returns it as a Snapshot."""
        given = self.row.place(state, np.arange(1), with_seed)
        if with_seed:
            self.seed = int(self.row.seed[0])
        self._look()
        return given

    def any_ended(self) -> bool:
        """The game ended in the last step."""
        return self.status != RUNNING

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("game", "state")}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self.game, self.state = self.row.game, self.row.state

    def __deepcopy__(self, memo: dict[int, Any]) -> TextTable:
        other = TextTable.__new__(TextTable)
        other.__dict__.update(self.__dict__)
        other.row = copy.deepcopy(self.row)
        other._look()
        return other


def table_of(
    game: Game,
    render_mode: str | None,
    text: bool,
    illegal: str | None,
    illegal_reward: float | None,
    max_cycles: int | None,
    draw: str | None,
) -> Table:
    """A table for any game; games of words are told and answered in texts whatever ``text`` says."""
    kind = PairTable if game.verbs else Table
    if isinstance(game, TextGame):
        return TextTable(game, render_mode, illegal, illegal_reward, max_cycles, draw)
    return kind(game, render_mode, text, illegal, illegal_reward, max_cycles, draw)
