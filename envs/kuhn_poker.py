"""Kuhn poker: the smallest poker that needs bluffing, for two or three players.

Each player gets one card from a deck of P + 1 cards (J Q K; with three players J Q K A) and antes one chip. In turn
players pass or bet one chip; after the first bet the others, in turn, bet too (call) or pass (fold). The highest card
among those who stayed takes the pot. In turn t seat t mod P moves, and a set of bits holds the betting: bit t is 1 if
turn t was a bet.

A player sees its own card and the betting. Only the rows (``cards``), ``key`` and the rewards hold the other cards.

Source: Kuhn, "A simplified two-person poker", Contributions to the Theory of Games 1, 1950; three players: Szafron,
Gibson and Sturtevant, "A parameterized family of equilibrium profiles for three-player Kuhn poker", AAMAS 2013.
"""

from __future__ import annotations

from itertools import permutations
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..aliases import RUNNING, TERMINATED, Action, Mask, Player, Rewards, State, Status
from ..errors import IllegalAction, UsageError
from .answers import legal_words, named, one_of, way_out, whole_number
from .core import Game, GameInfo, Kernels
from .stepping.jit import kernel
from .stepping.rng import Word, below, word

__all__ = ["betting", "hands", "kuhn_poker", "outcome"]

RANKS = "JQKA"
"""From the lowest; a game of P players uses the first P + 1."""

PASS, BET = 0, 1

DTYPE = np.dtype(
    [
        ("cards", np.uint8, (3,)),
        ("players", np.uint8),
        ("turns", np.uint8),
        ("bets", np.uint8),
        ("over", np.uint8),
    ]
)
"""cards: rank by seat; players: P; turns: played so far; bets: bit t is 1 if turn t was a bet; over: 1 at the end."""


@kernel
def reset(state: State, i: int, seed: int) -> None:
    """Deal: the first P cards of a shuffled deck."""
    row = state[i]
    players: Any = np.int64(row["players"])
    row["turns"] = 0
    row["bets"] = 0
    row["over"] = 0
    left = (1 << (players + 1)) - 1  # the deck, bit r for rank r
    for p in range(players):
        skip = below(word(seed, p), players + 1 - p)
        rank = 0
        while True:
            if left >> rank & 1:
                if skip == 0:
                    break
                skip -= 1
            rank += 1
        left ^= 1 << rank
        row["cards"][p] = rank


@kernel
def mover(state: State, i: int) -> Any:
    """The seat to move."""
    row = state[i]
    return np.int64(row["turns"]) % np.int64(row["players"])


@kernel
def legal(state: State, i: int, player: Player, mask: Mask) -> None:
    """Pass and bet, for the mover of a running game."""
    row = state[i]
    may = row["over"] == 0 and np.int64(row["turns"]) % np.int64(row["players"]) == player
    mask[0] = may
    mask[1] = may


@kernel
def turns_in(players: Any, bets: Any) -> Any:
    """Turns in the whole game: all passed, or all answered the first bet."""
    for t in range(players):
        if bets >> t & 1:
            return players + t
    return players


@kernel
def step(state: State, i: int, actions: NDArray[np.int32], rewards: Rewards) -> Status:
    """One pass or bet; at the end the pot is paid, in chips."""
    row = state[i]
    players = np.int64(row["players"])
    turn = np.int64(row["turns"])
    bets = np.int64(row["bets"]) | np.int64(actions[turn % players]) << turn
    row["bets"] = bets
    row["turns"] = turn + 1
    if turn + 1 < turns_in(players, bets):
        return RUNNING
    row["over"] = 1
    pot: Any = 0
    best = -1
    for p in range(players):
        stayed = bets == 0 or (bets >> p | bets >> (p + players)) & 1
        paid = 1 + ((bets >> p | bets >> (p + players)) & 1)
        rewards[p] = -paid
        pot += paid
        if stayed and (best < 0 or row["cards"][p] > row["cards"][best]):
            best = p
    rewards[best] += pot
    return TERMINATED


@kernel
def observe(state: State, i: int, player: Player, out: NDArray[np.int8]) -> None:
    """[P + (P + 1) + 2 (2 P - 1)] own seat, own card, then pass or bet for each turn, each one-hot."""
    row = state[i]
    players = np.int64(row["players"])
    out[:] = 0
    out[player] = 1
    out[players + np.int64(row["cards"][player])] = 1
    for t in range(np.int64(row["turns"])):
        out[2 * players + 1 + 2 * t + (np.int64(row["bets"]) >> t & 1)] = 1


@kernel
def key(state: State, i: int) -> Word:
    """All cards and the betting, packed: equal keys mean equal positions."""
    row = state[i]
    packed = np.int64(row["turns"]) | np.int64(row["bets"]) << 3 | np.int64(row["over"]) << 8
    for p in range(np.int64(row["players"])):
        packed |= np.int64(row["cards"][p]) << (9 + 2 * p)
    return np.uint64(packed)


@kernel
def sound(state: State, i: int) -> int:
    """The betting goes as far as the turns played; no two cards are equal."""
    row = state[i]
    players, turns, bets = np.int64(row["players"]), np.int64(row["turns"]), np.int64(row["bets"])
    for p in range(1, players):
        for q in range(p):
            if row["cards"][p] == row["cards"][q]:
                return 1
    last = turns_in(players, bets)
    return 0 if turns <= last and bets >> turns == 0 and (turns == last) == (row["over"] == 1) else 2


# -- text: only what the player may know -------------------------------------------------------------------------------


def betting(state: State, i: int) -> list[tuple[Player, str]]:
    """Who did what so far: ``[(0, "check"), (1, "bet"), (0, "fold")]``."""
    players, bets = int(state[i]["players"]), int(state[i]["bets"])
    return [(t % players, _word(bets & ((1 << t) - 1), bets >> t & 1)) for t in range(int(state[i]["turns"]))]


def _word(bets_before: int, action: Action) -> str:
    return ("fold", "call")[action] if bets_before else ("check", "bet")[action]


def chips(state: State, i: int) -> list[int]:
    """[P] the chips that each seat has put into the pot."""
    players, bets = int(state[i]["players"]), int(state[i]["bets"])
    return [1 + ((bets >> p | bets >> (p + players)) & 1) for p in range(players)]


def hands(state: State, i: int, player: Player | None) -> list[str]:
    """[P] the cards by seat, ``"?"`` for those that ``player`` may not see; None sees all.

    At the end, if several players stayed, they show their cards; folded cards are never shown.
    """
    row = state[i]
    staying = _staying(state, i)
    shown = set(staying) if row["over"] and len(staying) > 1 else set()
    return [
        RANKS[int(row["cards"][p])] if player is None or p == player or p in shown else "?"
        for p in range(int(row["players"]))
    ]


def _staying(state: State, i: int) -> list[Player]:
    folded = {p for p, action in betting(state, i) if action == "fold"}
    return [p for p in range(int(state[i]["players"])) if p not in folded]


def outcome(state: State, i: int) -> tuple[Player, int] | None:
    """(winner, chips won beyond its own) of a finished game, else None."""
    if not state[i]["over"]:
        return None
    winner = max(_staying(state, i), key=lambda p: int(state[i]["cards"][p]))
    return winner, sum(chips(state, i)) - chips(state, i)[winner]


def describe(state: State, i: int, player: Player) -> str:
    """Own card, pot, betting and legal actions; at the end the winner and the cards shown."""

    def who(p: Player) -> str:
        return "you" if p == player else f"player_{p}"

    paid = chips(state, i)
    lines = [
        f"You are player_{player} and hold {hands(state, i, player)[player]}. "
        f"The pot holds {sum(paid)} chips, {paid[player]} of them yours."
    ]
    past = [f"{who(p)} {_PAST[action]}" for p, action in betting(state, i)]
    lines.append(f"Betting: {', '.join(past)}." if past else "Nobody has acted yet.")
    ended = outcome(state, i)
    if ended is not None:
        shown = [f"{who(p)} {card}" for p, card in enumerate(hands(state, i, player)) if card != "?" and p != player]
        lines += [f"Shown: {', '.join(shown)}."] if shown else []
        lines.append(f"The game is over: {who(ended[0])} won {ended[1]} {'chip' if ended[1] == 1 else 'chips'}.")
        return "\n".join(lines)
    words = _legal_words(state, i) if int(mover(state, i)) == player else []
    lines.append(legal_words(words))
    return "\n".join(lines)


def compact(state: State, i: int, player: Player) -> str:
    """``P0 K pb>``: seat, own card, the betting (p pass, b bet)."""
    row = state[i]
    past = "".join("pb"[int(row["bets"]) >> t & 1] for t in range(int(row["turns"])))
    return f"P{player} {RANKS[int(row['cards'][player])]} {past}>"


def action_to_text(state: State, i: int, action: Action) -> str:
    """``check`` or ``bet`` before the first bet, ``fold`` or ``call`` after it."""
    return _word(int(state[i]["bets"]), action)


def _legal_words(state: State, i: int) -> list[str]:
    return [] if state[i]["over"] else [action_to_text(state, i, action) for action in (PASS, BET)]


def parse_action(state: State, i: int, text: str) -> Action:
    """The one action that a text names; ``pass`` is check or fold, whichever is possible.

    Raises:
        InvalidAction, AmbiguousAction: the text names no action, or several.
        IllegalAction: that action is not possible now.
    """
    words = _legal_words(state, i)
    action = one_of(text, _MEANING, way_out(words))
    if not words or not named(text, _MEANING) & {*words, "pass"}:
        when = "after" if state[i]["bets"] else "before"
        raise IllegalAction(f"{text!r} cannot be played {when} a bet. {way_out(words)}")
    return action


_PAST = {"check": "checked", "bet": "bet", "fold": "folded", "call": "called"}
_MEANING = {"pass": PASS, "check": PASS, "fold": PASS, "bet": BET, "call": BET}


# -- chance ------------------------------------------------------------------------------------------------------------


def set_deal(state: State, i: int, value: Any) -> None:
    """The reset option ``deal``: ``"KJ"`` gives player_0 the K and player_1 the J.

    Raises:
        UsageError: not one card of the deck per player, or the same card twice.
    """
    players = int(state[i]["players"])
    deck = RANKS[: players + 1]
    given = value.upper() if isinstance(value, str) else ""
    if len(given) != players or len(set(given)) != players or not set(given) <= set(deck):
        raise UsageError(
            f"kuhn_poker: deal={value!r} came; {players} different cards of {deck} are needed, one per player, "
            f"e.g. {deck[-players:]!r}."
        )
    state[i]["cards"][:players] = [deck.index(card) for card in given]


def kuhn_poker(players: int = 2) -> Game:
    """Kuhn poker. Rewards are the chips won, paid at the end; they sum to 0.

    Args:
        players: P, 2 or 3.

    Raises:
        UsageError: another number of players.
    """
    seats = whole_number("players", players, 2, 3)
    deck = RANKS[: seats + 1]

    def new_state(n: int) -> State:
        state = np.zeros(n, DTYPE)
        state["players"] = seats
        return state

    def deals() -> list[tuple[str, float]]:
        return [("".join(cards), 1 / factorial(seats + 1)) for cards in permutations(deck, seats)]

    size = seats + len(deck) + 2 * (2 * seats - 1)
    return Game(
        info=GameInfo(
            name="kuhn_poker",
            players=seats,
            num_actions=2,
            observation_shape=(size,),
            max_cycles=2 * seats - 1,
            hidden=True,
        ),
        kernels=Kernels(reset, mover, legal, step, observe, key, sound=sound),
        new_state=new_state,
        ranges={"cards": (0, seats), "players": (seats, seats), "turns": (0, 2 * seats - 1), "over": (0, 1)},
        conditions=("two players hold the same card", "turns, bets and over do not agree"),
        rules=(
            f"Kuhn poker: {seats} players, one card each of {' '.join(deck)} (from the lowest to the highest), and "
            "one round of betting. Everybody pays one chip and sees its own card alone. In turn, beginning with "
            "player_0, you check or bet one chip. After the first bet each of the others, once, calls with one chip "
            "or folds. The highest card among those who have not folded wins the pot."
        ),
        goal="Win chips: hold the highest card, or make the others fold.",
        describe=describe,
        compact=compact,
        action_to_text=action_to_text,
        parse_action=parse_action,
        config={"players": seats},
        options={"deal": set_deal},
        deals=deals,
    )
