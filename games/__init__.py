"""Games as plain functions: ``from coterie.games.tictactoe import play``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from ..agents.core import Agent

__all__ = ["PlayOf", "play", "play_of"]


class PlayOf(Protocol):
    """``play`` of one game; trainers (``coterie.SelfPlayTrainer``) take it as the game to learn."""

    game: str

    def __call__(self, *players: str | Agent, seed: int = 0) -> list[float]:
        """See ``play``."""


def play(game: str, *players: str | Agent, seed: int = 0) -> list[float]:
    """Play one game to its end.

    Args:
        game: a registered name.
        players: one per seat: an agent, or a name that ``coterie play --players`` accepts.
        seed: for the game and for all agents' choices.

    Returns:
        [P] each seat's return.

    Raises:
        CoterieError: no such game or player, or the wrong number of players.
    """
    from ..agents.human.table import watch
    from ..envs.registry import make_game
    from ..training.runs.players import make_player

    rules = make_game(game)
    agents = [make_player(player, rules) if isinstance(player, str) else player for player in players]
    totals = [0.0] * rules.info.players
    for moment in watch(rules, agents, seed):
        totals = [total + float(paid) for total, paid in zip(totals, moment.rewards, strict=True)]
    return totals


def play_of(game: str) -> PlayOf:
    """``play`` of one game: ``play("minimax", "random", seed=0) -> [1.0, -1.0]``."""
    found = cast("PlayOf", partial(play, game))
    found.game = game
    return found
