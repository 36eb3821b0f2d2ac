"""Games as plain functions: ``from coterie.games.tictactoe import play``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..agents.core import Agent

__all__ = ["play"]


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
