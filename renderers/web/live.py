"""A gridworld that is played, as plain data for its page: what stays the same at first, then what each tick changes.

A message about a world has::

    world: as in ``world``, without its columns; only in the first message
    clock, agents: {field: [S]}, items: [[S], ...] by kind, reward: [S], returns: [S]
    objects: {field: [O]} in the first message;  changed: [[place, type, row, col, hp, stock, busy_until], ...] later
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import Mask, Player
from ...envs.core import Game
from ...envs.gridworld.config.world import plane_names
from ...envs.gridworld.seen.answers import action_names
from ...envs.gridworld.state import GIFT, World
from ..gridworld import color_of, config_of
from ..gridworld_facts import planes_of
from ..gridworld_keys import CONTROL_KEYS, DIRECTIONS, INTENTION_KEYS, INTENTIONS, action_of
from .world import AGENT_COLUMNS, OBJECT_COLUMNS, constants, css

__all__ = ["LiveWorld"]


class LiveWorld:
    """The data of the worlds of one page.

    Args:
        game: a gridworld.
    """

    def __init__(self, game: Game) -> None:
        self._game, self._config = game, config_of(game)
        self._known: NDArray[Any] | None = None  # the objects as the page knows them

    def forget(self) -> None:
        """Begin anew: the next message holds everything."""
        self._known = None

    def now(self, world: World, rewards: Any, returns: Any) -> dict[str, Any]:
        """What the page does not know yet.

        Args:
            world: one world.
            rewards: [S] of the last tick.
            returns: [S] so far.
        """
        agents, objects = world.agents[0], world.objects[0]
        told: dict[str, Any] = {
            "clock": int(world.rules[0]["clock"]),
            "agents": {name: agents[name].astype(int).tolist() for name in AGENT_COLUMNS},
            "items": world.items[0].T.tolist(),
            "reward": np.round(np.asarray(rewards, float), 4).tolist(),
            "returns": np.round(np.asarray(returns, float), 4).tolist(),
        }
        if self._known is None:
            told["world"] = constants(self._config, world, [css(color_of(agent)) for agent in agents])
            told["objects"] = {name: objects[name].astype(int).tolist() for name in OBJECT_COLUMNS}
        else:
            places = np.flatnonzero(objects != self._known)
            told["changed"] = [[int(p), *(int(objects[name][p]) for name in OBJECT_COLUMNS)] for p in places]
        self._known = objects.copy()
        return told

    def keys(self) -> dict[str, Any]:
        """The keys of the page, those of the window: {intentions, controls: {key: what}, told: [[key, words], ...]}."""
        return {"intentions": INTENTION_KEYS, "controls": CONTROL_KEYS, "told": INTENTIONS}

    def verbs(self) -> list[list[str]]:
        """[intention, label] of the buttons: what agents of this world can do at all."""
        can = self._config.actions
        verbs = [[name, name] for name in DIRECTIONS] + [["back", "step back"], ["use", "use"]]
        verbs += [["attack", "attack"]] if can.attack else []
        verbs += [["shield", "shield"]] if can.shield else []
        verbs += [["swap", "swap"]] if can.swap else []
        names = action_names(self._config)[GIFT:] if can.gift else ()
        verbs += [[f"gift {k}", name.replace("gift", "give")] for k, name in enumerate(names, 1)]
        return [*verbs, ["wait", "wait"]]

    def able(self, world: World, slot: Player, mask: Mask) -> list[str]:
        """The intentions, as on the buttons, that would succeed now.

        Args:
            world: one world.
            slot: the agent.
            mask: [A] 1 for actions that would succeed.
        """
        return [name for name, _ in self.verbs() if mask[action_of(world, 0, slot, name, mask)]]

    def seen(self, world: World, slot: Player, plane: int) -> dict[str, Any]:
        """What an agent is told: {slot, text, plane: its number, names, values: h lists of w numbers of that plane}."""
        names = plane_names(self._config)
        plane = plane % len(names)
        if not world.agents[0, slot]["alive"]:
            return {"slot": slot, "text": "", "plane": plane, "names": names, "values": []}
        values = planes_of(self._game, self._config, world, 0, slot)[plane].tolist()
        text = self._game.describe(world, 0, slot)
        return {"slot": slot, "text": text, "plane": plane, "names": names, "values": values}
