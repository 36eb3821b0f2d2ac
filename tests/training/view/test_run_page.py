"""The page of a run: what is read of its folder, how curves are thinned, what happens to damaged files."""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
from coterie.errors import UsageError
from coterie.renderers.web.page import page
from coterie.training.runs.config import NetConfig, TaskConfig, TrainConfig, save_config
from coterie.training.runs.folder import Run
from coterie.training.runs.presets import preset
from coterie.training.view.run import RunPage, show
from coterie.training.view.series import FIGURES, LINE, POINTS, Series

PAYOFF = {
    "main": {"main@25": {"games": 10.0, "points": 7.5, "margin": 3.0}},
    "main@25": {"main": {"games": 10.0, "points": 2.5, "margin": -3.0}},
}
LINEAGE = [
    {"player": "main@25", "how": "snapshot", "update": 25, "parents": {"main": 1.0}},
    {"player": "rival", "how": "reset", "update": 25, "parents": {}},
]


def row(update: int, **more: Any) -> str:
    told = {"update": update, "elapsed": 0.5 * update, "reward": update / 100, "entropy": 1.0, **more}
    return json.dumps(told) + "\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "a run"
    kept = Run.create(folder, preset("tictactoe"))
    evaluation = {"opponent": "random", "games": 100, "win": 0.9, "draw": 0.1, "loss": 0.0, "win_interval": [0.8, 0.95]}
    with (folder / "metrics.jsonl").open("a") as file:
        file.writelines(row(k, **({"eval": [evaluation]} if k % 10 == 9 else {})) for k in range(50))
    state = {"pool": {"live": ["main"], "lineage": LINEAGE}, "scheme": {"payoff": PAYOFF}}
    kept.save(50, {}, state | {"model": {"id": "tiny-v2", "hash": "abc"}})
    for version in ("v000025", "v000050"):
        (folder / "players" / "main" / version).mkdir(parents=True)
    return folder


def test_all_that_a_run_holds_is_on_its_page(run: Path) -> None:
    data = RunPage(run).changes()
    facts = data["facts"]
    assert (data["rows"], data["stride"]) == (50, 1)
    assert data["points"]["reward"][:3] == [0.0, 0.01, 0.02]
    assert data["points"]["minutes"][6] == 0.05
    assert data["evaluations"][0]["title"] == "random"
    assert data["evaluations"][0]["columns"]["win"] == [0.9] * 5
    assert data["last"]["rows"][0]["win_interval"] == [0.8, 0.95]
    assert facts["players"] == [{"name": "main", "versions": [25, 50]}]
    assert facts["payoff"]["rates"] == [[None, 0.75], [0.25, None]]
    assert [e["how"] for e in facts["lineage"]] == ["snapshot", "reset"]
    assert facts["checkpoints"] == [50]
    assert facts["command"] == "coterie train tictactoe"
    assert "faults" not in facts
    assert any(name == "python" for name, _ in facts["environment"])
    assert not any("home" in str(value).lower() for _, value in facts["environment"])


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (TrainConfig(game="connect_four-v0", seed=3), "coterie train connect_four --seed 3"),
        (TaskConfig(task="proposer_solver", seed=3), "coterie train proposer_solver --seed 3"),
        (NetConfig(seed=3, minutes=1.0), "coterie train gridworld --policy net --seed 3 --minutes 1.0"),
    ],
)
def test_what_was_changed_is_marked_and_the_command_says_it(tmp_path: Path, config: Any, words: str) -> None:
    save_config(config, tmp_path / "config.yaml")
    facts = RunPage(tmp_path).changes()["facts"]
    assert facts["command"].startswith(words.rpartition(" --seed")[0])
    assert "--seed 3" in facts["command"]
    (seed,) = [line for line in facts["config"] if line["name"] == "seed"]
    assert seed == {"name": "seed", "value": "3", "usual": "0"}
    assert not [line for line in facts["config"] if line["name"] in ("game", "task") and "usual" in line]


def test_a_page_learns_what_is_new_alone(run: Path) -> None:
    os.utime(run / "players", (0, 0))  # a file system's clock may tick every 10 ms only
    page_ = RunPage(run)
    first = page_.changes()
    known = {name: first[name] for name in ("rows", "stride", "stamp")}
    again = page_.changes(**known)
    assert again["points"] == {}
    assert "facts" not in again
    with (run / "metrics.jsonl").open("a") as file:
        file.write(row(50) + row(51)[:-9])  # the second line is still being written
    new = page_.changes(**known)
    assert (new["rows"], new["first"]) == (51, 50)
    assert new["points"]["update"] == [50.0]
    with (run / "metrics.jsonl").open("a") as file:
        file.write(row(51)[-9:])
    assert page_.changes(51, 1, new["stamp"])["points"]["update"] == [51.0]
    (run / "players" / "new" / "v000001").mkdir(parents=True)
    assert len(page_.changes(52, 1, new["stamp"])["facts"]["players"]) == 2


def test_a_run_that_was_resumed_earlier_is_read_anew(run: Path) -> None:
    page_ = RunPage(run)
    page_.changes()
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    (run / "metrics.jsonl").write_text("".join(lines[:20]))
    data = page_.changes(50, 1, 0)
    assert (data["rows"], data["first"], len(data["points"]["reward"])) == (20, 0, 20)
    os.remove(run / "metrics.jsonl")
    assert page_.changes()["rows"] == 0


def test_damaged_lines_are_skipped_and_counted(run: Path) -> None:
    bad = ["{", "[]", "null", '{"update": 1}', '{"update": "x", "elapsed": 1}', '{"update": 1e999, "elapsed": 1}']
    bad += [
        '{"update": 1, "elapsed": 1, "eval": 3}',
        '{"update": 1, "elapsed": 1, "eval": [3]}',
        "\x00\x01",
        "[" * 9000,
        f'{{"update": {10**400}, "elapsed": 1}}',
    ]
    with (run / "metrics.jsonl").open("a") as file:
        file.write("\n".join(bad) + "\n" + row(50, odd=float("nan"), more=float("inf"), big=10**400))
    data = RunPage(run).changes()
    assert data["rows"] == 51
    assert data["skipped"]["count"] == len(bad)
    assert data["skipped"]["lines"] == [51, 52, 53, 54, 55]
    assert data["points"]["odd"][-1] is None
    json.dumps(data, allow_nan=False)


def test_long_runs_are_thinned_to_means(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with path.open("w") as file:
        file.writelines(row(k, **({"rare": k} if k == 4000 else {})) for k in range(5001))
    series = Series(path)
    series.catch_up()
    points = series.points()
    assert series.stride() == 8
    assert len(points["update"]) == 626
    assert len(points["update"]) <= POINTS
    assert points["update"][0] == 3.5
    assert points["update"][-1] == 5000
    assert points["reward"][1] == pytest.approx(0.115)
    assert points["rare"][500] == 4000
    assert points["rare"][499] is None
    assert len(points["rare"]) == 626
    assert series.points(600)["update"] == points["update"][600:]


def test_what_cannot_be_read_is_named_and_the_rest_is_shown(run: Path) -> None:
    (run / "config.yaml").write_text("game: [1\n")
    (run / "environment.json").write_text("{")
    (run / "checkpoints" / "000099").mkdir()
    (run / "checkpoints" / "000099" / "state.json").write_text('{"pool": ')
    (run / "transcripts").mkdir()
    (run / "transcripts" / "000003.jsonl.gz").write_bytes(b"no")
    data = RunPage(run).changes()
    told = " ".join(data["facts"]["faults"])
    for name in ("config.yaml", "environment.json", "transcripts"):
        assert name in told
    assert data["facts"]["payoff"]
    assert data["rows"] == 50


def test_a_line_that_is_too_long_is_one_damaged_line(run: Path) -> None:
    with (run / "metrics.jsonl").open("a") as file:
        file.write("x" * (2 * LINE + 9) + "\n" + row(50))
    data = RunPage(run).changes()
    assert data["rows"] == 51
    assert data["skipped"] == {"count": 1, "lines": [51], "full": False}


@pytest.mark.parametrize(
    "state",
    [
        {"scheme": {"payoff": {"a": {"a": {"games": math.inf, "points": 1}}}}},
        {"scheme": {"payoff": {"a": {"a": {"games": 1, "points": math.nan}}}}},
        {"pool": {"lineage": [{"player": "a", "how": "reset", "update": 1, "parents": {"b": math.nan}}]}},
    ],
)
def test_numbers_that_json_lacks_are_left_out(run: Path, state: dict[str, Any]) -> None:
    (run / "checkpoints" / "000099").mkdir()
    (run / "checkpoints" / "000099" / "state.json").write_text(json.dumps(state))
    with (run / "metrics.jsonl").open("a") as file:
        file.write(row(50, eval=[{"opponent": "random", "win": 10**400, "draw": math.nan}]))
    data = RunPage(run).changes()
    assert data["evaluations"][0]["columns"]["win"] == [0.9] * 5 + [None]
    json.dumps(data, allow_nan=False)


def test_evaluations_of_ever_new_figures_stay_small(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with path.open("w") as file:
        for k in range(50):
            figures = {f"figure {k} {n}": 1.0 for n in range(50)}
            file.write(row(k, eval=[{"opponent": "random", "games": 10, **figures}]))
    series = Series(path)
    series.catch_up()
    (found,) = series.evaluations()
    assert len(found["columns"]) == FIGURES
    assert found["columns"]["games"] == [10.0] * 50


def test_metrics_that_cannot_be_opened_are_named(run: Path) -> None:
    page_ = RunPage(run)
    stamp = page_.changes()["stamp"]
    (run / "metrics.jsonl").unlink()
    (run / "metrics.jsonl").mkdir()
    data = page_.changes(50, 1, stamp)
    assert data["rows"] == 0
    assert data["facts"]["faults"] == ["metrics.jsonl: Is a directory"]


def test_a_folder_whose_name_is_no_text_has_a_page(run: Path) -> None:
    odd = run.rename(run.with_name("odd \udcff <b>"))
    text = page(show([RunPage(odd)], live=False))
    assert "<title>odd &#56575; &lt;b&gt;</title>" in text
    assert text.encode()


def test_a_game_of_a_module_is_shown_and_not_imported(run: Path) -> None:
    text = (run / "config.yaml").read_text().replace("game: tictactoe", "game: pettingzoo:antigravity")
    (run / "config.yaml").write_text(text)
    facts = RunPage(run).changes()["facts"]
    assert "pettingzoo:antigravity" in (facts["game"], *(line["value"] for line in facts["config"]))


def test_links_that_lead_out_of_the_folder_are_not_followed(run: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "state.json").write_text('{"model": {"id": "secret", "hash": ""}}')
    (secret / "file").write_text(row(777))
    shutil.rmtree(run / "checkpoints")
    (run / "checkpoints").symlink_to(tmp_path)
    (run / "environment.json").unlink()
    (run / "environment.json").symlink_to(secret / "state.json")
    (run / "metrics.jsonl").unlink()
    (run / "metrics.jsonl").symlink_to(secret / "file")
    data = RunPage(run).changes()
    assert data["rows"] == 0
    assert "secret" not in json.dumps(data["facts"].get("environment", "")) + json.dumps(data["facts"].get("model", ""))


def test_a_page_in_a_file_holds_its_runs_and_no_markup(run: Path) -> None:
    nasty = run.with_name("<img src=x onerror=alert(1)>")
    shutil.copytree(run, nasty)
    with (nasty / "metrics.jsonl").open("a") as file:
        file.write(row(50, **{"</script><script>alert(2)</script>": 1.0}))
    data = show([RunPage(run), RunPage(nasty)], live=False)
    assert [one["rows"] for one in data["runs"]] == [50, 51]
    text = page(data)
    assert "<img" not in text
    assert "</script><script>alert" not in text


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no run"):
        RunPage(tmp_path)


def test_a_tournament_has_a_page(tmp_path: Path) -> None:
    players = [{"player": "a", "elo": 10.0, "elo_interval": [1.0, 20.0]}, {"player": "b", "elo": -10.0}]
    results = {"game": "tictactoe-v0", "players": players, "payoff": [[None, 0.5], [-0.5, None]]}
    (tmp_path / "results.json").write_text(json.dumps(results))
    facts = RunPage(tmp_path).changes()["facts"]
    assert facts["results"]["players"][0]["elo"] == 10.0
    assert facts["results"]["payoff"] == [[None, 0.5], [-0.5, None]]
