"""Leduc poker as a picture: cards, chips, both rounds of betting. A seat sees its own card and the public one."""

from __future__ import annotations

from ..aliases import Player, State
from ..envs.core import Game
from ..envs.leduc_poker import betting, hands, outcome, public_card
from .board import Frame
from .cards import SEAT_COLORS, Seat, table
from .words import boxes, cells

__all__ = ["SEAT_COLORS", "boxes", "cells", "draw"]


def draw(game: Game, state: State, i: int, size: int = 480, player: Player | None = None) -> Frame:
    """[0.75 size, size, 3] uint8: row i of ``state``.

    In the first round the public card is face down in every view, since it has not been revealed.

    Args:
        game: the game.
        state: N games.
        i: which of them.
        size: width in pixels.
        player: the seat whose view it is; it sits at the bottom. None sees both players' cards.

    Raises:
        MissingExtra: pygame is not installed.
    """
    rounds, cards, ended = betting(state, i), hands(state, i, player), outcome(state, i)
    paid = [int(count) for count in state[i]["chips"]]
    said = dict(rounds[1] or rounds[0])
    below = player or 0
    seats = [
        Seat(
            p,
            cards[p],
            paid[p],
            said.get(p, "") if ended is None or ended[0] == 1 - p else "wins" if ended[0] == p else "shares the pot",
            active=ended is None and game.mover(state, i) == p,
            folded=said.get(p) == "fold",
            won=ended is not None and ended[0] in (p, None),
        )
        for p in (below, 1 - below)
    ]
    notes = [
        f"round {stage}: " + ", ".join(f"player_{p} {action}" for p, action in past)
        for stage, past in enumerate(rounds, 1)
        if past
    ]
    return table(size, seats, [public_card(state, i) or "?"], sum(paid), notes)
