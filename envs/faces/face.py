"""What the AEC and the parallel face share: the table, the spaces, rendering, copies."""

from __future__ import annotations

import copy
from typing import Any, TypeVar, Unpack

from ...errors import UsageError
from ..core import Game
from ..words.table import table_of
from .render import fps, render_modes
from .table import TableOptions, no_whole

__all__ = ["Face"]

Same = TypeVar("Same", bound="Face")


class Face:
    """A PettingZoo environment of one game at a table."""

    checked = True
    """Whether actions and the order of calls are checked."""

    def __init__(self, game: Game, **options: Unpack[TableOptions]) -> None:
        self._begun = False
        self.table = table_of(game, **options)
        self.metadata = {
            "name": game.info.id.replace("-", "_"),
            "render_modes": render_modes(self.table.draw),
            "is_parallelizable": game.info.simultaneous,  # for aec_to_parallel: all act, then all see
            "render_fps": fps(game),
        }
        self.render_mode = self.table.render_mode
        self.possible_agents = game.info.agents
        self.observation_spaces = {agent: self.table.observation_space() for agent in self.possible_agents}
        self.action_spaces = {agent: self.table.action_space() for agent in self.possible_agents}
        self._seat = {agent: p for p, agent in enumerate(self.possible_agents)}
        if self.table.state_space is not None:
            self.state_space = self.table.state_space

    def __getattr__(self, name: str) -> Any:
        if name == "state_space":
            raise AttributeError(no_whole(self.game))
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def game(self) -> Game:
        """The rules."""
        return self.table.game

    def observation_space(self, agent: str) -> Any:
        """The same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """The same object at every call."""
        return self.action_spaces[agent]

    @staticmethod
    def _too_early(verb: str) -> UsageError:
        return UsageError(f"{verb}() came before reset(). Call reset() first.")

    def state(self) -> dict[str, Any]:
        """The whole state, in new arrays.

        Raises:
            UsageError: before reset(), or in a game without such a view.
        """
        if not self._begun:
            raise self._too_early("state")
        return self.table.whole()

    def render(self) -> Any:
        """A picture [H, W, 3] uint8, a text, or None after showing a window or printing."""
        if self.checked and not self._begun:
            raise self._too_early("render")
        return self.table.render()

    def close(self) -> None:
        """Close the window that ``render_mode="human"`` opened."""
        self.table.close()

    def clone(self: Same) -> Same:
        """An equal, independent environment."""
        return copy.deepcopy(self)
