"""The AEC face: one agent at a time, as PettingZoo's ``AECEnv`` has it.

In a simultaneous game the agents act one after the other, without seeing each other's actions; the tick is played
after the last of them.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

from pettingzoo import AECEnv

from ...aliases import RUNNING
from ...errors import IllegalAction, InvalidAction
from ..core import Game
from ..state import NONE, Snapshot
from .face import Face
from .table import TableOptions

__all__ = ["AECGame", "RawGame"]

_AFTER_RESET = (
    *("agents", "num_agents", "agent_selection", "rewards", "terminations", "truncations", "infos"),
    "_cumulative_rewards",
)


class AECGame(Face, AECEnv):
    """A game as PettingZoo's AECEnv.

    Observations are ``{"observation": [...], "action_mask": [A] int8}``, new arrays at every call; the mask is all
    zeros for an agent that is not to move. ``infos[agent]`` repeats the mask, counts the agent's illegal actions in
    the current game, and adds the game's own infos. With ``text=True``, and always in games of words, observations and
    actions are strings; games of words have no masks.

    Args:
        game: the rules.
        checked: check order, types and bounds of actions (``env()``); False: do not (``raw_env()``).
        **options: render_mode, text, illegal, illegal_reward, max_cycles and draw, as in ``Table``.
    """

    def __init__(self, game: Game, *, checked: bool = True, **options: Unpack[TableOptions]) -> None:
        super().__init__(game, **options)
        self.checked = checked
        self._number = self.table.read if self.table.text else self.table.check if checked else self.table.trust
        self._ticks = game.info.simultaneous
        self._told: list[dict[str, Any]] = []
        self._to_ask: list[str] = []  # simultaneous games: agents that act after the selected one, the next one last

    def __getattr__(self, name: str) -> Any:
        if name in _AFTER_RESET:
            raise AttributeError(f"{name} cannot be read before reset(). Call reset() first.")
        return super().__getattr__(name)

    # -- verbs ---------------------------------------------------------------------------------------------------------

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game.

        Args:
            seed: determines the game; None: the next game of the last seed.
            options: ``{"state": ...}`` starts from a Snapshot, bare rows or bytes; other keys are the game's own
                options (``{"fen": ...}``). Unknown keys are ignored with a warning.
        """
        given = self.table.begin(seed, options)
        self._seat_all(given)
        if self.render_mode == "human":
            self.render()

    def _seat_all(self, given: Snapshot | None) -> None:
        """Fill PettingZoo's dictionaries from a snapshot or, if None, for a new game."""
        self._begun, table, names = True, self.table, self.possible_agents
        gone = given.gone[0].tolist() if given is not None else [False] * table.players
        pending = given.pending[0].tolist() if given is not None else table.rewards
        self._waiting: list[Any] = list(given.waiting[0]) if given is not None else [NONE] * table.players
        self.agents = [agent for p, agent in enumerate(names) if not gone[p]]
        left = [(self._seat[agent], agent) for agent in self.agents]
        self.rewards = {agent: table.rewards[p] for p, agent in left}
        self._cumulative_rewards = {agent: pending[p] for p, agent in left}
        terminated, truncated = table.flags()
        self.terminations = {agent: terminated[p] for p, agent in left}
        self.truncations = {agent: truncated[p] for p, agent in left}
        self._choose()
        self._tell()

    def _choose(self) -> None:
        """Select the next agent. In simultaneous games, agents whose game is over take their last step first."""
        if not self._ticks:
            agent = self.possible_agents[self.table.mover]
            self.agent_selection = agent if agent in self.terminations else (self.agents or self.possible_agents)[0]
            return
        ended = [agent for agent in self.agents if self.terminations[agent] or self.truncations[agent]]
        asked = [agent for agent in self.agents if self._waiting[self._seat[agent]] == NONE]
        self.agent_selection = (ended or asked or self.possible_agents)[0]
        self._to_ask = [] if ended else asked[:0:-1]

    def _tell(self) -> None:
        """Write the infos of all agents."""
        self._told = self.table.told()
        self.infos = {agent: self._info(agent) for agent in self.agents}

    def _info(self, agent: str) -> dict[str, Any]:
        seat = self._seat[agent]
        return self.table.info(seat, agent == self.agent_selection, self._told[seat])

    def step(self, action: Any) -> None:
        """Play the selected agent's action; None if its game is over.

        Raises:
            UsageError: before reset() (``checked`` only).
            InvalidAction: not an action of this game (numbers: ``checked`` only), or an action where None is required.
            IllegalAction: the game is over for all agents (``checked`` only); or an illegal action under the policy
                ``raise``.
        """
        if self.checked:
            if not self._begun:
                raise self._too_early("step")
            if not self.agents:
                raise IllegalAction(f"Action {action!r} came after the end of the game. Call reset().")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._leave(action)
            return
        action = self._number(action)
        if self._ticks:
            self._tick(action)
        else:
            self._turn(action)
        if self.render_mode == "human":
            self.render()

    def _turn(self, action: int) -> None:
        table, agent = self.table, self.agent_selection
        table.turn(action)
        pending = self._cumulative_rewards
        pending[agent] = 0.0
        for name, reward in zip(self.possible_agents, table.rewards, strict=True):
            self.rewards[name] = reward
            if reward:
                pending[name] += reward
        if table.status != RUNNING:
            self._end()
        after = self.possible_agents[table.mover]
        self.agent_selection = after
        if not table.plain:
            self._tell()
            return
        if after != agent:
            self.infos[agent] = {"action_mask": table.nothing_legal.copy(), "illegal": table.faults[self._seat[agent]]}
        self.infos[after] = {"action_mask": table.mask(table.mover), "illegal": table.faults[table.mover]}

    def _tick(self, action: int) -> None:
        table, agent = self.table, self.agent_selection
        table.refuse_illegal(self._seat[agent], action)
        self._waiting[self._seat[agent]] = action
        if self._to_ask:
            self._cumulative_rewards[agent] = 0.0
            if any(self.rewards.values()):
                self.rewards = dict.fromkeys(self.agents, 0.0)
            self.agent_selection = after = self._to_ask.pop()
            self.infos[agent], self.infos[after] = self._info(agent), self._info(after)
            return
        try:
            table.tick(self._waiting)
        except IllegalAction:
            self._waiting[self._seat[agent]] = NONE
            raise
        self._waiting = [NONE] * table.players
        self._cumulative_rewards[agent] = 0.0
        for name in self.agents:
            self.rewards[name] = reward = table.rewards[self._seat[name]]
            self._cumulative_rewards[name] += reward
        if table.any_ended():
            self._end()
        self._choose()
        self._tell()

    def _end(self) -> None:
        terminated, truncated = self.table.flags()
        for name in self.agents:
            self.terminations[name] = terminated[self._seat[name]]
            self.truncations[name] = truncated[self._seat[name]]

    def _leave(self, action: Any) -> None:
        """The last step of an agent whose game is over: remove it."""
        agent = self.agent_selection
        if action is not None:
            raise InvalidAction(f"{action!r} came from {agent}, whose game is over. Call step(None) for it.")
        for left in (self.terminations, self.truncations, self.rewards, self._cumulative_rewards, self.infos):
            del left[agent]
        self.agents.remove(agent)
        for name in self.agents:
            self.rewards[name] = 0.0
        if self._ticks:
            self._choose()
            if self.agents:
                self.infos[self.agent_selection] = self._info(self.agent_selection)
        elif self.agents:
            self.agent_selection = self.agents[0]

    def observe(self, agent: str) -> Any:
        """An agent's current observation: a dictionary with new arrays, or a text."""
        table = self.table
        if self.checked and not self._begun:
            raise self._too_early("observe")
        return table.seen(self._seat[agent], asked=agent == self.agent_selection and agent in self.terminations)

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Observation, reward since its last action, termination, truncation and info of the selected agent."""
        agent = self.agent_selection
        observation = self.observe(agent) if observe else None
        return (
            observation,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    # -- states --------------------------------------------------------------------------------------------------------

    def get_state(self) -> Snapshot:
        """[1] the complete state of the game; ``set_state`` of any equal environment continues from it."""
        table, names = self.table, self.possible_agents
        rewards = [self.rewards.get(agent, 0.0) for agent in names]
        pending = [self._cumulative_rewards.get(agent, 0.0) for agent in names]
        return table.snapshot(rewards, pending, [agent not in self.agents for agent in names], self._waiting)

    def set_state(self, state: Any) -> None:
        """Continue from a Snapshot (of any face), bare rows or bytes.

        Raises:
            StateError: a state of another game or layout, or truncated.
        """
        self._seat_all(self.table.place(state, with_seed=True))


RawGame = partial(AECGame, checked=False)
"""What ``raw_env()`` makes."""
