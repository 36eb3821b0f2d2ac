"""Environments by name: ``make`` and ``make_vec``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Literal, cast

from ..errors import UsageError
from . import registry
from .answers import known_name
from .registry import make_game, spec

if TYPE_CHECKING:
    from .faces.aec import AECGame
    from .faces.parallel import ParallelGame
    from .faces.vec import VecEnv

__all__ = ["make", "make_vec"]


def make(
    id: str,
    api: Literal["aec", "parallel", "raw"] = "aec",
    render_mode: str | None = None,
    text: bool = False,
    illegal: str | None = None,
    illegal_reward: float | None = None,
    max_cycles: int | None = None,
    layout: str | None = None,
    mask: str | None = None,
    idle: str | None = None,
    infos: str | None = None,
    **config: Any,
) -> AECGame | ParallelGame:
    """A PettingZoo environment.

    Args:
        id: a registered game.
        api: ``"aec"``, ``"parallel"``, or ``"raw"``: AEC without checks of actions.
        render_mode: one of the environment's ``metadata["render_modes"]``.
        text: observations and actions are strings.
        illegal: the policy for illegal actions: ``"lose"``, ``"raise"``, ``"resample"`` or ``"noop"``; None: ``noop``
            in games with an action that does nothing, else ``lose``.
        illegal_reward: added to the reward of a player that acts illegally; None: -1 under ``lose``, else 0.
        max_cycles: truncate after this many turns (ticks).
        layout: of the observed array: ``"native"`` (None), ``"flat"`` (float32), ``"channels_first"`` or
            ``"channels_last"``.
        mask: where the mask of legal actions is: ``"both"`` (None), ``"observation"``, ``"info"``, ``"none"``.
        idle: the mask of an agent that is not to act: ``"zeros"`` (None) or ``"ones"``.
        infos: ``"all"`` (None) or ``"numbers"``: without entries that are neither numbers nor arrays.
        **config: the game's arguments.

    Raises:
        UnknownName: no such game, api, render mode, layout, mask, idle or infos.
        UsageError: an argument that the game or the environment does not take.
    """
    faces = {"aec": ("aec", "AECGame"), "parallel": ("parallel", "ParallelGame"), "raw": ("aec", "RawGame")}
    known_name("api", api, faces)
    module, name = faces[api]
    face = getattr(importlib.import_module(f".faces.{module}", __package__), name)
    made = face(
        make_game(id, **config),
        render_mode=render_mode,
        text=text,
        illegal=illegal,
        illegal_reward=illegal_reward,
        max_cycles=max_cycles,
        draw=spec(id).draw,
    )
    how = {"layout": layout, "mask": mask, "idle": idle, "infos": infos}
    if any(value is not None for value in how.values()):
        arranged = importlib.import_module(".faces.arranged", __package__)
        wrapper = arranged.ArrangedParallel if api == "parallel" else arranged.ArrangedAEC
        made = wrapper(made, arranged.Arrangement(made, **{k: v for k, v in how.items() if v is not None}))
    return cast("AECGame | ParallelGame", made)


def make_vec(
    id: str,
    num_envs: int = 1,
    num_threads: int = 1,
    seed: int | None = None,
    autoreset_mode: Any = "SameStep",
    illegal: str | None = None,
    illegal_reward: float | None = None,
    max_cycles: int | None = None,
    render_mode: str | None = None,
    **config: Any,
) -> VecEnv:
    """N games side by side: arrays in, arrays out. See ``VecEnv`` for the arguments.

    With ``render_mode="rgb_array"``, ``render()`` draws a sheet of the first 64 games.

    Raises:
        UsageError: a game of words: its messages do not fit in arrays; see ``words.vec.TextVec``.
    """
    from .words import TextGame
    from .words.vec import vec_of

    game = make_game(id, **config)
    if isinstance(game, TextGame):
        raise UsageError(
            f"{game.info.id} is a game of words: its messages do not fit in arrays. Play it with coterie.make({id!r}), "
            "or many at once with coterie.envs.words.vec.TextVec(make_game(...), num_envs)."
        )
    vec = vec_of(
        game,
        num_envs,
        num_threads=num_threads,
        seed=seed,
        autoreset_mode=autoreset_mode,
        illegal=illegal,
        illegal_reward=illegal_reward,
        max_cycles=max_cycles,
        render_mode=render_mode,
        draw=spec(id).draw,
    )
    return cast("VecEnv", vec)


registry.make, registry.make_vec = make, make_vec
