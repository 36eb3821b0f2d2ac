"""What a deal could be at best: the most together, the Pareto gap, Nash's product. Exact, by looking at every deal.

Letters: D deals (A - 2), P players.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rules import OVER, Bargains, base, utility
from .text import Words

__all__ = ["ended", "gains"]


def gains(state: Bargains, i: int, words: Words) -> NDArray[np.int64]:
    """[D, P] what every player gains by every deal, over what it has without one; -1 in all places: no such deal."""
    deals = np.array([words.options(a) for a in range(words.offers)])
    values = state.values[i].astype(np.int64)
    found = sum(values[:, k, deals[:, k]] for k in range(len(words.names))).T
    found = found - np.array([base(state, i, p) for p in range(values.shape[0])])
    found[(deals >= state.options[i]).any(1)] = np.iinfo(np.int64).min // 4
    return np.asarray(found, np.int64)


def ended(state: Bargains, i: int, words: Words) -> list[dict[str, Any]]:
    """P dictionaries of a game that is over; empty ones before, since they would tell hidden values.

    ``gain``: the own gain. ``surplus``: all gains together, over the most that they could be (1: none is lost).
    ``pareto_gap``: what could be added to the sum of gains with no player losing, over the same (0: Pareto-optimal).
    ``nash``: the product of the gains (0 if one is negative), over the largest product of any deal.
    """
    players = state.values.shape[1]
    if not state.now[i, OVER]:
        return [{} for _ in range(players)]
    own = np.array([utility(state, i, p) - base(state, i, p) for p in range(players)], np.int64)
    every = np.concatenate([gains(state, i, words), np.zeros((1, players), np.int64), own[None]])
    total = every.sum(1)
    most = max(1, int(total.max()))
    better = total[(every >= own).all(1)]
    products = np.where((every >= 0).all(1), np.prod(np.maximum(every, 0).astype(np.float64), 1), 0.0)
    shared = {
        "surplus": float(own.sum() / most),
        "pareto_gap": float((better.max() - own.sum()) / most),
        "nash": float(products[-1] / max(1.0, products.max())),
    }
    return [{"gain": int(own[p])} | shared for p in range(players)]
