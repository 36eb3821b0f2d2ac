"""Every example runs, is short, and shows what it says."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / "examples" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_short_and_documented(file: Path) -> None:
    text = file.read_text()
    assert len(text.splitlines()) < 80
    assert text.startswith('"""')
    assert '__name__ == "__main__"' in text


LIBRARIES = {"openenv_server": "openenv", "rllib_ppo": "ray", "supersuit_ppo": "supersuit"}
"""Examples of libraries that our own environment may lack; docs/libraries.md says why, and with which they ran."""

STEPS = {
    "maskable_ppo": 500,
    "rllib_ppo": 4000,
    "sb3_ppo": 500,
    "supersuit_ppo": 500,
    "tianshou_dqn": 500,
    "torchrl_ppo": 1000,
}
"""Steps of learning of other libraries' learners here: enough to run all of their code, too few to learn much."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [file.stem for file in EXAMPLES if file.stem != "train"])
def test_runs_as_a_script(name: str, tmp_path: Path) -> None:
    if name in LIBRARIES and importlib.util.find_spec(LIBRARIES[name]) is None:
        pytest.skip(f"{LIBRARIES[name]} is not installed")
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / f"{name}.py", *(["--steps", str(STEPS[name])] if name in STEPS else [])],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    if name in STEPS:
        assert len(re.findall(r"\d\.\d\d\b", done.stdout)) == 2, "the scores before and after"


def test_random_aec_ends_as_the_rules_say() -> None:
    total = load("random_aec").main(seed=3)
    assert sum(total.values()) == 0


def test_batched_finds_the_known_share() -> None:
    assert load("batched").main(num_envs=1024, steps=100) == pytest.approx(0.585, abs=0.02)


def test_gymnasium_vector_learns() -> None:
    assert load("gymnasium_vector").main(steps=4000) > 0.85


def test_own_agent_never_beats_perfect_play() -> None:
    results = load("own_agent").main(games=200)
    assert results["minimax"][0] == 0
    assert results["random"][0] > 0.6


@pytest.mark.slow
def test_own_game_has_every_face(own_games: None) -> None:
    """Fifty lines suffice for all checks; twelve matches are lost for whoever begins: 12 is a multiple of 4."""
    import coterie
    from coterie.agents.search.solver import solve
    from coterie.envs import make_game
    from coterie.envs.faces.gym_vector import make_gym_vec
    from coterie.envs.testing import check_game

    assert len((ROOT / "examples" / "own_game.py").read_text().splitlines()) <= 50
    coterie.register("nim-v0", f"{load('own_game').__name__}:nim")
    game = make_game("nim")
    assert (game.info.id, game.config) == ("nim-v0", {})
    check_game(game)  # AEC, parallel, batched, copies, PettingZoo's own tests
    assert solve(game).game_values.tolist() == [-1, 1]
    env = coterie.make("nim-v0", text=True)
    env.reset()
    assert env.last()[0].startswith("12 matches are left.")
    env.step("I take 3.")
    assert env.last()[0].startswith("9 matches are left.")
    view = make_gym_vec("nim-v0", num_envs=3, seed=0)
    assert view.reset()[0]["observation"].shape == (3, 1)


def test_own_text_game_passes_the_check():
    from coterie.envs.testing import check_game

    example = load("own_text_game")
    check_game(example.last_letter())
    assert sorted(example.main().values()) == [-1, 1]


def test_own_episode_learns_to_be_understood() -> None:
    """Fifty lines, training included; chance is a third, and two thirds is where pairs of signs get stuck."""
    assert len((ROOT / "examples" / "own_episode.py").read_text().splitlines()) <= 50
    assert load("own_episode").main() > 0.45


def test_gridworld_text_is_enough_to_live_on() -> None:
    totals = load("gridworld_text").main()
    assert totals["choose"] >= 5 > totals["guess"]


@pytest.mark.slow
def test_own_play_and_own_trainer_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = load("own_play").main()
    assert [row["player"] == "random" for row in rows] == [False, False, True]
    assert load("own_trainer").main() in load("own_trainer").REAL


@pytest.mark.slow
def test_train_makes_a_player(tmp_path: Path) -> None:
    shares = load("train").main(run=str(tmp_path / "run"), updates=2, games=64)
    assert sum(shares) == pytest.approx(1)
    assert (tmp_path / "run" / "config.yaml").exists()


@pytest.mark.slow
def test_training_examples_learn_from_what_they_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = load("train_proposer_solver").main(["--num-steps", "2", "--batch-size", "3", "--run", str(tmp_path / "run")])
    assert [set(row) for row in rows] == [{"reward/Proposer", "reward/Solver", "pass_rate", "level"}] * 2
    rewards = load("train_dataset_rl").main(["--num-steps", "8"])
    assert rewards[-1] > rewards[0] + 0.2


@pytest.mark.slow
def test_contests_are_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = str(tmp_path / "run")
    (row,) = load("train_debate").main(["--num-steps", "1", "--batch-size", "1", "--topics", "food", "--run", run])
    assert row["reward/A"] == -row["reward/B"]
    assert "topics=food" in (tmp_path / "run" / "config.yaml").read_text()
    (row,) = load("train_redblue").main(["--batch-size", "1", "--secrets", "3", "--turns", "2", "--verbose"])
    assert row["leaked"] + row["guessed"] + row["kept"] == pytest.approx(1)
    (row,) = load("train_negotiation").main(["--preset", "ultimatum", "--max-turns", "2"])
    assert 0 <= row["surplus"] <= 1


@pytest.mark.slow
def test_maskable_ppo_learns() -> None:
    before, after = load("maskable_ppo").main(steps=6000, games=200)
    assert after > before + 0.1
