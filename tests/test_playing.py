"""``coterie play``: what is kept of a game, going on with it, the window from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from coterie.agents.core import Agent, Decision, Tokens, Turn
from coterie.agents.human.window import BoardSession
from coterie.aliases import RUNNING, TERMINATED
from coterie.cli import main
from coterie.cli.arguments import Play
from coterie.cli.play import play
from coterie.envs.replay.file import read_games
from coterie.errors import ModelError

RUN = BoardSession.run


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COTERIE_DEBUG", raising=False)


def typed(lines: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO(lines))


class Clicks:
    """Lets the window be clicked: cells or buttons, then closed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *what: int | str, close: bool = True) -> None:
        self.pygame = pytest.importorskip("pygame")
        self.what, self.close, self.statuses = what, close, []

        def run(session: BoardSession) -> None:
            for _ in range(3):
                session.step()
            for one in self.what:
                self.click(session, one)
            if self.close:
                self.pygame.event.post(self.pygame.event.Event(self.pygame.QUIT))
            RUN(session)

        monkeypatch.setattr(BoardSession, "run", run)
        monkeypatch.setattr("coterie.agents.human.board.SHOWN", 0.0)

    def click(self, session: BoardSession, what: int | str) -> None:
        window = session.window
        if isinstance(what, int):
            x, y, w, h = window.boxes()[what]
            at = (int(x + w / 2), int(y + h / 2))
        else:
            width, height = window.screen.size
            spots = window.panel.spots(width, window.view, window._buttons())
            spot = next(spot for spot in spots if spot.label == what)
            at = (int(spot.x + 3), int(height - window._panel_height() + spot.y + 3))
        for kind in (self.pygame.MOUSEBUTTONDOWN, self.pygame.MOUSEBUTTONUP):
            self.pygame.event.post(self.pygame.event.Event(kind, pos=at, button=1))
        for _ in range(400):
            session.step(wait=0.001)
            if (session.asked is not None and not session.thinker.busy) or session.match.status != RUNNING:
                break
        session.step()
        self.statuses.append(window.view.status)


# -- saving ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_games_are_added_to_a_file(suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("new") / f"games{suffix}"
    words = ["play", "tictactoe", "--players", "random", "random", "--games", "3", "--save", str(path)]
    for times in (1, 2):
        assert main(words) == 0
        games = read_games(path)
        assert len(games) == 3 * times
    assert [game.seed for game in games] == [0, 1, 2] * 2
    assert games[0].record.actions == games[3].record.actions
    assert games[0].words == ("random", "random")
    assert {game.record.status for game in games} == {TERMINATED}
    assert f"Saved: {path}" in capsys.readouterr().out


def test_chess_is_saved_as_pgn() -> None:
    from coterie.envs.chess.pgn import read_pgn

    words = ["play", "chess", "--players", "random", "random", "--games", "2", "--seed", "3", "--save", "g.pgn"]
    assert main(words) == 0
    games = read_pgn(Path("g.pgn"))
    assert [game.headers["White"] for game in games] == ["random", "random"]
    assert all(game.result != "*" for game in games)
    chess = pytest.importorskip("chess.pgn")
    with open("g.pgn", encoding="utf-8") as file:
        theirs = [chess.read_game(file), chess.read_game(file)]
        assert chess.read_game(file) is None
    assert [[move.uci() for move in game.mainline_moves()] for game in theirs] == [game.moves for game in games]
    assert all(not game.errors for game in theirs)


def test_go_is_saved_as_sgf() -> None:
    from coterie.envs.go.sgf import read_sgf

    assert main(["play", "go", "--set", "size=5", "--players", "random", "random", "--save", "g.sgf"]) == 0
    game = read_sgf(Path("g.sgf"))
    assert (game.size, game.players) == (5, ("random", "random"))
    assert len(game.moves) > 5


@pytest.mark.parametrize(
    ("game", "file", "part"),
    [
        ("chess", "x.sgf", "chess can be saved as .json, .jsonl, .pgn"),
        ("tictactoe", "x.pgn", "tictactoe can be saved as .json, .jsonl."),
        ("go", "x", "go can be saved as .json, .jsonl, .sgf"),
    ],
)
def test_formats_that_a_game_does_not_know(game: str, file: str, part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", game, "--players", "random", "random", "--save", file]) == 2
    assert part in capsys.readouterr().err
    assert not Path(file).exists()


def test_a_file_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    assert main(["play", "tictactoe", "--players", "random", "random", "--save", "file/g.json"]) == 2
    said = capsys.readouterr()
    assert "Cannot write the game to file/g.json" in said.err
    assert said.out == "", "a game was played all the same"


def test_a_folder_that_goes_away_does_not_cost_the_game(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import shutil
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    Path("there").mkdir()
    Path("there/g.pgn").write_text("")

    class Vandal:
        name = "vandal"

        def act(self, turns: Sequence[Turn]) -> list[Decision]:
            shutil.rmtree("there", ignore_errors=True)
            Path("there").write_text("")
            return [Decision(None, "no")]

    play(Play("chess", players=("a", "b"), save=Path("there/g.pgn")), lambda word, game: Vandal())
    said = capsys.readouterr().out
    assert "Cannot write the game to there" in said
    (kept,) = tmp_path.glob("chess-*.json")
    assert f"Saved: {kept}" in said
    assert read_games(kept)[0].record.illegal == 0


class Speaker:
    """Thinks aloud, then plays the first legal action; the third answer is nonsense."""

    name = "speaker"

    def __init__(self) -> None:
        self.turns, self.closed = 0, False

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        self.turns += 1
        free = Tokens((), (), (), "free")
        action = turns[0].legal_actions[0] if self.turns < 3 else None
        return [Decision(action, f"Thought {self.turns} {{deep}}", free)]

    def close(self) -> None:
        self.closed = True


def test_what_a_model_says_becomes_a_comment(capsys: pytest.CaptureFixture[str]) -> None:
    made: list[Speaker] = []

    def player(word: str, game: object) -> Agent:
        made.append(Speaker())
        return made[-1]

    play(Play("chess", players=("speaker", "speaker"), save=Path("g.pgn")), player)
    text = Path("g.pgn").read_text()
    assert "{ Thought 1 (deep) }" in text
    assert "rules infraction" in text
    assert "0-1" in text
    assert all(one.closed for one in made), "engines would be left behind"


# -- leaving and going on ----------------------------------------------------------------------------------------------


def test_a_game_that_is_left_can_be_gone_on_with(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed("e4\nNf3\nquit\n", monkeypatch)
    assert main(["play", "chess", "--save", "g.pgn"]) == 0
    said = capsys.readouterr().out
    assert "coterie play chess --from g.json" in said
    assert said.endswith("human left the game.\n")
    assert "*" in Path("g.pgn").read_text().splitlines()[-1]
    (saved,) = read_games(Path("g.json"))
    assert len(saved.record.actions) == 4
    typed("Bc4\nquit\n", monkeypatch)
    assert main(["play", "chess", "--from", "g.json"]) == 0
    said = capsys.readouterr().out
    assert "1. e4" in said, "the position is the one that was left"
    first, second = read_games(Path("g.json"))
    assert second.record.actions[:4] == first.record.actions
    assert len(second.record.actions) == 6
    assert second.words == ("human", "random")
    typed("quit\n", monkeypatch)
    assert main(["play", "chess", "--from", "g.json"]) == 0
    assert len(read_games(Path("g.json"))) == 2, "nothing new, nothing written"


def test_games_that_are_left_in_the_same_second_get_a_file_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.strftime", lambda form: "20300101-000000")
    for spot in "45":
        typed(f"{spot}\nquit\n", monkeypatch)
        assert main(["play", "tictactoe", "--players", "human", "human"]) == 0
    first = "tictactoe-20300101-000000"
    for name, spot in ((f"{first}.json", 4), (f"{first}-2.json", 5)):
        (saved,) = read_games(Path(name))
        assert saved.record.actions[0][0] == spot


@pytest.mark.parametrize("word", ["uci:{}", "{}", "owner/name", "tiny", "smollm2"])
def test_a_file_starts_no_program_and_opens_no_path(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever opens a game of a stranger is asked to type who plays, if it is more than a built-in player."""
    script = Path("engine.sh")
    script.write_text("#!/bin/sh\ntouch it-ran\n")
    script.chmod(0o755)
    word = word.format(script.resolve())
    assert main(["play", "chess", "--players", "random", "random", "--save", "g.json"]) == 0
    fields = json.loads(Path("g.json").read_text().splitlines()[-1])
    fields |= {"words": ["random", word], "actions": fields["actions"][:2], "status": "running", "returns": [0, 0]}
    Path("g.json").write_text(json.dumps(fields) + "\n")
    capsys.readouterr()
    assert main(["play", "chess", "--from", "g.json"]) == 2
    said = capsys.readouterr().err
    assert f"coterie play chess --from g.json --players random {word}" in said
    assert not Path("it-ran").exists()
    assert main(["play", "chess", "--from", "g.json", "--players", "random", "mcts:2"]) == 0


def test_the_way_to_continue_names_players_that_a_file_may_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed("4\nquit\n", monkeypatch)
    assert main(["play", "tictactoe", "--players", "human", "tiny", "--save", "g.json"]) == 0
    assert "coterie play tictactoe --from g.json --players human tiny\n" in capsys.readouterr().out


def test_nothing_is_left_where_nobody_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    typed("quit\n", monkeypatch)
    assert main(["play", "tictactoe"]) == 0
    assert main(["play", "tictactoe", "--players", "random", "random"]) == 0
    assert list(Path().iterdir()) == []


def test_moves_are_taken_back_at_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed("e4\nundo\nd4\nquit\n", monkeypatch)
    assert main(["play", "chess", "--save", "g.json"]) == 0
    (saved,) = read_games(Path("g.json"))
    game, record = saved.game, saved.record
    start = record.start
    assert game.action_to_text(start, 0, record.actions[0][0]) == "d4"
    assert "'undo'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--from", "nowhere.json"], "nowhere.json cannot be read"),
        (["--from", "g.pgn"], "coterie play chess --from g.pgn"),
        (["--from", "empty.json"], "holds no game"),
        (["--from", "other.json"], "coterie play connect_four --from other.json"),
        (["--from", "bad.json"], "line 1: this is not JSON"),
        (["--from", "good.json", "--set", "size=3"], "--set cannot go with --from"),
    ],
)
def test_files_that_cannot_be_gone_on_with(words: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty.json").write_text("\n")
    Path("g.pgn").write_text("1. e4 *\n")
    Path("bad.json").write_text("{\n")
    for game, file in (("connect_four", "other.json"), ("tictactoe", "good.json")):
        assert main(["play", game, "--players", "random", "random", "--save", file]) == 0
    assert main(["play", "tictactoe", *words]) == 2
    assert part in capsys.readouterr().err


def test_a_game_that_has_ended_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "tictactoe", "--players", "random", "random", "--save", "g.json"]) == 0
    first = capsys.readouterr().out.splitlines()[-1]
    assert main(["play", "tictactoe", "--from", "g.json"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == first
    assert len(read_games(Path("g.json"))) == 1


# -- the window --------------------------------------------------------------------------------------------------------


def test_closing_the_window_keeps_the_game(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Clicks(monkeypatch, 4)
    assert main(["play", "tictactoe", "--window"]) == 0
    (path,) = Path().iterdir()
    assert path.name.startswith("tictactoe-")
    said = capsys.readouterr().out
    assert f"Saved: {path}\nContinue it: coterie play tictactoe --from {path}\n" in said
    (saved,) = read_games(path)
    assert (saved.record.status, len(saved.record.actions), saved.words) == (RUNNING, 2, ("human", "random"))
    assert saved.record.actions[0][0] == 4
    free = sorted(set(range(9)) - {saved.record.actions[0][0], saved.record.actions[1][1]})
    Clicks(monkeypatch, free[0])
    assert main(["play", "tictactoe", "--window", "--from", str(path)]) == 0
    again = read_games(path)[-1]
    assert again.record.actions[:2] == saved.record.actions
    assert len(again.record.actions) == 4


def test_a_window_that_was_only_looked_at_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    Clicks(monkeypatch)
    assert main(["play", "tictactoe", "--window"]) == 0
    assert main(["play", "tictactoe", "--window", "--players", "human", "human", "--save", "g.json"]) == 0
    assert main(["play", "tictactoe", "--window", "--players", "random", "random"]) == 0
    assert list(Path().iterdir()) == []


def test_the_window_saves_and_draws(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    clicks = Clicks(monkeypatch, 4, 0, 3, 1, 5, "New game", 8)
    words = [
        "play",
        "tictactoe",
        "--window",
        "--players",
        "human",
        "human",
        "--save",
        "g.json",
        "--gif",
        "g.gif",
        "--seed",
        "0",
    ]
    assert main(words) == 0
    assert clicks.statuses[4] == "player_0 (human) wins."
    ended, begun = read_games(Path("g.json"))
    assert (ended.record.status, ended.record.returns, len(ended.record.actions)) == (TERMINATED, (1, -1), 5)
    assert (begun.record.status, len(begun.record.actions), begun.seed) == (RUNNING, 1, 1)
    with Image.open("g.gif") as image:
        assert image.n_frames == 6
    assert "player_0 (human) wins.\n" in capsys.readouterr().out


def test_an_agent_that_breaks_does_not_lose_the_game(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        name = "broken"

        def act(self, turns: Sequence[Turn]) -> list[Decision]:
            raise ModelError("The engine has died.")

    monkeypatch.setattr("coterie.training.runs.players.make_player", lambda word, game, **_: Broken())
    pygame = pytest.importorskip("pygame")

    def run(session: BoardSession) -> None:
        x, y, _, _ = session.window.boxes()[4]
        pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, pos=(int(x + 9), int(y + 9)), button=1))
        RUN(session)

    monkeypatch.setattr(BoardSession, "run", run)
    assert main(["play", "tictactoe", "--window", "--players", "human", "broken"]) == 2
    said = capsys.readouterr()
    assert "The engine has died." in said.err
    assert "Continue it" in said.out


def test_without_pygame_nothing_is_loaded_first() -> None:
    code = (
        "import sys; sys.modules['pygame'] = None\n"
        "from coterie.cli import main\n"
        "raise SystemExit(main(['play', 'tictactoe', '--window', '--players', 'human', 'tiny']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'coterie[render]'" in done.stderr


def test_lines_are_json() -> None:
    assert main(["play", "matrix", "--players", "random", "random", "--save", "m.json"]) == 0
    (line,) = Path("m.json").read_text().splitlines()
    fields = json.loads(line)
    assert fields["game"] == "matrix-v0"
    assert all(len(actions) == 2 for actions in fields["actions"])


# -- start positions ---------------------------------------------------------------------------------------------------


def test_games_begin_where_start_says(capsys: pytest.CaptureFixture[str]) -> None:
    fen = "8/8/8/4k3/8/8/4P3/4K3 w - - 0 1"
    words = [
        "play",
        "chess",
        "--players",
        "random",
        "random",
        "--games",
        "2",
        "--save",
        "g.json",
        "--start",
        f"fen={fen}",
    ]
    assert main(words) == 0
    for saved in read_games(Path("g.json")):
        assert fen in saved.game.describe(saved.record.start, 0, 0)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["chess", "--start", "fne=8/8"], "Did you mean 'fen'?"),
        (["chess", "--start", "fen=8/8 w"], "FEN"),
        (["chess", "--start", "8/8"], "name=value"),
        (["chess", "--start", "fen=R5k1/5ppp/8/8/8/8/8/6K1 b - - 1 1"], "White has mated."),
        (["chess", "--start", "fen=R7/5ppk/8/8/8/8/8/6K1 w - - 99 80"], "a position where the game is over: "),
        (["tictactoe", "--start", "fen=8/8"], "It takes none"),
        (["chess", "--start", "fen=8/8", "--from", "g.json"], "cannot go with --from"),
    ],
)
def test_starts_that_are_none(words: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "chess", "--players", "random", "random", "--save", "g.json"]) == 0
    assert main(["play", *words, "--players", "random", "random"]) == 2
    assert part in capsys.readouterr().err
