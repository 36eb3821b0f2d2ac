"""A game as a *show*: the plain data that a page displays, one frame for every position.

A show is a dictionary::

    format: 1
    kind: which view draws it: "board", "world" or "words"
    game: the game's id;  title;  goal: one sentence, or "";  rules: how it is played
    seats: [{name: "player_0", player: "minimax", color: CSS}, ...]
    command: the command that makes this page again, or ""
    width, height: of the pictures;  shapes, stamps: what they are made of (``recording``)
    boxes: [x, y, w, h] of the cells;  arrows: whether the cells of an action are where it starts and ends
    marks_last: whether pictures mark the last move;  themed: whether the pictures look well in the light theme too
    frames: [{picture: numbers of shapes, or null;  text: the position in words
              mover: the seat to move, or null;  by: the seat whose action led here, or null
              move: that action as text, or "";  moves: in simultaneous games, the text of every seat's action
              cells: the cells that it touched;  rewards: [P];  status: "", or how the game ended
              said: [[seat, message, {thinking, prompt, reward, advantage, who}], ...], if anything was said; all of the
              last may be left out
              comment: [text, {thinking}] what else the mover wrote, if anything
              thoughts: what players think before they act here, if any were asked: [{seat, who: the player's name,
              actions: [[text, probability, cells], ...] likeliest first, entropy: nats, legal: number of legal actions
              value, value_of: what the seat can expect here and who says so
              earlier: [{name, actions, entropy}, ...] what its earlier versions thought, oldest first}, ...]}, ...]
    sections: [[title, number of the frame], ...] in transcripts of many episodes
    world: of the kind "world", instead of frames (``world``)
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...aliases import RUNNING, TRUNCATED, Player, State
from ...envs.core import Game, GameRecord
from ...envs.registry import list_envs, spec
from ...envs.replay.file import replay
from ...envs.words import TextGame
from ...envs.words.talk import TalkGame
from ...errors import UsageError
from ..board import PALETTE
from .recording import css, record

__all__ = ["COLORS", "Boards", "describe", "drawn_state", "ending", "seats", "show", "spoken"]

SIZE: Final = 480
"""Width of the pictures in pixels; they scale."""

COLORS: Final = (PALETTE.first, PALETTE.second, PALETTE.accent, PALETTE.third, PALETTE.fourth, PALETTE.fifth)

_THINKING: Final = re.compile(r"\s*<think>(.*?)</think>(.*)", re.DOTALL)


class Boards:
    """The pictures of a game's positions; equal shapes are kept once.

    Args:
        game: the game; one with talk is shown as the game without.

    Attributes:
        game: the game that is drawn.
        shapes: every different shape so far, see ``recording``; groups are ``["g", x, y, scale, number of the stamp]``.
        stamps: lists of shapes.
        width, height: of the last picture, pixels.
    """

    def __init__(self, game: Game) -> None:
        self.game = game.inner if isinstance(game, TalkGame) else game
        self._draw = None if isinstance(self.game, TextGame) else _drawer(self.game)
        self._drawer: Any = importlib.import_module(self._draw.partition(":")[0]) if self._draw else None
        self.shapes: list[Any] = []
        self.stamps: list[Any] = []
        self.width = self.height = SIZE
        self._known: dict[str, int] = {}
        self._stamped: dict[int, int] = {}

    def picture(self, state: State, player: Player | None = None) -> list[int] | None:
        """Numbers of the shapes of row 0, in the order in which they are drawn; None for a game without pictures."""
        if self._draw is None:
            return None
        self.width, self.height, shapes = record(self._draw, self.game, state, size=SIZE, player=player)
        return [self._number(shape) for shape in shapes]

    def facts(self, player: Player | None = None) -> dict[str, Any]:
        """The show's fields about pictures, for those that were drawn so far."""
        boxes = self._drawer.boxes(self.game, SIZE, player) if self._drawer else []
        return {
            "width": self.width,
            "height": self.height,
            "shapes": self.shapes,
            "stamps": self.stamps,
            "boxes": [[round(v, 1) for v in box] for box in boxes],
            "arrows": bool(getattr(self._drawer, "ARROWS", False)),
            "marks_last": bool(getattr(self._drawer, "MARKS_LAST", False)),
            "themed": self._draw is None or self._draw.startswith(f"{__name__.partition('.')[0]}.renderers."),
        }

    def cells(self, state: State, action: int) -> list[int]:
        """The cells that an action touches in row 0."""
        return [int(c) for c in self._drawer.cells(self.game, state, 0, action)] if self._drawer else []

    def colors(self) -> list[str]:
        """A CSS colour for every seat."""
        given: Sequence[Any] = getattr(self._drawer, "SEAT_COLORS", COLORS)
        return [css(given[p % len(given)]) for p in range(self.game.info.players)]

    def _number(self, shape: list[Any]) -> int:
        if shape[0] == "g":
            shape = [*shape[:4], self._stamp(shape[4])]
        key = json.dumps(shape)
        if key not in self._known:
            self._known[key] = len(self.shapes)
            self.shapes.append(shape)
        return self._known[key]

    def _stamp(self, shapes: list[Any]) -> int:
        """The number of a stamp, which a recording gives as the same list each time."""
        if id(shapes) not in self._stamped:  # the list stays alive in ``stamps``, so no other one gets its id
            self._stamped[id(shapes)] = len(self.stamps)
            self.stamps.append(shapes)
        return self._stamped[id(shapes)]


def _drawer(game: Game) -> str | None:
    """The drawer that a game is registered with."""
    return spec(game.info.id).draw if game.info.id in list_envs() else None


def seats(game: Game, players: Sequence[str], colors: Sequence[str]) -> list[dict[str, str]]:
    """The show's seats."""
    return [
        {"name": name, "player": player, "color": color}
        for name, player, color in zip(game.info.agents, players, colors, strict=True)
    ]


def spoken(seat: Player | None, text: str, facts: dict[str, Any] | None = None) -> list[Any]:
    """An entry of a frame's ``said``: thoughts that a model wrote before its answer stand apart from it."""
    found = _THINKING.fullmatch(text)
    more = dict(facts or {})
    if found and found[1].strip():
        more["thinking"], text = found[1].strip(), found[2].strip()
    return [seat, text, more] if more else [seat, text]


def describe(game: Game, state: State, seats: Sequence[Player]) -> str:
    """The position in words, as these seats are told it."""
    if len(seats) == 1:
        return game.describe(state, 0, seats[0])
    return "\n\n".join(f"player_{p}:\n{game.describe(state, 0, p)}" for p in seats)


def show(
    game: Game, record: GameRecord, *, title: str = "", command: str = "", texts: Sequence[Player] | None = None
) -> dict[str, Any]:
    """The show of a played game, without thoughts.

    A drawer whose module has ``SHOW = "package.module:function"`` makes the show itself, by that function.

    Args:
        game: the game.
        record: what was played.
        title: above the page; by default the game's name.
        command: what makes the page again.
        texts: in worlds, the slots whose texts are stored; None: the first ones, as many as are small enough.

    Raises:
        UsageError: ``texts`` for a game that stores all texts, or there is no such slot.
        MissingExtra: the game's drawer works on pixels, and pygame is not installed.
        NotationError: the record cannot be replayed.
    """
    draw = _drawer(game)
    own = getattr(importlib.import_module(draw.partition(":")[0]), "SHOW", None) if draw else None
    if own is not None:
        module, _, name = own.partition(":")
        made: dict[str, Any] = getattr(importlib.import_module(module), name)(
            game, record, title=title, command=command, texts=texts
        )
        return made
    if texts is not None:
        raise UsageError(f"A page of {game.info.name} holds all texts; only those of worlds are chosen by agent.")
    info, boards = game.info, Boards(game)
    everybody = list(range(info.players))
    frames: list[dict[str, Any]] = []
    before: State | None = None
    for turn, (state, rewards, status) in enumerate(replay(game, record)):
        over = status != RUNNING or turn == len(record.actions)
        mover = None if info.simultaneous or status != RUNNING else max(0, game.mover(state, 0))
        shown = everybody if info.hidden or info.simultaneous else [mover or 0]
        frame: dict[str, Any] = {
            "picture": boards.picture(drawn_state(game, state)),
            "text": describe(game, state, shown),
            "mover": mover,
            "by": None,
            "move": "",
            "rewards": [float(r) for r in rewards],
            "status": ending(game, record) if over else "",
        }
        if before is not None:
            frame |= _move(game, boards, before, record.actions[turn - 1])
        if turn - 1 in record.comments:
            frame["comment"] = spoken(None, record.comments[turn - 1])[1:]
        frames.append(frame)
        before = state
    # What no turn paid: an illegal answer's penalty, or the result of a game that was given up.
    paid = [round(float(r), 6) for r in np.array(record.returns) - np.sum([f["rewards"] for f in frames], 0)]
    if record.illegal is None:
        frames[-1]["rewards"] = [own + rest for own, rest in zip(frames[-1]["rewards"], paid, strict=True)]
    else:
        last = dict(frames[-1])
        frames[-1] |= {"status": "", "mover": record.illegal}
        last |= {"by": record.illegal, "move": "an illegal answer", "cells": [], "said": [], "mover": None}
        frames.append(
            last | {"rewards": paid, "comment": spoken(None, record.comments.get(len(record.actions), ""))[1:]}
        )
    words = isinstance(game, TextGame) and not isinstance(game, TalkGame)
    return {
        "format": 1,
        "kind": "words" if words else "board",
        "game": info.id,
        "title": title or info.name.replace("_", " ").capitalize(),
        "goal": game.goal,
        "rules": game.rules,
        "seats": seats(game, record.players, boards.colors()),
        "command": command,
        **boards.facts(),
        "frames": frames,
    }


def drawn_state(game: Game, state: State) -> State:
    """The state that drawers of a game take: without the talk."""
    return game.drawn(state)[1] if isinstance(game, TalkGame) else state


def ending(game: Game, record: GameRecord) -> str:
    """How a game ended, in a sentence."""
    names = [f"{name} ({player})" for name, player in zip(game.info.agents, record.players, strict=True)]
    returns = np.array(record.returns)
    if record.illegal is not None:
        return f"{names[record.illegal]} gave an answer that is no legal action; the game is over."
    if record.status == RUNNING:
        return "The game was left unfinished."
    cut = "The game was cut off. " if record.status == TRUNCATED else ""
    scores = ", ".join(f"{value:g}" for value in returns)
    if len(returns) == 1:
        return f"{cut}The game is over; {names[0]} got {scores}."
    if np.ptp(returns) == 0:
        return f"{cut}A draw: everybody got {returns[0]:g}."
    best = np.flatnonzero(returns == returns.max())
    if len(best) > 1:
        return f"{cut}{' and '.join(names[b] for b in best)} share the best result; returns {scores}."
    return f"{cut}{names[int(best[0])]} wins; returns {scores}."


def _move(game: Game, boards: Boards, before: State, actions: Sequence[Any]) -> dict[str, Any]:
    """What led from a position to the next: the fields ``by``, ``move``, ``cells`` and ``said``."""
    if isinstance(game, TalkGame):
        by = game.mover(before, 0)
        said = game.split(before, 0, actions[by])
        inner = drawn_state(game, before)
        return {
            "by": by,
            "move": game.inner.action_to_text(inner, 0, said.action),
            "cells": boards.cells(inner, said.action),
            **({"said": [[by, said.message]]} if said.message else {}),
        }
    if isinstance(game, TextGame):
        asked = [int(p) for p in game.asked(before[0])]
        told = [spoken(p, str(actions[p])) for p in asked]
        return {"by": asked[0] if len(asked) == 1 else None, "move": "", "cells": [], "said": told}
    if game.info.simultaneous:
        texts = [game.action_to_text(before, 0, int(a)) for a in actions]
        return {"by": None, "move": " · ".join(texts), "moves": texts, "cells": []}
    by = game.mover(before, 0)
    action = int(actions[by])
    return {"by": by, "move": game.action_to_text(before, 0, action), "cells": boards.cells(before, action)}
