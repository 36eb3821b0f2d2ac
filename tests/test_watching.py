"""Worlds from the command line: at the terminal, films, replays, the window; and replays of other games."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie.agents.human.window import BoardSession
from coterie.agents.human.world_window import WorldSession
from coterie.aliases import RUNNING
from coterie.cli import main
from coterie.cli.watch import company
from coterie.envs.registry import make_game
from coterie.envs.replay.file import read_games

WORLD = ["gridworld", "--preset", "a3_11x11"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COTERIE_DEBUG", raising=False)


def typed(lines: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO(lines))


def at_window(monkeypatch: pytest.MonkeyPatch, what: Callable[[WorldSession], None]) -> list[WorldSession]:
    """Instead of waiting for a person: do this at the window, then close it."""
    seen: list[WorldSession] = []

    def run(session: WorldSession) -> None:
        seen.append(session)
        session.step()
        what(session)
        session.close()

    monkeypatch.setattr(WorldSession, "run", run)
    return seen


def frames_of(path: Path) -> tuple[int, tuple[int, int]]:
    if path.suffix == ".gif":
        from PIL import Image

        with Image.open(path) as image:
            return image.n_frames, image.size
    imageio = pytest.importorskip("imageio.v2")
    with imageio.get_reader(path, format="FFMPEG") as reader:
        frames = list(iter(reader))
    return len(frames), frames[0].shape[1::-1]


# -- who plays ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "window", "seats"),
    [
        ((), False, ("human", "forager", "forager")),
        ((), True, ("forager", "forager", "forager")),
        (("random",), False, ("random", "random", "random")),
        (("human",), True, ("human", "forager", "forager")),
        (("random", "human"), False, ("random", "human", "forager")),
        (("random", "raider"), False, ("random", "raider", "raider")),
        (("human", "random"), False, ("human", "random", "random")),
    ],
)
def test_who_sits_where(words: tuple[str, ...], window: bool, seats: tuple[str, ...]) -> None:
    assert company(words, make_game("gridworld", preset="a3_11x11"), window) == seats


def test_one_policy_for_everybody(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "gridworld", "forager", *WORLD[1:]]) == 0
    said = capsys.readouterr().out
    assert said.startswith("40 ticks, 3 of 3 alive.\nforager x 3: mean return ")


def test_several_worlds(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["play", "gridworld", "raider", "random", *WORLD[1:], "--games", "3", "--ticks", "9", "--save", "g.jsonl"]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("9 ticks, ") for line in lines) == 3
    assert [line.split()[0] for line in lines[-2:]] == ["raider", "random"]
    assert "over 3 games" in lines[-1]
    games = read_games(Path("g.jsonl"))
    assert [game.seed for game in games] == [0, 1, 2]
    assert {game.record.players for game in games} == {("raider", "random", "random")}
    assert {game.words for game in games} == {("raider", "random", "random")}


def test_a_person_at_the_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    typed("noop\nface up\nnonsense\nnoop\nquit\n", monkeypatch)
    assert main(["play", *WORLD, "--save", "g.json"]) == 0
    said = capsys.readouterr().out
    assert "names no action" in said
    assert said.endswith("human left the game.\n")
    (saved,) = read_games(Path("g.json"))
    assert [actions[0] for actions in saved.record.actions] == [0, 3, 0]
    assert saved.record.status == RUNNING
    typed("noop\nquit\n", monkeypatch)
    assert main(["play", "gridworld", "--from", "g.json"]) == 0
    again = read_games(Path("g.json"))[-1]
    assert again.record.actions[:3] == saved.record.actions
    assert len(again.record.actions) == 4
    assert again.words == ("human", "forager", "forager")


# -- films -------------------------------------------------------------------------------------------------------------


def test_films_have_every_tick(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["play", "gridworld", "random", *WORLD[1:], "--ticks", "12", "--gif", "a.gif", "--mp4", "b/a.mp4"]
    assert main(words) == 0
    assert "Wrote a.gif\nWrote b/a.mp4\n" in capsys.readouterr().out
    count, (width, height) = frames_of(Path("a.gif"))
    assert (count, width) == (13, 480)
    assert height > 480, "with a line below"
    count, size = frames_of(Path("b/a.mp4"))
    assert count == 12 + 20, "the last one is shown for a second"
    assert size == (480, height + height % 2)
    assert main([*words[:-4], "--gif", "c.gif", "--follow", "1"]) == 0
    assert Path("a.gif").read_bytes() != Path("c.gif").read_bytes()


def test_long_gifs_leave_ticks_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.agents.human.films.LONGEST_GIF", 10)
    assert main(["play", "gridworld", "random", *WORLD[1:], "--ticks", "25", "--gif", "a.gif"]) == 0
    assert frames_of(Path("a.gif"))[0] == 10, "ticks 0, 3, 6 ... 24, and the last"


def test_board_games_become_films_as_well() -> None:
    assert main(["play", "tictactoe", "minimax", "minimax", "--mp4", "a.mp4"]) == 0
    assert frames_of(Path("a.mp4"))[0] == 10 * 8 + 17


# -- replays -----------------------------------------------------------------------------------------------------------


def saved(*words: str, path: str = "g.jsonl") -> Path:
    assert main(["play", "gridworld", "random", *WORLD[1:], "--save", path, *words]) == 0
    return Path(path)


def test_a_file_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    saved("--games", "2")
    capsys.readouterr()
    assert main(["play", "--replay", "g.jsonl"]) == 0
    same = "40 ticks; replayed, every state matches."
    assert capsys.readouterr().out == (
        f"g.jsonl, game 1: gridworld-v0, seed 0, {same}\ng.jsonl, game 2: gridworld-v0, seed 1, {same}\n"
    )


def test_a_replay_becomes_a_film() -> None:
    saved("--ticks", "10", "--gif", "live.gif")
    assert main(["play", "--replay", "g.jsonl", "--gif", "again.gif"]) == 0
    assert Path("live.gif").read_bytes() == Path("again.gif").read_bytes()


def altered(line: str, **changes: Any) -> str:
    return json.dumps(json.loads(line) | changes)


@pytest.mark.parametrize(
    ("spoil", "part"),
    [
        (lambda line: line[:-200], "the file was cut short"),
        (lambda line: altered(line, seed=9), "The start of this game of gridworld-v0 differs"),
        (lambda line: altered(line, game="gridworld-v7"), "versions do not mix"),
        (lambda line: altered(line, game="griworld-v0"), "Did you mean 'gridworld-v0'?"),
        (lambda line: altered(line, ticks=3), "cut short or altered"),
        (lambda line: altered(line, returns=[5, 5, 5]), "its checksum does not match"),
    ],
)
def test_faults_are_told_and_the_games_before_them_kept(
    spoil: Callable[[str], str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved()
    line = path.read_text()
    path.write_text(line + spoil(line.strip()) + "\n")
    capsys.readouterr()
    assert main(["play", "--replay", "g.jsonl", "--gif", "a.gif"]) == 2
    said = capsys.readouterr()
    assert part in said.err
    assert said.err.startswith("g.jsonl, line 2: ")
    assert said.err.count("\n") == 1, "one sentence"
    assert "game 1: gridworld-v0" in said.out
    assert frames_of(Path("a.gif"))[0] == 41
    path.write_text(spoil(line.strip()) + "\n")
    assert main(["play", "--replay", "g.jsonl"]) == 2
    said = capsys.readouterr()
    assert part in said.err
    assert said.err.startswith("coterie: g.jsonl, line 1: ")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--replay", "nowhere.json"], "nowhere.json cannot be read"),
        (["--replay", "empty.json"], "holds no game"),
        (["chess", "--replay", "g.jsonl"], "coterie play gridworld --replay g.jsonl"),
        ([], "Which game?"),
        (["gridworld", "random", "--players", "random"], "both say who plays"),
        (["gridworld", "random", "--mp4", "a.gif"], "--mp4 a.gif does not end in .mp4"),
        (["gridworld", "random", "--ticks", "-1"], "--ticks is -1"),
        (["highest_number", "--mp4", "a.mp4"], "has no pictures to write to a.mp4"),
        (["gridworld", "random", "--follow", "7", "--window", "--preset", "a3_11x11"], "no agent 7 to follow"),
        (["chess", "random", "--follow", "1"], "--follow is for worlds"),
        (["gridworld", "random", "--follow", "7", "--gif", "a.gif", "--preset", "a3_11x11"], "no agent 7 to follow"),
    ],
)
def test_words_that_are_refused(words: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    saved()
    Path("empty.json").write_text("\n")
    capsys.readouterr()
    assert main(["play", *words]) == 2
    assert part in capsys.readouterr().err


def test_a_missing_film_writer_is_told_before_anything_is_played(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    assert main(["play", "gridworld", "random", "--mp4", "a.mp4"]) == 2
    said = capsys.readouterr()
    assert "needs the package 'imageio-ffmpeg'. Type: pip install 'coterie[render]'" in said.err
    assert said.out == ""


# -- the window --------------------------------------------------------------------------------------------------------


def until(session: WorldSession, ticks: int) -> None:
    while session.match.state.rules[0]["clock"] < ticks:
        session.step()


def test_a_world_that_was_only_watched_leaves_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (session,) = [at_window(monkeypatch, lambda session: until(session, 5))]
    assert main(["play", *WORLD, "--window"]) == 0
    assert session[0].own is None
    assert "forager x 3: mean return" in capsys.readouterr().out
    assert list(Path().iterdir()) == []


def test_a_world_without_a_window(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("coterie.renderers.gridworld.WINDOW")
    assert main(["play", *WORLD, "--window"]) == 2
    assert "gridworld-v0 has no window; remove --window." in capsys.readouterr().err


def test_a_world_in_which_a_person_played_is_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import pygame

    def play(session: WorldSession) -> None:
        assert (session.own, session.paused) == (0, True)
        for key in (pygame.K_b, pygame.K_UP):
            ticks = len(session.match.plies)
            pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key, unicode="", mod=0))
            while len(session.match.plies) == ticks:
                session.step()

    at_window(monkeypatch, play)
    assert main(["play", "gridworld", "human", *WORLD[1:], "--window", "--mp4", "a.mp4"]) == 0
    (path,) = Path().glob("gridworld-*.json")
    said = capsys.readouterr().out
    assert f"Continue it: coterie play gridworld --from {path}" in said
    assert "human x 1: mean return" in said
    (saved,) = read_games(path)
    assert saved.record.actions[0][0] == 2, "a step back"
    assert saved.record.players == ("human", "forager", "forager")
    assert frames_of(Path("a.mp4"))[0] > 3
    at_window(monkeypatch, lambda session: until(session, 2))
    assert main(["play", "gridworld", "--window", "--from", str(path)]) == 0
    assert len(read_games(path)) == 1, "nothing new, nothing written"


def test_a_replay_at_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    saved("--ticks", "20")
    seen = at_window(monkeypatch, lambda session: until(session, 20))
    assert main(["play", "--replay", "g.jsonl", "--window", "--follow", "2"]) == 0
    (session,) = seen
    assert session.replay.tick == 20
    assert session.window.slot == 2


def test_replays_of_other_games_at_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    for most in (["--ticks", "4"], []):
        assert main(["play", "tictactoe", "random", "random", "--save", "t.json", *most]) == 0
        record = read_games(Path("t.json"))[-1].record
        states: list[Any] = []

        def run(session: BoardSession, record: Any = record, states: list[Any] = states) -> None:
            session.seconds = 0.0
            while len(session.match.plies) < len(record.actions):
                session.step(wait=0.001)
            session.step()
            states += [ply.actions for ply in session.match.plies]
            session._control("undo")
            assert len(session.match.plies) == len(record.actions) - 1
            session.close()

        monkeypatch.setattr(BoardSession, "run", run)
        assert main(["play", "--replay", "t.json", "--window"]) == 0
        turns = [[actions[k % 2] for k, actions in enumerate(each)] for each in (states, record.actions)]
        assert turns[0] == turns[1]
        assert np.ndim(states) == 2


# -- evaluation --------------------------------------------------------------------------------------------------------


def test_worlds_of_an_evaluation_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "eval",
        "forager",
        "--game",
        *WORLD,
        "--vs",
        "random",
        "--games",
        "2",
        "--ticks",
        "20",
        "--save",
        "e.jsonl",
    ]
    assert main(words) == 0
    games = read_games(Path("e.jsonl"))
    assert [game.record.players[0] for game in games] == ["forager", "forager", "random", "random"]
    assert {len(game.record.actions) for game in games} == {20}
    assert games[0].seed == games[2].seed
    earned = float(np.mean([game.record.returns for game in games[:2]]))
    assert f"reward of an agent {earned:.3f}" in capsys.readouterr().out
    assert main(["eval", "random", "--game", "tictactoe", "--vs", "random", "--save", "e.jsonl"]) == 2
    assert "--save is only for worlds" in capsys.readouterr().err
