"""The parallel face: everybody at once, as PettingZoo's ``ParallelEnv`` has it.

In a turn-based game the mover's action counts and the others' are ignored; ``infos[agent]["active_agent"]`` names the
mover.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pettingzoo import ParallelEnv

from ..aliases import RUNNING
from ..errors import IllegalAction, InvalidAction, UsageError
from .core import Game
from .state import NONE, Snapshot
from .table import NO_ANSWER, RENDER_FPS, Table, render_modes

__all__ = ["ParallelGame"]

Step = tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]


class ParallelGame(ParallelEnv):
    """A game as PettingZoo's ParallelEnv.

    Observations are ``{"observation": [...], "action_mask": [A] int8}``, new arrays in every step, or texts;
    ``infos[agent]`` repeats the mask, counts the agent's illegal actions of this game and names the ``active_agent``
    (turn-based).

    Args:
        game: the rules.
        render_mode, text, illegal, illegal_reward, max_cycles, draw: as in ``Table``.
    """

    def __init__(
        self,
        game: Game,
        *,
        render_mode: str | None = None,
        text: bool = False,
        illegal: str | None = None,
        illegal_reward: float | None = None,
        max_cycles: int | None = None,
        draw: str | None = None,
    ) -> None:
        self.table = Table(game, render_mode, text, illegal, illegal_reward, max_cycles, draw)
        self.metadata = {
            "name": game.info.id.replace("-", "_"),
            "render_modes": render_modes(draw),
            "is_parallelizable": True,
            "render_fps": RENDER_FPS,
        }
        self.render_mode = render_mode
        self.possible_agents = game.info.agents
        self.agents: list[str] = []
        self.observation_spaces = {agent: self.table.observation_space() for agent in self.possible_agents}
        self.action_spaces = {agent: self.table.action_space() for agent in self.possible_agents}
        self._seat = {agent: p for p, agent in enumerate(self.possible_agents)}
        self._begun = False

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

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start a game; arguments as ``AECGame.reset``. Returns observations and infos."""
        self.table.begin(seed, options)
        self._begun = True
        self.agents = self._playing()
        if self.render_mode == "human":
            self.render()
        return self._observations(self.agents), self._infos(self.agents)

    def _playing(self) -> list[str]:
        """Who is there after a beginning: the living, while the game runs."""
        table = self.table
        if table.status != RUNNING:
            return []
        if table.ticks is None:
            return self.possible_agents[:]
        return [agent for agent, lives in zip(self.possible_agents, table.ticks.alive, strict=True) if lives]

    def step(self, actions: Mapping[str, Any]) -> Step:
        """One turn or tick.

        Args:
            actions: one for every agent (turn-based: at least the mover's). What comes from agents that have left is
                ignored.

        Returns:
            observations, rewards, terminations, truncations and infos of the agents that played.

        Raises:
            UsageError: before reset().
            InvalidAction: an action is missing, is none of this game, or an agent was never there.
            IllegalAction: the game is over; or an illegal action under the policy ``raise``.
        """
        table = self.table
        if not self._begun:
            raise UsageError("step() came before reset(). Call reset() first.")
        if not self.agents:
            raise IllegalAction(f"Actions {actions!r} came after the end of the game. Call reset().")
        if not isinstance(actions, Mapping):
            raise InvalidAction(
                f"{type(actions).__name__} came; the parallel face takes a dictionary from agent to action."
            )
        unknown = [agent for agent in actions if agent not in self._seat]
        if unknown:
            raise InvalidAction(f"There is no agent {unknown[0]!r}. Agents: {', '.join(self.possible_agents)}.")
        played = self.agents
        if self.game.info.simultaneous:
            chosen = [NO_ANSWER] * table.players
            for agent in played:
                chosen[self._seat[agent]] = self._action(actions, agent)
            table.tick(chosen)
        else:
            table.turn(self._action(actions, self.possible_agents[table.mover]))
        seats = [self._seat[agent] for agent in played]
        terminated, truncated = table.flags()
        rewards = {agent: table.rewards[p] for agent, p in zip(played, seats, strict=True)}
        ended = {agent: terminated[p] for agent, p in zip(played, seats, strict=True)}
        cut = {agent: truncated[p] for agent, p in zip(played, seats, strict=True)}
        observations, infos = self._observations(played), self._infos(played)
        self.agents = [agent for agent in played if not (ended[agent] or cut[agent])]
        if self.render_mode == "human":
            self.render()
        return observations, rewards, ended, cut, infos

    def _action(self, actions: Mapping[str, Any], agent: str) -> int:
        if agent not in actions:
            raise InvalidAction(f"The action of {agent} is missing. Came: {', '.join(map(str, actions)) or 'none'}.")
        given = actions[agent]
        if given is None:
            return NO_ANSWER
        return self.table.read(given) if self.table.text else self.table.check(given)

    def _observations(self, agents: list[str]) -> dict[str, Any]:
        table, seats = self.table, range(len(self.possible_agents))
        if table.text:
            return {self.possible_agents[p]: table.describe(p) for p in seats if self.possible_agents[p] in agents}
        return {
            self.possible_agents[p]: {"observation": table.observation(p), "action_mask": table.mask(p)}
            for p in seats
            if self.possible_agents[p] in agents
        }

    def _infos(self, agents: list[str]) -> dict[str, dict[str, Any]]:
        table = self.table
        active = {} if self.game.info.simultaneous else {"active_agent": self.possible_agents[table.mover]}
        return {
            agent: {"action_mask": table.mask(p), "illegal": table.faults[p], **active}
            for p, agent in enumerate(self.possible_agents)
            if agent in agents
        }

    def render(self) -> Any:
        """A picture [H, W, 3] uint8, a text, or None where it prints by itself."""
        if not self._begun:
            raise UsageError("render() came before reset(). Call reset() first.")
        return self.table.render()

    def close(self) -> None:
        """Close the window that ``render_mode="human"`` has opened."""
        self.table.close()

    def get_state(self) -> Snapshot:
        """[1] the game in full; ``set_state`` of any equal environment continues from it."""
        gone = [agent not in self.agents for agent in self.possible_agents]
        return self.table.snapshot(self.table.rewards, gone, [NONE] * self.table.players)

    def set_state(self, state: Any) -> None:
        """Continue from a Snapshot (of any face), bare rows or bytes.

        Raises:
            StateError: of another game or layout, or truncated.
        """
        self.table.place(state, with_seed=True)
        self._begun = True
        self.agents = self._playing()

    def clone(self) -> ParallelGame:
        """An equal, independent environment."""
        import copy

        return copy.deepcopy(self)
