"""Public imports stay what they were: every module that moved still answers to its old name."""

from __future__ import annotations

import importlib
import pickle
from importlib.util import resolve_name

import pytest

from coterie.moved import MOVED

OLD = [
    (resolve_name(f".{old}", room), resolve_name(f".{new}", room))
    for room, moves in ((f"coterie.{room}".rstrip("."), moves) for room, moves in MOVED.items())
    for old, new in moves.items()
]

NAMES = {
    "coterie.agents.alphabeta": ["analyse"],
    "coterie.agents.bank": ["LoraBank"],
    "coterie.agents.bank_optimizer": ["BankAdamW"],
    "coterie.agents.baselines": ["MinimaxAgent", "RandomAgent", "make_baseline"],
    "coterie.agents.connect_four": ["scores", "solve"],
    "coterie.agents.core": ["Decision", "Turn"],
    "coterie.agents.equilibrium": ["solve_hidden"],
    "coterie.agents.human": ["HumanAgent"],
    "coterie.agents.information_sets": ["expected_returns", "information_tree", "nash_conv"],
    "coterie.agents.llm": ["LLMAgent", "LoraPolicy"],
    "coterie.agents.mates": ["mating_moves"],
    "coterie.agents.models": ["load_model"],
    "coterie.agents.table": ["Match", "follow"],
    "coterie.agents.tokenizer": ["byte_tokenizer"],
    "coterie.agents.world_window": ["Replayed", "WorldSession"],
    "coterie.arguments": [
        "Bench",
        "Envs",
        "Eval",
        "Play",
        "Train",
        "parse",
        "train_arguments",
        "wanted",
        "with_preset",
    ],
    "coterie.cli": ["main"],
    "coterie.envs.aec": ["AECGame"],
    "coterie.envs.drivers": ["drivers"],
    "coterie.envs.gridworld.config": ["GridworldConfig", "MapRules", "RANGES", "Terrain"],
    "coterie.envs.gridworld.drawing": ["draw_map", "put_map", "read_map"],
    "coterie.envs.gridworld.files": ["dump", "from_dict", "load", "merge"],
    "coterie.envs.gridworld.layout": ["PAD", "World"],
    "coterie.envs.gridworld.maps": ["build", "connect"],
    "coterie.envs.gridworld.presets": ["arguments", "configure", "configured", "list_presets", "preset"],
    "coterie.envs.gridworld.reset": ["reset", "reset_open", "settle"],
    "coterie.envs.gridworld.rules": ["draw", "step"],
    "coterie.envs.gridworld.shaping": ["Dense"],
    "coterie.envs.gridworld.terrain": ["OPTIONS", "minimum"],
    "coterie.envs.gridworld.world": ["new_world", "plane_names", "sizes"],
    "coterie.envs.gym_vector": ["make_gym_vec"],
    "coterie.envs.jit": ["kernel"],
    "coterie.envs.kinship": ["Teams", "Pedigree", "share", "partition"],
    "coterie.envs.kinship_wrapper": ["KinshipWrapper"],
    "coterie.envs.parallel": ["ParallelGame"],
    "coterie.envs.record": ["read_games", "replay", "write_json"],
    "coterie.envs.recording": ["Recorded", "Recorder"],
    "coterie.envs.registry": ["make", "make_game", "make_vec", "register"],
    "coterie.envs.rng": ["word"],
    "coterie.envs.testing": ["CHECKS", "check_game", "transcript"],
    "coterie.envs.vec": ["VecEnv"],
    "coterie.envs.versioned": ["tictactoe_v0__env"],
    "coterie.keeping": ["JSON", "Keeper"],
    "coterie.playing": ["play"],
    "coterie.training": ["credit"],
    "coterie.training.config": ["SchemeConfig", "preset"],
    "coterie.training.evaluate": ["exploitability", "optimal_share", "play_match"],
    "coterie.training.loop": ["train"],
    "coterie.training.losses": ["policy_loss"],
    "coterie.training.players": ["make_player"],
    "coterie.training.rollout": ["Seating"],
    "coterie.training.trl": ["GameBridge"],
    "coterie.watching": ["company", "show_replay"],
}
"""What README, docs and examples have imported since 0.1."""


@pytest.mark.parametrize(("old", "new"), OLD)
def test_a_module_that_moved_is_one_module(old: str, new: str) -> None:
    module = importlib.import_module(old)
    assert module is importlib.import_module(new)
    assert module.__name__ == new
    assert module.__spec__ is not None
    assert module.__spec__.name == new


@pytest.mark.parametrize("module", NAMES)
def test_public_names_are_where_they_were(module: str) -> None:
    room, _, submodule = module.rpartition(".")
    for name in NAMES[module]:
        scope: dict[str, object] = {}
        exec(f"from {module} import {name}", scope)
        assert scope[name] is not None, f"{room}.{submodule} lost {name}"


def test_what_was_pickled_by_an_old_name_is_read() -> None:
    assert pickle.loads(b"ccoterie.agents.core\nTurn\n.").__name__ == "Turn"
    assert pickle.loads(b"ccoterie.envs.kinship\nTeams\n.").__name__ == "Teams"
    assert pickle.loads(b"ccoterie.envs.vec\nVecEnv\n.").__name__ == "VecEnv"
    assert pickle.loads(b"ccoterie.training.rollout\nSeating\n.").__name__ == "Seating"


def test_a_name_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match="nothing_of_the_kind"):
        importlib.import_module("coterie.agents.nothing_of_the_kind")
