"""Highest number: all players say a number at once; larger numbers win. The smallest simultaneous game.

A round pays each player (players it beat - players that beat it) / (P - 1): with two players +1, -1, or 0 when equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..aliases import RUNNING, TERMINATED, Mask, Player, Rewards, Status
from .answers import whole_number
from .core import Game, GameInfo, Kernels
from .stepping.defaults import everybody
from .stepping.jit import kernel
from .stepping.rng import Word, mix64

__all__ = ["highest_number"]


class Numbers(NamedTuple):
    """N games.

    Attributes:
        rounds: [N, 2] int32 rounds played, rounds in total.
        said: [N, P] int32 each player's last number; -1 before the first round.
    """

    rounds: NDArray[np.int32]
    said: NDArray[np.int32]


@kernel
def reset(state: Numbers, i: int, seed: int) -> None:
    """No number said yet; nothing is random."""
    state.rounds[i, 0] = 0
    state.said[i, :] = -1


@kernel
def legal(state: Numbers, i: int, player: Player, mask: Mask) -> None:
    """Every number, until the last round is over."""
    mask[:] = 1 if state.rounds[i, 0] < state.rounds[i, 1] else 0


@kernel
def step(state: Numbers, i: int, actions: NDArray[np.int32], rewards: Rewards) -> Status:
    """One round."""
    players = actions.shape[0]
    for p in range(players):
        state.said[i, p] = actions[p]
        beaten = 0
        for q in range(players):
            beaten += int(actions[p] > actions[q]) - int(actions[p] < actions[q])
        rewards[p] = beaten / (players - 1)
    state.rounds[i, 0] += 1
    return RUNNING if state.rounds[i, 0] < state.rounds[i, 1] else TERMINATED


@kernel
def observe(state: Numbers, i: int, player: Player, out: NDArray[np.int32]) -> None:
    """[P] the last numbers: the player's own first, then those of the following seats in turn."""
    players = out.shape[0]
    for k in range(players):
        out[k] = state.said[i, (player + k) % players]


@kernel
def key(state: Numbers, i: int) -> Word:
    """The rounds left; the future depends on nothing else."""
    return mix64(np.uint64(state.rounds[i, 1] - state.rounds[i, 0]))


def describe(state: Numbers, i: int, player: Player) -> str:
    """Round, seat and the last numbers."""
    played, rounds = (int(n) for n in state.rounds[i])
    lines = [f"Round {min(played + 1, rounds)} of {rounds}. You are player {player} of {state.said.shape[1]}."]
    if played:
        said = (f"player {p}: {int(n)}" + (" (you)" if p == player else "") for p, n in enumerate(state.said[i]))
        lines.append(f"Said last: {', '.join(said)}.")
    return "\n".join(lines)


def compact(state: Numbers, i: int, player: Player) -> str:
    """``P1 2/3 7,12>``: seat, rounds played and in total, the last numbers by seat."""
    played, rounds = (int(n) for n in state.rounds[i])
    said = ",".join("-" if n < 0 else str(int(n)) for n in state.said[i])
    return f"P{player} {played}/{rounds} {said}>"


def highest_number(max_number: int = 20, players: int = 2, rounds: int = 1) -> Game:
    """All players say a number 0..max_number at once; larger numbers win.

    Args:
        max_number: the largest number, at most 1,000,000.
        players: P, 2 to 1000.
        rounds: how many rounds, at most 1,000,000.

    Raises:
        UsageError: not a whole number, or one out of bounds.
    """
    high = whole_number("highest_number: max_number", max_number, 1, 1_000_000)
    seats = whole_number("highest_number: players", players, 2, 1000)
    total = whole_number("highest_number: rounds", rounds, 1, 1_000_000)

    def new_state(n: int) -> Numbers:
        counts = np.zeros((n, 2), np.int32)
        counts[:, 1] = total
        return Numbers(counts, np.full((n, seats), -1, np.int32))

    def describe_with_range(state: Numbers, i: int, player: Player) -> str:
        over = state.rounds[i, 0] >= state.rounds[i, 1]
        return describe(state, i, player) + ("\nThe game is over." if over else f"\nLegal actions: 0 to {high}.")

    return Game(
        info=GameInfo(
            name="highest_number",
            players=seats,
            num_actions=high + 1,
            observation_shape=(seats,),
            observation_dtype="int32",
            observation_low=-1,
            observation_high=high,
            max_cycles=total,
            simultaneous=True,
        ),
        kernels=Kernels(reset, everybody, legal, step, observe, key),
        new_state=new_state,
        ranges={"rounds": ([0, total], [total, total]), "said": (-1, high)},
        rules=(
            f"Highest number: all {seats} players say a whole number from 0 to {high} at the same time, "
            f"{total} round(s). In a round you gain for every player whose number is smaller than yours "
            "and lose for every larger one."
        ),
        goal="Say a higher number than the others.",
        describe=describe_with_range,
        compact=compact,
        config={"max_number": high, "players": seats, "rounds": total},
    )
