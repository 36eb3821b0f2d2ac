"""Players with hidden values trade, divide or agree, with or without words.

::

    Player 0: "I like gold." [Offer: 4 Wood -> 2 Gold] ──> Player 1: ... [Accept] ──> what each gained

The negotiations that begin alike are compared with each other, seat by seat.
"""

from __future__ import annotations

from typing import Any, Literal

from ....envs.registry import make_game
from ....envs.words.talk import talk as with_talk
from ..game import GameEpisode
from ..records import EpisodeState
from ..role import Role
from .task import Task, averages, seeded

__all__ = ["NegotiationEpisode", "negotiation"]


class NegotiationEpisode(GameEpisode):
    """A negotiation; the artifact is its seed, which draws hidden values where the preset has any.

    ``extras`` also has ``surplus``: all gains together over the most that they could be; 0 without a finished game.
    """

    def get_extras(self, state: EpisodeState) -> dict[str, Any]:
        """How the game ended, and how good the deal was."""
        extras = super().get_extras(state)
        return extras | {"surplus": next((info.get("surplus", 0.0) for info in extras["infos"]), 0.0)}


def negotiation(
    *,
    preset: Literal["trade", "deal_or_no_deal", "ultimatum", "issues"] = "trade",
    players: int = 0,
    max_turns: int = 0,
    score: Literal["", "own", "joint", "win"] = "",
    talk: int = 0,
    batch: int = 8,
    rollouts: int = 4,
    opponent: str = "",
    shared: bool = True,
    free: bool = False,
    max_tokens: int = 64,
) -> Task:
    """The seats of negotiation-v0: by choice among the legal offers, or as text with an action in brackets.

    Args:
        preset: what the negotiation is about.
        players: of the preset issues, 2 to 6; 0: the preset's own number.
        max_turns: of a negotiation; 0: the preset's own number.
        score: what is paid: the own gain, everybody's together, or 1 and -1; empty: the preset's own.
        talk: the longest message that goes with an action, in characters; 0: no words.
        batch: beginnings of an update.
        rollouts: negotiations from each beginning, compared with each other.
        opponent: a player that sits in all seats but the first (bargainer, random); empty: all seats learn.
        shared: all seats have one adapter, not one each.
        free: answers are any text, such as `[Offer: 4 Wood -> 2 Gold]`, and an illegal one ends the game.
        max_tokens: the longest message or free answer.

    Raises:
        UsageError: no negotiations, or what ``negotiation-v0`` refuses.
    """
    source = seeded("negotiation", batch, rollouts)
    game = make_game(
        "negotiation", preset=preset, players=players or None, turns=max_turns or None, score=score or None
    )
    seats = game.info.players
    others = dict.fromkeys(range(1, seats), opponent) if opponent else {}
    spoken = with_talk(game, talk) if talk else game
    episode = NegotiationEpisode(spoken, opponents=others, free=free)
    player = "main" if shared else ""
    roles = tuple(Role(name, max_tokens=max_tokens, player=player) for name in episode.roles if name)
    figures = averages("surplus", "plies", "illegal")
    return Task("negotiation", roles, {"negotiation": episode}, source, {}, figures)
