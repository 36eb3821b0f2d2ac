"""The parallel face: all agents at once, as in PettingZoo's ``ParallelEnv``.

In a turn-based game only the current player's action counts; ``infos[agent]["active_agent"]`` names that player.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, Unpack

import numpy as np
from pettingzoo import ParallelEnv

from ...aliases import RUNNING, Action
from ...errors import IllegalAction, InvalidAction
from ..core import Game
from ..state import NONE, Snapshot
from .face import Face
from .table import NO_ANSWER, TableOptions

__all__ = ["ParallelGame"]

Step = tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]


def _few(names: Iterable[str]) -> str:
    """Names for a message: the first ten."""
    listed = list(map(str, names))
    return ", ".join(listed[:10]) + (", ..." if len(listed) > 10 else "")


class ParallelGame(Face, ParallelEnv):
    """A game as PettingZoo's ParallelEnv.

    Observations are ``{"observation": [...], "action_mask": [A] int8}``, new arrays in every step, or texts;
    ``infos[agent]`` repeats the mask, counts the agent's illegal actions in the current game, names the
    ``active_agent`` (turn-based) and adds the game's own infos.

    Args:
        game: the rules.
        **options: render_mode, text, illegal, illegal_reward, max_cycles and draw, as in ``Table``.
    """

    def __init__(self, game: Game, **options: Unpack[TableOptions]) -> None:
        super().__init__(game, **options)
        self.agents: list[str] = []
        self._nobody: dict[str, Any] = {}  # ``agents``, each with False
        self._seats: list[int] | None = None  # of ``agents``; None: all seats

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start a game; arguments as ``AECGame.reset``. Returns observations and infos."""
        self.table.begin(seed, options)
        self._begun = True
        self._seat_those(self._playing())
        if self.render_mode == "human":
            self.render()
        return self._seen()

    def _playing(self) -> list[str]:
        """The agents after a reset or set_state: those alive; none if the game is over."""
        table = self.table
        if table.status != RUNNING:
            return []
        if not table.ticks:
            return self.possible_agents[:]
        return [agent for agent, lives in zip(self.possible_agents, table.alive, strict=True) if lives]

    def step(self, actions: Mapping[str, Any]) -> Step:
        """Play one turn or tick.

        Args:
            actions: one for every agent (turn-based: at least the current player's); None is no answer, which is
                illegal. Actions of agents that have left are ignored. After the end ``{}`` changes nothing.

        Returns:
            observations, rewards, terminations, truncations and infos of the agents that played.

        Raises:
            UsageError: before reset().
            InvalidAction: an action is missing or not one of this game, or an agent is unknown.
            IllegalAction: the game is over; or an illegal action under the policy ``raise``.
        """
        table = self.table
        if not self._begun:
            raise self._too_early("step")
        if not self.agents:
            if isinstance(actions, Mapping) and not actions:  # as wrappers do that step until a counter ends
                return {}, {}, {}, {}, {}
            raise IllegalAction(f"Actions {actions!r} came after the end of the game. Call reset().")
        if type(actions) is not dict and not isinstance(actions, Mapping):
            raise InvalidAction(
                f"{type(actions).__name__} came; the parallel face takes a dictionary from agent to action."
            )
        played = self.agents
        if table.simultaneous:
            table.tick(self._together(actions))
        else:
            self._refuse_unknown(actions)
            table.turn(self._action(actions, self.possible_agents[table.mover]))
        rewards: dict[str, Any] = self._nobody.copy()  # copying and filling is faster than building from pairs
        rewards.update(zip(played, self._of_those(table.rewards), strict=True))
        observations, infos = self._seen()
        ended, cut = self._nobody.copy(), self._nobody.copy()
        if table.any_ended():
            terminated, truncated = table.flags()
            ended = dict(zip(played, self._of_those(terminated), strict=True))
            cut = dict(zip(played, self._of_those(truncated), strict=True))
            self._seat_those([agent for agent in played if not (ended[agent] or cut[agent])])
        if self.render_mode == "human":
            self.render()
        return observations, rewards, ended, cut, infos

    def _refuse_unknown(self, actions: Mapping[str, Any]) -> None:
        for agent in actions:
            if agent not in self._seat:
                raise InvalidAction(f"There is no agent {agent!r}. Agents: {_few(self.possible_agents)}.")

    def _action(self, actions: Mapping[str, Any], agent: str) -> Action:
        if agent not in actions:
            raise InvalidAction(f"The action of {agent} is missing. Agents with an action: {_few(actions) or 'none'}.")
        given = actions[agent]
        if given is None:
            return NO_ANSWER
        return self.table.read(given) if self.table.text else self.table.check(given)

    def _together(self, actions: Mapping[str, Any]) -> Any:
        """[P] the actions of a tick, one per seat: int64, or messages."""
        agents = self.agents
        if self.table.words:
            self._refuse_unknown(actions)
            return [self._action(actions, agent) for agent in agents]
        try:
            given: Any = self._given(actions)
        except KeyError:
            given = None
        if given is None or len(actions) != len(agents):
            self._refuse_unknown(actions)
        chosen: Any = self.table.numbers(given) if given is not None else None
        if chosen is None:
            chosen = [self._action(actions, agent) for agent in agents]
        if self._seats is None:
            return chosen
        every = np.full(self.table.players, NO_ANSWER, np.int64)
        every[self._seats] = chosen
        return every

    def _seat_those(self, agents: list[str]) -> None:
        """Set the agents that play from now on."""
        self.agents = agents
        self._nobody = dict.fromkeys(agents, False)
        self._given: Callable[[Any], Iterable[Any]] = itemgetter(*agents) if len(agents) > 1 else self._alone
        self._seats = None if len(agents) == len(self._seat) else [self._seat[agent] for agent in agents]

    def _alone(self, actions: Mapping[str, Any]) -> list[Any]:
        """Does what itemgetter does for several names, for one or none."""
        return [actions[agent] for agent in self.agents]

    def _of_those(self, each: Any) -> Any:
        """The entries of ``each`` (one per seat) that belong to ``agents``; rows, if it is an array."""
        return each if self._seats is None else [each[p] for p in self._seats]

    def _seen(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Observations and infos of ``agents``."""
        table, agents = self.table, self.agents
        observations, infos = table.everything(self._seats)
        if not table.simultaneous:
            for info in infos:
                info["active_agent"] = self.possible_agents[table.mover]
        seen, told = self._nobody.copy(), self._nobody.copy()
        seen.update(zip(agents, observations, strict=True))
        told.update(zip(agents, infos, strict=True))
        return seen, told

    def get_state(self) -> Snapshot:
        """[1] the complete state of the game; ``set_state`` of any equal environment continues from it."""
        gone = [agent not in self.agents for agent in self.possible_agents]
        return self.table.snapshot(self.table.rewards, self.table.rewards, gone, [NONE] * self.table.players)

    def set_state(self, state: Any) -> None:
        """Continue from a Snapshot (of any face), bare rows or bytes.

        Raises:
            StateError: a state of another game or layout, or truncated.
        """
        self.table.place(state, with_seed=True)
        self._begun = True
        self._seat_those(self._playing())
