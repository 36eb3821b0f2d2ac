"""Go as text: the descriptions that players see, and how their answers are read."""

from __future__ import annotations

import re

from ...aliases import Action, Player
from ...errors import AmbiguousAction, IllegalAction, InvalidAction
from .position import COLUMNS, forbidden, named, point, score, size_of, stones
from .rules import SIMPLE, Boards

__all__ = ["action_to_text", "board", "compact", "describe", "parse_action"]

_SIDES = ("Black", "White")
_MARKS = "XO"
_FEW = 12
"""Up to this many legal points are listed; if there are more, the forbidden ones are listed instead."""

_ANSWER = re.compile(r"(?<![^\W_])(?:([A-Za-z])[ ]?(\d{1,2})|(pass))(?![^\W_])", re.IGNORECASE)


def board(state: Boards, i: int) -> str:
    """The board with coordinates on all four sides."""
    size, cells = size_of(state, i), stones(state, i)
    letters = "   " + " ".join(COLUMNS[:size])
    lines = [f"{size - row:2} {' '.join(cells[row * size : (row + 1) * size])} {size - row}" for row in range(size)]
    return "\n".join([letters, *lines, letters])


def _ko(state: Boards, i: int) -> str:
    return "ko" if int(state.facts[i]["superko"]) == SIMPLE else "superko"


def _closed(state: Boards, i: int) -> dict[Action, str]:
    """The empty points that the current player may not play, and why."""
    return {a: _ko(state, i) if why == "ko" else why for a, why in forbidden(state, i).items()}


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _open(state: Boards, i: int) -> str:
    """The legal moves in one line, for any size of board."""
    size = size_of(state, i)
    closed = _closed(state, i)
    points = [a for a, stone in enumerate(stones(state, i)) if stone == "." and a not in closed]
    if len(points) <= _FEW:
        return f"Legal moves: {' '.join([*(point(size, a) for a in points), 'pass'])}."
    listed = ", ".join(f"{point(size, a)} ({why})" for a, why in closed.items())
    return f"Legal moves: any empty point (.){' except ' + listed + ';' if listed else ','} or pass."


def describe(state: Boards, i: int, player: Player) -> str:
    """The board, captures, komi, the last move, the player's colour and its legal moves."""
    facts, size = state.facts[i], size_of(state, i)
    komi, moves, most = int(facts["komi"]) / 2, int(facts["moves"]), int(facts["max_moves"])
    taken = [_number(int(n), "stone") for n in facts["captured"]]
    lines = [board(state, i), f"Black has captured {taken[0]}, White {taken[1]}. Komi {komi:g}."]
    last = "No move yet."
    if moves:
        other = _SIDES[1 - int(facts["mover"])]
        played = point(size, int(facts["last"]))
        last = f"{other} passed: a pass now ends the game." if facts["passes"] == 1 else f"{other} played {played}."
        if facts["over"]:
            last = f"{other} {'passed' if played == 'pass' else 'played ' + played}."
    left = f" {_number(most - moves, 'move')} left before the board is counted." if not facts["over"] else ""
    lines.append(f"{last}{left}")
    you = f"You are {_SIDES[player]} ({_MARKS[player]})."
    if facts["over"]:
        count = score(state, i)
        who = (
            "The game is a draw." if count.margin == 0 else f"{_SIDES[count.margin < 0]} wins by {abs(count.margin):g}."
        )
        lines.append(f"The game is over. Area: Black {count.black}, White {count.white} and {komi:g} komi. {who} {you}")
    else:
        lines.append(f"{you} {_open(state, i) if player == facts['mover'] else 'You have no move now.'}")
    return "\n".join(lines)


def compact(state: Boards, i: int, player: Player) -> str:
    """``X .O.../...../... 7.5 50 p D4>``: own mark, rows from the top, komi, moves left, last pass, forbidden points.

    ``p`` appears only if the last move was a pass; the empty points that the player may not play now follow, if any.
    """
    facts, size, cells = state.facts[i], size_of(state, i), stones(state, i)
    rows = "/".join(cells[row * size : (row + 1) * size] for row in range(size))
    parts = [_MARKS[player], rows, f"{int(facts['komi']) / 2:g}", str(int(facts["max_moves"]) - int(facts["moves"]))]
    if facts["passes"]:
        parts.append("p")
    if player == facts["mover"]:
        parts += [point(size, a) for a in forbidden(state, i)]
    return " ".join(parts) + ">"


def action_to_text(state: Boards, i: int, action: Action) -> str:
    """``"D4"`` or ``"pass"``."""
    return point(size_of(state, i), action)


def parse_action(state: Boards, i: int, text: str) -> Action:
    """The point or pass that a text names, if it may be played now.

    Raises:
        InvalidAction: it names no point of this board.
        AmbiguousAction: it names several.
        IllegalAction: the point is occupied, suicide or forbidden by ko, or the game is over.
    """
    size, facts = size_of(state, i), state.facts[i]
    way_out = f"Answer with one point, {COLUMNS[0]}1 to {COLUMNS[size - 1]}{size} (no column I), or pass."
    found = {"pass" if m[3] else m[1].upper() + str(int(m[2])) for m in _ANSWER.finditer(text)}
    if len(found) > 1:
        raise AmbiguousAction(f"{text!r} names several moves: {', '.join(sorted(found))}. {way_out}")
    if not found:
        raise InvalidAction(f"{text!r} names no point. {way_out}")
    name = found.pop()
    action = size * size if name == "pass" else named(size, name)
    if action is None:
        raise InvalidAction(f"{name} is no point of a {size}x{size} board. {way_out}")
    if facts["over"]:
        raise IllegalAction(f"{name} comes too late. The game is over.")
    if action == size * size:
        return action
    stone = stones(state, i)[action]
    if stone != ".":
        raise IllegalAction(f"{name} is occupied by {'Black' if stone == 'X' else 'White'}. {_open(state, i)}")
    why = _closed(state, i).get(action)
    if why == "suicide":
        raise IllegalAction(f"{name} is suicide: the stone would have no liberty and takes nothing. {_open(state, i)}")
    if why:
        what = "at once the position before" if why == "ko" else "a position that was on the board before"
        raise IllegalAction(f"{name} is forbidden by {why}: it would make {what}. {_open(state, i)}")
    return action
