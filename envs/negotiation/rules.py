"""Bargaining in numbers: a deal gives every issue one of its options, and each player values each option.

Players speak in turn. An offer proposes a whole deal; the players after the proposer accept, deny, or make another
offer, which replaces it. A deal is made when all others have accepted. No offer is legal that cannot be accepted by all
in the turns left; the game is over when nothing is left to say.

Dividing items between two players is the same: kind k is an issue whose option o gives o of them to player_0 and the
rest to player_1. Actions 0..A-3 are offers, in mixed radix (the last issue counts fastest); then accept, then deny.

Letters: K issues, M the most options of an issue.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, TERMINATED, Action, Mask, Player, Rewards, Status
from ..stepping.jit import kernel
from ..stepping.rng import Word, below, mix64, word

__all__ = [
    "CONDITIONS",
    "DIVIDED",
    "DRAWN",
    "FIXED",
    "Bargains",
    "base",
    "key",
    "legal",
    "mover",
    "observe",
    "option_of",
]
__all__ += ["reset", "sound", "step", "utility"]

FIXED, DIVIDED, DRAWN = 0, 1, 2
"""Values are configured; those of Lewis et al. (counts and values of three kinds); uniform for every option."""

OWN, JOINT, WIN = 0, 1, 2
"""Rewards: the own gain; everybody's; the sign of the difference of gains."""

TURN, MOVER, OFFERS, PROPOSER, YES, OVER = range(6)
"""Columns of ``Bargains.now``."""

TURNS, DRAW, SCORE, DISCOUNT, MANY, LARGEST = range(6)
"""Columns of ``Bargains.rules``."""

FEWEST, MOST_ITEMS, TOTAL = 5, 7, 10
"""Lewis et al. 2017, section 2.1: 5 to 7 items; their values add up to 10 for each player."""

_TRIES = 10_000


class Bargains(NamedTuple):
    """N negotiations.

    Attributes:
        rules: [N, 6] int32 turns, how values are drawn, what is paid, discount in thousandths, whether the game goes on
            after a deal, the largest value.
        most: [N, K] int32 the most options of each issue.
        initial: [N, K] int32 the options in force before any deal; -1: none, everybody has 0.
        options: [N, K] int32 the options of each issue in this game.
        values: [N, P, K, M] int32.
        held: [N, K] int32 the options in force; -1: none.
        last: [N, P] int32 each player's latest offer since the last deal, as an action; -1: none.
        now: [N, 6] int32 turns played, the mover, offers made, who made the standing offer (-1: none stands), how many
            have accepted it, whether the game is over.
    """

    rules: NDArray[np.int32]
    most: NDArray[np.int32]
    initial: NDArray[np.int32]
    options: NDArray[np.int32]
    values: NDArray[np.int32]
    held: NDArray[np.int32]
    last: NDArray[np.int32]
    now: NDArray[np.int32]


@kernel
def mover(state: Bargains, i: int) -> Player:
    """The seat that speaks."""
    return int(state.now[i, MOVER])


@kernel
def option_of(state: Bargains, i: int, offer: Action, issue: int) -> int:
    """The option that an offer gives an issue."""
    below_it = 1
    for k in range(state.most.shape[1] - 1, issue, -1):
        below_it *= state.most[i, k]
    return int(offer // below_it % state.most[i, issue])


@kernel
def _offers(state: Bargains, i: int) -> int:
    """A - 2, the number of offers."""
    count = 1
    for k in range(state.most.shape[1]):
        count *= state.most[i, k]
    return count


@kernel
def _worth(state: Bargains, i: int, player: Player, options: NDArray[np.int32]) -> int:
    """What a deal, [N, K] options of the issues, is worth to a player."""
    worth = 0
    for k in range(options.shape[1]):
        if options[i, k] >= 0:
            worth += state.values[i, player, k, options[i, k]]
    return worth


@kernel
def utility(state: Bargains, i: int, player: Player) -> int:
    """What the deal in force is worth to a player."""
    return _worth(state, i, player, state.held)


@kernel
def base(state: Bargains, i: int, player: Player) -> int:
    """What a player has without a deal."""
    return _worth(state, i, player, state.initial)


@kernel
def _best(state: Bargains, i: int, player: Player) -> int:
    """The most that a player can have; of all players together for -1."""
    total = 0
    for k in range(state.options.shape[1]):
        most = 0
        for o in range(state.options[i, k]):
            worth = 0
            for p in range(state.values.shape[1]):
                if player < 0 or p == player:
                    worth += state.values[i, p, k, o]
            most = max(most, worth)
        total += most
    return total


@kernel
def _write_pool(state: Bargains, i: int, player: Player, issue: int, each: int) -> None:
    """The value of every share of a kind of items, for one player."""
    count = state.options[i, issue] - 1
    for o in range(state.values.shape[3]):
        share = o if player == 0 else count - o
        state.values[i, player, issue, o] = each * share if 0 <= share <= count else 0


@kernel
def _divided(state: Bargains, i: int, seed: Word) -> None:
    """Counts and values of Lewis et al.: a kind is worth something to somebody, and some kind to both players."""
    kinds = state.options.shape[1]
    for k in range(kinds):
        state.options[i, k] = 2
    extra = FEWEST + below(word(seed, 0), MOST_ITEMS - FEWEST + 1) - kinds
    for j in range(extra):
        state.options[i, below(word(seed, 1 + j), kinds)] += 1
    at = 64
    for _ in range(_TRIES):
        total_0 = 0
        total_1 = 0
        wanted = True
        shared = False
        for k in range(kinds):
            count = state.options[i, k] - 1
            first = below(word(seed, at), TOTAL // count + 1)
            second = below(word(seed, at + 1), TOTAL // count + 1)
            at += 2
            total_0 += first * count
            total_1 += second * count
            wanted &= first + second > 0
            shared |= first > 0 and second > 0
            _write_pool(state, i, 0, k, first)
            _write_pool(state, i, 1, k, second)
        if total_0 == TOTAL and total_1 == TOTAL and wanted and shared:
            return


@kernel
def reset(state: Bargains, i: int, seed: Word) -> None:
    """Draw the values, if they are drawn; nobody has spoken."""
    if state.rules[i, DRAW] == DIVIDED:
        _divided(state, i, seed)
    elif state.rules[i, DRAW] == DRAWN:
        at = 0
        for p in range(state.values.shape[1]):
            for k in range(state.values.shape[2]):
                for o in range(state.values.shape[3]):
                    state.values[i, p, k, o] = below(word(seed, at), state.rules[i, LARGEST] + 1)
                    at += 1
    for k in range(state.held.shape[1]):
        state.held[i, k] = state.initial[i, k]
    state.last[i, :] = -1
    state.now[i, :] = 0
    state.now[i, PROPOSER] = -1


@kernel
def legal(state: Bargains, i: int, player: Player, mask: Mask) -> None:
    """Accept and deny while an offer stands; offers while there are turns enough for all to accept.

    An offer names options that exist in this game, and differs from the deal in force.
    """
    now, offers = state.now[i], _offers(state, i)
    asked = now[OVER] == 0 and now[MOVER] == player
    stands = asked and now[PROPOSER] >= 0
    offering = asked and state.rules[i, TURNS] - now[TURN] >= state.values.shape[1]
    for a in range(offers):
        mask[a] = offering
    if offering:
        held: Action = 0  # the deal in force, as an offer
        each: Action = offers
        for k in range(state.most.shape[1]):
            most, options = state.most[i, k], state.options[i, k]
            each //= most  # so many offers in a row have the same option of issue k
            held += state.held[i, k] * each
            if options < most:
                for a in range(offers):
                    mask[a] &= a // each % most < options
        if held >= 0:
            mask[held] = 0
    mask[offers] = stands
    mask[offers + 1] = stands


@kernel
def step(state: Bargains, i: int, actions: NDArray[np.int32], rewards: Rewards) -> Status:
    """One turn."""
    now, players, offers = state.now[i], state.values.shape[1], _offers(state, i)
    player = now[MOVER]
    action = actions[player]
    closed = False
    if action < offers:
        state.last[i, player] = action
        now[PROPOSER] = player
        now[YES] = 0
        now[OFFERS] += 1
    elif action == offers:
        now[YES] += 1
        if now[YES] == players - 1:
            for k in range(state.held.shape[1]):
                state.held[i, k] = option_of(state, i, state.last[i, now[PROPOSER]], k)
            state.last[i, :] = -1  # offers were made from what was held before
            now[PROPOSER] = -1
            now[YES] = 0
            closed = state.rules[i, MANY] == 0
    else:
        now[PROPOSER] = -1
        now[YES] = 0
    now[TURN] += 1
    now[MOVER] = (player + 1) % players
    if closed or (now[PROPOSER] < 0 and state.rules[i, TURNS] - now[TURN] < players):
        now[OVER] = 1
        _pay(state, i, rewards)
        return TERMINATED
    return RUNNING


@kernel
def _pay(state: Bargains, i: int, rewards: Rewards) -> None:
    """The rewards at the end: gains over what players have without a deal, by the game's way to score."""
    players, score = state.values.shape[1], state.rules[i, SCORE]
    kept = 1.0
    for _ in range(state.now[i, OFFERS] - 1):
        kept *= state.rules[i, DISCOUNT] / 1000
    gained, before = 0, 0
    for p in range(players):
        gained += utility(state, i, p) - base(state, i, p)
        before += base(state, i, p)
    for p in range(players):
        gain = utility(state, i, p) - base(state, i, p)
        if score == OWN:
            rewards[p] = kept * gain / max(1, _best(state, i, p) - base(state, i, p))
        elif score == JOINT:
            rewards[p] = kept * gained / max(1, _best(state, i, -1) - before)
        else:
            ahead = 0
            for other in range(players):
                theirs = utility(state, i, other) - base(state, i, other)
                ahead += (gain > theirs) - (gain < theirs)
            rewards[p] = ahead / (players - 1)


@kernel
def observe(state: Bargains, i: int, player: Player, out: NDArray[np.float32]) -> None:
    """[P + 4 + K (P + 3) + K M] in 0..1.

    The own seat, one-hot; the share of turns left, whether an offer stands, whether it is the own one, the share of the
    others that accepted it; per issue the options over M, the option in force, that of the standing offer, and those of
    the latest offers of the own seat, the next one, ... ((option + 1) / M; 0: none); the own values over the largest.
    """
    now, players, issues = state.now[i], state.values.shape[1], state.most.shape[1]
    widest = state.values.shape[3]
    out[:] = 0
    out[player] = 1
    out[players] = (state.rules[i, TURNS] - now[TURN]) / state.rules[i, TURNS]
    out[players + 1] = now[PROPOSER] >= 0
    out[players + 2] = now[PROPOSER] == player
    out[players + 3] = now[YES] / (players - 1)
    at = players + 4
    for k in range(issues):
        out[at] = state.options[i, k] / widest
        out[at + 1] = (state.held[i, k] + 1) / widest
        if now[PROPOSER] >= 0:
            out[at + 2] = (option_of(state, i, state.last[i, now[PROPOSER]], k) + 1) / widest
        for q in range(players):
            offer = state.last[i, (player + q) % players]
            if offer >= 0:
                out[at + 3 + q] = (option_of(state, i, offer, k) + 1) / widest
        at += 3 + players
        for o in range(state.options[i, k]):
            out[at + o] = state.values[i, player, k, o] / state.rules[i, LARGEST]
        at += widest


@kernel
def key(state: Bargains, i: int) -> Word:
    """All that the future depends on: values, the deal in force, the standing offer; earlier offers do not count."""
    now = state.now[i]
    mixed = mix64(np.uint64(state.rules[i, TURNS] - now[TURN]) * np.uint64(8) + np.uint64(now[MOVER]))
    mixed = mix64(mixed ^ np.uint64(now[PROPOSER] + 1))
    mixed = mix64(mixed ^ np.uint64(now[YES] * 2 + now[OVER]))
    if now[PROPOSER] >= 0:
        mixed = mix64(mixed ^ np.uint64(state.last[i, now[PROPOSER]] + 1))
    if state.rules[i, DISCOUNT] < 1000:
        mixed = mix64(mixed ^ np.uint64(now[OFFERS]))
    for k in range(state.held.shape[1]):
        mixed = mix64(mixed ^ np.uint64(state.held[i, k] + 1))
        mixed = mix64(mixed ^ np.uint64(state.options[i, k]))
    if state.rules[i, DRAW] != FIXED:
        for p in range(state.values.shape[1]):
            for k in range(state.values.shape[2]):
                for o in range(state.values.shape[3]):
                    mixed = mix64(mixed ^ np.uint64(state.values[i, p, k, o]))
    return mixed


CONDITIONS = (
    "a kind of items must be worth the same each, and nothing beyond their number",
    "an offer or the deal in force names an option that an issue does not have",
    "who has spoken, who made the standing offer and who accepted it do not fit together",
    "the turns left do not fit the standing offer or the end",
    "only a game that is over, or one that goes on after deals, has another deal in force than at its start",
)
"""What ``sound`` checks, in its numbers."""


@kernel
def sound(state: Bargains, i: int) -> int:
    """0, or which of CONDITIONS a row violates."""
    now, players, issues = state.now[i], state.values.shape[1], state.most.shape[1]
    if state.rules[i, DRAW] == DIVIDED:
        for p in range(players):
            for k in range(issues):
                count = state.options[i, k] - 1
                each = state.values[i, p, k, 1 if p == 0 else count - 1] if count > 0 else 0
                for o in range(state.values.shape[3]):
                    share = o if p == 0 else count - o
                    if state.values[i, p, k, o] != (each * share if 0 <= share <= count else 0):
                        return 1
    changed = False
    for k in range(issues):
        # Nothing is in force for all issues or for none; ``initial`` is configuration.
        if state.held[i, k] >= state.options[i, k] or (state.held[i, k] < 0) != (state.held[i, 0] < 0):
            return 2
        changed |= state.held[i, k] != state.initial[i, k]
        for p in range(players):
            if state.last[i, p] >= 0 and option_of(state, i, state.last[i, p], k) >= state.options[i, k]:
                return 2
    left = state.rules[i, TURNS] - now[TURN]
    if now[MOVER] != now[TURN] % players or now[OFFERS] > now[TURN]:
        return 3
    if now[PROPOSER] >= 0:
        if state.last[i, now[PROPOSER]] < 0 or now[OFFERS] < 1 or now[OVER] == 1:
            return 3
        if now[YES] >= players - 1 or now[MOVER] != (now[PROPOSER] + 1 + now[YES]) % players:
            return 3
        if left < players - 1 - now[YES]:
            return 4
    elif now[YES] != 0:
        return 3
    elif now[OVER] == 0 and left < players:
        return 4
    if changed and state.rules[i, MANY] == 0 and now[OVER] == 0:
        return 5
    return 0
