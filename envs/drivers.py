"""A game's compiled loops: the templates of ``loops``, bound to its kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from . import loops
from .core import Game, Kernels
from .jit import bind, disabled, source_hash

__all__ = ["Drivers", "drivers"]


class Drivers(NamedTuple):
    """A game's compiled loops; see the templates of the same names."""

    begin_rows: Callable[..., None]
    view_rows: Callable[..., None]
    step_rows: Callable[..., None]
    sample_rows: Callable[..., None]
    rollout: Callable[..., None]
    turn: Callable[..., int]
    start: Callable[..., int]
    step_some: Callable[..., None]
    observe_rows: Callable[..., None]
    still_running: Callable[..., None]


def drivers(game: Game) -> Drivers:
    """The loops for a game; made once per set of kernels and process, compiled at the first call."""
    info = game.info
    return _drivers(game.kernels, f"{info.name}_v{info.version}", info.num_actions, info.players, info.simultaneous)


@cache
def _drivers(kernels: Kernels, name: str, actions: int, players: int, ticks: bool) -> Drivers:
    tag = f"{name}_{actions}_{players}_{source_hash(kernels)}"
    links: dict[str, Any] = dict(zip(kernels._fields, kernels, strict=True)) | {"ACTIONS": actions, "PLAYERS": players}

    def add(name: str, template: Callable[..., Any]) -> None:
        links[name] = bind(template, links, tag, inline=True)

    add("pick", loops.pick_plain if disabled() else loops.pick_legal)
    add("begin", loops.begin_row)
    add("view", loops.view_ticks if ticks else loops.view_turns)
    add("finish", loops.finish_ticks if ticks else loops.finish_turns)
    add("advance", loops.advance_ticks if ticks else loops.advance_turns)
    add("sample", loops.sample_ticks if ticks else loops.sample_turns)
    add("row", loops.step_row)
    whole = (
        loops.begin_rows,
        loops.view_rows,
        loops.step_rows,
        loops.sample_rows,
        loops.rollout,
        loops.lone_turn,
        loops.lone_start,
        loops.step_some,
        loops.observe_rows,
        loops.still_running,
    )
    return Drivers(*(bind(template, links, tag) for template in whole))
