"""A game that all its seats learn: groups of games that begin alike, their results compared seat by seat."""

from __future__ import annotations

from ....envs.registry import make_game
from ..game import GameEpisode
from ..role import Role
from .task import Task, seeded

__all__ = ["game"]


def game(
    *,
    env: str = "tictactoe",
    batch: int = 16,
    rollouts: int = 8,
    opponent: str = "",
    shared: bool = True,
    free: bool = False,
    max_plies: int = 0,
    max_tokens: int = 64,
) -> Task:
    """The seats of a registered game.

    Args:
        env: the game; `coterie envs` lists them.
        batch: beginnings (deals, maps) of an update.
        rollouts: games from each beginning, compared with each other.
        opponent: a baseline that sits in all seats but the first; empty: all seats learn.
        shared: all seats have one adapter, not one each.
        free: answers are any text, not one of the legal actions.
        max_plies: stop games after this many turns; 0: play to the end.
        max_tokens: the longest free answer.

    Raises:
        UnknownName: no such game or baseline.
        UsageError: no games.
    """
    source = seeded("game", batch, rollouts)
    rules = make_game(env)
    opponents = dict.fromkeys(range(1, rules.info.players), opponent) if opponent else {}
    episode = GameEpisode(rules, opponents=opponents, free=free, max_plies=max_plies)
    player = "main" if shared else ""
    roles = tuple(Role(name, max_tokens=max_tokens, player=player) for name in episode.roles if name)
    return Task("game", roles, {"game": episode}, source)
