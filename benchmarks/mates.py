"""What a player of the mate-in-one curriculum solves, and what it misses.

    python -m coterie.benchmarks.mates RUN [RUN ...] [--positions 2000] [--seed 0]

Each player gets the held-out positions; its likeliest moves that give check and that mate are counted, in all and by
the piece that mates, by the number of mating moves and by the number of checks. A uniform choice and a uniform choice
among the checks are listed for comparison. Players get none of these figures.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.chess.moves import has_move
from ..envs.chess.position import copy, in_check, make, piece_at
from ..envs.chess.rules import move_of
from ..envs.registry import make_game
from ..training.data.curriculum import Positions, find_curriculum, read_positions
from ..training.runs.players import make_player

__all__ = ["Problem", "breakdown", "main", "problems"]

KINDS = " PNBRQK"


@dataclass(frozen=True)
class Problem:
    """One position with its checks and mates.

    Attributes:
        actions: [C] its legal actions, ascending. check, mate: [C] which of them give check, and mate.
        piece: letter of the piece that mates (``P``: with or without promotion), or ``several``.
    """

    actions: NDArray[np.int64]
    check: NDArray[np.bool_]
    mate: NDArray[np.bool_]
    piece: str


def problems(game: Any, positions: Positions) -> list[Problem]:
    """Which moves of each position give check and mate."""
    out = []
    for i, mover in enumerate(positions.movers.tolist()):
        position = positions.states[i]["position"]
        actions = np.flatnonzero(game.legal_mask(positions.states, i, mover))
        check, mate = np.zeros(len(actions), np.bool_), np.zeros(len(actions), np.bool_)
        pieces = set()
        for k, action in enumerate(actions.tolist()):
            move, after = int(move_of(position, action)), position.copy()
            copy(position, after)
            make(after, move)
            check[k] = in_check(after)
            mate[k] = check[k] and not has_move(after)
            if mate[k]:
                pieces.add(KINDS[int(piece_at(position, np.uint64(move & 63))) & 7])
        out.append(Problem(actions, check, mate, pieces.pop() if len(pieces) == 1 else "several"))
    return out


def breakdown(found: list[Problem], chosen: list[int]) -> dict[str, Any]:
    """Shares over all positions, and for each group: positions, share solved, and share of a uniformly chosen check.

    Args:
        found: the problems.
        chosen: index of the move that the player chose in each.
    """
    mates = np.array([p.mate[k] for p, k in zip(found, chosen, strict=True)])
    checks = np.array([p.check[k] for p, k in zip(found, chosen, strict=True)])
    uniform = np.array([p.mate.mean() for p in found])
    among = np.array([p.mate.sum() / max(1, p.check.sum()) for p in found])
    groups: dict[str, list[int]] = defaultdict(list)
    for n, p in enumerate(found):
        groups[f"mated by {p.piece}"].append(n)
        groups[f"{min(int(p.mate.sum()), 3)}{'+' if p.mate.sum() >= 3 else ''} mating"].append(n)
        several = int(p.check.sum())
        groups["1-2 checks" if several <= 2 else "3-5 checks" if several <= 5 else "6+ checks"].append(n)
    return {
        "positions": len(found),
        "solved": float(mates.mean()),
        "gave check": float(checks.mean()),
        "of the checks, mated": float(mates.sum() / max(1, checks.sum())),
        "uniform choice": float(uniform.mean()),
        "uniform among checks": float(among.mean()),
        "groups": {
            name: {
                "positions": len(rows),
                "solved": round(float(mates[rows].mean()), 3),
                "uniform among checks": round(float(among[rows].mean()), 3),
            }
            for name, rows in sorted(groups.items())
        },
    }


def main(argv: list[str] | None = None) -> None:
    """Command line; prints one JSON object per player."""
    parser = argparse.ArgumentParser(prog="python -m coterie.benchmarks.mates", description="What a player solves.")
    parser.add_argument("players", nargs="+", help="run folders, models or baselines")
    parser.add_argument("--positions", type=int, default=2000, help="held-out positions, evenly spaced over the file")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    from ..agents.core import Turn, seeded

    game = make_game("chess")
    source = find_curriculum(game, "mate-in-1")
    positions = read_positions(game, source, source.test or source.train, options.positions)
    found, states = problems(game, positions), positions.states
    turns = [
        Turn(game, states, i, p, game.legal_mask(states, i, p), game.key(states, i))
        for i, p in enumerate(positions.movers.tolist())
    ]
    for name in options.players:
        decisions = make_player(name, game).act(seeded(turns, options.seed))
        chosen = [p.actions.tolist().index(d.action) for p, d in zip(found, decisions, strict=True)]
        print(json.dumps({"player": name, **breakdown(found, chosen)}), flush=True)


if __name__ == "__main__":
    main()
