"""Modules that moved into rooms (subpackages): their old names still import the same module objects.

``from coterie.training.config import preset`` is ``from coterie.training.runs.config import preset``.

This file stays at the root because ``import coterie`` needs it before any room, and because it covers all rooms, so
that no room needs to know the names of the others.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.util import resolve_name
from types import ModuleType

__all__ = ["MOVED", "Moved"]

_ROOMS: dict[str, dict[str, str]] = {
    "": {"cli": "arguments playing=play watching=watch", "envs.replay": "keeping"},
    "agents": {
        "bank": "bank_files=files bank_optimizer=optimizer bank_routing=routing",
        "human": "table window world_window",
        "llm": "models prompts tiny tokenizer",
        "llm.scoring": "decoding forest generation",
        "scripted": "greedy gridworld",
        "search": "alphabeta connect_four equilibrium information_sets information_tree mates mcts solver uci",
    },
    "envs": {
        "faces": "actions aec gym_vector parallel showing=render spaces table ticks=table vec verbs",
        "kinship": "kin_tables=tables kinship_wrapper=wrapper pedigree sharing=kernels",
        "replay": "packing record=file recording=recorder sgf_text=sgf",
        "stepping": "arrays=buffers drivers jit loops=templates machine rng unseen",
        "testing": "testing_words=words testing_worlds=worlds",
    },
    "envs.gridworld": {
        "": "layout=state",
        "config": "checks fields files fitting presets world",
        "maps": "connect=connecting drawing ground terrain=table",
        "maps.terrains": "caves mazes=maze placing=mirror rooms",
        "rules": "key legal may reset shaping",
        "seen": "answers planes primer sight signs text tokens whole",
    },
    "training": {
        "bridges": "trl",
        "data": "credit curriculum records rollout",
        "evaluation": "evaluate=match goal held_out worlds",
        "learn": "learner losses=objectives ppo=ppo_net",
        "runs": "config display players presets run=folder",
    },
    "training.runs": {"..cli": "command=train"},
}
"""Room (the root is ``""``) -> folder in it -> the modules that moved there, as ``old=new`` where the name changed."""

MOVED = {
    room: {
        old: f"{folder}.{new or old}" if folder else new
        for folder, modules in folders.items()
        for old, _, new in (module.partition("=") for module in modules.split())
    }
    for room, folders in _ROOMS.items()
}
"""Room (the root is ``""``) -> old name -> new name relative to the room; each leading dot goes up one room."""


class Moved:
    """Finds the modules in ``MOVED``. It runs after all other finders, so it hides no module that exists."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of a module that moved; None for any other module."""
        root, _, rest = name.partition(".")
        room, _, old = rest.rpartition(".")
        new = MOVED.get(room, {}).get(old) if root == __package__ else None
        return ModuleSpec(name, _Same(resolve_name(f".{new}", f"{root}.{room}".rstrip(".")))) if new else None


class _Same(Loader):
    """Loads a module by its new name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import the module by its new name and remember its spec."""
        module = importlib.import_module(self.name)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's spec, which the import system replaced; its code already ran in ``create_module``."""
        module.__spec__ = self.spec


sys.meta_path.append(Moved)
