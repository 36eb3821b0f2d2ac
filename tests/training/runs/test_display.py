"""What people see of a run: lines, the live table, curves."""

from __future__ import annotations

import io

import pytest

pytest.importorskip("torch")
pytest.importorskip("rich")
pytest.importorskip("matplotlib")

from coterie.training.loop import Trainer
from coterie.training.runs.display import Display, plain_line, plot_curves

RESULT = {"opponent": "random", "games": 100, "win": 0.5, "draw": 0.2, "loss": 0.3}


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

    display = Display(tensorboard=False, live=False, curves=False)
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
    class Writer:
        def __init__(self):
            self.told = {}

        def add_scalar(self, name, value, step):
            assert (name, step) not in self.told, "one would hide the other"
            self.told[name, step] = value

    display = Display(tensorboard=False, live=False, curves=False)
    display._writer = Writer()
    worlds = [{"player": name, "reward": k} for k, name in enumerate(("main", "random", "forager"))]
    display._write({"update": 4, "eval": [*worlds, {"opponent": "minimax", "win": 0.5}]})
    assert display._writer.told == {
        ("eval_worlds/reward_main", 4): 0,
        ("eval_worlds/reward_random", 4): 1,
        ("eval_worlds/reward_forager", 4): 2,
        ("eval_minimax/win", 4): 0.5,
    }
