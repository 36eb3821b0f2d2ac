"""Command lines for ``benchmarks.fuzz``: real ones, altered ones, and each run in a process of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import signal
import traceback
from pathlib import Path

from ..errors import CoterieError
from . import command
from .fuzz_altering import altered_bytes

__all__ = ["PACKAGE", "Failed", "altered_line", "lines", "place", "run_line"]

PACKAGE = Path(__file__).parents[1]

LINES = """
envs
envs tictactoe
envs gridworld --preset a3_9x9 --yaml
envs go --set size=5 komi=0.5
play tictactoe random minimax --games 3 --seed 4
play chess --players greedy random --ticks 4 --save out.pgn
play gridworld forager --preset a3_9x9 --ticks 5 --save out.json --follow 1
play hex random random --set size=4 --save out.sgf
play go --set size=5 komi=0.5 --players random random --gif out.gif --ticks 2
play connect_four --players mcts:20 random --ticks 3 --start moves=44
play matrix --set rounds=3 --players random random
play highest_string human random
play kuhn_poker --players human random --start deal=KJ
play --replay real.json
play tictactoe --from real.json --players human random --save more.json
eval random --game tictactoe --vs minimax --games 4 --json --opening-plies 1
eval forager --game gridworld --preset a3_9x9 --games 2 --ticks 3
eval random --game chess --curriculum krk --games 2 --goal krk.solved>=0.5
train tictactoe --updates 0
train --run gone --resume
train chess --curriculum gone.txt
bench nothing
--version
"""
WORDS = (
    *("", "-", "--", "0", "-1", "1e9", "nan", "9" * 20, "\0", "é☃", ".", "/dev/full", "gone/x.json", "x" * 5000, "a=b"),
    *("=", "a.b=", "[", "--set", "--help", "--games", "--save", "--seed=x", "random", "uci:/nonexistent", "mcts:0"),
    *("mcts:x", "run:main@9", "real.json", "human", "--start", "--from", "--replay", "--gif", "fen=x", "size=-1"),
)


def lines() -> list[bytes]:
    """Lines that end soon, and a file that they read."""
    if not Path("real.json").exists():
        command(["play", "tictactoe", "random", "random", "--ticks", "3", "--save", "real.json"])
    return [json.dumps(line.split()).encode() for line in LINES.strip().splitlines()]


def altered_line(rng: random.Random, corpus: list[bytes]) -> bytes:
    """Words replaced, removed, inserted, altered, repeated or taken from another line."""
    words = json.loads(rng.choice(corpus))
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, kind = rng.randrange(len(words) + 1), rng.randrange(6)
        if kind == 0 and at < len(words):
            words[at] = rng.choice(WORDS)
        elif kind == 1:
            words[at:] = words[at + 1 :]
        elif kind == 2:
            words.insert(at, rng.choice(WORDS))
        elif kind == 3 and at < len(words) and ":" not in words[at]:  # mcts:4444444 would think for minutes
            words[at] = altered_bytes(rng, words[at].encode()).decode(errors="replace")[:6000]
        elif kind == 4:
            words += json.loads(rng.choice(corpus))[2:]
        else:
            words[at:at] = words[max(0, at - 2) : at]
    return json.dumps(words).encode()


def run_line(data: bytes) -> None:
    """Run a line in a process of its own, for at most five seconds; where it cannot be used, it must say why."""
    words = json.loads(data)
    if not (child := os.fork()):
        signal.alarm(5)  # the end of this process
        told: dict[str, str] = {}
        try:
            said = io.StringIO()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                code = command(words)
            if code == 2 and words:
                told = {"refused": said.getvalue()} if said.getvalue() else {"failed": "exit code 2, and not a word"}
        except BaseException as error:
            traceback.print_exc()
            told = {"place": place(error), "failed": str(error)}
        finally:
            Path("told").write_text(json.dumps(told))
            os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ended not in (0, -signal.SIGALRM):
        os.kill(os.getpid(), -ended)
    found = json.loads(Path("told").read_text()) if ended == 0 else {}
    if "refused" in found:
        raise CoterieError(found["refused"])
    if found:
        raise Failed(found.get("place", "cli/__init__.py"), found["failed"])


class Failed(Exception):
    """A failure in another process, and its place there."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(message)
        self.place = place


def place(error: BaseException) -> str:
    """The innermost line of coterie that an exception passed, and its kind: ``envs/state.py:300 KeyError``."""
    if isinstance(error, Failed):
        return error.place
    frames = [f for f in traceback.extract_tb(error.__traceback__) if PACKAGE in Path(f.filename).parents]
    own = [f for f in frames if not Path(f.filename).name.startswith("fuzz")] or frames
    where = f"{Path(own[-1].filename).relative_to(PACKAGE)}:{own[-1].lineno}" if own else "outside"
    return f"{where} {type(error).__name__}"
