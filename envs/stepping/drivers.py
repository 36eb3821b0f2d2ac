"""A game's compiled loops: the loops of ``templates`` and ``unseen``, bound to its kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..core import Game, Kernels
from . import templates, unseen
from .buffers import BLOCK, idle_action
from .jit import bind, disabled, source_hash

__all__ = ["Drivers", "drivers"]


WIDE = 512
"""From this many actions on, ``pick_wide`` samples legal actions instead of ``pick_legal``."""


FEW = 8
"""Simultaneous games of more players share loops for any number of players; see ``shares_loops``."""


NEAR = 1 << 15
"""Bytes of observations and masks that a rollout works on at a time, far less than a second-level cache; a row may
take more."""


class Drivers(NamedTuple):
    """A game's compiled loops; see the templates of the same names (turn, start and tick: ``lone_*``)."""

    begin_rows: Callable[..., None]
    view_rows: Callable[..., None]
    step_rows: Callable[..., None]
    sample_rows: Callable[..., None]
    rollout: Callable[..., None]
    rollout_unseen: Callable[..., None]
    turn: Callable[..., int]
    start: Callable[..., int]
    step_some: Callable[..., None]
    observe_rows: Callable[..., None]
    examine: Callable[..., None]
    tick: Callable[..., int]


def drivers(game: Game) -> Drivers:
    """The loops for a game; made once per process for equal kernels and sizes, compiled at the first call."""
    info = game.info
    seen = math.prod(info.observation_shape) * np.dtype(info.observation_dtype).itemsize + info.num_actions
    seen *= info.players if info.simultaneous else 1
    rows = BLOCK
    while rows > 1 and rows * seen > NEAR:
        rows //= 2
    name = f"{info.name}_v{info.version}"
    if shares_loops(game):
        return _drivers(game.kernels, name, info.num_actions, 0, True, 1, idle_action(game))
    return _drivers(game.kernels, name, info.num_actions, info.players, info.simultaneous, rows, idle_action(game))


def shares_loops(game: Game) -> bool:
    """Whether a game's loops serve any number of players: worlds, and simultaneous games of many or mortal players."""
    info = game.info
    return info.is_world or (info.simultaneous and (info.players > FEW or game.kernels.alive is not None))


@cache
def _drivers(kernels: Kernels, name: str, actions: int, players: int, ticks: bool, rows: int, idle: int) -> Drivers:
    tag = f"{name}_{actions}_{players}_{source_hash(kernels, rows, idle)}"
    links: dict[str, Any] = dict(zip(kernels._fields, kernels, strict=True))
    mortal = kernels.alive is not None
    packed = kernels.step_legal is not None
    words = -(-actions // 64) if packed else 0
    links |= {"ACTIONS": actions, "PLAYERS": players, "ROWS": rows, "IDLE": idle, "WORDS": words}
    links["MORTAL"] = int(mortal)

    def add(name: str, template: Callable[..., Any], apart: bool = False, spliced: bool = False) -> None:
        links[name] = bind(template, links, tag, inline=not apart and not spliced, within=apart, spliced=spliced)

    # The kernels of worlds are large, and numba optimises all of them again for each template that is compiled on its
    # own between them and a loop: hence those that contain a whole step or reset are spliced into the loops.
    worlds = not players

    pick = templates.pick_wide if actions >= WIDE else templates.pick_legal
    add("pick", templates.pick_plain if disabled() else pick)
    add("seats", templates.seats_fixed if players else templates.seats_counted)
    add("flag", templates.flag_each if mortal else templates.flag_all)
    add("wake", templates.wake_each if mortal else templates.wake_all)
    if not mortal:
        add("lives", templates.lives_always)
    else:
        links["lives"] = kernels.alive
    if kernels.sound is None:
        add("sound", templates.any_sound)
    add("begin", templates.begin_row, spliced=worlds)
    add("look", templates.look_ticks, apart=worlds)
    add("pack", templates.pack_mask if packed else templates.pack_nothing)
    add("unpack", templates.unpack_mask)
    add("choose", templates.choose_packed if packed else templates.choose_plain)
    add("act", templates.act_packed if packed else templates.act_plain)
    add("view", templates.view_ticks if ticks else templates.view_turns)
    add("finish", templates.finish_ticks if ticks else templates.finish_turns)
    add("advance", templates.advance_ticks if ticks else templates.advance_turns, spliced=worlds)
    add("sample", templates.sample_ticks if ticks else templates.sample_turns)
    add("row", templates.step_row, spliced=worlds)
    if ticks:
        add("play", unseen.play_ticks, spliced=True)
    else:
        add("play", unseen.play_turns if kernels.draw is None else unseen.play_drawn, spliced=True)
    add("unseen", unseen.unseen_row, spliced=True)
    whole = (
        templates.begin_rows,
        templates.view_rows,
        templates.step_rows,
        templates.sample_rows,
        templates.rollout,
        unseen.rollout_unseen,
        templates.lone_turn,
        templates.lone_start,
        templates.step_some,
        templates.observe_rows,
        templates.examine,
        templates.lone_tick,
    )
    return Drivers(*(bind(template, links, tag) for template in whole))
