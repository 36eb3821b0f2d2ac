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

MOVED = {
    "": {
        "arguments": "cli.arguments",
        "keeping": "envs.replay.keeping",
        "playing": "cli.play",
        "watching": "cli.watch",
    },
    "agents": {
        "alphabeta": "search.alphabeta",
        "bank_files": "bank.files",
        "bank_optimizer": "bank.optimizer",
        "bank_routing": "bank.routing",
        "connect_four": "search.connect_four",
        "decoding": "llm.scoring.decoding",
        "equilibrium": "search.equilibrium",
        "forest": "llm.scoring.forest",
        "generation": "llm.scoring.generation",
        "greedy": "scripted.greedy",
        "gridworld": "scripted.gridworld",
        "information_sets": "search.information_sets",
        "information_tree": "search.information_tree",
        "mates": "search.mates",
        "mcts": "search.mcts",
        "models": "llm.models",
        "prompts": "llm.prompts",
        "solver": "search.solver",
        "table": "human.table",
        "tiny": "llm.tiny",
        "tokenizer": "llm.tokenizer",
        "uci": "search.uci",
        "window": "human.window",
        "world_window": "human.world_window",
    },
    "envs": {
        "actions": "faces.actions",
        "aec": "faces.aec",
        "arrays": "stepping.buffers",
        "drivers": "stepping.drivers",
        "gym_vector": "faces.gym_vector",
        "jit": "stepping.jit",
        "kin_tables": "kinship.tables",
        "kinship_wrapper": "kinship.wrapper",
        "loops": "stepping.templates",
        "machine": "stepping.machine",
        "packing": "replay.packing",
        "parallel": "faces.parallel",
        "pedigree": "kinship.pedigree",
        "record": "replay.file",
        "recording": "replay.recorder",
        "rng": "stepping.rng",
        "sgf_text": "replay.sgf",
        "sharing": "kinship.kernels",
        "showing": "faces.render",
        "spaces": "faces.spaces",
        "table": "faces.table",
        "testing_words": "testing.words",
        "testing_worlds": "testing.worlds",
        "ticks": "faces.table",
        "unseen": "stepping.unseen",
        "vec": "faces.vec",
        "verbs": "faces.verbs",
    },
    "envs.gridworld": {
        "answers": "seen.answers",
        "caves": "maps.terrains.caves",
        "checks": "config.checks",
        "connect": "maps.connecting",
        "drawing": "maps.drawing",
        "fields": "config.fields",
        "files": "config.files",
        "fitting": "config.fitting",
        "ground": "maps.ground",
        "key": "rules.key",
        "layout": "state",
        "legal": "rules.legal",
        "may": "rules.may",
        "mazes": "maps.terrains.maze",
        "placing": "maps.terrains.mirror",
        "planes": "seen.planes",
        "presets": "config.presets",
        "primer": "seen.primer",
        "reset": "rules.reset",
        "rooms": "maps.terrains.rooms",
        "shaping": "rules.shaping",
        "sight": "seen.sight",
        "signs": "seen.signs",
        "terrain": "maps.table",
        "text": "seen.text",
        "tokens": "seen.tokens",
        "whole": "seen.whole",
        "world": "config.world",
    },
    "training": {
        "config": "runs.config",
        "credit": "data.credit",
        "curriculum": "data.curriculum",
        "display": "runs.display",
        "evaluate": "evaluation.match",
        "goal": "evaluation.goal",
        "held_out": "evaluation.held_out",
        "learner": "learn.learner",
        "losses": "learn.objectives",
        "players": "runs.players",
        "ppo": "learn.ppo_net",
        "presets": "runs.presets",
        "records": "data.records",
        "rollout": "data.rollout",
        "run": "runs.folder",
        "trl": "bridges.trl",
        "worlds": "evaluation.worlds",
    },
    "training.runs": {
        "command": "..cli.train",
    },
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
