"""PettingZoo environments of others as games of words: observations become texts, actions the texts to choose among.

A game's state is plain data: the seed, the actions so far, and what they led to. An environment itself is no part of
it: copies of environments are slow where they work at all, and cannot be stored. Environments that are in use are kept
by what was played in them; a position that none of them stands in is reached by playing its actions again from its
seed. So an environment must be determined by ``reset(seed=...)``, which is checked.
"""

from __future__ import annotations

import importlib
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Discrete
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import parallel_to_aec

from ...aliases import RUNNING, TERMINATED, TRUNCATED, Player, Seed, Status
from ...errors import CoterieError, UsageError
from ..registry import register_foreign
from ..words.core import LONGEST, Plain, TextGame, text_game
from .shown import shown

__all__ = ["register_pettingzoo"]

Env: TypeAlias = Any
"""An AECEnv: its type names neither its agents nor its observations."""

Names: TypeAlias = Sequence[str] | Mapping[str, Any] | None
"""The actions' names by number, or what each name means."""

Describe: TypeAlias = Callable[[Any, str], str]
"""(observation, agent) -> text."""

_MAKERS = ("env", "parallel_env", "raw_env")

_KEPT = 1024
"""The most environments kept."""

_SHOWN = 100
"""The most actions that a text lists."""


def register_pettingzoo(
    env: str | Callable[..., Any],
    *,
    name: str = "",
    describe: Describe | None = None,
    actions: Names = None,
) -> str:
    """Make a PettingZoo environment a game of coterie: playable by people and models, and trainable.

    Nothing is imported before the game is made. A parallel environment is played agent by agent.

    Args:
        env: ``"MODULE"`` (its function ``env``, else ``parallel_env``), ``"MODULE:FUNCTION"``, or a function that makes
            an environment; keyword arguments come from the game's argument ``env``.
        name: for a function: what the game is called.
        describe: (observation, agent) -> the text for that agent, without its actions. An observation that is a
            dictionary of ``observation`` and ``action_mask`` comes without the mask. None: the module's function
            ``describe``, else a text made from the observation.
        actions: the actions' names by number, or a dictionary from names to what ``step`` takes (so may continuous
            actions be chosen among). None: the module's ``actions``, else the numbers.

    Returns:
        The game's id, ``"pettingzoo:NAME-v0"``.

    Raises:
        UsageError: a name of another form.
    """
    named = env if isinstance(env, str) else name or env.__name__
    return register_foreign(
        f"pettingzoo:{named}", f"{__name__}:pettingzoo_game", env, f"pettingzoo:{named}", describe, actions
    )


def pettingzoo_game(
    source: str | Callable[..., Any],
    name: str,
    describe: Describe | None,
    actions: Names,
    env: dict[str, Any] | None = None,
    max_turns: int = 1000,
) -> TextGame:
    """The game of an environment.

    Args:
        source: the module, its function, or a function.
        name: ``pettingzoo:NAME``.
        describe: as in ``register_pettingzoo``.
        actions: as in ``register_pettingzoo``.
        env: keyword arguments for the environment.
        max_turns: the game is cut off after this many turns; environments may go on forever.

    Raises:
        UsageError: the environment cannot be made, or has actions that cannot be listed.
    """
    if not isinstance(max_turns, int) or not 1 <= max_turns <= 1_000_000:
        raise UsageError(f"{name}: max_turns is {max_turns!r}; it must be 1 to 1000000.")
    if env is not None and not isinstance(env, dict):
        raise UsageError(f"{name}: env is {env!r}; set its arguments one by one, such as --set env.num_players=3.")
    maker, told, named = _imported(source, name) if isinstance(source, str) else (source, None, None)
    table = _Table(name, maker, dict(env or {}), max_turns, describe or told, named if actions is None else actions)
    agents = table.agents

    def hear(game: Plain, messages: Mapping[Player, str]) -> tuple[list[float], Status]:
        (said,) = messages.values()
        return table.play(game, said)

    def tell(game: Plain, player: Player) -> str:
        legal = game["legal"]
        if game["turn"] == player:
            asked = f"Your actions: {', '.join(legal[:_SHOWN])}{', ...' if len(legal) > _SHOWN else ''}."
        else:
            asked = f"It is the turn of {agents[game['turn']]}." if legal else "The game is over."
        return f"You are {agents[player]}.\n{game['seen'][player]}\n{asked}"

    return text_game(
        f"{name}-v0",
        players=len(agents),
        rules=f"{name}: {table.about}",
        begin=table.begin,
        asked=lambda game: (game["turn"],) if game["legal"] else (),
        choices=lambda game, player: game["legal"] if player == game["turn"] else None,
        hear=hear,
        tell=tell,
        compact=lambda game, player: f"{player} {' '.join(game['seen'][player].split())}>",
        sound=table.reached,
        max_cycles=max_turns,
        max_length=table.longest,
        config={"env": env or {}, "max_turns": max_turns},
    )


def _imported(source: str, name: str) -> tuple[Callable[..., Any], Describe | None, Names]:
    """The function of a module that makes environments, and the module's ``describe`` and ``actions``, if any."""
    path, _, function = source.partition(":")
    with _errors(name, "cannot be imported"):
        module = importlib.import_module(path)
    found = [known for known in ((function,) if function else _MAKERS) if callable(getattr(module, known, None))]
    if not found:
        raise UsageError(f"The module {path} has no function {function or 'env'}; name another one: {path}:FUNCTION.")
    describe, actions = getattr(module, "describe", None), getattr(module, "actions", None)
    named = actions if isinstance(actions, Sequence | Mapping) else None
    return getattr(module, found[0]), describe if callable(describe) else None, named


class _Table:
    """Environments, and the positions of the games that are played in them.

    Attributes:
        agents: the names of seats 0..P-1.
        about: the first paragraph of the environment's documentation.
        longest: the length of the longest action name.
    """

    def __init__(
        self,
        name: str,
        make: Callable[..., Any],
        given: dict[str, Any],
        turns: int,
        describe: Describe | None,
        actions: Names,
    ) -> None:
        self._name, self._make, self._given, self._turns = name, make, given, turns
        self._describe = describe or (lambda observation, agent: shown(observation))
        self._actions = actions
        self._live: OrderedDict[tuple[int, tuple[str, ...]], list[Env]] = OrderedDict()
        self._spare: list[Env] = []
        self._count = 0
        env = self._new()
        with _errors(name, "cannot be started"):
            env.reset(seed=0)
            self.agents = list(getattr(env, "possible_agents", env.agents))
            spaces = [env.action_space(agent) for agent in self.agents]
        if not self.agents:
            raise UsageError(f"{name} has no agents after reset, so nobody can play it.")
        self.longest = max(len(word) for space in spaces for word in self._words(space))
        documented = (type(env.unwrapped).__doc__ or "").strip() or f"an environment for {', '.join(self.agents)}."
        self.about = " ".join(documented.partition("\n\n")[0].split())
        self._spare.append(env)
        if self.begin(0) != self.begin(0):
            raise UsageError(
                f"{name} starts differently each time that it is reset with the same seed; a game must follow from its "
                "seed, so that it can be repeated and resumed."
            )

    def begin(self, seed: Seed) -> Plain:
        """A new game."""
        env = self._at(seed, ())
        game = {"seed": seed, "moves": [], **self._read(env, [""] * len(self.agents))}
        self._keep(game, env)
        return game

    def play(self, game: Plain, said: str) -> tuple[list[float], Status]:
        """One action; changes the game."""
        env = self._at(game["seed"], tuple(game["moves"]))
        rewards = self._step(env, said, game["moves"])
        cut = any(env.truncations.values()) and not any(env.terminations.values())
        game |= {"moves": [*game["moves"], said], **self._read(env, game["seen"])}
        paid = [rewards.get(agent, 0.0) for agent in self.agents]
        if not all(map(math.isfinite, paid)):
            raise UsageError(f"{self._name} paid {paid} after {len(game['moves'])} actions; rewards must be numbers.")
        if game["legal"] and len(game["moves"]) < self._turns:
            self._keep(game, env)
            return paid, RUNNING
        cut |= bool(game["legal"])
        game |= {"turn": -1, "legal": []}
        self._spare.append(env)
        return paid, TRUNCATED if cut else TERMINATED

    def reached(self, game: Plain) -> bool:
        """Whether a game from outside is what its seed and its actions lead to."""
        again = self.begin(game["seed"])
        for said in game["moves"]:
            if said not in again["legal"]:
                return False
            self.play(again, said)
        return bool(again == game)

    # -- environments --------------------------------------------------------------------------------------------------

    def _new(self) -> Env:
        with _errors(self._name, "cannot be made"):
            env = self._make(**self._given)
        if isinstance(env, ParallelEnv):
            env = parallel_to_aec(env)
        if not isinstance(env, AECEnv):
            raise UsageError(f"{self._name} made {env!r:.80}, which is no environment of PettingZoo (AEC or parallel).")
        return env

    def _at(self, seed: Seed, moves: tuple[str, ...]) -> Env:
        """An environment after these actions; it is the caller's until it is kept again."""
        if moves and (seed, moves) in self._live:
            found = self._live[seed, moves]
            env = found.pop()
            self._count -= 1
            if not found:
                del self._live[seed, moves]
            return env
        env = self._spare.pop() if self._spare else self._new()
        with _errors(self._name, "cannot be started"):
            env.reset(seed=seed % 2**31)
        for k, said in enumerate(moves):
            self._step(env, said, moves[:k])
        return env

    def _keep(self, game: Plain, env: Env) -> None:
        """Keep an environment for the game's next turn."""
        if not game["moves"]:  # starting again is as fast
            self._spare.append(env)
            return
        self._live.setdefault((game["seed"], tuple(game["moves"])), []).append(env)
        self._count += 1
        if self._count > _KEPT:
            _, oldest = self._live.popitem(last=False)
            self._spare += oldest
            self._count -= len(oldest)

    def _step(self, env: Env, said: str, before: Sequence[str]) -> dict[str, float]:
        """One action, and the empty steps of agents that have left; returns the rewards of all agents."""
        agent = env.agent_selection
        words = self._words(env.action_space(agent))
        if said not in words:
            raise UsageError(
                f"{self._name} stands elsewhere when the same actions are played again from the same seed: {agent} has "
                f"no action {said!r} after {len(before)} actions. It is not determined by reset(seed=...)."
            )
        paid: dict[str, float] = {}
        with _errors(
            self._name,
            f"refused action {said!r} of {agent} after {len(before)} actions",
            " Where not every action is legal, the environment must say so with an action_mask, in the observation or "
            "in infos.",
        ):
            env.step(words[said])
            for _ in range(len(self.agents) + 1):
                for name, reward in env.rewards.items():
                    paid[name] = paid.get(name, 0.0) + float(reward)
                if not env.agents or not (
                    env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
                ):
                    break
                if all(env.terminations[a] or env.truncations[a] for a in env.agents):
                    break
                env.step(None)
        return paid

    # -- texts ---------------------------------------------------------------------------------------------------------

    def _words(self, space: Any) -> dict[str, Any]:
        """What each action's name means to ``step``.

        Raises:
            UsageError: the space has too many actions to list, or the names given are not those of its actions.
        """
        if isinstance(self._actions, Mapping):
            return dict(self._actions)
        if not isinstance(space, Discrete):
            raise UsageError(
                f"{self._name} has the action space {space}, whose actions cannot be listed; give a dictionary from "
                "names to actions: actions={'left': ..., 'right': ...}."
            )
        count, first = int(space.n), int(space.start)
        names = [str(first + k) for k in range(count)] if self._actions is None else list(self._actions)
        if len(names) < count or len(set(names)) < len(names):
            raise UsageError(f"{self._name}: actions names {len(set(names))} actions, and there are {count}.")
        return {names[k]: first + k for k in range(count)}

    def _read(self, env: Env, before: Sequence[str]) -> Plain:
        """Whose turn it is, the legal actions, and each seat's text (that of ``before`` if its agent has left)."""
        seen = list(before)
        alive = [a for a in env.agents if not (env.terminations[a] or env.truncations[a])]
        for agent in env.agents:
            if agent not in self.agents:
                raise UsageError(f"{self._name} has a new agent {agent!r}, which is none of its possible_agents.")
            with _errors(self._name, f"has no observation for {agent}"):
                seen[self.agents.index(agent)] = self._text(env.observe(agent), agent)
        if not alive:
            return {"turn": -1, "legal": [], "seen": seen}
        agent = env.agent_selection
        return {"turn": self.agents.index(agent), "legal": self._legal(env, agent), "seen": seen}

    def _text(self, observation: Any, agent: str) -> str:
        if isinstance(observation, Mapping) and "action_mask" in observation:
            rest = {name: part for name, part in observation.items() if name != "action_mask"}
            observation = rest["observation"] if set(rest) == {"observation"} else rest
        text = self._describe(observation, agent)
        if not isinstance(text, str):
            raise UsageError(f"{self._name}: describe returned {text!r:.60} for {agent}; it must return a text.")
        return text[: LONGEST // 2]

    def _legal(self, env: Env, agent: str) -> list[str]:
        words, observation = list(self._words(env.action_space(agent))), env.observe(agent)
        mask = observation.get("action_mask") if isinstance(observation, Mapping) else None
        if mask is None:
            mask = env.infos.get(agent, {}).get("action_mask")
        if mask is None:
            return words
        allowed = np.asarray(mask).astype(bool).ravel()
        if len(allowed) != len(words) or not allowed.any():
            raise UsageError(
                f"{self._name} gave {agent} an action_mask with {int(allowed.sum())} ones of {len(allowed)}, for "
                f"{len(words)} actions; at least one must be legal."
            )
        return [word for word, may in zip(words, allowed.tolist(), strict=True) if may]


@contextmanager
def _errors(name: str, what: str, hint: str = "") -> Iterator[None]:
    """Turns whatever the code of others raises into a UsageError of one sentence, and a hint."""
    try:
        yield
    except CoterieError:
        raise
    except Exception as error:
        raise UsageError(f"{name} {what}: {_told(error)}.{hint}") from error


def _told(error: BaseException) -> str:
    """An exception as half a sentence."""
    return f"{type(error).__name__}: {str(error).strip().rstrip('.')[:300]}" if str(error) else type(error).__name__
