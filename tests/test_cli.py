"""The command line: what it prints, what it refuses and how it says so.

The file is longer than most: every command is here, and all refuse in the one way that ``refused`` looks at.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coterie.cli import main


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COTERIE_DEBUG", raising=False)


def refused(words: list[str], capsys: pytest.CaptureFixture[str], code: int = 2) -> str:
    """The one sentence that a refused command line gets."""
    assert main(words) == code
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert said.err.count("\n") == 1, said.err
    assert said.err.startswith("coterie: ")
    return said.err


# -- help ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_help_teaches_every_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == (0 if words else 2)
    said = capsys.readouterr().out
    for command in ("envs", "play", "train", "eval", "tournament", "league", "view", "bench"):
        assert f"coterie {command}" in said


@pytest.mark.parametrize("command", ["envs", "play", "train", "eval", "tournament", "league", "view", "bench"])
def test_every_argument_has_a_help_text(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help-all"]) == 0
    said = capsys.readouterr().out
    assert f"usage: coterie {command}" in said
    assert f"  coterie {command} " in said.partition("\nexamples:\n")[2]
    assert not re.search(r"^  (--\S+|[A-Z]+)( \S+)?\n(?!    )", said, re.M), "a flag without a help"
    assert main([command, *(["tictactoe"] if command not in ("train", "league") else []), "--help-all"]) == 0
    assert capsys.readouterr().out == said


@pytest.mark.parametrize("words", [["tictactoe"], ["gridworld", "--policy", "net"], ["proposer_solver"]])
def test_the_help_of_train_fits_two_screens(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["train", *words, "--help"]) == 0
    said = capsys.readouterr().out
    assert said.count("\n") <= 100
    assert all(
        f"\n  --{flag} " in said for flag in ("learning-rate", "updates", "run", "config", "print-config", "set")
    )
    assert ("--policy" in said) == (words != ["proposer_solver"])
    hidden = int(re.search(r"--help-all shows (\d+) more flags", said)[1])
    assert main(["train", *words, "--help-all"]) == 0
    assert len(re.findall("^  --", capsys.readouterr().out, re.M)) == len(re.findall("^  --", said, re.M)) + hidden > 15


def test_the_help_of_train_shows_the_defaults_of_a_game(capsys: pytest.CaptureFixture[str]) -> None:
    from coterie.training.runs.config import preset

    for game in ("tictactoe", "chess"):
        assert main(["train", game, "--help"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        config = preset(game)
        assert f"(default: {config.optimizer.learning_rate:g})" in said
        assert re.search(rf"--eval-vs PLAYER .*?\(default: {re.escape(config.budget.eval_vs)}\)", said)


def test_a_league_says_its_own_defaults_and_is_not_of_nets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["league", "tictactoe", "--help"]) == 0
    assert "round_robin or swiss (default: league)" in " ".join(capsys.readouterr().out.split())
    assert main(["league", "gridworld", "--policy", "net"]) == 2
    assert "leave out --policy net" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["connect_four", "--learning-rate", "0.5", "--scheme", "pfsp", "--set", "talk=20"],
        ["gridworld", "--policy", "net", "--worlds", "9", "--preset", "a3_9x9"],
        ["proposer_solver", "--batch", "3", "--minutes", "2.5"],
        ["league"],
        ["tictactoe", "--model", "smollm2"],
    ],
)
def test_a_printed_configuration_can_be_read_back(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, words = ("league", ["tictactoe"]) if words == ["league"] else ("train", words)
    assert main([command, *words, "--print-config"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"# To use it: coterie {command} --config FILE\n")
    (tmp_path / "c.yaml").write_text(said)
    assert main([command, "--config", "c.yaml", "--print-config"]) == 0
    assert capsys.readouterr().out == said
    assert [path.name for path in tmp_path.iterdir()] == ["c.yaml"], "nothing was trained"
    from coterie.training.runs.config import TaskConfig, as_yaml, read_config

    config = read_config(tmp_path / "c.yaml")
    assert as_yaml(config) == said.partition("\n")[2]
    chosen = {word for word in words if word in ("0.5", "9", "batch=3", "2.5", "pfsp", "talk=20", "preset=a3_9x9")}
    assert all(word in said for word in chosen), chosen
    assert isinstance(config, TaskConfig) == (words[0] == "proposer_solver")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gridworld", "--policy", "net", "--set", "kinship.mod=teams"], "Did you mean 'mode'?"),
        (["hex", "--set", "sizes=5"], "unexpected keyword argument 'sizes'"),
        (["proposer_solver", "--set", "levels=-1"], "Levels go from 1 to 49; -1 came."),
    ],
)
def test_a_configuration_is_checked_before_it_is_printed(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *words, "--print-config"]) == 2
    told = capsys.readouterr()
    assert (told.out, said in told.err) == ("", True), told


def test_train_has_a_flag_for_every_field_of_its_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    from dataclasses import fields, is_dataclass

    from coterie.training.runs.config import TrainConfig

    assert main(["train", "--help-all"]) == 0
    said = capsys.readouterr().out
    names = ["config", "run", "resume", "print_config"]
    for field in fields(TrainConfig):
        section = getattr(TrainConfig(), field.name)
        names += [f.name for f in fields(section)] if is_dataclass(section) else [field.name]
    names.remove("game")
    for name in names:
        assert re.search(rf"^  --{name.replace('_', '-')}\b", said, re.M), name
    assert len(set(names)) == len(names), "two sections share a field: flags without prefix would clash"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    import coterie

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"coterie {coterie.__version__}\n"


def test_python_dash_m_is_the_same_command() -> None:
    done = subprocess.run([sys.executable, "-m", "coterie", "evns"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Did you mean 'envs'?" in done.stderr


def test_threads_that_wait_soon_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, kept in (({}, "20000"), ({"GOMP_SPINCOUNT": "5"}, "5"), ({"OMP_WAIT_POLICY": "ACTIVE"}, None)):
        with monkeypatch.context() as now:
            for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
                now.setenv(name, "")  # so that what the command sets goes at the end
                now.delenv(name)
            for name, value in given.items():
                now.setenv(name, value)
            assert main(["--version"]) == 0
            assert os.environ.get("GOMP_SPINCOUNT") == kept


# -- envs ------------------------------------------------------------------------------------------------------------


def test_envs_lists_every_game(capsys: pytest.CaptureFixture[str]) -> None:
    import coterie

    assert main(["envs"]) == 0
    said = capsys.readouterr().out
    assert [line.split()[0] for line in said.splitlines()] == coterie.list_envs()


def test_envs_tells_about_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["envs", "tictactoe"]) == 0
    said = capsys.readouterr().out
    assert "tictactoe-v0" in said
    assert "0 to 8" in said
    assert "[3, 3, 2] int8" in said


def test_envs_lists_presets(capsys: pytest.CaptureFixture[str]) -> None:
    from coterie.envs.gridworld.config.presets import list_presets

    assert main(["envs", "gridworld", "--presets"]) == 0
    said = capsys.readouterr().out
    for name, about in list_presets().items():
        assert f"\n{name} " in said
        assert about in said
    assert "20      40x40 rooms" in said
    assert "coterie.make(" in said


def test_envs_prints_a_world_that_can_be_edited_and_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import coterie
    from coterie.envs.gridworld.config.presets import configure

    words = ["--preset", "a5_25x25", "--set", "map.height=30", "--set", "objects.altar.cooldown=5"]
    assert main(["envs", "gridworld", *words, "--yaml"]) == 0
    (tmp_path / "my.yaml").write_text(capsys.readouterr().out)
    same = configure("a5_25x25", overrides={"map": {"height": 30}, "objects": {"altar": {"cooldown": 5}}})
    assert configure(config="my.yaml") == same
    assert main(["envs", "gridworld", "--set", "config=my.yaml", "map.agents=3"]) == 0
    assert "players      3, all act at once" in capsys.readouterr().out
    assert coterie.make("gridworld-v0", config="my.yaml").game.info.players == 5


@pytest.mark.slow
def test_negotiations_have_presets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["envs", "negotiation", "--presets"]) == 0
    said = capsys.readouterr().out
    assert [said.count(f"\n{name} ") for name in ("trade", "deal_or_no_deal", "ultimatum", "issues")] == [1] * 4
    assert "--yaml" not in said
    assert main(["play", "negotiation", "random", "random", "--preset", "ultimatum", "--set", "talk=20"]) == 0
    assert "coin" in capsys.readouterr().out
    assert (
        main(["eval", "random", "--game", "negotiation", "--preset", "issues", "--vs", "random", "--games", "6"]) == 0
    )
    assert "random" in capsys.readouterr().out


@pytest.mark.slow
def test_a_named_preset_takes_the_place_of_the_games_own_settings(mini: Path, tmp_path: Path) -> None:
    from coterie.training.runs.config import read_config

    words = ["train", "negotiation", "--preset", "ultimatum", "--set", "items={coin: 2}", "--model", str(mini)]
    words += ["--games", "4", "--updates", "1", "--eval-games", "2", "--threads", "1", "--report-to", "none"]
    assert main([*words, "--run", str(tmp_path / "run")]) == 0
    assert read_config(tmp_path / "run" / "config.yaml").set == ("preset=ultimatum", "items={coin: 2}")
    once = ["eval", str(tmp_path / "run"), "--games", "2", "--vs", "random"]
    assert main(once) == 0
    assert main([*once, "--preset", "ultimatum", "--set", "items={coin: 3}"]) == 0


def test_presets_that_cannot_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "hex-v0 has no presets" in refused(["envs", "hex", "--presets"], capsys)
    assert "hex-v0 has no presets" in refused(["envs", "hex", "--yaml"], capsys)
    assert "Which game's --presets?" in refused(["envs", "--presets"], capsys)
    assert "Did you mean 'a5_25x25'" in refused(["envs", "gridworld", "--preset", "a5_25x2"], capsys)
    assert "Did you mean 'energy'" in refused(["play", "gridworld", "--set", "agent.enrgy=3"], capsys)
    assert "has no size.x" in refused(["play", "hex", "--set", "size.x=3"], capsys)
    assert "hex-v0 has no presets" in refused(["train", "hex", "--preset", "x"], capsys)
    assert "reads no configuration" in refused(["envs", "negotiation", "--yaml"], capsys)
    for words in (["play"], ["train"], ["eval", "random", "--game"]):
        assert "Did you mean 'ultimatum'" in refused([*words, "negotiation", "--preset", "ultimatm"], capsys)
    assert "--preset cannot go with --from" in refused(
        ["play", "gridworld", "--preset", "a3_11x11", "--from", "x.json"], capsys
    )


# -- play ------------------------------------------------------------------------------------------------------------


def test_play_shows_every_move_and_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "tictactoe", "--players", "minimax", "minimax", "--seed", "3"]) == 0
    said = capsys.readouterr().out
    assert said.count("(minimax): ") == 9
    assert said.endswith("A draw.\n")


def test_play_is_reproducible(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["play", "tictactoe", "--players", "random", "random", "--seed"]
    games = []
    for seed in ("1", "1", "2"):
        assert main([*words, seed]) == 0
        games.append(capsys.readouterr().out)
    assert games[0] == games[1] != games[2]


def test_play_counts_many_games(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "tictactoe", "--players", "minimax", "random", "--games", "30"]) == 0
    said = capsys.readouterr().out
    numbers = [int(line.split(" of ")[0].split()[-1]) for line in said.splitlines()]
    assert sum(numbers) == 30
    assert numbers[1] == 0, "random beat minimax"


def test_play_simultaneous(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "highest_number", "--players", "random", "random"]) == 0
    said = capsys.readouterr().out
    assert "player_0 (random): " in said
    assert "player_1 (random): " in said


def test_play_a_preset_and_let_the_last_player_take_all_other_seats(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--preset", "a3_11x11", "--set", "max_steps=2", "--players", "random"]
    assert main(["play", "gridworld", *words]) == 0
    said = capsys.readouterr().out
    assert said.startswith("2 ticks, 3 of 3 alive.\nrandom x 3: mean return ")
    assert "highest_number has 2 players, but got 1" in refused(
        ["play", "highest_number", "--players", "random"], capsys
    )


def test_play_draws_a_gif(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from PIL import Image

    target = tmp_path / "new" / "game.gif"
    assert main(["play", "tictactoe", "--players", "minimax", "minimax", "--gif", str(target)]) == 0
    with Image.open(target) as image:
        assert image.n_frames == 10
    assert str(target) in capsys.readouterr().out


def test_a_person_plays(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("nonsense\n" + "\n".join("012345678") + "\n" + "\n".join("012345678")))
    assert main(["play", "tictactoe", "--players", "human", "random"]) == 0
    said = capsys.readouterr().out
    assert "names no action 0..8" in said
    assert "wins." in said or "A draw." in said


def test_a_game_with_a_person_has_a_seed_that_repeats_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def played(*words: str) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO("check\nfold\n" * 3))
        assert main(["play", "kuhn_poker", *words]) == 0
        return capsys.readouterr().out

    first = played()
    seed = re.match(r"Seed (\d+): --seed \1 begins", first)[1]
    assert played("--seed", seed) == first.partition("\n")[2]
    assert len({played() for _ in range(3)}) > 1, "another number each time"


def test_a_game_that_a_person_leaves_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("e4\nquit\n"))
    assert main(["play", "chess"]) == 0
    said = capsys.readouterr().out
    (file,) = tmp_path.iterdir()
    assert f"Saved: {file.name}\nContinue it: coterie play chess --from {file.name}\n" in said
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    assert main(["play", "chess", "--from", file.name]) == 0
    assert "Last moves: 1. e4" in capsys.readouterr().out
    assert [*tmp_path.iterdir()] == [file], "nothing new was played"


PGN = '[White "Ada"]\n[Black "Bo"]\n\n1. e4 e5 2. Nf3 1-0\n'


def test_files_of_other_programs_are_replayed_and_continued(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "game.txt").write_text(PGN)  # what it holds decides, not its name
    (tmp_path / "go.sgf").write_text("(;GM[1]SZ[5]KM[0.5]PB[Ada]PW[Bo];B[cc];W[dd])")
    assert main(["play", "--replay", "game.txt"]) == 0
    assert capsys.readouterr().out == "game.txt, game 1: chess-v0, Ada against Bo, 3 turns; replayed without fault.\n"
    assert main(["play", "--replay", "go.sgf"]) == 0
    assert "go-v0, Ada against Bo, 2 turns" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO("Nc6\nquit\n"))
    assert main(["play", "chess", "random", "human", "--from", "game.txt"]) == 0
    assert "player_1 (human): Nc6" in capsys.readouterr().out
    assert (tmp_path / "game.txt").read_text() == PGN, "only a file of one's own is written"
    assert len([*tmp_path.glob("chess-*.json")]) == 1
    (tmp_path / "notes.txt").write_text("buy milk\n")
    assert "notes.txt is not a file of games." in refused(["play", "--replay", "notes.txt"], capsys)
    (tmp_path / "bad.pgn").write_text(PGN.replace("Nf3", "Nf4"))
    assert "'Nf4' cannot be played" in refused(["play", "--replay", "bad.pgn"], capsys)


@pytest.mark.parametrize("typed", ["quit\n", "", "4\nexit\n"])
def test_a_person_leaves(typed: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert main(["play", "tictactoe"]) == 0
    assert capsys.readouterr().out.endswith("human left the game.\n")


# -- train -----------------------------------------------------------------------------------------------------------


SMALL = ["--games", "64", "--eval-games", "20", "--eval-every", "1", "--threads", "1"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two small updates; tests that go on with it take a copy."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    assert main(["train", "tictactoe", "--run", str(folder), "--updates", "2", *SMALL]) == 0
    return folder


def test_train_writes_a_run(run: Path) -> None:
    assert {"config.yaml", "metrics.jsonl", "curves.png", "checkpoints", "players"} <= {p.name for p in run.iterdir()}
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["update"] for row in rows] == [0, 1]


def test_train_goes_on(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(run, tmp_path / "runs" / "tictactoe-1")
    assert main(["train", "tictactoe", "--resume", "--updates", "3"]) == 0, capsys.readouterr().err
    lines = (tmp_path / "runs" / "tictactoe-1" / "metrics.jsonl").read_text().splitlines()
    assert len(lines) == 3
    assert main(["train", "--run", "runs/tictactoe-1", "--resume", "--updates", "4"]) == 0, "a run knows its game"
    assert len((tmp_path / "runs" / "tictactoe-1" / "metrics.jsonl").read_text().splitlines()) == 4
    assert refused(["train", "tictactoe", "--resume", "--learning-rate", "0.5"], capsys)
    assert refused(["train", "highest_number", "--run", "runs/tictactoe-1", "--resume"], capsys)
    assert refused(["train", "tictactoe", "--run", "runs/tictactoe-1"], capsys)


def test_train_reads_a_file_and_flags_win(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from coterie.training.runs.config import load_config

    (tmp_path / "c.yaml").write_text("seed: 5\noptimizer: {learning_rate: 0.002, weight_decay: 0.01}\n")
    words = ["train", "tictactoe", "--config", "c.yaml", "--run", "r", "--weight-decay", "0.02", "--updates", "1"]
    assert main([*words, *SMALL]) == 0, capsys.readouterr().err
    config = load_config(tmp_path / "r" / "config.yaml")
    assert (config.seed, config.optimizer.learning_rate, config.optimizer.weight_decay) == (5, 0.002, 0.02)
    assert config.rollout.games == 64
    (tmp_path / "g.yaml").write_text("game: highest_number\n")
    assert main(["train", "--config", "g.yaml", "--run", "g", "--updates", "1", *SMALL]) == 0, capsys.readouterr().err
    assert load_config(tmp_path / "g" / "config.yaml").game == "highest_number-v0"
    assert "doesn't name a game" in refused(["train", "--config", "c.yaml"], capsys)


def test_what_a_large_model_changes_is_said_and_what_flags_set_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "large.gguf"
    with model.open("wb") as file:
        file.truncate(60_000_000)  # judged by its size; loading it fails
    assert main(["train", "tictactoe", "--model", str(model), "--games", "32", "--minutes", "5"]) == 2
    (said,) = capsys.readouterr().out.splitlines()
    assert said == f"{model} is large, so this run uses learning_rate 0.0003, eval_games 100; set flags to change them."


def test_a_trained_player_plays_and_is_measured(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["eval", str(run), "--vs", "random", "--games", "20", "--json"]) == 0
    row, policy = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (row["opponent"], row["games"], row["illegal"]) == ("random", 20, 0)
    assert 0 < policy["exploitability"] < 2
    assert main(["eval", str(run), "--vs", "random", "--games", "20", "--sample", "--json"]) == 0
    sampled = json.loads(capsys.readouterr().out.splitlines()[1])
    assert sampled["optimal_mass"] != policy["optimal_mass"]  # a policy that samples spreads its mass
    assert policy["optimal_mass"] == policy["optimal_share"]
    assert main(["play", "tictactoe", "--players", f"{run}:main@2", "minimax"]) == 0
    assert refused(["play", "tictactoe", "--players", f"{run}:main@9", "minimax"], capsys)
    assert refused(["play", "tictactoe", "--players", f"{run}:mainn", "minimax"], capsys)
    assert refused(["eval", str(run), "--game", "highest_number"], capsys)


# -- tournament ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_tournament_prints_ratings_and_payoffs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["random", "minimax", "mcts:5", "--game", "tictactoe", "--games", "40"]
    assert main(["tournament", *words, "--out", "t"]) == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert re.search(r"1  minimax +\+\d+ \+-\d+ .* 1\.00 \(.* 0\.0000\n", said)
    assert re.search(r"payoff of +1 +2 +3\n1  minimax +- +\+\d", said)
    assert said.endswith("The page: t/leaderboard.html\n")
    files = {"leaderboard.html", "results.json", "elo.png", "payoff.png", "parts.png", "cycles.png"}
    assert files <= {p.name for p in (tmp_path / "t").iterdir()}
    assert main(["eval", *words, "--matrix"]) == 0
    assert capsys.readouterr().out == said.removesuffix("\n\nThe page: t/leaderboard.html\n") + "\n"
    assert main(["tournament", *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["player"] for row in found["players"]] == ["minimax", "mcts:5", "random"]
    assert found == {k: v for k, v in json.loads((tmp_path / "t" / "results.json").read_text()).items() if k in found}


@pytest.mark.slow
def test_a_league_trains_and_is_rated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = "--updates 3 --games 160 --snapshot-every 1 --threads 1 --eval-games 10 --report-to none"
    assert main(["league", "tictactoe", *small.split(), "--run", "r"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"r:main@2 +[+-]\d", said)
    assert re.search(r"r:league_exploiter-2 ", said)
    assert (tmp_path / "r" / "leaderboard" / "leaderboard.html").is_file()
    assert "scheme: league" in (tmp_path / "r" / "config.yaml").read_text()
    assert main(["league"]) == 2
    assert "coterie league tictactoe" in capsys.readouterr().err


# -- eval ------------------------------------------------------------------------------------------------------------


def test_eval_prints_one_object_an_opponent(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["eval", "minimax", "--game", "tictactoe", "--vs", "random", "minimax", "--games", "200", "--json"]
    assert main(words) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["opponent"] for row in rows] == ["random", "minimax", None]
    for row in rows[:2]:
        assert row["games"] == 200
        assert row["win"] + row["draw"] + row["loss"] == pytest.approx(1)
        assert row["loss"] == 0 == row["illegal"]
        assert row["win_interval"][0] <= row["win"] <= row["win_interval"][1]
    assert rows[1]["draw"] == 1
    assert rows[2]["exploitability"] == pytest.approx(0)
    assert rows[2]["optimal_share"] == 1


def test_eval_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "random", "--game", "tictactoe", "--games", "50"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"against minimax, 50 games, \d\d different: .* score -0\.\d{3} \(-0\.\d{3} to -0\.\d{3}\)", said)
    assert "exploitability" in said


def test_eval_begins_after_openings(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["eval", "minimax", "--game", "tictactoe", "--vs", "minimax", "--games", "100", "--json"]
    assert main([*words, "--opening-plies", "4"]) == 0
    row = json.loads(capsys.readouterr().out.splitlines()[0])
    assert row["opening_plies"] == 4
    assert row["win"] > 0 < row["loss"]  # from an opening that is lost, perfect play loses
    assert refused([*words, "--opening-plies", "-1"], capsys)
    assert refused(["eval", "random", "--game", "gridworld", "--games", "1", "--opening-plies", "2"], capsys)


@pytest.mark.parametrize(
    ("goal", "code", "verdict"),
    [
        ("random.win>=0.5", 0, "The goal is reached: random.win 0."),
        ("random.win>=0.5,random.loss<=0", 1, "The goal is missed: random.loss 0."),
    ],
)
def test_eval_says_whether_a_goal_is_reached(
    goal: str, code: int, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["eval", "greedy", "--game", "tictactoe", "--vs", "random", "--games", "100", "--goal", goal]
    assert main(words) == code
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(verdict)
    assert main([*words, "--json"]) == code
    assert verdict in capsys.readouterr().err
    assert refused([*words[:-1], "minimax.draw>=0.9"], capsys)


def test_eval_in_worlds(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["eval", "forager", "--game", "gridworld", "--preset", "a3_9x9", "--games", "8", "--ticks", "9"]
    assert main([*words, "--vs", "random", "--json"]) == 0
    said = capsys.readouterr()
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert [(row["player"], row["worlds"], row["ticks"]) for row in rows] == [("forager", 8, 9), ("random", 8, 9)]
    assert rows[0]["reward_interval"][0] <= rows[0]["reward"] <= rows[0]["reward_interval"][1]
    assert not said.err  # no terminal, no progress
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == ["forager", "random"]
    assert "held-out worlds, 9 ticks:" in lines[0]
    assert "of forager's" in lines[1]
    assert main([*words[:-3], "2", *words[-2:]]) == 0
    assert " to " not in capsys.readouterr().out  # two worlds: no interval


# -- bench -----------------------------------------------------------------------------------------------------------


def test_bench_prints_json_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from coterie import benchmarks

    made = [
        benchmarks.Measurement("a", 2e6, "steps/s", peer="other", peer_rate=1e6),
        benchmarks.Measurement("b", 3.0, "games/s", threads=2, more={"size": 8}),
    ]
    monkeypatch.setattr(benchmarks, "measurements", lambda room: iter(made))
    assert main(["bench", "envs", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == {
        "name": "a",
        "rate": 2e6,
        "unit": "steps/s",
        "threads": 1,
        "peer": "other",
        "peer_rate": 1e6,
        "ratio": 2.0,
    }
    assert (rows[1]["ratio"], rows[1]["size"]) == (None, 8)
    assert main(["bench", "envs"]) == 0
    assert "2 M steps/s" in capsys.readouterr().out


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["pley"], "'play'"),
        (["play", "tiktaktoe"], "'tictactoe-v0'"),
        (["envs", "tictacto"], "'tictactoe-v0'"),
        (["train", "tictacto"], "'tictactoe-v0'"),
        (["train", "tictactoe", "--lerning-rate", "1"], "'--learning-rate'"),
        (["train", "tictactoe", "--lr", "1"], "'--learning-rate'"),
        (["train", "tictactoe", "--decode", "fre"], "'free'"),
        (["train", "tictactoe", "--model=tiny", "--sceme=mixed"], "'--scheme'"),
        (["train", "tictactoe", "--scheme", "self_pley"], "'self_play'"),
        (["train", "tictactoe", "--model", "tyni"], "'tiny'"),
        (["play", "tictactoe", "--plyers", "random"], "'--players'"),
        (["play", "tictactoe", "--players", "minmax", "random"], "'minimax'"),
        (["play", "tictactoe", "--players", "random", "smollm"], "'smollm2'"),
        (["eval", "random", "--game", "tictactoe", "--vs", "randm"], "'random'"),
        (["bench", "env"], "'envs'"),
    ],
)
def test_a_misspelt_word_gets_a_suggestion(
    words: list[str], hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"Did you mean {hint}?" in refused(words, capsys)
    assert not list(tmp_path.iterdir()), "a refused command left something behind"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["train"], "Which game?"),
        (["train", "tictactoe", "--resume"], "--run DIR --resume"),
        (["train", "tictactoe", "--run", "nowhere", "--resume"], "There is no run in nowhere"),
        (["train", "--resume", "--run", "none"], "There is no run in none"),
        (["train", "--resume"], "--run DIR --resume"),
        (["train", "tictactoe", "--config", "nowhere.yaml"], "nowhere.yaml"),
        (["train", "tictactoe", "--games", "7"], "multiple of num_generations"),
        (["train", "tictactoe", "--temperature", "0"], "temperature"),
        (["eval", "nowhere"], "not a run folder"),
        (["eval", "random", "--game", "tictactoe", "--games", "1"], "at least 2"),
        (["eval", "random", "--game", "tictactoe", "--ticks", "5"], "--ticks is only for worlds"),
        (["eval", "random", "minimax", "--game", "tictactoe"], "Add --matrix"),
        (["eval", "random", "minimax", "--matrix", "--game", "tictactoe", "--vs", "random"], "--vs has no meaning"),
        (["view", "no/run"], "There is no file or folder no/run"),
        (["tictactoe"], "Type: coterie play tictactoe, or coterie train tictactoe"),
        (["chess-v0", "random"], "chess-v0 is a game, and a command comes first"),
        (["proposer_solver"], "Type: coterie train proposer_solver"),
        (["play", "tictactoe", "--players", "human:bob", "random"], "Unknown player 'human'. Known:"),
        (["play", "tictactoe", "--seed", "x"], "--seed: 'x' is not a whole number."),
        (["play", "tictactoe", "--seed"], "--seed: a value is missing."),
        (["play", "tictactoe", "--window=3"], "--window: this flag takes no value."),
        (["train", "tictactoe", "--updates", "many"], "--updates: 'many' is not a whole number."),
        (["train", "tictactoe", "--decode", "what"], "--decode: 'what' is not one of choice, constrained, free."),
        (["train", "tictactoe", "more"], "more: there is no such argument."),
        (["eval"], "RUN is missing."),
        (["bench"], "WHAT is missing."),
        (["train", "kuhn_poker", "--scheme", "fixed"], "can't use 'self', which changes as the learner does"),
        (
            ["train", "kuhn_poker", "--scheme", "mixed", "--opponents", "random=1,minimax=1"],
            "minimax is one of --opponents (random, minimax): name others.",
        ),
        (["tournament"], "name the game"),
        (["tournament", "random", "minimax"], "coterie tournament random minimax --game tictactoe"),
        (["tournament", "tictactoe", "random", "minimax"], "coterie tournament random minimax --game tictactoe"),
        (["tournament", "./gone", "random"], "./gone holds no run"),
        (["tournament", "random", "--game", "tictactoe"], "1 player cannot meet anybody"),
        (["tournament", "random", "minimax", "random", "--game", "tictactoe"], "random is named twice"),
        (["tournament", "random", "minmax", "--game", "tictactoe"], "Did you mean 'minimax'?"),
        (["tournament", "random", "minimax", "--game", "tictactoe", "--games", "0"], "0 games a pair"),
        (["tournament", "random", "minimax", "--game", "tictactoe", "--swiss", "2"], "can play 1 to 1 rounds"),
        (["tournament", "random", "minimax", "--game", "tictactoe", "--past", "-1"], "--past is -1"),
        (["tournament", "random", "minimax", "--game", "tictactoe", "--opening-plies", "-1"], "0 or more"),
        (["tournament", "random", "forager", "--game", "gridworld"], "a world that many share"),
        (["tournament", "random", "minimax", "--game", "highest_number", "--set", "players=3"], "game of 3"),
        (["play", "tictactoe", "--games", "0"], "at least 1"),
        (["play", "tictactoe", "--players", "random"], "has 2 players, but got 1"),
        (["play", "tictactoe", "--players", "random", "no/such-folder/here"], "no/such-folder/here"),
        (["play", "highest_number", "--players", "random", "random", "--gif", "x.gif"], "has no pictures"),
        (["play", "highest_number", "--players", "minimax", "random"], "cannot be solved"),
    ],
)
def test_a_bad_value_gets_one_sentence(words: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert part in refused(words, capsys)


def test_a_bad_gif_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    words = ["play", "tictactoe", "--players", "random", "random", "--gif", str(tmp_path / "file" / "x.gif")]
    assert main(words) == 2
    assert "Cannot write the GIF" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["- 1\n", "{", "game: highest_number\n"])
def test_a_bad_config_file(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.yaml").write_text(text)
    assert "c.yaml" in refused(["train", "tictactoe", "--config", "c.yaml"], capsys)


def test_a_misspelt_field_in_a_config_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.yaml").write_text("optimizer: {lerning_rate: 0.1}\n")
    told = refused(["train", "tictactoe", "--config", "c.yaml"], capsys)
    assert "field of optimizer 'lerning_rate'. Did you mean 'learning_rate'?" in told
    (tmp_path / "c.yaml").write_text("game: tictactoe\noptimiser: {learning_rate: 0.1}\n")
    assert "field of a run 'optimiser'. Did you mean 'optimizer'?" in refused(["train", "--config", "c.yaml"], capsys)


def test_debug_shows_where(monkeypatch: pytest.MonkeyPatch) -> None:
    from coterie.errors import UnknownName

    monkeypatch.setenv("COTERIE_DEBUG", "1")
    with pytest.raises(UnknownName):
        main(["play", "tiktaktoe"])


# -- leaving in the middle -------------------------------------------------------------------------------------------


def test_ctrl_c_is_polite(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(prompt: str = "") -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("coterie.agents.human.terminal.HumanAgent._ask", lambda self, turn: interrupted())
    assert main(["play", "tictactoe"]) == 130
    said = capsys.readouterr().err
    assert said == "\nInterrupted.\n"


def test_a_closed_pipe_is_no_error() -> None:
    code = (
        "import sys; from coterie.cli import main; sys.exit(main(['play', 'tictactoe', '--players', *2 * ['random']]))"
    )
    done = subprocess.run(
        ["bash", "-c", f'set -o pipefail; "{sys.executable}" -c "{code}" | true'],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    assert done.returncode == 0


def test_leaving_a_game_whose_reader_has_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Pipe(io.TextIOWrapper):
        """Its reader leaves just before the last line."""

        def write(self, text: str) -> int:
            if "left the game" in text:
                raise BrokenPipeError
            return super().write(text)

    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    with Pipe((tmp_path / "out").open("wb")) as out:
        monkeypatch.setattr("sys.stdout", out)
        assert main(["play", "tictactoe"]) == 0


@pytest.mark.parametrize("name", ["TrainConfig", "NetConfig"])
def test_the_arguments_of_train_are_one_class_a_configuration(name):
    """Each new one would be kept for ever: many trainings in one process would lose memory."""
    from coterie.cli.arguments import train_arguments
    from coterie.training.runs.config import TrainConfig
    from coterie.training.runs.net_config import NetConfig

    config = {"TrainConfig": TrainConfig, "NetConfig": NetConfig}[name]
    assert train_arguments(config) is train_arguments(config)
