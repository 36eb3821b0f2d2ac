"""Leduc poker: two players, two rounds of betting, one private card each and one public card.

Six cards, two each of J Q K; suits never matter, so cards are ranks here. Each player antes a chip and gets a card.
First round: raises of 2 chips; then the public card is turned up; second round: raises of 4. There are at most two
raises per round, and player_0 begins both rounds. A pair with the public card wins, else the higher card; equal cards
share the pot.

Actions are numbered as PettingZoo's leduc_holdem_v4 numbers them; the first 36 numbers of the observation are laid out
as its page says. The rules are those of the literature, which that environment does not follow: ``docs/games`` lists
the differences.

A player sees its own card, the public card in the second round, and the betting. Only the rows (``cards``), ``key`` and
the rewards depend on the other player's card and on the public card before it is shown.

Source: Southey et al., "Bayes' Bluff: Opponent Modelling in Poker", UAI 2005.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..aliases import RUNNING, TERMINATED, Action, Mask, Player, Rewards, State, Status
from ..errors import IllegalAction, UsageError
from .answers import legal_words, one_of, way_out
from .core import Game, GameInfo, Kernels
from .stepping.defaults import row_mover
from .stepping.jit import kernel
from .stepping.rng import Word, below, word

__all__ = ["betting", "hands", "leduc_poker", "outcome", "public_card"]

RANKS = "JQK"
ACTIONS = ("call", "raise", "fold", "check")
CALL, RAISE, FOLD, CHECK = range(4)
PUBLIC = 2  # index of the public card in ``cards``

DTYPE = np.dtype(
    [
        ("cards", np.uint8, (3,)),
        ("chips", np.uint8, (2,)),
        ("mover", np.uint8),
        ("round", np.uint8),
        ("raises", np.uint8),
        ("acted", np.uint8, (2,)),
        ("past", np.uint8, (2, 4)),
        ("over", np.uint8),
    ]
)
"""cards: ranks of seat 0, of seat 1, public; chips: put in, by seat; round: 0 or 1; raises: in this round; acted: turns
played, by round; past: action + 1 by round and turn, 0 where there was none; over: 1 at the end.
"""


@kernel
def reset(state: State, i: int, seed: int) -> None:
    """Deal three of the six cards and take the antes."""
    row = state[i]
    left = 0b111111  # the deck, bit c for a card of rank c // 2
    for k in range(3):
        skip = below(word(seed, k), 6 - k)
        card = 0
        while True:
            if left >> card & 1:
                if skip == 0:
                    break
                skip -= 1
            card += 1
        left ^= 1 << card
        row["cards"][k] = card >> 1
    row["chips"][:] = 1
    row["mover"] = 0
    row["round"] = 0
    row["raises"] = 0
    row["acted"][:] = 0
    row["past"][:] = 0
    row["over"] = 0


@kernel
def legal(state: State, i: int, player: Player, mask: Mask) -> None:
    """Call and fold after a raise, else check; raise while this round has had fewer than two raises."""
    row = state[i]
    may = row["over"] == 0 and row["mover"] == player
    behind = row["raises"] > 0
    mask[CALL] = may and behind
    mask[RAISE] = may and row["raises"] < 2
    mask[FOLD] = may and behind
    mask[CHECK] = may and not behind


@kernel
def step(state: State, i: int, actions: NDArray[np.int32], rewards: Rewards) -> Status:
    """One action; at the end the chips won are paid."""
    row = state[i]
    player = np.int64(row["mover"])
    other = 1 - player
    action = np.int64(actions[player])
    stage = np.int64(row["round"])
    row["past"][stage, row["acted"][stage]] = action + 1
    row["acted"][stage] += 1
    row["mover"] = other
    if action == FOLD:
        row["over"] = 1
        rewards[player] = -np.int64(row["chips"][player])
        rewards[other] = row["chips"][player]
        return TERMINATED
    if action == RAISE:
        row["chips"][player] = row["chips"][other] + 2 + 2 * stage
        row["raises"] += 1
        return RUNNING
    if action == CALL:
        row["chips"][player] = row["chips"][other]
    elif row["acted"][stage] < 2:
        return RUNNING  # the first check of a round
    if stage == 0:
        row["round"] = 1
        row["raises"] = 0
        row["mover"] = 0
        return RUNNING
    row["over"] = 1
    # A pair is worth more than any single card.
    mine = np.int64(row["cards"][0]) + 3 * np.int64(row["cards"][0] == row["cards"][PUBLIC])
    theirs = np.int64(row["cards"][1]) + 3 * np.int64(row["cards"][1] == row["cards"][PUBLIC])
    sign = np.int64(mine > theirs) - np.int64(mine < theirs)
    rewards[0] = sign * np.int64(row["chips"][0])
    rewards[1] = -sign * np.int64(row["chips"][0])
    return TERMINATED


@kernel
def observe(state: State, i: int, player: Player, out: NDArray[np.int8]) -> None:
    """[54] own card, public card, own chips, the other's chips, own seat, betting; see ``leduc_poker``."""
    row = state[i]
    out[:] = 0
    out[np.int64(row["cards"][player])] = 1
    if row["round"] == 1:
        out[3 + np.int64(row["cards"][PUBLIC])] = 1
    out[6 + np.int64(row["chips"][player])] = 1
    out[21 + np.int64(row["chips"][1 - player])] = 1
    out[36 + player] = 1
    for stage in range(2):
        for k in range(np.int64(row["acted"][stage])):
            action = np.int64(row["past"][stage, k]) - 1
            if action != FOLD:  # a fold ends the game
                out[38 + 8 * stage + 2 * k + (action == RAISE)] = 1


@kernel
def key(state: State, i: int) -> Word:
    """All cards and the betting, packed: equal keys mean equal positions."""
    row = state[i]
    packed = np.uint64(row["over"])
    for k in range(3):
        packed = packed << np.uint64(2) | np.uint64(row["cards"][k])
    for stage in range(2):
        for k in range(4):
            packed = packed << np.uint64(3) | np.uint64(row["past"][stage, k])
    return packed


@kernel
def sound(state: State, i: int) -> int:
    """The betting can be played turn by turn, and the other fields are what it leads to."""
    row = state[i]
    mine: Any = 1  # chips of the seat to move
    theirs: Any = 1
    player, stage, turn, raises, over = 0, 0, 0, 0, 0
    for r in range(2):
        played = 0
        for k in range(4):
            action = np.int64(row["past"][r, k]) - 1
            if action < 0:
                continue
            allowed = raises < 2 if action == RAISE else raises == 0 if action == CHECK else raises > 0
            if r != stage or k != turn or over == 1 or not allowed:
                return 1
            if action == RAISE:
                mine = theirs + 2 + 2 * stage
                raises += 1
            elif action == CALL:
                mine = theirs
            mine, theirs, player = theirs, mine, 1 - player
            turn += 1
            played += 1
            settled = action == CALL or (action == CHECK and turn == 2)
            if action == FOLD or (settled and stage == 1):
                over = 1
            elif settled:
                stage, turn, raises, player = 1, 0, 0, 0
        if row["acted"][r] != played:
            return 1
    same = row["chips"][player] == mine and row["chips"][1 - player] == theirs and row["mover"] == player
    return int(not (same and row["round"] == stage and row["raises"] == raises and row["over"] == over))


def new_state(n: int) -> State:
    """N rows of zeros; ``reset`` deals."""
    return np.zeros(n, DTYPE)


# -- text: only what the player may know -------------------------------------------------------------------------------


def betting(state: State, i: int) -> list[list[tuple[Player, str]]]:
    """Who did what, round by round: ``[[(0, "check"), (1, "raise"), (0, "call")], []]``."""
    row = state[i]
    return [
        [(k % 2, ACTIONS[int(row["past"][stage, k]) - 1]) for k in range(int(row["acted"][stage]))] for stage in (0, 1)
    ]


def public_card(state: State, i: int) -> str | None:
    """The public card, or None while it is face down."""
    return RANKS[int(state[i]["cards"][PUBLIC])] if state[i]["round"] == 1 else None


def _folded(state: State, i: int) -> bool:
    return bool((state[i]["past"] == FOLD + 1).any())


def hands(state: State, i: int, player: Player | None) -> list[str]:
    """The cards of both seats, ``"?"`` for one that ``player`` may not see; None sees both.

    At the end both are shown, unless a player folded.
    """
    shown = player is None or (state[i]["over"] and not _folded(state, i))
    return [RANKS[int(state[i]["cards"][p])] if shown or p == player else "?" for p in (0, 1)]


def outcome(state: State, i: int) -> tuple[Player | None, int] | None:
    """(winner, chips won) of a finished game, (None, 0) if the pot was shared; None while the game runs."""
    row = state[i]
    if not row["over"]:
        return None
    if _folded(state, i):
        winner = int(row["mover"])
        return winner, int(row["chips"][1 - winner])
    worth = [int(row["cards"][p]) + 3 * int(row["cards"][p] == row["cards"][PUBLIC]) for p in (0, 1)]
    return (None, 0) if worth[0] == worth[1] else (int(worth[1] > worth[0]), int(row["chips"][0]))


def describe(state: State, i: int, player: Player) -> str:
    """Cards that the player sees, chips, betting and legal actions; at the end the winner and the card shown."""

    def who(p: Player) -> str:
        return "you" if p == player else f"player_{p}"

    row, public = state[i], public_card(state, i)
    told = f"the public card is {public}" if public else "the public card is not dealt yet"
    lines = [
        f"You are player_{player} and hold {RANKS[int(row['cards'][player])]}; {told}.",
        f"You have put in {int(row['chips'][player])}, player_{1 - player} {int(row['chips'][1 - player])}.",
    ]
    for stage, past in enumerate(betting(state, i), 1):
        if past:
            lines.append(f"Round {stage}: {', '.join(f'{who(p)} {_PAST[action]}' for p, action in past)}.")
    ended = outcome(state, i)
    if ended is not None:
        other = hands(state, i, player)[1 - player]
        lines += [f"Shown: player_{1 - player} {other}."] if other != "?" else []
        won = "the pot is shared" if ended[0] is None else f"{who(ended[0])} won {ended[1]} {_chips(ended[1])}"
        lines.append(f"The game is over: {won}.")
    else:
        words = _legal_words(state, i, player)
        lines.append(legal_words(words))
    return "\n".join(lines)


def _chips(count: int) -> str:
    return "chip" if count == 1 else "chips"


def compact(state: State, i: int, player: Player) -> str:
    """``P0 KQ krc/r>``: seat, own and public card (``-`` face down), betting by round (k check, c, r, f)."""
    rounds = ["".join(_LETTER[action] for _, action in past) for past in betting(state, i)]
    mine = RANKS[int(state[i]["cards"][player])]
    return f"P{player} {mine}{public_card(state, i) or '-'} {'/'.join(rounds[: 1 + int(state[i]['round'])])}>"


def _legal_words(state: State, i: int, player: Player) -> list[str]:
    mask = np.zeros(4, np.int8)
    legal(state, i, player, mask)
    return [ACTIONS[action] for action in np.flatnonzero(mask)]


def parse_action(state: State, i: int, text: str) -> Action:
    """The one action that a text names.

    Raises:
        InvalidAction, AmbiguousAction: the text names no action, or several.
        IllegalAction: that action is not possible now.
    """
    words = _legal_words(state, i, int(state[i]["mover"]))
    action = one_of(text, ACTIONS, way_out(words))
    if ACTIONS[action] not in words:
        met = {RAISE: "two raises were made", CHECK: "a raise was made"}.get(action, "no raise was made")
        raise IllegalAction(f"{text!r} cannot be played: {met if words else 'it is too late'}. {way_out(words)}")
    return action


_PAST = {"call": "called", "raise": "raised", "fold": "folded", "check": "checked"}
_LETTER = {"call": "c", "raise": "r", "fold": "f", "check": "k"}


# -- chance ------------------------------------------------------------------------------------------------------------


def set_deal(state: State, i: int, value: Any) -> None:
    """The reset option ``deal``: ``"KQJ"`` gives player_0 K and player_1 Q; the public card will be J.

    Raises:
        UsageError: not three cards, or all three alike.
    """
    given = value.upper() if isinstance(value, str) else ""
    if len(given) != 3 or not set(given) <= set(RANKS) or len(set(given)) == 1:
        raise UsageError(
            f"leduc_poker: deal={value!r} came; three cards of J J Q Q K K are needed: for player_0, for player_1 and "
            "the public one, e.g. 'KQJ'."
        )
    state[i]["cards"] = [RANKS.index(card) for card in given]


def deals() -> list[tuple[str, float]]:
    """The 24 deals, as ranks, with their probabilities."""
    ways = Counter("".join(cards) for cards in permutations(RANKS * 2, 3))
    return [(cards, count / 120) for cards, count in sorted(ways.items())]


def leduc_poker() -> Game:
    """Leduc poker. Rewards are the chips won, paid at the end; they sum to 0.

    The observation, [54] int8 of zeros and ones::

         0 .. 2    own card, J Q K
         3 .. 5    public card, J Q K; zeros in the first round
         6 .. 20   own chips put in, 0 .. 14
        21 .. 35   the other's chips put in, 0 .. 14
        36 .. 37   own seat
        38 .. 45   first round: for each of up to four turns: a call or check, a raise
        46 .. 53   second round, the same
    """
    return Game(
        info=GameInfo(name="leduc_poker", players=2, num_actions=4, observation_shape=(54,), max_cycles=8, hidden=True),
        kernels=Kernels(reset, row_mover, legal, step, observe, key, sound=sound),
        new_state=new_state,
        ranges={"cards": (0, 2), "past": (0, 4)},
        conditions=("past is no betting of this game, or the other fields are not what it leads to",),
        rules=(
            "Leduc poker: one card each, one for both, two rounds of betting. The six cards are two J, two Q and "
            "two K, from the lowest to the highest. Both players pay one chip and see their own card alone. "
            "player_0 begins each round; before the second the public card is turned up. Check, or raise by 2 chips "
            "in the first round and by 4 in the second; a raise is answered with call, fold or, once a round, "
            "another raise. Who has the same card as the public one wins the pot, else the higher card; equal cards "
            "share it."
        ),
        goal="Win chips: pair the public card, hold the higher card, or make the other player fold.",
        describe=describe,
        compact=compact,
        actions=ACTIONS,
        parse_action=parse_action,
        options={"deal": set_deal},
        deals=deals,
    )
