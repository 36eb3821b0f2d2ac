"""A negotiation as a picture: a row of cells for every issue, from which an offer takes one each.

A cell shows an option, for items how many of them the viewer would get, and below it what that is worth to the viewer;
spectators see player_0's side. The standing offer fills cells in its maker's colour, earlier offers are discs, and the
deal in force has a frame.
"""

from __future__ import annotations

from typing import Final

from ..aliases import Action, Player, State
from ..envs.core import Game
from ..envs.negotiation.game import words_of
from ..envs.negotiation.rules import OVER, PROPOSER, TURN, TURNS, YES, base, utility
from .board import PALETTE, Canvas, Color, Frame, mixed

__all__ = ["SEAT_COLORS", "boxes", "cells", "draw"]

SEAT_COLORS: Final[tuple[Color, ...]] = (
    PALETTE.first,
    PALETTE.second,
    PALETTE.third,
    PALETTE.fourth,
    PALETTE.fifth,
    PALETTE.sixth,
)

LEFT: Final = 0.17
"""Where the cells begin, as a share of the width."""

ROW: Final = 0.17
"""Height of an issue's row over the width."""

HEAD: Final = 0.12
FOOT: Final = 0.055
"""Heights of the first line and of a player's line over the width."""


def draw(game: Game, state: State, i: int, size: int = 480, player: Player | None = None) -> Frame:
    """[H, size, 3] uint8: row i of ``state``.

    Args:
        game: the game.
        state: N games.
        i: which of them.
        size: width in pixels.
        player: the seat whose view it is. None: player_0's side, with everybody's gains.

    Raises:
        MissingExtra: pygame is not installed.
    """
    words, now, players = words_of(game), state.now[i], game.info.players
    own = player or 0
    canvas = Canvas(size, round(size * (HEAD + ROW * len(words.names) + FOOT * players + 0.03)))
    canvas.text(size / 2, size * HEAD * 0.45, _headline(state, i), size * 0.036, room=0.94 * size)
    places = boxes(game, size)
    cell = 0
    for k, name in enumerate(words.names):
        _, y, _, h = places[cell]
        canvas.text(size * 0.02, y + h / 2, name, size * 0.034, anchor=0.0, room=size * (LEFT - 0.03))
        for o in range(words.most[k]):
            _option(canvas, game, state, i, own, k, o, places[cell])
            cell += 1
    for p in range(players):
        offer = int(state.last[i, p])
        said = f"offered {words.deal(state, i, offer, p)}" if offer >= 0 else "has made no offer"
        if player in (None, p):
            said += f"   has {utility(state, i, p)} ({utility(state, i, p) - base(state, i, p):+d})"
        if p == now[PROPOSER] and players > 2:
            said += f"   {int(now[YES])} of {players - 1} accepted"
        y = size * (HEAD + ROW * len(words.names) + FOOT * (p + 0.4))
        canvas.disc(size * 0.035, y, size * 0.012, SEAT_COLORS[p])
        canvas.text(size * 0.06, y, f"player_{p} {said}", size * 0.03, SEAT_COLORS[p], 0.0, room=0.92 * size)
    return canvas.frame()


def _headline(state: State, i: int) -> str:
    now = state.now[i]
    if now[OVER]:
        return "The negotiation is over"
    left = int(state.rules[i, TURNS] - now[TURN])
    stands = f"player_{int(now[PROPOSER])}'s offer stands" if now[PROPOSER] >= 0 else "no offer stands"
    return f"{left} turns left, {stands}, player_{int(now[1])} speaks"


def _option(
    canvas: Canvas,
    game: Game,
    state: State,
    i: int,
    own: Player,
    issue: int,
    option: int,
    box: tuple[float, float, float, float],
) -> None:
    """One cell."""
    words, now = words_of(game), state.now[i]
    x, y, w, h = box
    gap, radius = min(w, h) * 0.06, min(w, h) * 0.1
    exists = option < state.options[i, issue]
    ground = PALETTE.cell if exists else PALETTE.background
    if now[PROPOSER] >= 0 and words.options(int(state.last[i, now[PROPOSER]]))[issue] == option:
        ground = mixed(PALETTE.cell, SEAT_COLORS[int(now[PROPOSER])], 0.3)
    if state.held[i, issue] == option:
        canvas.rectangle(x, y, w, h, PALETTE.accent, radius)
        gap *= 1.6
    canvas.rectangle(x + gap, y + gap, w - 2 * gap, h - 2 * gap, ground, radius)
    if not exists:
        return
    label = option if words.style == "issues" else words.share(state, i, issue, option, own)
    worth = int(state.values[i, own, issue, option])
    canvas.text(x + w / 2, y + h * 0.44, str(label), h * 0.24, PALETTE.text, room=0.8 * w)
    canvas.text(x + w / 2, y + h * 0.72, str(worth), h * 0.15, PALETTE.accent, room=0.8 * w)
    for p in range(game.info.players):
        offer = int(state.last[i, p])
        if offer >= 0 and words.options(offer)[issue] == option:
            canvas.disc(
                x + w * (p + 1) / (game.info.players + 1), y + h * 0.17, min(w * 0.12, h * 0.07), SEAT_COLORS[p]
            )


def boxes(game: Game, size: int = 480, player: Player | None = None) -> list[tuple[float, float, float, float]]:
    """x, y, w, h of every option of every issue, issue by issue."""
    found = []
    for k, most in enumerate(words_of(game).most):
        side = size * (0.98 - LEFT) / most
        for o in range(most):
            found.append((size * LEFT + o * side, size * (HEAD + k * ROW), side, size * ROW * 0.92))
    return found


def cells(game: Game, state: State, i: int, action: Action) -> tuple[int, ...]:
    """One cell for every issue of an offer; accept and deny are buttons."""
    words = words_of(game)
    if action >= words.offers:
        return ()
    starts = [sum(words.most[:k]) for k in range(len(words.most))]
    return tuple(start + option for start, option in zip(starts, words.options(action), strict=True))
