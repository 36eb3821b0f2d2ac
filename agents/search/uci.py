"""Any chess engine that speaks UCI, as a player: it gets positions and returns moves.

The constructor starts the engine, so a wrong path or option is reported before the first game. Any failure of the
engine (a crash, a hang, nonsense or an illegal move) is an ``EngineError``. The process ends with ``close``, with an
error or Ctrl-C during a move, when the player is garbage-collected, and when Python exits.

A turn knows the position, not the moves before it, so an engine gets ``ucinewgame`` and a FEN each time: it cannot see
repetitions that began earlier, and remembers nothing from one move to the next.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from ...envs.chess import fen as notation
from ...envs.chess.rules import action_of
from ...envs.core import Game
from ...errors import ActionError, EngineError, UsageError
from ..core import Decision, Turn
from .rows import need_action
from .uci_process import LIMITS, TIMEOUT, Engine

__all__ = ["UCIAgent", "parse_spec"]

MOVETIME = 100
"""Milliseconds per move if neither time nor depth nor nodes are given."""
MOST = {"movetime": 24 * 60 * 60 * 1000, "depth": 1000, "nodes": 10**15}
"""Upper bounds of the limits; a move may take up to a day."""


def parse_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Split ``"uci:PATH?Name=value&Name=value"`` into (path, settings); percent-escapes such as ``%26`` are decoded.

    Raises:
        UsageError: no path, a setting without a name or value, or a setting given twice.
    """
    path, _, rest = spec.partition(":")[2].partition("?")
    if not path:
        raise UsageError("uci needs the path of an engine, such as uci:/usr/games/stockfish?movetime=50.")
    settings: dict[str, str] = {}
    for part in filter(None, rest.split("&")):
        name, equals, value = part.partition("=")
        name = unquote(name).strip()
        if not (equals and name):
            raise UsageError(f"{spec!r}: {part!r} isn't NAME=VALUE; write uci:PATH?Name=value&Name=value.")
        if name in settings:
            raise UsageError(f"{spec!r}: {name!r} is named twice.")
        settings[name] = unquote(value)
    return unquote(path), settings


class UCIAgent:
    """A UCI engine as a chess player.

    In ``settings``, ``movetime`` (milliseconds), ``depth`` and ``nodes`` limit each move; ``timeout`` (seconds) is how
    much longer an answer may take; all others are options of the engine.

    Raises:
        UsageError: a game other than chess, no such engine, an unknown option, or an invalid value.
        EngineError: the program doesn't speak UCI.
    """

    greedy = True
    """It uses no random numbers of ours: one position, one answer, as far as its limits allow."""

    def __init__(self, game: Game, path: str, settings: Mapping[str, str] | None = None) -> None:
        if game.info.name != "chess":
            raise UsageError(f"UCI engines play chess, not {game.info.id}; try mcts, or minimax if the game is small.")
        left = dict(settings or {})
        self._limits = {name: _number(name, left.pop(name)) for name in LIMITS if name in left}
        if not self._limits:
            self._limits["movetime"] = MOVETIME
        self._timeout = _seconds(left.pop("timeout", str(TIMEOUT)))
        self._path, self._options = path, left
        self._engine: Engine | None = None
        self.name = self._running().name

    def _running(self) -> Engine:
        """The engine; started again if ``close`` or an error ended it."""
        if self._engine is None:
            engine = Engine(self._path, self._timeout)
            try:
                for name, value in self._options.items():
                    engine.set(name, value)
                engine.ready()
            except BaseException:
                engine.close()
                raise
            self._engine = engine
        return self._engine

    @property
    def pid(self) -> int | None:
        """Process id of the engine; None while it isn't running."""
        return self._engine.pid if self._engine else None

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """Ask for one move per turn, one after the other; any randomness is the engine's own.

        Raises:
            EngineError: it crashed, took too long, or answered with no legal move. Its process is then ended.
        """
        decisions = []
        for turn in turns:
            need_action(turn)
            try:
                decisions.append(self._move(turn))
            except BaseException:  # Ctrl-C too: the engine would keep thinking
                self.close(ask=False)
                raise
        return decisions

    def _move(self, turn: Turn) -> Decision:
        position = turn.state[turn.row]["position"]
        fen = notation.write(position)
        engine = self._running()
        answer, info = engine.best(fen, self._limits)
        try:
            action = int(action_of(position, notation.parse_uci(position, answer)))
        except ActionError as error:
            raise EngineError(
                f"The engine {engine.path} answered {answer!r} in {fen!r}, which cannot be played: {error}"
            ) from None
        return Decision(action, answer, info=info)

    def stop(self) -> None:
        """From another thread: tell the engine to answer at once with the best move that it has found."""
        if self._engine is not None:
            with contextlib.suppress(EngineError):
                self._engine.send("stop")

    def close(self, *, ask: bool = True) -> None:
        """End the engine; with ``ask`` it is first sent ``quit``. The next call of ``act`` starts it again."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close(ask=ask)


def _number(name: str, text: str) -> int:
    most = MOST[name]
    if not re.fullmatch("[0-9]{1,18}", text) or not 1 <= int(text) <= most:
        unit = " (milliseconds, a day at most)" if name == "movetime" else ""
        raise UsageError(f"uci: {name}={text} is invalid; use a whole number from 1 to {most}{unit}.")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise UsageError(f"uci: timeout={text} is invalid; use a number of seconds above 0 and below a million.")
    return seconds
