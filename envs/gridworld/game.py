"""The factory of ``gridworld-v0``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core import Game, GameInfo, Kernels
from ..stepping.defaults import everybody
from .config import GridworldConfig
from .config.presets import arguments, configure
from .config.world import new_world, sizes, verbs
from .maps.drawing import put_map
from .maps.table import TERRAINS
from .rules.key import key
from .rules.legal import alive, legal
from .rules.reset import reset, reset_open
from .rules.sound import CONDITIONS, Ranges, sound
from .rules.tick import step
from .seen.infos import Tell
from .seen.planes import observe_planes
from .seen.primer import goal, rules
from .seen.text import action_to_text, compact, describe, parse_action
from .seen.tokens import observe_tokens
from .seen.whole import whole

__all__ = ["gridworld"]


# Longer than most: its arguments, what they mean, and the game that they make.
def gridworld(
    preset: str | None = None,
    config: GridworldConfig | Mapping[str, Any] | str | Path | None = None,
    max_steps: int | None = None,
    slots: int | None = None,
    items: Any = None,
    objects: Any = None,
    agent: Any = None,
    actions: Any = None,
    death: Any = None,
    observation: Any = None,
    map: Any = None,
    kinship: Any = None,
    randomize: Any = None,
) -> Game:
    """A world of resources, walls and other agents, whose rewards can be shared among kin.

    Args:
        preset: a name that ``coterie envs gridworld --presets`` lists; without it and ``config``: ``bench_24_48x48``.
        config: instead of a preset: a GridworldConfig, its fields as plain data, or the path of a YAML file.
        max_steps: this and the following override fields of GridworldConfig: dataclasses, or plain data with only
            the entries that change.
        slots: as there.
        items: as there.
        objects: as there.
        agent: as there.
        actions: as there.
        death: as there.
        observation: as there.
        map: as there.
        kinship: as there.
        randomize: as there.

    Raises:
        UnknownName: a preset or field that doesn't exist.
        UsageError: the world is impossible.
    """
    fields = {
        "max_steps": max_steps,
        "slots": slots,
        "items": items,
        "objects": objects,
        "agent": agent,
        "actions": actions,
        "death": death,
        "observation": observation,
        "map": map,
        "kinship": kinship,
        "randomize": randomize,
    }
    changes = {name: value for name, value in fields.items() if value is not None}
    complete = configure(preset, config, changes)
    size, seen = sizes(complete), complete.observation
    tokens = seen.kind == "tokens"
    plain = TERRAINS[complete.map.terrain].build is None and not complete.map.connected
    return Game(
        info=GameInfo(
            name="gridworld",
            players=size.slots,
            num_actions=size.actions,
            observation_shape=(seen.tokens, 3) if tokens else (size.planes, seen.height, seen.width),
            observation_dtype="uint8",
            observation_high=255,
            max_cycles=complete.max_steps,
            simultaneous=True,
            hidden=True,
            noop=0,
        ),
        kernels=Kernels(
            reset_open if plain else reset,
            everybody,
            legal,
            step,
            observe_tokens if tokens else observe_planes,
            key,
            alive=alive,
            sound=sound,
        ),
        new_state=lambda n: new_world(complete, n),
        rules=rules(complete),
        goal=goal(complete),
        describe=describe(complete),
        compact=compact(complete),
        action_to_text=action_to_text(complete),
        parse_action=parse_action(complete),
        config=arguments(preset, config, changes),
        options={"map": put_map(complete)},
        verbs=verbs(complete) if complete.actions.space == "verbs" else (),
        whole=whole(complete),
        tell=Tell(),
        ranges=Ranges(complete),
        conditions=CONDITIONS,
    )
