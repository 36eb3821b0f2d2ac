"""Game records of Go: write games as SGF, and start games from SGF records. ``sgf`` reads the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...aliases import RUNNING, TRUNCATED, Action, Player
from ...errors import NotationError, UsageError
from ..core import GameRecord, Written
from ..replay.sgf import commented, sgf_text, timed
from ..state import take
from .position import point, score, set_up, size_of, stones
from .rules import FINE, ILLEGAL, Boards, cell_of, step, verdict
from .sgf import SgfGame, SgfMove, read_sgf

__all__ = ["start_from", "to_sgf", "write_sgf", "written"]


def write_sgf(game: SgfGame) -> str:
    """A record as SGF text; a line ends after a move with a comment, and else when it has 60 characters."""
    points = [_letters(game.size, action) for action in range(game.size**2 + 1)]
    first = game.moves[0].player if game.moves else game.to_move
    turned = game.black or game.white or first != game.to_move
    root = {
        "SZ": str(game.size),
        "KM": "" if game.komi is None else f"{game.komi:g}",
        "HA": str(game.handicap or ""),
        **dict(zip(("PB", "PW", "RU", "RE"), (*game.players, game.rules, game.result), strict=True)),
        **game.others,
        "C": game.comment,
        "AB": [points[action] for action in game.black],
        "AW": [points[action] for action in game.white],
        "PL": "BW"[game.to_move] if turned else "",
    }
    return sgf_text(1, root, [(move.player, points[move.action], move.comment) for move in game.moves])


def _letters(size: int, action: Action) -> str:
    if action == size * size:
        return ""
    return chr(ord("a") + action % size) + chr(ord("a") + action // size)


def to_sgf(record: GameRecord) -> str:
    """A played game as SGF text; a writer for ``Game.formats``.

    If the game did not start on the empty board, the record sets up the stones of its start.
    """
    state = take(record.start, [0])
    size, facts = size_of(state, 0), state.facts[0]
    there = stones(state, 0)
    game = SgfGame(
        size=size,
        komi=int(facts["komi"]) / 2,
        handicap=int(facts["handicap"]) if facts["moves"] == 0 else 0,
        players=(record.players[0], record.players[1]),
        rules=("Tromp-Taylor", "AGA", "Chinese")[int(facts["superko"])],
        black=tuple(a for a, stone in enumerate(there) if stone == "X"),
        white=tuple(a for a, stone in enumerate(there) if stone == "O"),
        to_move=int(facts["mover"]),
    )
    moves: list[tuple[Player, Action]] = []
    rewards = np.zeros(2, np.float32)
    for actions in record.actions:
        player = int(facts["mover"])
        action = int(actions[player])
        pass_or_fine = action == size * size or (
            0 <= action < size * size and int(verdict(state, 0, cell_of(size, action))) == FINE
        )
        if facts["over"] or not pass_or_fine:
            break  # an illegal answer that ended the game is not a move
        moves.append((player, action))
        step(state, 0, np.array([action, action], np.int32), rewards)
    comment, comments = commented(record, len(moves))
    played = tuple(SgfMove(*move, said) for move, said in zip(moves, comments, strict=True))
    result = _result(record, state)
    return write_sgf(replace(game, moves=played, comment=comment, result=result, others=timed(record)))


def written(text: str) -> Iterator[Written]:
    """The game of an SGF text: the reader ``Game.reads``."""
    found = read_sgf(text.encode())
    arguments = {"size": found.size} | ({} if found.komi is None else {"komi": found.komi})
    moves = [(move.player, point(found.size, move.action)) for move in found.moves]
    comments = {turn: move.comment for turn, move in enumerate(found.moves) if move.comment}
    ended = {"B+": (1.0, -1.0), "W+": (-1.0, 1.0)}.get(found.result[:2])
    yield Written(arguments, {"sgf": {"sgf": found, "move": 0}}, moves, found.players, comments, ended)


def _result(record: GameRecord, state: Boards) -> str:
    if record.status == RUNNING:
        return "?"
    if record.status == TRUNCATED:
        return "Void"
    if record.illegal is not None:
        return f"{'WB'[record.illegal]}+F"
    if record.clock is not None and record.clock.flagged is not None:
        return f"{'WB'[record.clock.flagged]}+T"
    if not state.facts[0]["over"]:  # the players ended it
        return "0" if record.returns[0] == record.returns[1] else f"{'BW'[int(np.argmax(record.returns))]}+R"
    return score(state, 0).result


# -- starting from a record --------------------------------------------------------------------------------------------


def start_from(state: Boards, i: int, value: Any) -> None:
    """Put row i into the final position of a record: the reset option ``sgf``.

    Args:
        state: rows of one size.
        i: which row.
        value: what ``read_sgf`` takes, but paths as a Path alone, an SgfGame, or ``{"sgf": either, "move": n}`` to stop
            after n moves. The record's komi applies, if it has one; moves out of turn are played as recorded.

    Raises:
        NotationError: a fault in the record, or a move that the rules of this game forbid; ``read`` is the game
            before it.
        UsageError: a record of another board size, with too many moves, or whose game is over at its end.
    """
    stop: Any = None
    if isinstance(value, Mapping):
        if set(value) - {"sgf", "move"} or "sgf" not in value:
            raise UsageError(f"The option sgf takes a record or {{'sgf': ..., 'move': n}}, not keys {sorted(value)}.")
        value, stop = value["sgf"], value.get("move")
    if isinstance(value, str) and "(" not in value:  # never a path: curricula and saved games hold such values
        raise NotationError("There is no game in this text; a game begins with '(;'. A file is passed as a Path.", 0)
    game = value if isinstance(value, SgfGame) else read_sgf(value)
    size, facts = size_of(state, i), state.facts[i]
    if game.size != size:
        raise UsageError(
            f"This record is of a {game.size}x{game.size} board, the game of {size}x{size}: set size={game.size}."
        )
    if stop is not None and (isinstance(stop, bool) or not isinstance(stop, int) or not 0 <= stop <= len(game.moves)):
        raise UsageError(f"move={stop!r} is not possible; this record has moves 0 to {len(game.moves)}.")
    moves = game.moves[:stop]
    if len(moves) >= facts["max_moves"]:
        raise UsageError(
            f"{len(moves)} moves of this record use up max_moves={facts['max_moves']}: give 'move', or make the game "
            "with a larger max_moves."
        )
    set_up(state, i, game.black, game.white, game.to_move)
    if game.komi is not None:
        if (2 * game.komi) % 1 or abs(game.komi) > size * size:
            raise UsageError(f"The record's komi is {game.komi:g}; it must be half points within ±{size * size}.")
        facts["komi"] = round(2 * game.komi)
    rewards = np.zeros(2, np.float32)
    for n, move in enumerate(moves):
        facts["mover"] = move.player
        if move.action != size * size:
            why = int(verdict(state, i, cell_of(size, move.action)))
            if why != FINE:
                said = f"Move {n + 1} of the record, {point(size, move.action)}, is illegal here: {ILLEGAL[why]}"
                raise NotationError(
                    f"{said} (character {move.at} of the record).", move.at, replace(game, moves=moves[:n])
                )
        step(state, i, np.array([move.action] * 2, np.int32), rewards)
        if facts["over"]:
            where = f"give a 'move' under {n + 1}" if n + 1 == len(moves) else "the moves after it cannot be played"
            raise UsageError(f"Two passes end the game at move {n + 1} of the record: {where}.")
