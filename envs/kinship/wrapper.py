"""Kinship for any PettingZoo environment: ``KinshipWrapper(env, kinship)`` shares its rewards.

Actions, observations, spaces and endings stay the environment's; each reward is shared once, in the step in which it is
earned. ``infos[agent]["own_reward"]`` is the reward that the agent earned before sharing.

An agent that is terminated while others play on has died: from that step on it neither gives nor receives (see
``modes``). If all are terminated at once, the game is over, and its last rewards are shared like any others.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from gymnasium.utils import EzPickle
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.wrappers import BaseParallelWrapper, BaseWrapper

from ...errors import UsageError
from .modes import Kinship, Prestige, share, shares
from .tables import short

__all__ = ["KinshipWrapper", "Score", "SharedAEC", "SharedParallel"]

Score: TypeAlias = Callable[[Any], Mapping[str, float]]
"""What ``Prestige`` ranks: (environment) -> {agent: number}; missing agents count as 0."""

_INNER = ("env", "aec_env", "par_env")
"""The attributes under which PettingZoo's wrappers keep what they wrap."""

Modes: TypeAlias = Kinship | Prestige | Sequence[Kinship | Prestige]


def KinshipWrapper(env: Any, kinship: Modes, score: Score | None = None) -> Any:  # noqa: N802 (wrappers are named so)
    """An environment of the same kind whose rewards are shared.

    Args:
        env: a PettingZoo AECEnv or ParallelEnv with ``possible_agents``.
        kinship: a mode, or several, applied in order (``Prestige`` is added after sharing). Lists are in the order of
            ``possible_agents``; labels and matrices may be given by name instead.
        score: what ``Prestige`` ranks; None: an agent's own rewards so far.

    Raises:
        UsageError: another kind of environment, or a mode that does not fit its agents.
    """
    if isinstance(env, AECEnv):
        return SharedAEC(env, kinship, score)
    if isinstance(env, ParallelEnv):
        return SharedParallel(env, kinship, score)
    raise UsageError(
        f"{type(env).__name__} is neither an AECEnv nor a ParallelEnv of PettingZoo. For arrays of rewards use share()."
    )


class _Ledger:
    """The accounts of one game.

    Attributes:
        agents: all names, in order.
        modes: the modes that share, for these agents in this order.
        ranks: the ``Prestige`` modes.
        gone: the agents that have died in this game.
        totals: each agent's own rewards so far.
        rounds: steps so far (AEC: one step is as many turns as there are agents).
    """

    def __init__(self, env: Any, kinship: Modes, score: Score | None) -> None:
        agents = getattr(env, "possible_agents", None)
        if not agents:
            raise UsageError(f"{env} has no possible_agents, so labels cannot be matched to agents. Give it that list.")
        self.agents: list[str] = list(agents)
        self._index = {agent: k for k, agent in enumerate(self.agents)}
        given: list[Any] = list(kinship) if isinstance(kinship, Sequence) else [kinship]
        if not given or not all(isinstance(mode, Prestige) or shares(mode) for mode in given):
            raise UsageError(
                f"kinship={short(kinship)} cannot be used. Pass Teams, Families, Matrix, Groups, Relatedness or "
                "Prestige, or a list of them."
            )
        self.modes: list[Kinship] = [mode.named(self.agents) for mode in given if not isinstance(mode, Prestige)]
        self.ranks = [mode for mode in given if isinstance(mode, Prestige)]
        for mode in self.modes:
            share(np.zeros(len(self.agents)), mode)  # raises at once if the mode does not fit
        self._score = score
        self.begin()

    def begin(self) -> None:
        """Start a new game."""
        self.gone: set[str] = set()
        self.totals = dict.fromkeys(self.agents, 0.0)
        self.rounds = 0

    def shared(self, own: Mapping[str, float]) -> dict[str, float]:
        """The agents' shared rewards, given what they earned in this step."""
        if not any(own.values()):
            return dict.fromkeys(own, 0.0)
        rewards, alive = np.zeros(len(self.agents)), np.zeros(len(self.agents), np.bool_)
        for agent, reward in own.items():
            if agent not in self._index:
                raise UsageError(f"{agent!r} got a reward, but it is not one of the possible_agents.")
            rewards[self._index[agent]], alive[self._index[agent]] = reward, agent not in self.gone
        for mode in self.modes:
            rewards = share(rewards, mode, alive)
        return {agent: float(rewards[self._index[agent]]) for agent in own}

    def settle(self, own: Mapping[str, float], ended: Mapping[str, bool]) -> dict[str, float]:
        """Record a step's rewards and deaths, and return the shared rewards."""
        if any(ended.values()):
            playing = [agent for agent in own if agent not in self.gone]
            fallen = {agent for agent in playing if ended.get(agent, False)}
            if len(fallen) < len(playing):
                self.gone |= fallen
        for agent, reward in own.items():
            self.totals[agent] = self.totals.get(agent, 0.0) + reward
        return self.shared(own)

    def rank(self, env: Any, rewards: dict[str, float]) -> None:
        """Count one step of all agents, and add the rewards of prestige that are due."""
        self.rounds += 1
        for mode in self.ranks:
            if mode.due(self.rounds):
                scores = self.totals if self._score is None else self._score(env)
                living = [agent for agent in rewards if agent not in self.gone]
                won = mode.rewards([scores.get(agent, 0.0) for agent in living])
                for agent, reward in zip(living, won.tolist(), strict=True):
                    rewards[agent] += reward


class _Shared:
    """What both kinds of wrapper have."""

    def __init__(self, env: Any, kinship: Modes, score: Score | None = None) -> None:
        super().__init__(env)  # type: ignore[call-arg]
        self._ledger = _Ledger(env, kinship, score)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        if name in ("get_state", "set_state"):
            raise AttributeError(f"{name} would leave out the shared rewards. Use clone() or copy.deepcopy().")
        return getattr(self.env, name)

    def clone(self) -> Any:
        """An equal, independent environment."""
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy in mid-game. Environments that are EzPickle would be made anew: their attributes are copied."""
        parts: list[Any] = [self]
        while (inner := next(filter(None, (vars(parts[-1]).get(name) for name in _INNER)), None)) is not None:
            parts.append(inner)
        again = [
            part for part in parts if part is self or (isinstance(part, EzPickle) and not hasattr(part, "__deepcopy__"))
        ]
        for part in again:
            memo[id(part)] = object.__new__(type(part))
        for part in again:
            for name, value in vars(part).items():
                memo[id(part)].__dict__[name] = (
                    copy.deepcopy(value, memo) if part is self else _copied_or_shared(value, memo)
                )
        return memo[id(self)]


class SharedAEC(_Shared, BaseWrapper):
    """An AECEnv whose ``rewards`` and cumulative rewards are shared; made by ``KinshipWrapper``."""

    def __getattr__(self, name: str) -> Any:
        if name in ("rewards", "_cumulative_rewards"):
            raise AttributeError(f"{name} cannot be read before reset(). Call reset() first.")
        return super().__getattr__(name)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game; the arguments are the environment's."""
        self.env.reset(seed=seed, options=options)
        self._ledger.begin()
        self._turns = len(self.env.agents)
        self._own = _floats(self.env._cumulative_rewards)
        self.rewards = self._ledger.shared(_floats(self.env.rewards))
        self._cumulative_rewards = self._ledger.shared(self._own)

    def step(self, action: Any) -> None:
        """Play the selected agent's action; None if the agent's game is over.

        Raises:
            UsageError: before reset().
        """
        env = self.env
        if "rewards" not in self.__dict__:
            raise UsageError("step() was called before reset(). Call reset() first.")
        if not env.agents:
            env.step(action)  # raises the environment's error
            return
        agent = env.agent_selection
        over = env.terminations[agent] or env.truncations[agent]
        env.step(action)
        if over:
            self.rewards = dict.fromkeys(env.agents, 0.0)
            for kept in (self._own, self._cumulative_rewards):
                kept.pop(agent, None)
            return
        own = _floats(env.rewards)
        self.rewards = self._ledger.settle(own, env.terminations)
        self._turns -= 1
        if self._turns <= 0:
            self._turns = len(set(env.agents) - self._ledger.gone)
            self._ledger.rank(env, self.rewards)
        self._own[agent] = self._cumulative_rewards[agent] = 0.0
        for name, reward in own.items():
            self._own[name] = self._own.get(name, 0.0) + reward
            self._cumulative_rewards[name] = self._cumulative_rewards.get(name, 0.0) + self.rewards[name]

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """The environment's infos with ``"own_reward"``: the reward since the agent's last action, before sharing."""
        return {agent: self._told(agent, info) for agent, info in self.env.infos.items()}

    def _told(self, agent: str, info: dict[str, Any]) -> dict[str, Any]:
        return {**info, "own_reward": self._own[agent]} if agent in self._own else info

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Observation, shared reward since its last action, termination, truncation and info of the selected agent."""
        env, agent = self.env, self.env.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            env.terminations[agent],
            env.truncations[agent],
            self._told(agent, env.infos[agent]),
        )


class SharedParallel(_Shared, BaseParallelWrapper):
    """A ParallelEnv whose rewards are shared; made by ``KinshipWrapper``."""

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start a game; the arguments are the environment's. Returns observations and infos."""
        observations, infos = self.env.reset(seed=seed, options=options)
        self._ledger.begin()
        return observations, _with_own(infos, dict.fromkeys(self.env.agents, 0.0))

    def step(self, actions: Mapping[str, Any]) -> tuple[Any, dict[str, float], Any, Any, dict[str, dict[str, Any]]]:
        """One step of all agents; ``infos[agent]["own_reward"]`` is the reward before sharing."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        own = _floats(rewards)
        shared = self._ledger.settle(own, terminations)
        self._ledger.rank(self.env, shared)
        return observations, shared, terminations, truncations, _with_own(infos, own)


def _copied_or_shared(value: Any, memo: dict[int, Any]) -> Any:
    """A copy of an attribute; the attribute itself if it is of a kind that cannot be copied (a picture, a font)."""
    try:
        return copy.deepcopy(value, memo)
    except TypeError:
        return value


def _floats(rewards: Mapping[str, Any]) -> dict[str, float]:
    return {agent: float(reward) for agent, reward in rewards.items()}


def _with_own(infos: Mapping[str, Any], own: Mapping[str, float]) -> dict[str, Any]:
    return {who: {**info, "own_reward": own[who]} if who in own else info for who, info in infos.items()}
