"""Pages' data: every registered game becomes a show whose frames tell the game from its start to its end."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from coterie.aliases import State
from coterie.cli import main
from coterie.envs import list_envs, make_game
from coterie.envs.core import Game, GameRecord
from coterie.envs.registry import spec
from coterie.envs.replay.file import write_json
from coterie.errors import UsageError
from coterie.renderers.board import PALETTE, Canvas, Frame, mixed
from coterie.renderers.web import recording
from coterie.renderers.web.page import as_data, page, write_page
from coterie.renderers.web.shows import show, spoken

GAMES = [id for id in list_envs() if id != "gridworld-v0"]


@pytest.mark.parametrize("id", GAMES)
def test_a_show_tells_the_game(id: str, played: Callable[..., GameRecord]) -> None:
    game = make_game(id)
    record = played(game)
    found = show(game, record)
    assert found == json.loads(json.dumps(found, allow_nan=False))
    assert len(found["frames"]) == len(record.actions) + 1
    assert [seat["name"] for seat in found["seats"]] == game.info.agents
    assert (found["goal"], found["rules"]) == (game.goal, game.rules)
    paid = np.sum([frame["rewards"] for frame in found["frames"]], 0)
    np.testing.assert_allclose(paid, record.returns, atol=1e-5)
    assert all(frame["text"].strip() for frame in found["frames"])
    assert [bool(frame["status"]) for frame in found["frames"]] == [False] * len(record.actions) + [True]
    for frame in found["frames"][1:]:
        assert frame["move"] or frame.get("said")
        assert all(0 <= cell < len(found["boxes"]) for cell in frame.get("cells", ()))
    drawn = bool(spec(id).draw)
    assert all((frame["picture"] is not None) == drawn for frame in found["frames"])
    if drawn:
        pictures = [frame["picture"] for frame in found["frames"]]
        assert all(before != after for before, after in itertools.pairwise(pictures))
        assert {n for picture in pictures for n in picture} == set(range(len(found["shapes"])))
        assert all(math.isfinite(v) for box in found["boxes"] for v in box)


def test_a_game_with_talk_shows_the_board_and_what_was_said(played: Callable[..., GameRecord]) -> None:
    game = make_game("negotiation", talk=40)
    found = show(game, played(game))
    assert found["kind"] == "board"
    assert found["frames"][0]["picture"]
    said = [(seat, text) for frame in found["frames"] for seat, text in frame.get("said", ())]
    assert said
    assert all(seat == frame["by"] for frame in found["frames"] for seat, _ in frame.get("said", ()))


def test_an_illegal_answer_ends_the_show_with_a_frame_of_its_own(played: Callable[..., GameRecord]) -> None:
    game = make_game("tictactoe")
    record = played(game, most=3)
    comments = {3: "I resign"}
    found = show(game, replace(record, status=1, illegal=1, returns=(0.0, -1.0), comments=comments))
    last = found["frames"][-1]
    assert (last["by"], last["rewards"], last["comment"]) == (1, [0.0, -1.0], ["I resign"])
    assert "player_1 (random) gave an answer that is no legal action" in last["status"]
    assert not found["frames"][-2]["status"]
    assert found["frames"][-2]["mover"] == 1


def test_the_result_of_a_game_that_was_given_up_is_paid_in_the_last_frame(played: Callable[..., GameRecord]) -> None:
    game = make_game("tictactoe")
    found = show(game, replace(played(game, most=3), status=1, returns=(-1.0, 1.0)))
    assert [frame["rewards"] for frame in found["frames"]] == [[0.0, 0.0]] * 3 + [[-1.0, 1.0]]


def test_games_of_other_programs_become_pages(tmp_path: Path) -> None:
    for name, text, move in (
        ("game.pgn", '[White "Ada"]\n\n1. e4 e5 {a comment} 2. Nf3 1-0\n', "Nf3"),
        ("game.sgf", "(;GM[1]SZ[9];B[ee];W[gc])", "G7"),
    ):
        (tmp_path / name).write_text(text)
        assert main(["view", str(tmp_path / name), "--html", str(tmp_path / "out.html")]) == 0
        assert f'"move":"{move}"' in (tmp_path / "out.html").read_text()


def test_thoughts_before_an_answer_stand_apart_from_it() -> None:
    assert spoken(0, "<think>two and two</think>\n four") == [0, "four", {"thinking": "two and two"}]
    assert spoken(0, "<think></think> four")[1] == "<think></think> four"
    assert spoken(1, "no <think>") == [1, "no <think>"]


@pytest.mark.parametrize(
    ("status", "returns", "words"),
    [
        (0, (0.0, 0.0), "left unfinished"),
        (1, (1.0, -1.0), r"player_0 (a) wins; returns 1, -1."),
        (1, (0.5, 0.5), "A draw: everybody got 0.5."),
        (2, (0.0, 2.0), "The game was cut off. player_1 (b) wins"),
    ],
)
def test_the_last_frame_says_how_the_game_ended(status: int, returns: tuple[float, float], words: str) -> None:
    game = make_game("tictactoe")
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    assert words in show(game, GameRecord(state, [], ("a", "b"), returns, status))["frames"][-1]["status"]


# -- pictures ----------------------------------------------------------------------------------------------------------


def by_pixels(game: Game, state: State, i: int, size: int = 480, player: int | None = None) -> Frame:
    """A drawer of somebody else's that draws on pygame's surface itself."""
    canvas = Canvas(8)
    canvas.surface.fill((255, 0, 0))
    return canvas.frame()


def by_shapes(game: Game, state: State, i: int, size: int = 480, player: int | None = None) -> Frame:
    """One that uses every method of a canvas."""
    canvas = Canvas(size, size // 2)
    canvas.rectangle(1, 2, 3, 4, PALETTE.cell, radius=9, line=1)
    canvas.ring(5, 5, 3, 1, PALETTE.first, mixed(PALETTE.cell, PALETTE.second, 0.5))
    canvas.stroke((0, 0), (1, 1), 0.5, (1, 2, 3))
    canvas.polygon([(0, 0), (1, 0), (0, 1)], PALETTE.text)
    canvas.veil(0, 0, 9, 9, 51)
    canvas.text(3, 3, "wide words", 10, room=20)
    canvas.text(3, 3, "wide words", 10, room=20, cut=True)
    canvas.stamp(a_stamp, 5, 5, 50, "x")
    return canvas.frame()


def a_stamp(canvas: Canvas, what: str) -> None:
    """A disc as wide as its canvas."""
    canvas.disc(canvas.width / 2, canvas.width / 2, canvas.width / 2, PALETTE.accent)


def test_what_a_drawer_draws_is_recorded_as_shapes() -> None:
    game = make_game("tictactoe")
    width, height, shapes = recording.record(f"{__name__}:by_shapes", game, game.new_state(1))
    assert (width, height) == (480, 240)
    assert shapes[0] == ["r", 1, 2, 3, 4, "var(--cell)", 1.5, 1]
    assert shapes[1] == ["c", 5, 5, 3, "color-mix(in srgb, var(--cell) 50%, var(--second))", 1, "var(--first)"]
    assert shapes[2] == ["l", [0, 0, 1, 1], 0.5, "#010203"]
    assert shapes[4] == ["v", 0, 0, 9, 9, 0.2]
    small, cut = shapes[5], shapes[6]
    assert small[3] == "wide words"
    assert small[4] < 10 * 0.5
    assert "wide words".startswith(cut[3])
    assert len(cut[3]) < 6
    assert shapes[7] == ["g", -20, -20, 0.5, [["c", 50, 50, 50, "var(--accent)", 0, ""]]]


def test_a_drawer_that_works_on_pixels_gives_a_bitmap() -> None:
    pytest.importorskip("pygame")
    game = make_game("tictactoe")
    width, height, (shape,) = recording.record(f"{__name__}:by_pixels", game, game.new_state(1))
    assert (width, height) == (8, 8)
    assert shape[:5] == ["i", 0, 0, 8, 8]
    assert shape[5].startswith("data:image/png;base64,")


def test_recording_leaves_no_trace() -> None:
    pytest.importorskip("pygame")
    game = make_game("tictactoe")
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    recording.record(str(spec("tictactoe").draw), game, state)
    assert Canvas(4).frame().shape == (4, 4, 3)


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_game_of_chess_of_200_plies_takes_less_than_5_mb(played: Callable[..., GameRecord]) -> None:
    game = make_game("chess")
    record = next(found for seed in range(20) if len((found := played(game, seed, 200)).actions) == 200)
    assert len(page(show(game, record))) < 1_000_000


def test_data_cannot_leave_its_element_and_always_parses() -> None:
    text = as_data({"a": "</script><!-- \u2028 \ud800", "b": [float("nan"), float("inf"), 1.5]})
    assert "<" not in text
    assert json.loads(text) == {"a": "</script><!-- \u2028 \ud800", "b": [None, None, 1.5]}


def test_a_page_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path, played: Callable[..., GameRecord]) -> None:
    game = make_game("tictactoe")
    made = show(game, played(game))
    (tmp_path / "old.html").write_text("old")
    write_page(made, tmp_path / "old.html")
    assert (tmp_path / "old.html").read_text().startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["old.html"]
    (tmp_path / "folder").mkdir()
    for path, why in (
        (tmp_path / "folder", "folder"),
        (tmp_path / "old.html" / "new.html", "File exists|Not a directory"),
    ):
        with pytest.raises(UsageError, match=f"Cannot write the page to .*({why}).*Name another file"):
            write_page(made, path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "old.html"]


# -- the command -------------------------------------------------------------------------------------------------------


def test_a_saved_game_becomes_a_page(tmp_path: Path, played: Callable[..., GameRecord]) -> None:
    game = make_game("connect_four")
    path, out = tmp_path / "games.json", tmp_path / "new" / "out.html"
    path.write_text(write_json(game, played(game, 1), 1) + write_json(game, played(game, 2), 2))
    assert main(["view", str(path), "--number", "1", "--html", str(out)]) == 0
    first = out.read_text()
    assert main(["view", str(path), "--ask", "mcts:10", "--html", str(out)]) == 0
    assert "connect_four-v0" in first
    assert '"thoughts":' not in first
    assert '"who":"mcts' in out.read_text()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["tictactoo"], "neither a game nor a file nor a run's folder. Did you mean 'tictactoe'?"),
        (["nowhere.json"], "There is no file or folder nowhere.json"),
        (["{file}"], "file.json is not a file of games"),
        (["{empty}"], "holds no game"),
        (["tictactoe", "--players", "nobody", "random"], "Unknown player 'nobody'"),
        (["tictactoe", "--players", "human"], "A person cannot play into a file"),
        (["tictactoe", "--players", "random", "random", "random"], "has 2 players, but --players names 3"),
        (["tictactoe", "--players", "minimax"], "has 2 players, but --players names 1. Name one for each"),
        (["tictactoe", "--ticks", "-1"], "--ticks is -1"),
        (["tictactoe", "--earlier", "-1"], "--earlier is -1"),
        (["tictactoe", "--number", "2"], "--number is for a file of games"),
        (["tictactoe", "--update", "2"], "--update is for the folder of a run on a task"),
        (["tictactoe", "--hints", "minimax"], "--hints is for a game that a person plays"),
        (["tictactoe", "--port", "8000"], "--port is for a page that is served"),
        (["{game}", "--number", "2"], "holds 1 game, numbered from 1"),
        (["{game}", "--players", "random"], "--players is for a game that is played"),
        (["chess", "--players", "minimax", "random"], "too many to solve"),
        (["chess", "--ask", "alphabeta", "--ticks", "1"], "does not say with which probabilities it acts"),
        (["gridworld", "--ask", "forager", "--ticks", "1"], "does not say with which probabilities it acts"),
    ],
)
def test_bad_input_gets_one_sentence_and_no_file(
    words: list[str],
    complaint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    played: Callable[..., GameRecord],
) -> None:
    game = make_game("tictactoe")
    texts = {"file": "no game", "empty": "\n", "game": write_json(game, played(game), 3)}
    for name, text in texts.items():
        (tmp_path / f"{name}.json").write_text(text)
    given = [word.format(**{name: tmp_path / f"{name}.json" for name in texts}) for word in words]
    out = tmp_path / "out.html"
    assert main(["view", *given, "--html", str(out)]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert len(said.strip().splitlines()) == 1
    assert not out.exists()
    assert len(list(tmp_path.iterdir())) == len(texts)
