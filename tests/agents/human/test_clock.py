"""Games on a clock: reading it, losing on time, undo, records and their files."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from coterie.agents.baselines import make_baseline
from coterie.agents.core import Decision
from coterie.agents.human.clock import Clock, read_times, told_time
from coterie.agents.human.table import Match, follow
from coterie.agents.human.terminal import HumanAgent, result
from coterie.aliases import RUNNING, TERMINATED
from coterie.cli import main
from coterie.envs.core import Times
from coterie.envs.registry import make_game
from coterie.envs.replay.file import read_games, write_json
from coterie.errors import UsageError

CHESS, TICTACTOE = make_game("chess"), make_game("tictactoe")


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that a test sets."""
    moment = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: moment[0])
    return moment


def timed(name: str = "tictactoe", *, base: int = 60, increment: int = 5, **more) -> Match:
    game = make_game(name)
    return Match(game, ["human", "bot"], 0, clock=Clock(Times(base, increment), game, [0]), **more)


def think(match: Match, seconds: float, action: int) -> None:
    seat = match.seats()[0]
    match.clock.spend(seat, seconds)
    match.play({seat: Decision(action)})


@pytest.mark.parametrize(
    ("text", "base", "increment"),
    [("5+3", 300, 3), ("10", 600, 0), ("0.5+1", 30, 1), ("30s", 30, 0), ("90s+2s", 90, 2), (" 1.5 ", 90, 0)],
)
def test_times_are_read(text: str, base: int, increment: int) -> None:
    assert read_times(text) == Times(base, increment)


@pytest.mark.parametrize("text", ["5:30", "-1", "0", "0s", "five", "5+", "1e9", "nan", "99999", "٥", "5+3+1", "0.001"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--clock ") as told:
        read_times(text)
    assert "30s" in str(told.value) or "1s" in str(told.value)


@pytest.mark.parametrize(
    ("seconds", "told"), [(300, "5:00"), (4.2, "0:05"), (0, "0:00"), (-1, "0:00"), (3600, "1:00:00"), (3661, "1:01:01")]
)
def test_times_are_told(seconds: float, told: str) -> None:
    assert told_time(seconds) == told


def test_moves_cost_time_and_add_some() -> None:
    match = timed()
    think(match, 10, 4)
    think(match, 7, 0)
    assert match.clock.left == [55, 58]
    assert match.record().clock == Times(60, 5, (55, 58))


def test_undo_turns_the_clock_back() -> None:
    match = timed()
    think(match, 10, 4)
    think(match, 7, 0)
    think(match, 20, 8)
    match.clock.spend(1, 30)
    match.undo([0])
    assert match.clock.left == [55, 58]
    match.undo([0])
    assert match.clock.left == [60, 60]


def test_a_lost_game_can_be_taken_up_before_it_was_lost() -> None:
    match = timed()
    think(match, 10, 4)
    think(match, 1, 0)
    match.clock.spend(0, 100)
    assert match.clock.flagged(0)
    match.flag(0)
    assert (match.status, match.flagged, match.returns.tolist()) == (TERMINATED, 0, [-1, 1])
    match.undo([0])
    assert (match.status, match.flagged, match.clock.left) == (RUNNING, None, [60, 60])


def test_only_people_lose_on_time() -> None:
    match = timed()
    think(match, 10, 4)
    think(match, 500, 0)
    assert (match.status, match.clock.left) == (RUNNING, [55, 5])
    assert not match.clock.flagged(1)


@pytest.mark.parametrize(("game", "paid"), [("kuhn_poker", [-1.0, 0.0]), ("chess", [-1.0, 1.0])])
def test_the_time_that_runs_out_is_paid_as_resigning_or_forfeiting(game: str, paid: list[float]) -> None:
    match = timed(game)
    match.flag(0)
    assert match.returns.tolist() == paid
    assert result(match) == "player_0 (human) ran out of time. player_1 (bot) wins."


def test_with_several_others_nobody_wins_alone() -> None:
    game = make_game("liars_dice", players=3)
    match = Match(game, ["human", "a", "b"], 0, clock=Clock(Times(60), game, [0]))
    match.flag(0)
    assert (match.returns.tolist(), result(match)) == ([-1, 0, 0], "player_0 (human) ran out of time.")


@pytest.mark.parametrize("game", ["matrix", "gridworld"])
def test_clocks_are_for_turns(game: str) -> None:
    made = make_game(game)
    with pytest.raises(UsageError, match="all act at once"):
        Clock(Times(60), made, [0])


def test_a_person_who_answers_too_late_loses(now: list[float]) -> None:
    waits = [3.0, 100.0]

    def read(prompt: str) -> str:
        prompts.append(prompt)
        now[0] += waits.pop(0)
        return "4" if waits else "8"

    prompts: list[str] = []
    match = timed()
    agents = [HumanAgent(read=read, write=lambda text: None), make_baseline("random", TICTACTOE)]
    assert [len(moment.actions) for moment in follow(match, agents)] == [0, 1, 1]
    assert match.ended == "player_0 (human) ran out of time"
    assert prompts == ["1:00 > ", "1:02 > "]
    assert match.record().clock == Times(60, 5, (62, 65), flagged=0)


def test_what_prepares_a_turn_costs_no_time(now: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Match.turns

    def slow(match: Match, seats: list[int]) -> object:
        now[0] += 100
        return whole(match, seats)

    monkeypatch.setattr(Match, "turns", slow)
    match = timed()
    agents = [HumanAgent(read=lambda prompt: "4", write=lambda text: None), make_baseline("random", TICTACTOE)]
    for _ in zip(range(2), follow(match, agents), strict=False):
        pass
    assert match.clock.left == [65, 60]


@pytest.mark.skipif(not hasattr(os, "pipe") or os.name == "nt", reason="without alarms the late line is noticed")
def test_the_terminal_does_not_wait_for_a_line_after_the_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody ever types: the prompt itself ends."""
    ends = os.pipe()
    with open(ends[0]) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert main(["play", "tictactoe", "--clock", "1s"]) == 0
    os.close(ends[1])
    assert "player_0 (human) ran out of time. player_1 (random) wins." in capsys.readouterr().out


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_saved_game_keeps_its_times_and_continues_with_them() -> None:
    match = timed("chess")
    for seconds, move in ((10, "e4"), (7, "e5"), (2.5, "Nf3")):
        think(match, seconds, match.turn(match.seats()[0]).parse_action(move))
    (saved,) = read_games(write_json(CHESS, match.record(), 0))
    assert saved.record.clock == Times(60, 5, (55, 58, 57.5))
    again = timed("chess", record=saved.record)
    assert again.clock.left == [57.5, 58]
    again.undo([0])
    assert again.clock.left == [55, 58]


@pytest.mark.parametrize(
    "clock",
    [
        "[]",
        '{"base": 0, "increment": 0}',
        '{"base": 1.5, "increment": 0}',
        '{"base": true, "increment": 0}',
        '{"base": 9, "increment": 0, "left": [-1]}',
        '{"base": 9, "increment": 0, "left": [NaN]}',
        '{"base": 9, "increment": 0, "left": 3}',
        '{"base": 9, "increment": 0, "flagged": 2}',
    ],
)
def test_clocks_of_files_are_checked(clock: str) -> None:
    line = write_json(TICTACTOE, timed().record(), 0)
    assert line.count('"clock": {') == 1
    start = line.index('"clock": ') + len('"clock": ')
    broken = f"{line[:start]}{clock}}}"
    with pytest.raises(UsageError, match="line 1: "):
        read_games(broken)


def test_pgn_tells_the_times_and_who_lost_on_time() -> None:
    match = timed("chess", base=300, increment=3)
    think(match, 10, match.turn(0).parse_action("e4"))
    think(match, 7, match.turn(1).parse_action("e5"))
    match.clock.spend(0, 1000)
    match.flag(0)
    text = CHESS.formats[".pgn"](match.record())
    assert '[TimeControl "300+3"]' in text
    assert '[Termination "time forfeit"]' in text
    assert "1. e4 { [%clk 0:04:53] } 1... e5 { [%clk 0:04:56] } 0-1" in " ".join(text.split())


@pytest.mark.parametrize("name", ["go", "hex"])
def test_sgf_tells_the_times_and_who_lost_on_time(name: str) -> None:
    match = timed(name, base=300, increment=3)
    think(match, 10, match.turn(0).legal_actions[3])
    match.flag(1)
    text = match.game.formats[".sgf"](match.record())
    assert "RE[B+T]" in text
    assert "TM[300]OT[3 fischer]" in text


@pytest.mark.parametrize(("how", "told"), [("resign", "RE[W+R]"), ("agree", "RE[0]")])
def test_sgf_of_go_tells_how_the_players_ended_it(how: str, told: str) -> None:
    match = Match(make_game("go"), ["a", "b"], 0)
    match.play({0: Decision(3)})
    match.resign(0) if how == "resign" else match.agree()
    assert told in match.game.formats[".sgf"](match.record())


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["play", "tictactoe", "--clock", "soon"], "--clock soon is no time"),
        (["play", "tictactoe", "minimax", "random", "--clock", "5"], "name human"),
        (["play", "gridworld", "human", "forager", "--clock", "5"], "all act at once"),
        (["play", "--replay", "games.json", "--clock", "5"], "remove one"),
        (["view", "tictactoe", "--clock", "soon"], "--clock soon is no time"),
        (["view", "matrix", "--clock", "5"], "all act at once"),
        (["view", "tictactoe", "--clock", "5", "--html", "page.html"], "a person plays on the page"),
        (["view", "tictactoe", "--clock", "5", "--players", "random", "minimax"], "a person plays on the page"),
    ],
)
def test_clocks_that_make_no_sense(words: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    told = capsys.readouterr()
    assert part in told.err
    assert told.err.count("\n") == 1
    assert not told.out


def test_a_game_on_a_clock_is_left_and_continued(
    now: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "game.json"
    monkeypatch.setattr("sys.stdin", io.StringIO("4\nquit\n"))
    assert main(["play", "tictactoe", "--clock", "9+50", "--save", str(file)]) in (0, 130)
    clock = read_games(file)[0].record.clock
    assert clock is not None
    assert (clock.base, clock.increment, len(clock.left)) == (540, 50, 2)
    assert "left)" in capsys.readouterr().out
    for more, prompt in (([], told_time(clock.left[0])), (["--clock", "2"], "2:00")):
        monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
        main(["play", "tictactoe", "--from", str(file), "--players", "human", "random", *more])
        assert f"{prompt} > " in capsys.readouterr().out
