"""Kuhn poker as a picture: cards, chips, the last actions. A seat sees its own card; the others are face down."""

from __future__ import annotations

from ..aliases import Player, State
from ..envs.core import Game
from ..envs.kuhn_poker import betting, chips, hands, outcome
from .board import Frame
from .cards import SEAT_COLORS, Seat, table
from .words import boxes, cells

__all__ = ["SEAT_COLORS", "boxes", "cells", "draw"]


def draw(game: Game, state: State, i: int, size: int = 480, player: Player | None = None) -> Frame:
    """[0.75 size, size, 3] uint8: row i of ``state``.

    Args:
        game: the game.
        state: N games.
        i: which of them.
        size: width in pixels.
        player: the seat whose view it is; it sits at the bottom. None sees all cards.

    Raises:
        MissingExtra: pygame is not installed.
    """
    players = game.info.players
    past, cards, paid, ended = betting(state, i), hands(state, i, player), chips(state, i), outcome(state, i)
    said = dict(past)
    seats = [
        Seat(
            p,
            cards[p],
            paid[p],
            "wins" if ended is not None and ended[0] == p else said.get(p, ""),
            active=ended is None and game.mover(state, i) == p,
            folded=said.get(p) == "fold",
            won=ended is not None and ended[0] == p,
        )
        for p in [((player or 0) + k) % players for k in range(players)]
    ]
    return table(size, seats, (), sum(paid), [", ".join(f"player_{p} {action}" for p, action in past)])
