"""Trainers in three lines."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from coterie import (
    FictitiousGANConfig,
    FictitiousGANTrainer,
    LeagueConfig,
    LeagueTrainer,
    SelfPlayConfig,
    SelfPlayTrainer,
)
from coterie.errors import RunError, UnknownName, UsageError
from coterie.games.tictactoe import play as tictactoe
from coterie.training.loop import Outcome

SMALL = {"rounds": 1, "matches": 8, "threads": 1, "settings": {"budget": {"eval_games": 4}}}


class Silent:
    """A watcher that counts."""

    def __init__(self) -> None:
        self.updates = 0

    def start(self, trainer) -> None:
        pass

    def update(self, row) -> None:
        self.updates += 1

    def stop(self) -> None:
        pass


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def larger(a, b):
    """The larger number wins."""
    x, y = (player.choose("A number:", ["1", "2", "3"]) for player in (a, b))
    return (x > y) - (x < y), (x < y) - (x > y)


def test_self_play_of_a_game_of_ours() -> None:
    trainer = SelfPlayTrainer(SelfPlayConfig(epochs=2, **SMALL), watcher=(watcher := Silent()))
    outcome = trainer.train("tiny", tictactoe)
    assert isinstance(outcome, Outcome)
    assert watcher.updates == outcome.updates == 2
    assert list(trainer.players) == ["main", "main@1"]
    rows = trainer.leaderboard
    assert {row["player"] for row in rows} == {"main", "main@1", "random"}
    assert [row["elo"] for row in rows] == sorted((row["elo"] for row in rows), reverse=True)
    assert sum(row["points"] for row in rows) == pytest.approx(1.5)  # one point a game
    assert all(row["elo_interval"][0] < row["elo"] < row["elo_interval"][1] for row in rows)
    config = yaml.safe_load((outcome.run / "config.yaml").read_text())
    assert (config["game"], config["scheme"]["scheme"]) == ("tictactoe-v0", "self_play")
    assert tictactoe(trainer.players["main"], "random") in ([1, -1], [0, 0], [-1, 1])


def test_an_interrupted_run_goes_on() -> None:
    SelfPlayTrainer(SelfPlayConfig(epochs=1, **SMALL), watcher=Silent()).train("tiny", "tictactoe", run="run")
    with pytest.raises(RunError, match="run"):
        SelfPlayTrainer(SelfPlayConfig(epochs=1, **SMALL), watcher=Silent()).train("tiny", "tictactoe", run="run")
    longer = SelfPlayTrainer(SelfPlayConfig(epochs=2, **SMALL), watcher=Silent())
    assert longer.train("tiny", "tictactoe", run="run", resume=True).updates == 2


def test_a_function_is_a_game() -> None:
    trainer = SelfPlayTrainer(SelfPlayConfig(epochs=1, **SMALL), watcher=Silent())
    outcome = trainer.train("tiny", larger)
    assert trainer.game.info.id == "play:larger-v0"
    assert outcome.run.name.startswith("play-larger-")
    assert outcome.evaluation[0]["illegal"] == 0


def test_a_game_is_the_one_of_its_preset() -> None:
    trainer = SelfPlayTrainer(SelfPlayConfig(epochs=1, **SMALL), watcher=Silent())
    trainer.train("tiny", "word_chain")
    assert trainer.game.config["words"] == "tiny"
    assert list(trainer.players) == ["main"]


def test_open_texts_are_decoded_freely() -> None:
    def longest(a, b):
        x, y = (len(player.say("Say much:", max_length=20)) for player in (a, b))
        return x - y, y - x

    trainer = SelfPlayTrainer(SelfPlayConfig(epochs=1, **SMALL), watcher=Silent())
    outcome = trainer.train("tiny", longest)
    policy = yaml.safe_load((outcome.run / "config.yaml").read_text())["policy"]
    assert (policy["decode"], policy["max_completion_length"]) == ("free", 21)


def test_a_league() -> None:
    trainer = LeagueTrainer(LeagueConfig(epochs=1, players=4, **SMALL), watcher=Silent())
    trainer.train("tiny", larger)
    known = {name.partition("@")[0] for name in trainer.players}
    assert known == {"main", "main_exploiter", "league_exploiter", "league_exploiter-2"}
    found = LeagueConfig(matches=80).of("tictactoe", "tiny", "league")
    assert (found.scheme.learners, found.scheme.main_exploiters, found.scheme.league_exploiters) == (2, 1, 2)
    assert found.rollout.games == 5 * 80


def test_two_adversaries() -> None:
    trainer = FictitiousGANTrainer(FictitiousGANConfig(epochs=1, **SMALL), watcher=Silent())
    trainer.train("tiny", larger)
    assert {name.partition("@")[0] for name in trainer.players} == {"main", "main-2"}


def test_a_scheme_of_your_own() -> None:
    from coterie.training.schemes.self_play import SelfPlay

    def alone(config, players):
        return SelfPlay(players, ("solo",))

    trainer = SelfPlayTrainer(SelfPlayConfig(epochs=1, **SMALL), scheme=alone, watcher=Silent())
    trainer.train("tiny", larger)
    assert list(trainer.players) == ["solo"]


def test_peft_and_trl_set_what_they_name() -> None:
    from peft import LoraConfig
    from trl import GRPOConfig

    lora = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"])
    grpo = GRPOConfig(
        output_dir="unused",
        use_cpu=True,
        bf16=False,
        learning_rate=3e-4,
        num_generations=4,
        per_device_train_batch_size=16,
    )
    config = SelfPlayConfig(peft_config=lora, trl_config=grpo, settings={"optimizer": {"beta2": 0.95}})
    game = "tictactoe"
    found = config.of(game, "tiny", "self_play")
    assert (found.policy.lora_r, found.policy.lora_alpha, found.policy.target_modules) == (4, 8, "q_proj,v_proj")
    assert (found.optimizer.learning_rate, found.rollout.games, found.optimizer.beta2) == (3e-4, 16, 0.95)
    assert found.budget.updates == 40
    with pytest.raises(UsageError, match="use_rslora"):
        SelfPlayConfig(peft_config=LoraConfig(use_rslora=True)).of(game, "tiny", "self_play")
    with pytest.raises(UsageError, match=r"needs a peft\.LoraConfig"):
        SelfPlayConfig(peft_config=object()).of(game, "tiny", "self_play")  # type: ignore[arg-type]


def test_matches_are_whole_groups() -> None:
    found = SelfPlayConfig(epochs=3, rounds=7, matches=100).of("tictactoe", "tiny", "self_play")
    assert (found.rollout.games, found.budget.updates, found.scheme.snapshot_every) == (104, 21, 7)


@pytest.mark.parametrize(
    ("config", "match"),
    [
        (lambda: SelfPlayConfig(epochs=0), "epochs is 0"),
        (lambda: SelfPlayConfig(settings={"optimiser": {}}), "optimiser.*optimizer"),
        (lambda: LeagueConfig(players=2), "players is 2"),
        (lambda: LeagueConfig(main_weight=0), "above 0"),
    ],
)
def test_bad_settings(config, match) -> None:
    with pytest.raises(UsageError, match=match):
        config().of("tictactoe", "tiny", "self_play")


def test_bad_calls() -> None:
    trainer = SelfPlayTrainer(SelfPlayConfig(epochs=1, **SMALL), watcher=Silent())
    for name in ("players", "leaderboard", "game"):
        with pytest.raises(UsageError, match="Nothing has been trained yet"):
            getattr(trainer, name)
    with pytest.raises(UnknownName, match="Did you mean 'tictactoe"):
        trainer.train("tiny", "tictacto")
    with pytest.raises(UnknownName, match="scheme"):
        SelfPlayTrainer(SelfPlayConfig(epochs=1, **SMALL), scheme="selfplay").train("tiny", larger)
    assert not Path("runs").exists()


def test_a_game_that_fails_costs_no_update() -> None:
    watcher = Silent()

    def fragile(a, b):
        a.choose("?", ["1"])
        return (0, 0) if watcher.updates < 2 else None

    config = SelfPlayConfig(epochs=4, minutes=9, **SMALL)
    trainer = SelfPlayTrainer(config, watcher=watcher)
    with pytest.raises(UsageError, match="play:fragile returned None"):
        trainer.train("tiny", fragile, run="run")
    assert list(Path("run/players/main").glob("v*2"))


def test_a_function_without_an_end_is_told_of_before_anything_learns() -> None:
    def forever(a, b):
        while True:
            a.choose("Again?", ["yes", "no"])

    watcher = Silent()
    with pytest.raises(UsageError, match=r"asked more than 200 times without an end.*3 games with random answers"):
        SelfPlayTrainer(SelfPlayConfig(epochs=1, **SMALL), watcher=watcher).train("tiny", forever, run="endless")
    assert not Path("endless").exists()


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as uploading a small folder needs; ``server.files`` is what was uploaded."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer: dict[str, object] = {}
        if self.headers["authorization"] != "Bearer hf_right":
            self.send_error(401)
            return
        if self.path.endswith("/repos/create"):
            self.server.created = json.loads(body)  # type: ignore[attr-defined]
            answer = {"url": f"{self.server.address}/someone/player"}  # type: ignore[attr-defined]
        elif "/preupload/" in self.path:
            asked = json.loads(body)["files"]
            answer = {"files": [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in asked]}
        elif "/commit/" in self.path:
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    value = line["value"]
                    self.server.files[value["path"]] = base64.b64decode(value["content"])  # type: ignore[attr-defined]
            url = f"{self.server.address}/someone/player/commit/abc"  # type: ignore[attr-defined]
            answer = {"success": True, "commitOid": "abc", "commitUrl": url, "hookOutput": ""}
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.files, server.address = {}, f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_player_is_pushed_to_the_hub(hub) -> None:
    trainer = SelfPlayTrainer(SelfPlayConfig(epochs=1, **SMALL), watcher=Silent())
    with pytest.raises(UsageError, match="Nothing has been trained"):
        trainer.push_to_hub("someone/player")
    trainer.train("tiny", larger)
    url = trainer.push_to_hub("someone/player", token="hf_right", endpoint=hub.address, private=True)
    assert url.endswith("/someone/player/commit/abc")
    assert hub.created.get("visibility", hub.created.get("private")) in ("private", True)
    saved = trainer.outcome.run / "players" / "main" / "v000001"
    assert set(hub.files) == {file.name for file in saved.iterdir()}
    assert hub.files["adapter_model.safetensors"] == (saved / "adapter_model.safetensors").read_bytes()
    assert b"play:larger" in hub.files["README.md"]
    with pytest.raises(RunError, match=r"could not be uploaded to someone/player: .*401"):
        trainer.push_to_hub("someone/player", token="hf_wrong", endpoint=hub.address)
    with pytest.raises(RunError, match="no saved player 'man'; it has: main"):
        trainer.push_to_hub("someone/player", player="man")
    with pytest.raises(RunError, match="not a name"):
        trainer.push_to_hub("not a name", token="hf_right", endpoint=hub.address)


@pytest.mark.parametrize(
    ("game", "command"),
    [
        ("tictactoe-v0", "coterie train --run runs/a --resume"),
        ("pettingzoo:my_game-v0", "coterie train pettingzoo:my_game --run runs/a --resume"),
        ("play:larger-v0", "train(model, play, run='runs/a', resume=True)"),
    ],
)
def test_how_to_resume_names_what_only_you_may_name(game: str, command: str) -> None:
    from coterie.training.runs.config import TrainConfig
    from coterie.training.runs.folder import Run
    from coterie.training.runs.outcome import how_to_resume

    assert how_to_resume(Run(Path("runs/a"), TrainConfig(game=game)), 3).endswith(f"Continue with: {command}")
