"""Engines as processes: what they are told, every way in which they can fail, and that none is left behind.

The file is longer than most: all of it is asked of one engine that can fail in every way.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from coterie.agents.baselines import make_baseline
from coterie.agents.core import Turn, seeded
from coterie.agents.search.mates import mating_moves
from coterie.agents.search.uci import UCIAgent, parse_spec
from coterie.agents.search.uci_process import Engine, Option, _scores
from coterie.envs.core import Game
from coterie.envs.registry import make_game
from coterie.errors import CoterieError, EngineError, IllegalAction, UsageError
from coterie.training.evaluation.match import play_match

FAKE = Path(__file__).with_name("fake_engine.py")
MATE_IN_2 = "7r/p3ppk1/3p4/2p1P1Kp/2Pb4/3P1QPq/PP5P/R6R b - - 0 1"
STOCKFISH = shutil.which("stockfish") or next((p for p in ("/usr/games/stockfish",) if Path(p).exists()), None)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fake engine is started by a shell script")


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("chess")


@pytest.fixture
def fake(tmp_path: Path) -> Callable[[str], str]:
    """``fake(mode)`` is the path of a program that misbehaves so."""

    def make(mode: str = "plays") -> str:
        script = tmp_path / f"engine {mode}"  # with a blank: a path may have one
        script.write_text(
            f"#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(FAKE))} {shlex.quote(mode)}\n"
        )
        script.chmod(0o755)
        return str(script)

    return make


def turn_at(game: Game, fen: str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1") -> Turn:
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    game.options["fen"](state, 0, fen)
    seat = game.mover(state, 0)
    return Turn(game, state, 0, seat, game.legal_mask(state, 0, seat), game.key(state, 0))


def act(agent: UCIAgent, turn: Turn, count: int = 1) -> list[int | None]:
    return [d.action for d in agent.act(seeded([turn] * count))]


def gone(pid: int | None, seconds: float = 5.0) -> bool:
    """Whether a process ends within some seconds."""
    assert pid is not None
    for _ in range(int(seconds * 50)):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and ") Z " in Path(f"/proc/{pid}/stat").read_text():
            return True  # dead; its parent (in a container perhaps nobody) has not asked yet
        time.sleep(0.02)
    return False


def nobody_listens(pid: int) -> bool:
    """Whether the thread that read an engine's output ends."""
    for thread in threading.enumerate():
        if thread.name == f"engine {pid}":
            thread.join(5)
            return not thread.is_alive()
    return True


# -- what is said ------------------------------------------------------------------------------------------------------


def test_it_is_told_options_position_and_limits(game: Game, fake: Callable[[str], str]) -> None:
    spec = f"uci:{fake('tells')}?skill level=3&Style=Very Risky&Ponder=TRUE&Clear Hash=&depth=5&movetime=70"
    agent = make_baseline(spec, game)
    assert isinstance(agent, UCIAgent)
    assert agent.name == "Fake 1.0"
    fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 3 9"
    turn = turn_at(game, fen)
    (decision,) = agent.act(seeded([turn]))
    assert decision.action == turn.parse_action("e2e4")
    assert decision.text == "e2e4"
    assert decision.info == {"depth": 4, "score": 31, "mate": -2, "nodes": 5678}
    engine = agent._engine
    assert engine is not None
    engine.send(f"position fen {fen}")
    engine.send("go depth 5")
    told = engine.until("bestmove", 5, "x")[0]
    assert "'Skill Level': '3'" in told
    assert "'Style': 'Very Risky'" in told
    assert "'Ponder': 'true'" in told
    assert "'Clear Hash': ''" in told
    assert fen in told
    agent.close()


def test_limits_reach_the_engine(game: Game, fake: Callable[[str], str]) -> None:
    for words, told in (("", "movetime 100"), ("?nodes=50", "nodes 50"), ("?depth=2&movetime=9", "movetime 9 depth 2")):
        agent = make_baseline(f"uci:{fake('tells')}{words}", game)
        assert isinstance(agent, UCIAgent)
        agent._running().ready()
        seen: list[str] = []
        engine = agent._running()
        until = engine.until
        engine.until = lambda *a, seen=seen, until=until: seen.extend(found := until(*a)) or found  # type: ignore
        act(agent, turn_at(game))
        assert f"'go': '{told}'" in seen[0]
        agent.close()


def test_black_and_promotions(game: Game, fake: Callable[[str], str]) -> None:
    for fen, move in (
        ("4k3/8/8/8/8/8/p7/4K3 b - - 0 1", "a2a1n"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8c8"),
        ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2", "e5d6"),
    ):
        agent = make_baseline(f"uci:{fake()}?Answer={move}", game)
        turn = turn_at(game, fen)
        assert act(agent, turn) == [turn.parse_action(move)]  # type: ignore[arg-type]
        agent.close()  # type: ignore[attr-defined]


def test_a_match(game: Game, fake: Callable[[str], str]) -> None:
    """Many games wait, one engine answers them all, until its one answer is illegal."""
    agent = make_baseline(f"uci:{fake()}", game)
    assert act(agent, turn_at(game), 5) == act(agent, turn_at(game)) * 5  # type: ignore[arg-type]
    with pytest.raises(EngineError, match="'e2e4'"):
        play_match(game, (agent, make_baseline("random", game)), 2, 0)
    assert agent.pid is None  # type: ignore[attr-defined]


def test_spec() -> None:
    assert parse_spec("uci:/a b/c") == ("/a b/c", {})
    assert parse_spec("uci:/x?Skill Level=3&movetime=50") == ("/x", {"Skill Level": "3", "movetime": "50"})
    assert parse_spec("uci:/x?File=a%26b%2Cc%3Dd=e") == ("/x", {"File": "a&b,c=d=e"})
    assert parse_spec("uci:/what%3F") == ("/what?", {})
    assert parse_spec("uci:/x?Clear=") == ("/x", {"Clear": ""})
    for wrong, why in (("uci:", "needs the path"), ("uci:/x?Hash", "isn't NAME=VALUE"), ("uci:/x?A=1&A=2", "twice")):
        with pytest.raises(UsageError, match=why):
            parse_spec(wrong)


def test_options_are_read_as_engines_write_them() -> None:
    option = Option.read("option name Use NNUE type check default true")
    assert (option.name, option.kind, option.default) == ("Use NNUE", "check", "true")
    option = Option.read("option name Style type combo default Very Risky var Solid var Very Risky")
    assert option.values == ("Solid", "Very Risky")
    assert option.default == "Very Risky"
    option = Option.read("option name min max depth type spin default -5 min -10 max 10")
    assert (option.name, option.least, option.most) == ("min max depth", -10, 10)
    assert option.check("-7") == "-7"
    for wrong in ("--5", "5-", "", "9" * 5000):
        with pytest.raises(UsageError, match="from -10 to 10, not"):
            option.check(wrong)
    assert Option.read("option name Debug Log File type string default").default == ""


def test_numbers_that_are_none_are_left_out() -> None:
    for wrong in ("--5", "-", "9" * 5000):
        assert _scores(f"info depth {wrong} score cp -31".split()) == {"score": -31}


# -- what goes wrong before the first move -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("Skil Level=3", "no option 'Skil Level'. Did you mean 'Skill Level'"),
        ("movetme=3", "Did you mean 'movetime'"),
        ("Skill Level=21", "from 0 to 20, not '21'"),
        ("Skill Level=high", "from 0 to 20, not 'high'"),
        ("Ponder=1", "true or false"),
        ("Style=Risky", "one of Solid, Normal, Very Risky, not 'Risky'"),
        ("movetime=0", "movetime=0"),
        ("depth=two", "depth=two"),
        ("movetime=86400001", r"from 1 to 86400000 \(milliseconds, a day at most\)"),
        ("nodes=" + "9" * 5000, "from 1 to"),
        ("Skill Level=--5", "from 0 to 20, not '--5'"),
        ("timeout=-1", "timeout=-1"),
        ("timeout=soon", "timeout=soon"),
    ],
)
def test_settings_that_do_not_fit(game: Game, fake: Callable[[str], str], words: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        make_baseline(f"uci:{fake()}?{words}", game)


def test_paths_that_are_no_engine(game: Game, tmp_path: Path) -> None:
    text = tmp_path / "stockfish.txt"
    text.write_text("hello")
    (tmp_path / "stokfish").mkdir()
    with pytest.raises(UsageError, match=r"There is no engine .*stokfish.txt\. Give the path"):  # neither can be run
        make_baseline(f"uci:{tmp_path}/stokfish.txt", game)
    program = tmp_path / "stockfish"
    program.write_text("hello")
    program.chmod(0o755)
    with pytest.raises(UsageError, match=r"There is no engine .*stokfish.txt\. Did you mean 'stockfish'"):
        make_baseline(f"uci:{tmp_path}/stokfish.txt", game)
    with pytest.raises(UsageError, match="is not executable; chmod"):
        make_baseline(f"uci:{text}", game)
    with pytest.raises(UsageError, match="is no file"):
        make_baseline(f"uci:{tmp_path}", game)
    with pytest.raises(UsageError, match="There is no engine no-such-engine"):
        make_baseline("uci:no-such-engine", game)
    text.chmod(0o755)  # a program that no shell and no loader knows
    with pytest.raises(CoterieError, match=r"cannot be run|ended with code"):
        make_baseline(f"uci:{text}?timeout=2", game)


def test_engines_play_chess_alone(fake: Callable[[str], str]) -> None:
    with pytest.raises(UsageError, match="not tictactoe-v0"):
        make_baseline(f"uci:{fake()}", make_game("tictactoe"))


@pytest.mark.parametrize(
    ("mode", "timeout", "why"),
    [
        ("silent", 0.5, r"does not speak UCI: no 'uciok' within 0.5 s. It said nothing"),
        pytest.param("garbage", 4, r"no 'uciok' within 4 s. It said last: '%\$", marks=pytest.mark.slow),
        ("flood", 0.5, "no 'uciok' within 0.5 s"),
        ("dies at once", 60, "ended with code 3. It said last: 'cannot find my network file'"),
        pytest.param("never ready", 4, "did not get ready: no 'readyok'", marks=pytest.mark.slow),
    ],
)
def test_no_start(
    game: Game, fake: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, mode: str, timeout: float, why: str
) -> None:
    pids = watched(monkeypatch)
    with pytest.raises(EngineError, match=why):  # where the engine must have spoken first, a busy machine takes a while
        make_baseline(f"uci:{fake(mode)}?timeout={timeout}", game)
    assert len(pids) == 1
    assert gone(pids[0])
    assert nobody_listens(pids[0])


def watched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the processes that are started from now on."""
    pids: list[int] = []
    start = subprocess.Popen

    def popen(*args: object, **kwargs: object) -> object:
        process = start(*args, **kwargs)  # type: ignore[call-overload]
        pids.append(process.pid)
        return process

    monkeypatch.setattr("coterie.agents.search.uci_process.subprocess.Popen", popen)
    return pids


# -- what goes wrong later ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("crashes", "ended with code 139. It said last: 'assertion failed'"),
        ("hangs", "gave no move in 'rnbqkbnr/.*': no 'bestmove' within"),
        ("closes", "closed its output"),
        ("illegal", "answered 'e2e5' in 'rnbq.*', which cannot be played"),
        ("other side", "answered 'e7e5'"),
        ("nonsense", "answered 'castle!'"),
        ("none", r"answered '\(none\)'"),
        ("null", "answered '0000'"),
        ("says nothing", "answered ''"),
    ],
)
def test_no_move(game: Game, fake: Callable[[str], str], mode: str, why: str) -> None:
    agent = make_baseline(f"uci:{fake(mode)}?timeout=60&movetime=10", game)
    assert isinstance(agent, UCIAgent)
    for _ in range(2):  # the second time by a new process
        agent._running().timeout = 1.0 if mode == "hangs" else 60.0  # to start, it may take its time
        pid = agent.pid
        with pytest.raises(EngineError, match=why):
            act(agent, turn_at(game))
        assert gone(pid)
        assert agent.pid is None


def test_an_engine_that_was_killed(game: Game, fake: Callable[[str], str]) -> None:
    agent = make_baseline(f"uci:{fake()}", game)
    assert isinstance(agent, UCIAgent)
    assert agent.pid is not None
    os.kill(agent.pid, signal.SIGKILL)
    with pytest.raises(EngineError, match=r"ended with code -9|cannot be sent"):
        act(agent, turn_at(game))
    assert act(agent, turn_at(game))  # started again
    agent.close()


def test_nothing_to_move(game: Game, fake: Callable[[str], str]) -> None:
    agent = make_baseline(f"uci:{fake()}", game)
    with pytest.raises(IllegalAction):
        act(agent, turn_at(game, "7k/5KQ1/8/8/8/8/8/8 b - - 0 1"))  # type: ignore[arg-type]
    agent.close()  # type: ignore[attr-defined]


# -- nobody is left behind ---------------------------------------------------------------------------------------------


def test_closing(game: Game, fake: Callable[[str], str]) -> None:
    for mode in ("plays", "stays"):
        agent = make_baseline(f"uci:{fake(mode)}", game)
        assert isinstance(agent, UCIAgent)
        pid = agent.pid
        agent.close()
        agent.close()
        assert gone(pid)
        assert act(agent, turn_at(game))  # asked again, it is there again
        assert agent.pid not in (None, pid)
        agent.close()
    with contextlib.closing(Engine(fake())) as engine:
        pid = engine.pid
    assert gone(pid)


def test_a_search_is_stopped_from_another_thread(game: Game, fake: Callable[[str], str]) -> None:
    agent = make_baseline(f"uci:{fake('waits')}?timeout=60", game)
    with contextlib.closing(agent), ThreadPoolExecutor(1) as pool:
        answer = pool.submit(act, agent, turn_at(game))
        while not answer.done():
            agent.stop()  # before "go" it is nothing to an engine
            time.sleep(0.01)
        assert answer.result() != [None]


def test_forgetting(game: Game, fake: Callable[[str], str]) -> None:
    agent = make_baseline(f"uci:{fake('stays')}", game)
    pid = agent.pid  # type: ignore[attr-defined]
    del agent
    gc.collect()
    assert gone(pid)
    assert nobody_listens(pid)


def test_its_children_end_too(game: Game, fake: Callable[[str], str]) -> None:
    agent = make_baseline(f"uci:{fake('hangs with child')}?timeout=60&movetime=10", game)
    agent._running().timeout = 3.0  # type: ignore[attr-defined]
    with pytest.raises(EngineError, match="gave no move") as told:
        act(agent, turn_at(game))  # type: ignore[arg-type]
    child = re.search(r"string child (\d+)", str(told.value))
    assert child, told.value
    assert gone(int(child[1]))


SCRIPT = """
import signal
import sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are born deaf to Ctrl-C
import numpy as np
from coterie.agents.baselines import make_baseline
from coterie.envs.registry import make_game
from coterie.agents.core import Turn, seeded
game = make_game("chess")
state = game.new_state(1)
game.kernels.reset(state, 0, np.uint64(0))
turn = Turn(game, state, 0, 0, game.legal_mask(state, 0, 0), 0)  # compiled before anybody is told that we think
agent = make_baseline("uci:" + sys.argv[1] + "?timeout=60", game)
print(agent.pid, flush=True)
if sys.argv[2] == "raises":
    raise RuntimeError("elsewhere")
if sys.argv[2] == "thinks":
    agent.act(seeded([turn]))
"""


@pytest.mark.parametrize(
    ("how", "mode"), [("ends", "stays"), ("raises", "stays"), ("thinks", "hangs"), ("thinks", "hangs with child")]
)
def test_python_ends(fake: Callable[[str], str], how: str, mode: str) -> None:
    """At the end of the script, by an error elsewhere, and by Ctrl-C while the engine thinks."""
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, fake(mode), how], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as python:
        assert python.stdout is not None
        line = python.stdout.readline()
        assert line, python.stderr.read() if python.stderr else ""
        if how == "thinks":
            time.sleep(2.0)
            python.send_signal(signal.SIGINT)
        python.communicate(timeout=60)
    assert python.returncode == (0 if how == "ends" else 1 if how == "raises" else -signal.SIGINT)
    assert gone(int(line))


# -- a real one --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(STOCKFISH is None, reason="Stockfish isn't installed")
def test_stockfish(game: Game) -> None:
    agent = make_baseline(f"uci:{STOCKFISH}?depth=12&Threads=1&Hash=16", game)
    assert isinstance(agent, UCIAgent)
    assert agent.name.startswith("Stockfish")
    for fen, moves in (("6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", 1), (MATE_IN_2, 2)):
        turn = turn_at(game, fen)
        (decision,) = agent.act(seeded([turn]))
        assert decision.action in {turn.parse_action(uci) for uci in mating_moves(fen, moves)}
        assert decision.info["mate"] == moves
    assert play_match(game, (agent, make_baseline("random", game)), 4, 0).shares[0] == 1
    pid = agent.pid
    agent.close()
    assert gone(pid)


@pytest.mark.skipif(STOCKFISH is None, reason="Stockfish isn't installed")
def test_stockfish_in_a_match(game: Game) -> None:
    """Our search against another program's, on positions of its own choosing."""
    weak = make_baseline(f"uci:{STOCKFISH}?depth=3&Skill Level=0", game)
    ours = make_baseline("alphabeta:2", game)
    assert play_match(game, (ours, weak), 4, 0).illegal == 0
    weak.close()  # type: ignore[attr-defined]
