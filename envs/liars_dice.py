"""Liar's dice: everybody rolls in secret, bids rise, and somebody calls the last bid a lie.

A bid "3x5" says that among all dice at least three show a five or the highest face, which is wild. In turn each player
makes a higher bid, more dice or as many of a higher face, or calls ``liar``. Then all dice are shown: if the bid holds,
its bidder wins and the caller loses, else the other way round.

Action numbers, with F faces and D dice in all::

    (quantity - 1) * F + (face - 1)   a bid: 1x1 1x2 ... 1xF 2x1 ... DxF, always upwards
    D * F                             liar

Source: the rules and the numbering are those of OpenSpiel's ``liars_dice`` with its default bidding rule (reset-face);
Lanctot et al., "OpenSpiel: A framework for reinforcement learning in games", 2019.
"""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from math import comb, factorial, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..aliases import RUNNING, TERMINATED, Mask, Player, Rewards, State, Status
from ..errors import UsageError
from .answers import legal_words, whole_number
from .core import Game, GameInfo, Kernels
from .plain import told
from .stepping.jit import kernel
from .stepping.rng import below, word

__all__ = ["bids", "hands", "liars_dice", "matching", "outcome"]

PLAYERS, DICE, FACES = 6, 5, 6
"""The most players, dice of a player, and faces of a die."""

LISTED = 10_000
"""The most deals that exact analysis is given."""

DTYPE = np.dtype(
    [
        ("dice", np.uint8, (PLAYERS, DICE)),
        ("players", np.uint8),
        ("each", np.uint8),
        ("faces", np.uint8),
        ("bids", np.uint8, (PLAYERS * DICE * FACES,)),
        ("turns", np.uint8),
        ("over", np.uint8),
    ]
)
"""dice: faces by seat, ascending, 0 where there is no die; each: dice of a player; bids: 1 for each bid made; turns:
number of bids made; over: 1 after the call."""


@kernel
def reset(state: State, i: int, seed: int) -> None:
    """Roll all dice; each player's are sorted."""
    row = state[i]
    row["dice"][:] = 0
    row["bids"][:] = 0
    row["turns"] = 0
    row["over"] = 0
    each: Any = np.int64(row["each"])
    faces: Any = np.int64(row["faces"])
    for p in range(np.int64(row["players"])):
        for k in range(each):
            face = 1 + below(word(seed, p * each + k), faces)
            at = k
            while at > 0 and row["dice"][p, at - 1] > face:
                row["dice"][p, at] = row["dice"][p, at - 1]
                at -= 1
            row["dice"][p, at] = face


@kernel
def mover(state: State, i: int) -> Any:
    """The seat to move."""
    row = state[i]
    return np.int64(row["turns"]) % np.int64(row["players"])


@kernel
def last_bid(row: Any) -> Any:
    """The action number of the last bid, -1 before the first."""
    for a in range(np.int64(row["players"]) * np.int64(row["each"]) * np.int64(row["faces"]) - 1, -1, -1):
        if row["bids"][a]:
            return a
    return -1


@kernel
def legal(state: State, i: int, player: Player, mask: Mask) -> None:
    """Higher bids, and liar after the first."""
    row = state[i]
    mask[:] = 0
    if row["over"] or np.int64(row["turns"]) % np.int64(row["players"]) != player:
        return
    last = last_bid(row)
    mask[last + 1 :] = 1
    mask[mask.shape[0] - 1] = last >= 0


@kernel
def matching(state: State, i: int, face: int) -> Any:
    """The number of dice that show a face or the highest one."""
    row = state[i]
    count: Any = 0
    for p in range(np.int64(row["players"])):
        for k in range(np.int64(row["each"])):
            count += row["dice"][p, k] == face or row["dice"][p, k] == row["faces"]
    return count


@kernel
def step(state: State, i: int, actions: NDArray[np.int32], rewards: Rewards) -> Status:
    """A bid, or the call: the winner of the two gets 1, the loser -1."""
    row = state[i]
    players, faces = np.int64(row["players"]), np.int64(row["faces"])
    player = np.int64(row["turns"]) % players
    action = np.int64(actions[player])
    if action < players * np.int64(row["each"]) * faces:
        row["bids"][action] = 1
        row["turns"] += 1
        return RUNNING
    row["over"] = 1
    last = last_bid(row)
    bidder = (np.int64(row["turns"]) - 1) % players
    sign = 1 if matching(state, i, last % faces + 1) >= last // faces + 1 else -1
    rewards[bidder] = sign
    rewards[player] = -sign
    return TERMINATED


@kernel
def observe(state: State, i: int, player: Player, out: NDArray[np.int8]) -> None:
    """[P + K F + D F + 1] own seat, own K dice, each one-hot; the bids made; whether the last was called."""
    row = state[i]
    players, each, faces = np.int64(row["players"]), np.int64(row["each"]), np.int64(row["faces"])
    out[:] = 0
    out[player] = 1
    for k in range(each):
        out[players + k * faces + np.int64(row["dice"][player, k]) - 1] = 1
    first = players + each * faces
    for a in range(players * each * faces):
        out[first + a] = row["bids"][a]
    out[out.shape[0] - 1] = row["over"]


@kernel
def sound(state: State, i: int) -> int:
    """Dice are sorted; turns counts the bids; only a bid can be called."""
    row = state[i]
    for p in range(np.int64(row["players"])):
        for k in range(1, np.int64(row["each"])):
            if row["dice"][p, k] < row["dice"][p, k - 1]:
                return 1
    made: Any = 0
    for a in range(row["bids"].shape[0]):
        made += row["bids"][a]
    return 0 if made == row["turns"] and (made > 0 or row["over"] == 0) else 2


# -- text: only what the player may know -------------------------------------------------------------------------------


def bids(state: State, i: int) -> list[tuple[Player, int, int]]:
    """(seat, quantity, face) of every bid so far, in order."""
    row = state[i]
    made = np.flatnonzero(row["bids"]).tolist()
    faces = int(row["faces"])
    return [(t % int(row["players"]), a // faces + 1, a % faces + 1) for t, a in enumerate(made)]


def hands(state: State, i: int, player: Player | None) -> list[str]:
    """[P] the dice by seat, such as ``"25"``, question marks for those that ``player`` may not see; None sees all.

    After the call all dice are shown.
    """
    row = state[i]
    each = int(row["each"])
    return [
        "".join(map(str, row["dice"][p, :each])) if player in (None, p) or row["over"] else "?" * each
        for p in range(int(row["players"]))
    ]


def outcome(state: State, i: int) -> tuple[Player, Player] | None:
    """(winner, loser) of a finished game, else None."""
    row = state[i]
    if not row["over"]:
        return None
    bidder, quantity, face = bids(state, i)[-1]
    caller = int(mover(state, i))
    return (bidder, caller) if matching(state, i, face) >= quantity else (caller, bidder)


def describe(state: State, i: int, player: Player) -> str:
    """Own dice, bids and legal actions; at the end all dice and the winner."""

    def who(p: Player) -> str:
        return "you" if p == player else f"player_{p}"

    row, said = state[i], bids(state, i)
    own = " ".join(hands(state, i, player)[player])
    total = int(row["players"]) * int(row["each"])
    lines = [f"You are player_{player} and rolled {own}. There are {total} dice; {int(row['faces'])} is wild."]
    lines.append(f"Bids: {', '.join(f'{who(p)} {q}x{f}' for p, q, f in said) or 'none'}.")
    ended = outcome(state, i)
    if ended is not None:
        lines.append(f"{who(int(mover(state, i)))} called liar.".capitalize())
        lines.append(f"Shown: {', '.join(f'{who(p)} {dice}' for p, dice in enumerate(hands(state, i, None)))}.")
        lines.append(f"The game is over: {who(ended[0])} won, {who(ended[1])} lost.")
        return "\n".join(lines)
    words = []
    if int(mover(state, i)) == player:
        top = [f"{q}x{f}" for q in range(1, total + 1) for f in range(1, int(row["faces"]) + 1)]
        words = top[int(last_bid(row)) + 1 :] + (["liar"] if said else [])
    lines.append(legal_words(words))
    return "\n".join(lines)


def compact(state: State, i: int, player: Player) -> str:
    """``P0 25 1x3 2x3>``: seat, own dice, the bids; at the end all dice."""
    said = "".join(f" {q}x{f}" for _, q, f in bids(state, i))
    shown = " liar " + " ".join(hands(state, i, None)) if state[i]["over"] else ""
    return f"P{player} {hands(state, i, player)[player]}{said}{shown}>"


# -- chance ------------------------------------------------------------------------------------------------------------


def set_deal(state: State, i: int, value: Any) -> None:
    """The reset option ``deal``: ``"25 16"`` gives player_0 a 2 and a 5, player_1 a 1 and a 6.

    Raises:
        UsageError: not as many dice as the players have, or a face that they don't.
    """
    row = state[i]
    players, each, faces = int(row["players"]), int(row["each"]), int(row["faces"])
    given = value.split() if isinstance(value, str) else []
    known = "123456789"[:faces]
    if len(given) != players or any(len(dice) != each or not set(dice) <= set(known) for dice in given):
        example = " ".join(["1" * each] * players)
        raise UsageError(
            f"liars_dice: deal={told(value)} came; {players} times {each} of the faces {known}, with a blank "
            f"between players, are needed, e.g. {example!r}."
        )
    for p, dice in enumerate(given):
        row["dice"][p, :each] = sorted(map(int, dice))


# Longer than most: its arguments, what they mean, and the game that they make.
def liars_dice(dice: int = 1, players: int = 2, faces: int = 6) -> Game:
    """Liar's dice. The winner of the last bid and its call gets 1, the loser -1, the others 0.

    Args:
        dice: K, each player's dice, 1 to 5.
        players: P, 2 to 6.
        faces: F, the faces of a die, 2 to 6; the highest is wild.

    Raises:
        UsageError: another number.
    """
    seats = whole_number("liars_dice: players", players, 2, PLAYERS)
    each = whole_number("liars_dice: dice", dice, 1, DICE)
    sides = whole_number("liars_dice: faces", faces, 2, FACES)
    total = seats * each
    rolls = list(combinations_with_replacement(range(1, sides + 1), each))

    def new_state(n: int) -> State:
        state = np.zeros(n, DTYPE)
        state["players"], state["each"], state["faces"] = seats, each, sides
        state["dice"][:, :seats, :each] = 1
        return state

    def chance(roll: tuple[int, ...]) -> float:
        ways = factorial(each) // prod(factorial(roll.count(face)) for face in set(roll))
        return float(ways / sides**each)

    def deals() -> list[tuple[str, float]]:
        return [
            (" ".join("".join(map(str, roll)) for roll in deal), prod(map(chance, deal)))
            for deal in product(rolls, repeat=seats)
        ]

    low = np.zeros((PLAYERS, DICE), np.uint8)
    low[:seats, :each] = 1
    some = np.zeros(PLAYERS * DICE * FACES, np.uint8)
    some[: total * sides] = 1
    names = [f"{quantity}x{face}" for quantity in range(1, total + 1) for face in range(1, sides + 1)]
    return Game(
        info=GameInfo(
            name="liars_dice",
            players=seats,
            num_actions=total * sides + 1,
            observation_shape=(seats + each * sides + total * sides + 1,),
            max_cycles=total * sides + 1,
            hidden=True,
        ),
        kernels=Kernels(reset, mover, legal, step, observe, sound=sound),
        new_state=new_state,
        ranges={
            "dice": (low, low * sides),
            "players": (seats, seats),
            "each": (each, each),
            "faces": (sides, sides),
            "bids": (np.zeros_like(some), some),
            "turns": (0, total * sides),
            "over": (0, 1),
        },
        conditions=("a player's dice are not in ascending order", "turns, bids and over do not agree"),
        rules=(
            f"Liar's dice: {seats} players roll {each} dice with {sides} faces each and see their own alone. In turn, "
            f"beginning with player_0, you bid how many of all {total} dice show a face at least: 2x3 is two threes. "
            f"Dice that show {sides} count as every face. Each bid is higher than the last: more dice, or as many of a "
            "higher face. Instead of bidding you may call liar: if the last bid holds, its bidder wins and you lose; "
            "if it doesn't, you win and the bidder loses."
        ),
        goal="Bid on the dice of all players, and call liar when a bid is too high.",
        describe=describe,
        compact=compact,
        actions=(*names, "liar"),
        config={"dice": each, "players": seats, "faces": sides},
        options={"deal": set_deal},
        deals=deals if comb(sides + each - 1, each) ** seats <= LISTED else None,
    )
