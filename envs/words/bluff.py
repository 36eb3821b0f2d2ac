"""Bluff: liar's dice with talk. A message, true or not, may come with every bid."""

from __future__ import annotations

import dataclasses

from ..registry import make_game
from .talk import TalkGame
from .talk import talk as with_talk

__all__ = ["bluff"]


def bluff(dice: int = 1, players: int = 2, faces: int = 6, talk: int = 80) -> TalkGame:
    """Liar's dice (``liars_dice-v0``) in which players talk: ``I have two fives. [2x5]``.

    Args:
        dice: each player's dice, 1 to 5.
        players: P, 2 to 6.
        faces: the faces of a die, 2 to 6; the highest is wild.
        talk: the most characters of a message, 1 to 500.

    Raises:
        UsageError: another number.
    """
    game = make_game("liars_dice-v0", dice=dice, players=players, faces=faces)
    return with_talk(dataclasses.replace(game, info=dataclasses.replace(game.info, name="bluff")), talk)
