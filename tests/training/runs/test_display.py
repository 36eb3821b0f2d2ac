"""What people see of a run: lines, the live table, curves."""

from __future__ import annotations

import io
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("rich")
pytest.importorskip("matplotlib")

from coterie.errors import MissingExtra, UnknownName
from coterie.training.loop import Trainer
from coterie.training.runs.display import Display, Lines, plain_line, plot_curves
from coterie.training.runs.trackers import scalars

RESULT = {"opponent": "random", "games": 100, "win": 0.5, "draw": 0.2, "loss": 0.3}
RESULT |= {"win_interval": [0.4, 0.6], "draw_interval": [0.1, 0.3], "loss_interval": [0.2, 0.4]}


def row(update, **fields):
    base = {
        "update": update, "reward": 0.25, "win": 0.5, "draw": 0.25, "loss_share": 0.25, "games": 64, "illegal": 0.0,
        "kept_groups": 0.8, "decisions_per_second": 1500.0, "entropy": 1.2, "approx_kl": 0.01, "elapsed": 65.0 + update,
    }  # fmt: skip
    return base | fields


@pytest.mark.parametrize(
    "rows",
    [
        [row(0)],
        [row(0), row(1, eval=[RESULT]), row(2, eval=[RESULT, RESULT | {"opponent": "minimax", "win": 0.0}])],
        [{k: v for k, v in row(0).items() if k not in ("entropy", "approx_kl")}],
        [row(0, task={"pass_rate": 0.5, "reward/Solver": 0.5}), row(1), row(2, task={"pass_rate": 0.6, "level": 3.0})],
    ],
)
def test_curves_are_a_picture(rows, tmp_path):
    image = pytest.importorskip("PIL.Image")
    plot_curves(rows, tmp_path / "curves.png")
    with image.open(tmp_path / "curves.png") as picture:
        picture.load()
        assert picture.format == "PNG"
        assert min(picture.size) > 200
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 10


def test_a_line_says_what_a_table_would():
    said = plain_line(row(1, eval=[RESULT]))
    for part in ("update 2", "1:06", "reward +0.250", "entropy 1.200", "KL 0.0100", "1500 decisions/s"):
        assert part in said
    assert "vs random 50.0%/20.0%/30.0%" in said


def test_the_live_table_shows_everything_that_is_promised(small):
    from rich.console import Console

    display = Display(report_to="none", live=False, curves=False)
    display.console = Console(record=True, width=140, file=io.StringIO())
    display.start(Trainer(small))
    display.update(row(2, eval=[RESULT]))
    display.console.print(display._table(row(2)))
    display.stop()
    said = display.console.export_text()
    for part in ("tictactoe-v0", "seed 0", "update 3", "to go", "decisions/s", "reward", "illegal", "entropy", "KL"):
        assert part in said
    assert "against random (greedy)" in said
    assert "±" in said
    assert "kept groups 80%" in said


def test_tensorboard_keeps_the_players_of_a_world_apart():
    worlds = [{"player": name, "worlds": 4, "reward": k} for k, name in enumerate(("main", "random", "forager"))]
    assert scalars({"update": 4, "eval": [*worlds, {"opponent": "minimax", "win": 0.5}], "notes": ["no number"]}) == {
        "eval_worlds/reward_main": 0,
        "eval_worlds/reward_random": 1,
        "eval_worlds/reward_forager": 2,
        "eval_minimax/win": 0.5,
    }


def test_several_learners_against_one_opponent_are_kept_apart():
    matches = [{"player": name, "opponent": "random", "win": k} for k, name in enumerate(("main", "main-2"))]
    own = {"main": {"entropy": 0.5}, "main-2": {"entropy": 0.25}}
    assert scalars({"update": 4, "eval": matches, "players": own}) == {
        "main/entropy": 0.5,
        "main-2/entropy": 0.25,
        "eval_random/win_main": 0,
        "eval_random/win_main-2": 1,
    }


class FakeTracker:
    """Stands in for wandb."""

    def __init__(self):
        self.calls = []

    def init(self, **said):
        self.calls.append(("init", said))

    def log(self, numbers, step):
        self.calls.append(("log", step, numbers))

    def finish(self):
        self.calls.append(("finish",))


@pytest.mark.parametrize("name", ["wandb"])
def test_numbers_and_hyperparameters_go_to_a_tracker(name, small, tmp_path, monkeypatch):
    from coterie.training.runs.folder import Run

    fake = FakeTracker()
    monkeypatch.setitem(sys.modules, name, fake)
    display = Display(report_to=name, live=False)
    display.start(Trainer(small, Run.create(tmp_path / "run", small)))
    display.update(row(3, eval=[RESULT]))
    display.stop()
    (_, said), (_, step, numbers), last = fake.calls
    assert (said["project"], said["name"], said["config"]["optimizer.learning_rate"]) == ("coterie", "run", 1e-3)
    assert (step, numbers["reward"], numbers["eval_random/win"]) == (3, 0.25, 0.5)
    assert last == ("finish",)


def test_a_tracker_that_is_not_installed_or_not_known(small, tmp_path, monkeypatch):
    from coterie.training.runs.folder import Run

    monkeypatch.setitem(sys.modules, "wandb", None)
    trainer = Trainer(small, Run.create(tmp_path / "run", small))
    with pytest.raises(MissingExtra, match=r"'wandb'. Type: pip install 'coterie\[track\]'"):
        Display(report_to="wandb", live=False).start(trainer)
    with pytest.raises(UnknownName, match="Did you mean 'wandb'"):
        Display(report_to="wnadb", live=False).start(trainer)


def test_tensorboard_gets_scalars_and_hyperparameters(small, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from coterie.training.runs.folder import Run

    display = Display(live=False, curves=False)
    display.start(Trainer(small, Run.create(tmp_path / "run", small)))
    display.update(row(0) | {"clip_ratio/region_mean": 0.125})
    display.stop()
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    assert events.Scalars("clip_ratio/region_mean")[0].value == 0.125
    hyper = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    assert b"optimizer.learning_rate" in hyper


def test_a_line_an_update_without_a_terminal_at_once(small, capsys):
    class Watched:
        run, config, updates = None, small, 0

        def headline(self):
            return "tictactoe-v0  a model"

    lines = Lines()
    lines.start(Watched())
    for update in range(3):
        lines.update(row(update, notes=["a note"] if update == 1 else []))
    lines.stop()
    said = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in said] == [
        "tictactoe-v0", "update 1", "a note", "update 2", "update 3",
    ]  # fmt: skip


def test_a_tasks_figures_have_panels_of_their_own(tmp_path):
    image = pytest.importorskip("PIL.Image")

    def width(**task):
        plot_curves([row(k, task=task) for k in range(3)], tmp_path / "curves.png")
        with image.open(tmp_path / "curves.png") as picture:
            return picture.size[0]

    assert width(pass_rate=0.5, level=3.0) == 2 * width() == 2 * width(**{"reward/Solver": 0.5})
