"""Makes ``chess_perft.epd`` with python-chess alone: ``python tests/envs/chess/data/make_chess_perft.py > FILE``.

Positions come from random games; they are taken in turn for having a legal en passant capture, a legal castling move, a
pawn about to promote, a check, a pinned piece, or nothing in particular, 22 of each kind. Counts are python-chess's, to
depth 3.
"""

from __future__ import annotations

import random

import chess

KINDS = {
    "en passant": lambda board: board.has_legal_en_passant(),
    "castling": lambda board: any(map(board.is_castling, board.legal_moves)),
    "promotion": lambda board: any(move.promotion for move in board.legal_moves),
    "check": lambda board: board.is_check() and any(board.legal_moves),
    "pin": lambda board: any(
        board.is_pinned(board.turn, square) for square in chess.SquareSet(board.occupied_co[board.turn])
    ),
    "any": lambda board: any(board.legal_moves),
}
EACH = 22


def perft(board: chess.Board, depth: int) -> int:
    """Leaves of the tree of legal moves."""
    if depth == 1:
        return board.legal_moves.count()
    total = 0
    for move in board.legal_moves:
        board.push(move)
        total += perft(board, depth - 1)
        board.pop()
    return total


def main() -> None:
    """Print the file."""
    rng = random.Random(64)
    taken: set[str] = set()
    for kind, fits in list(KINDS.items()) * EACH:
        while True:
            board = chess.Board()
            for _ in range(rng.randrange(4, 120)):
                moves = list(board.legal_moves)
                if not moves:
                    break
                board.push(rng.choice(moves))
            if fits(board) and board.fen() not in taken:
                break
        taken.add(board.fen())
        counts = " ".join(f";D{depth} {perft(board, depth)}" for depth in (1, 2, 3))
        print(f"{board.fen()} {counts} ;{kind}", flush=True)


if __name__ == "__main__":
    main()
