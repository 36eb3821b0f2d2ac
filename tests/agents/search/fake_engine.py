"""A UCI engine that plays no chess and misbehaves on demand: ``fake_engine.py MODE``."""

from __future__ import annotations

import os
import subprocess
import sys
import time


def say(line: str) -> None:
    print(line, flush=True)


def greet(mode: str) -> None:
    if mode == "silent":
        time.sleep(1000)
    if mode == "dies at once":
        print("cannot find my network file", file=sys.stderr, flush=True)
        raise SystemExit(3)
    if mode == "garbage":
        for _ in range(50):
            say("%$ \x01 segmentation? <html> \ufffd")
        time.sleep(1000)
    if mode == "flood":
        while True:
            say("info string hello")
    say("Fake engine, no chess known")
    say("id name Fake 1.0")
    say("id author nobody")
    say("option name Hash type spin default 16 min 1 max 1024")
    say("option name Skill Level type spin default 20 min 0 max 20")
    say("option name Ponder type check default false")
    say("option name Style type combo default Normal var Solid var Normal var Very Risky")
    say("option name Book File type string default <empty>")
    say("option name Answer type string default e2e4")
    say("option name Clear Hash type button")
    say("option name Odd type spin default x min y max z")
    say("uciok")


def answer(mode: str, fen: str, settings: dict[str, str]) -> None:
    if mode == "crashes":
        print("assertion failed", file=sys.stderr, flush=True)
        raise SystemExit(139)
    if mode in ("hangs", "hangs with child"):
        if mode == "hangs with child":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
            say(f"info string child {child.pid}")
        time.sleep(1000)
    if mode == "closes":
        os.close(1)
        os.close(2)
        time.sleep(1000)
    if mode == "tells":
        say(f"info string {settings} {fen}")
    say("info depth 3 seldepth 5 score cp 31 nodes 1234 pv e2e4")
    say("info depth 4 score mate -2 nodes 5678 pv e2e4")
    say("info string cp 999")
    if mode == "says nothing":
        say("bestmove")
        return
    moves = {"illegal": "e2e5", "nonsense": "castle!", "none": "(none)", "null": "0000", "other side": "e7e5"}
    say(f"bestmove {moves.get(mode, settings.get('Answer', 'e2e4'))} ponder e7e5")


def main() -> None:
    mode = sys.argv[1] if len(sys.argv) > 1 else "plays"
    settings: dict[str, str] = {}
    fen = ""
    for line in sys.stdin:
        words = line.split()
        if words[0] == "uci":
            greet(mode)
        elif words[0] == "isready":
            if mode == "never ready":
                time.sleep(1000)
            say("readyok")
        elif words[0] == "setoption":
            name, _, value = line.strip().removeprefix("setoption name ").partition(" value ")
            settings[name] = value
        elif words[0] == "position":
            fen = line.strip().removeprefix("position fen ")
        elif words[0] == "go":
            settings["go"] = " ".join(words[1:])
            if mode != "waits":
                answer(mode, fen, settings)
        elif words[0] == "stop":
            answer(mode, fen, settings)
        elif words[0] == "quit" and mode != "stays":
            return


if __name__ == "__main__":
    main()
    if len(sys.argv) > 1 and sys.argv[1] == "stays":  # even when nobody speaks to it any more
        time.sleep(1000)
