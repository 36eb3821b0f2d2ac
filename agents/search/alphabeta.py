"""The chess player that searches: ``chess_search`` as an agent, and ``analyse`` for a single position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...aliases import State
from ...envs.chess import fen as notation
from ...envs.chess import outcome
from ...envs.chess.moves import generate, has_move
from ...envs.chess.position import Position, copy, in_check, make
from ...envs.chess.rules import CLAIMS, NUM_ACTIONS, action_of
from ...envs.core import Game
from ...envs.stepping.jit import kernel
from ...errors import UsageError
from ..core import Decision, Turn
from .chess_evaluation import evaluate
from .chess_search import BASE, BEST, DEPTH, DRAWN, LIMIT, MATE, NODES, PLIES, SCORE, SEED, STOP, Desk, new_desk, think
from .rows import need_action, need_same_game

__all__ = ["AlphaBetaAgent", "Analysis", "analyse", "scores_after"]

DEFAULT_DEPTH = 4
MOST_DEPTH = 64
NO_LIMIT = 1 << 62
CLOCKS = {"never": 150, "reached": 100, "chess_v6": 99}
"""Plies without a capture or pawn move after which a game is drawn, by the game's ``claim``."""


class Analysis(NamedTuple):
    """What a search says about a position.

    Attributes:
        move: the best move as UCI.
        score: centipawns for the side to move.
        mate: in how many moves the side to move mates (negative: is mated); None if no mate was found.
        depth: plies of the last completed iteration.
        nodes: positions visited.
    """

    move: str
    score: int
    mate: int | None
    depth: int
    nodes: int


def _budget(depth: int | None, nodes: int | None) -> tuple[int, int]:
    """(depth, nodes) as ``think`` takes them.

    Raises:
        UsageError: a number out of range.
    """
    if depth is not None and not 1 <= depth <= MOST_DEPTH:
        raise UsageError(f"alphabeta: depth={depth} is out of range; use 1 to {MOST_DEPTH} plies.")
    if nodes is not None and nodes < 1:
        raise UsageError(f"alphabeta: nodes={nodes} is out of range; use at least 1.")
    if depth is None:
        depth = DEFAULT_DEPTH if nodes is None else MOST_DEPTH
    return depth, NO_LIMIT if nodes is None else nodes


def analyse(fen: str, *, depth: int | None = None, nodes: int | None = None) -> Analysis:
    """Search a position without its history; draws that a player must claim do not end the game.

    Args:
        fen: a position in which the game is not over.
        depth: plies; 4 if neither depth nor nodes is given.
        nodes: the most positions to visit. With both, whichever limit is reached first ends the search.

    Raises:
        NotationError: the FEN cannot be read.
        UsageError: a number out of range, or the game is over in this position.
    """
    limits = _budget(depth, nodes)
    position = notation.parse(fen)
    ended = outcome(fen)
    if ended:
        raise UsageError(f"There is nothing to search in {fen!r}: the game is over by {ended.reason}.")
    desk = new_desk()
    copy(position, desk.positions[0])
    desk.numbers[DRAWN] = CLOCKS["reached"]
    think(desk, *limits)
    return _said(desk)


def _said(desk: Desk) -> Analysis:
    n = desk.numbers
    score = int(n[SCORE])
    mate = None
    if abs(score) > MATE - 2 * PLIES:
        mate = (MATE - abs(score) + 1) // 2 * (1 if score > 0 else -1)
    return Analysis(notation.uci(int(n[BEST])), score, mate, int(n[DEPTH]), int(n[NODES]))


class AlphaBetaAgent:
    """Plays the best move of a search with the limits of ``analyse``; the turn's seed breaks ties.

    Each turn is searched from scratch, so that a move depends on position, history and seed alone.

    Raises:
        UsageError: a game other than chess, or a number out of range.
    """

    def __init__(
        self, game: Game, depth: int | None = None, *, nodes: int | None = None, name: str = "alphabeta"
    ) -> None:
        if game.info.name != "chess":
            raise UsageError(
                f"alphabeta plays only chess, not {game.info.id}; try mcts, or minimax if the game is small."
            )
        self.name, self.game = name, game
        self._limits = _budget(depth, nodes)
        self._desk = new_desk()

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """One search per turn."""
        decisions = []
        for turn in turns:
            need_same_game(self.name, self.game, turn)
            need_action(turn)
            desk = self._desk
            _load(desk, turn.state, turn.row)
            desk.numbers[SEED] = turn.seed.integer() >> 1
            think(desk, *self._limits)
            found = _said(desk)
            action = int(action_of(desk.positions[0], int(desk.numbers[BEST])))
            info: dict[str, object] = {"score": found.score, "depth": found.depth, "nodes": found.nodes}
            decisions.append(Decision(action, info=info if found.mate is None else info | {"mate": found.mate}))
        return decisions

    def stop(self) -> None:
        """From another thread: end the search that is running; its move is then worth nothing."""
        self._desk.numbers[LIMIT], self._desk.numbers[STOP] = 0, 1


def _load(desk: Desk, state: State, row: int) -> None:
    """Put a game's position and the keys of its earlier positions on the desk."""
    game = state[row]
    desk.positions[0] = game["position"]
    known = int(game["known"])
    desk.line[:known] = game["keys"][:known]
    desk.numbers[BASE] = known - 1
    desk.numbers[DRAWN] = CLOCKS[CLAIMS[int(game["claim"])]]


@kernel
def _after(position: Position, below: Position, moves: NDArray[np.int32], scores: NDArray[np.float64]) -> None:
    """Write into scores [A] the mover's score after each move of a position; below and moves are scratch space."""
    for k in range(generate(position, moves)):
        copy(position, below)
        make(below, moves[k])
        action = action_of(position, moves[k])
        if has_move(below):
            scores[action] = -evaluate(below)
        else:
            scores[action] = MATE if in_check(below) else 0


def scores_after(turn: Turn) -> NDArray[np.float64]:
    """[A] centipawns for the mover after each legal move, by the evaluation alone; 0 for illegal moves."""
    scores = np.zeros(NUM_ACTIONS)
    position: Position = turn.state[turn.row]["position"]
    _after(position, np.zeros_like(position), np.zeros(256, np.int32), scores)
    return scores
