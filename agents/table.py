"""One game between agents, moment by moment, for who wants to watch; matches of many games are elsewhere."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..aliases import RUNNING, TERMINATED, State, Status
from ..envs.core import Game
from ..errors import UsageError
from .core import Agent, Decision, Turn

if TYPE_CHECKING:
    from ..renderers.board import Frame

__all__ = ["Moment", "picture", "tell", "watch", "winner"]


@dataclass(frozen=True)
class Moment:
    """What has just happened at the table.

    Attributes:
        state: one game, after the actions; the arrays move on with the next moment.
        decisions: seat -> what it answered; empty before the first move.
        actions: seat -> its answer in the game's notation, or ``""`` where it was no legal action.
        rewards: [P] float32, of this moment.
        status: RUNNING, TERMINATED or TRUNCATED.
    """

    state: State
    decisions: dict[int, Decision]
    actions: dict[int, str]
    rewards: NDArray[np.float32]
    status: Status


def watch(game: Game, agents: Sequence[Agent], seed: int, penalty: float = -1.0) -> Iterator[Moment]:
    """Play one game and yield every moment, the start included.

    Args:
        game: what is played.
        agents: who sits in seats 0..P-1.
        seed: of the game and of the agents' choices.
        penalty: what a seat gets whose answer is no legal action; the game ends there, the others get 0.

    Raises:
        UsageError: the number of agents is not the number of players.
    """
    info = game.info
    if len(agents) != info.players:
        raise UsageError(f"{info.name} has {info.players} players, but {len(agents)} came: {_names(agents)}.")
    word = seed % 2**64
    rng = np.random.default_rng(word)
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(word))
    status: Status = RUNNING
    yield Moment(state, {}, {}, np.zeros(info.players, np.float32), status)
    while status == RUNNING:
        seats = range(info.players) if info.simultaneous else [game.mover(state, 0)]
        turns = {p: Turn(game, state, 0, p, game.legal_mask(state, 0, p), game.key(state, 0)) for p in seats}
        decisions = {p: agents[p].act([turn], rng)[0] for p, turn in turns.items()}
        rewards = np.zeros(info.players, np.float32)
        actions = np.zeros(info.players, np.int32)
        written: dict[int, str] = {}
        for p, decision in decisions.items():
            action = decision.action
            if action is not None and action in turns[p].legal_actions:
                actions[p], written[p] = action, turns[p].action_to_text(action)
            else:
                rewards[p], written[p] = penalty, ""
        status = TERMINATED if "" in written.values() else int(game.kernels.step(state, 0, actions, rewards))
        yield Moment(state, decisions, written, rewards, status)


def winner(total: NDArray[np.float64]) -> int | None:
    """The seat with the largest of the [P] returns, or None where several share it."""
    best = np.flatnonzero(total == total.max())
    return int(best[0]) if len(best) == 1 else None


def tell(moment: Moment, agents: Sequence[Agent], write: Callable[[str], None] = print) -> None:
    """Say who did what."""
    for seat, action in moment.actions.items():
        words = action or f"{moment.decisions[seat].text!r}, which is no legal action"
        write(f"player_{seat} ({agents[seat].name}): {words}")


def picture(draw: str, game: Game, state: State, agents: Sequence[Agent]) -> Frame:
    """Row 0 of ``state`` with the names of the players under it, [H, W, 3] uint8.

    Args:
        draw: the drawer that the game was registered with, ``"package.module:function"``.
        game: what is played.
        state: one game.
        agents: who sits in seats 0..P-1.

    Raises:
        MissingExtra: pygame is not installed.
    """
    from ..renderers.board import PALETTE, captioned

    module, _, name = draw.partition(":")
    frame: Frame = getattr(importlib.import_module(module), name)(game, state, 0)
    colors = (PALETTE.first, PALETTE.second, PALETTE.accent)
    parts = []
    for seat, agent in enumerate(agents):
        parts += [("  against  ", PALETTE.text)] * (seat > 0) + [(agent.name, colors[seat % 3])]
    return captioned(frame, parts)


def _names(agents: Sequence[Agent]) -> str:
    return ", ".join(agent.name for agent in agents) or "nobody"
