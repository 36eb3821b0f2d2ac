"""The loops over N games: templates that ``drivers`` compiles for each game.

A game's kernels, the smaller templates and the numbers A and P are free names here; each compiled copy binds them to
its own. One pass per row: step, count, restart, observe, mask. Rows are independent, so any split over
threads gives the same games. Letters: N games, P players (seats), A actions.

The file is longer than most because the templates refer to each other, and the free names are declared once.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, TERMINATED, TRUNCATED, Mask, State, Status
from .buffers import BLOCK, LOSE, NEXT_STEP, NOOP, RESAMPLE, SAME_STEP, Arrays, Limits
from .jit import kernel
from .machine import first_bit, load_bits, load_word, popcount, store_bits
from .rng import below, episode_seed, episode_seed_plain, word, word_plain

_INDEX = 2**63 - 1
"""``i & _INDEX`` is i, but shows the compiler that the index is not negative, so it need not count from the end."""


def _unbound(*_: Any) -> Any:
    raise NotImplementedError("a template was called that is not bound to a game")


# Set for each copy: kernels, smaller templates, and A and P as constants, so that the compiler unrolls loops over them
# (P only with ``seats_fixed``). IDLE is ``idle_action``, WORDS the number of 64-bit integers of a packed mask, MORTAL 1
# if players die. ROWS divides BLOCK: a rollout plays that many rows side by side, so that their buffers stay in a near
# cache.
ACTIONS = PLAYERS = ROWS = WORDS = MORTAL = 0
IDLE = -1
pick: Callable[..., int] = _unbound
reset: Callable[..., None] = _unbound
mover: Callable[..., int] = _unbound
legal: Callable[..., None] = _unbound
step: Callable[..., int] = _unbound
step_legal: Callable[..., int] = _unbound
observe: Callable[..., None] = _unbound
look: Callable[..., None] = _unbound
view: Callable[..., None] = _unbound
begin: Callable[..., None] = _unbound
advance: Callable[..., Status] = _unbound
act: Callable[..., Status] = _unbound
choose: Callable[..., int] = _unbound
pack: Callable[..., None] = _unbound
unpack: Callable[..., None] = _unbound
seats: Callable[[Arrays], int] = _unbound
alive: Callable[..., bool] = _unbound
lives: Callable[..., bool] = _unbound
sound: Callable[..., int] = _unbound
flag: Callable[..., None] = _unbound
wake: Callable[..., None] = _unbound
sample: Callable[..., None] = _unbound
finish: Callable[..., None] = _unbound
row: Callable[..., int] = _unbound


def seats_fixed(b: Arrays) -> int:
    """P as a constant."""
    return PLAYERS


def seats_counted(b: Arrays) -> Any:
    """P from the arrays: games of any number of players share one compilation."""
    return b.rewards.shape[1]


_ONE = np.uint64(1)
_ONES = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)


def pick_legal(mask: Mask, random_word: int) -> Any:
    """A legal action sampled uniformly; 0 if none is legal. mask [A] int8 of zeros and ones.

    Eight entries at a time: a 64-bit integer times 0x0101... holds the running sums of its bytes, the total in the top
    byte. The action is the number of entries whose running sum is at most k. With fewer than 128 actions the loops have
    no branch that depends on the mask.
    """
    total: Any = 0
    for a in range(0, ACTIONS - 7, 8):
        total += np.int64((load_word(mask, a) * _ONES) >> np.uint64(56))
    for a in range(ACTIONS - ACTIONS % 8, ACTIONS):
        total += np.int64(mask[a])
    if total == 0:
        return 0
    k = below(random_word, total)
    action: Any = 0
    for a in range(0, ACTIONS - 7, 8):
        sums = load_word(mask, a) * _ONES
        bound = np.uint64(min(max(k, -1), 8) + 128)
        not_yet = (bound * _ONES - sums) & _HIGH
        action += np.int64(((not_yet >> np.uint64(7)) * _ONES) >> np.uint64(56))
        k -= np.int64(sums >> np.uint64(56))
        if ACTIONS >= 128 and k < 0:
            return action
    for a in range(ACTIONS - ACTIONS % 8, ACTIONS):
        k -= np.int64(mask[a])
        action += np.int64(k >= 0)
    return action


def pick_wide(mask: Mask, random_word: int) -> Any:
    """``pick_legal`` for thousands of actions, few of them legal: searches 64 at a time, then one by one."""
    total: Any = 0
    for a in range(0, ACTIONS - 63, 64):
        total += np.int64(popcount(load_bits(mask, a)))
    for a in range(ACTIONS - ACTIONS % 64, ACTIONS):
        total += np.int64(mask[a])
    if total == 0:
        return 0
    k = below(random_word, total)
    action: Any = 0
    while action < ACTIONS - 63:
        here = np.int64(popcount(load_bits(mask, action)))
        if k < here:
            break
        k -= here
        action += 64
    while True:
        k -= np.int64(mask[action])
        if k < 0:
            return action
        action += 1


def pick_plain(mask: Mask, random_word: int) -> int:
    """``pick_legal`` in NumPy, for uncompiled code."""
    actions = np.flatnonzero(mask)
    return int(actions[below(random_word, len(actions))]) if len(actions) else 0


# -- masks of turn-based games: as bytes alone, or packed too ----------------------------------------------------------


def act_plain(state: State, b: Arrays, i: int, acts: NDArray[np.int32]) -> Status:
    """Step row i."""
    return step(state, i, acts, b.rewards[i])


def act_packed(state: State, b: Arrays, i: int, acts: NDArray[np.int32]) -> Status:
    """Step row i and, if the game is still running, write its new mask."""
    status = step_legal(state, i, acts, b.rewards[i], b.packed[i])
    if status == RUNNING:
        unpack(b.packed[i], b.mask[i])
    return status


def choose_plain(b: Arrays, i: int, random_word: int) -> Any:
    """A legal action of row i sampled uniformly; 0 if none is legal."""
    return pick(b.mask[i], random_word)


def choose_packed(b: Arrays, i: int, random_word: int) -> Any:
    """The same action as ``choose_plain``, found in the packed mask."""
    packed = b.packed[i]
    total: Any = 0
    for group in range(WORDS, packed.shape[0]):
        used = packed[group]
        while used != 0:
            total += np.int64(popcount(packed[64 * (group - WORDS) + first_bit(used)]))
            used &= used - _ONE
    if total == 0:
        return 0
    k = below(random_word, total)
    for group in range(WORDS, packed.shape[0]):
        used = packed[group]
        while used != 0:
            w = 64 * (group - WORDS) + first_bit(used)
            used &= used - _ONE
            bits = packed[w]
            here = np.int64(popcount(bits))
            if k < here:
                for _ in range(k):
                    bits &= bits - _ONE
                return 64 * w + first_bit(bits)
            k -= here
    return 0


def pack_nothing(mask: Mask, packed: NDArray[np.uint64]) -> None:
    """Does nothing: the game has no packed masks."""


def pack_mask(mask: Mask, packed: NDArray[np.uint64]) -> None:
    """Write a mask [A] to its row of ``Arrays.packed``, [W]."""
    for group in range(WORDS, packed.shape[0]):
        packed[group] = 0
    for w in range(WORDS):
        if 64 * w + 64 <= ACTIONS:
            packed[w] = load_bits(mask, 64 * w)
        else:
            packed[w] = 0
            for a in range(64 * w, ACTIONS):
                packed[w] |= np.uint64(mask[a] != 0) << np.uint64(a & 63)
        packed[WORDS + (w >> 6)] |= np.uint64(packed[w] != 0) << np.uint64(w & 63)


def unpack_mask(packed: NDArray[np.uint64], mask: Mask) -> None:
    """Write a packed mask, which ``step_legal`` wrote over the previous one, to the mask [A].

    Sixty-four entries at a time, and only where the old or the new mask has ones: the rest of a wide mask is unchanged.
    """
    for group in range(WORDS, packed.shape[0]):
        lowest = 64 * (group - WORDS)
        used = np.uint64(0)
        for w in range(lowest, min(lowest + 64, WORDS)):
            used |= np.uint64(packed[w] != 0) << np.uint64(w & 63)
        changed = used | packed[group]
        packed[group] = used
        while changed != 0:
            w = lowest + first_bit(changed)
            changed &= changed - _ONE
            if 64 * w + 64 <= ACTIONS:
                store_bits(mask, 64 * w, packed[w])
            else:
                for a in range(64 * w, ACTIONS):
                    mask[a] = packed[w] >> np.uint64(a & 63) & _ONE


def view_turns(state: State, b: Arrays, i: int, known: bool) -> None:
    """Refresh player, observation and mask of row i.

    known: a step left the game running; in games with packed masks it wrote the mask.
    """
    p = mover(state, i)
    b.player[i] = p
    observe(state, i, p, b.observation[i])
    if WORDS == 0 or not known:
        if b.status[i] == RUNNING:
            legal(state, i, p, b.mask[i])
        else:
            b.mask[i, :] = 0
        pack(b.mask[i], b.packed[i])


def look_ticks(state: State, i: int, players: int, observation: NDArray[Any], mask: Mask, running: bool) -> None:
    """Write what all players see in row i, [P, ...], and their masks [P, A]: zeros if the game is not running.

    For worlds it is compiled separately: the state's arrays are passed once for all players.
    """
    for p in range(players):
        observe(state, i, p, observation[p])
        if running:
            legal(state, i, p, mask[p])
        else:
            mask[p, :] = 0


def view_ticks(state: State, b: Arrays, i: int, known: bool) -> None:
    """Refresh observations and masks of row i."""
    look(state, i, seats(b), b.observation[i], b.mask[i], b.status[i] == RUNNING)


def begin_row(state: State, b: Arrays, i: int) -> None:
    """Start the game of (seed, episode) in row i."""
    reset(state, i, episode_seed(b.seed[i], b.episode[i]))
    b.status[i] = RUNNING
    b.cycles[i] = 0
    for p in range(seats(b)):
        b.faults[i, p] = 0
    wake(state, b, i)


def flag_all(state: State, b: Arrays, i: int, status: Status) -> None:
    """Set termination and truncation after a step, for all players of row i."""
    b.terminated[i] = status == TERMINATED
    b.truncated[i] = status == TRUNCATED


def flag_each(state: State, b: Arrays, i: int, status: Status) -> None:
    """The same in games where players die: set once per player, in the step in which its game ends."""
    for p in range(seats(b)):
        lives = bool(alive(state, i, p))
        b.terminated[i, p] = b.alive[i, p] and (status == TERMINATED or not lives)
        b.truncated[i, p] = b.alive[i, p] and lives and status == TRUNCATED
        b.alive[i, p] = lives


def wake_all(state: State, b: Arrays, i: int) -> None:
    """Does nothing: players do not die."""


def wake_each(state: State, b: Arrays, i: int) -> None:
    """Set which players are alive, in a row that was started or written from outside."""
    for p in range(seats(b)):
        b.alive[i, p] = alive(state, i, p)


def advance_turns(state: State, b: Arrays, i: int, action: int, acts: NDArray[np.int32], limits: Limits) -> Status:
    """One turn in row i, without a restart: writes rewards, illegal, faults and cycles; returns the status."""
    p = b.player[i]
    is_legal = 0 <= action < ACTIONS and b.mask[i, action] == 1
    b.illegal[i] = not is_legal
    status = RUNNING
    if not is_legal:
        b.faults[i, p] += 1
        if limits.illegal == RESAMPLE:
            action = choose(b, i, word(~episode_seed(b.seed[i], b.episode[i]), b.cycles[i]))
        elif limits.illegal == LOSE:
            status = TERMINATED
    if is_legal or limits.illegal == RESAMPLE:
        acts[p] = action
        status = act(state, b, i, acts)
    if not is_legal:
        for q in range(seats(b)):
            b.rewards[i, q] += np.float32(limits.illegal_reward if q == p else limits.others_reward)
    b.cycles[i] += 1
    if status == RUNNING and b.cycles[i] >= limits.max_cycles:
        status = TRUNCATED
    return status


def advance_ticks(
    state: State, b: Arrays, i: int, actions: NDArray[np.int32], acts: NDArray[np.int32], limits: Limits
) -> Status:
    """One tick in row i, without a restart. The action of a seat without a legal action is ignored.

    Under ``noop``, games with an idle action get illegal actions unchanged and let them fail; an action outside 0..A-1
    becomes the idle action.
    """
    wrong = False
    for p in range(seats(b)):
        action = actions[p]
        asked = 0 <= action < ACTIONS and b.mask[i, p, action] == 1
        is_illegal = False
        if not asked:
            for a in range(ACTIONS):
                asked |= b.mask[i, p, a] == 1
            is_illegal = asked
        b.illegal[i, p] = is_illegal
        if is_illegal and limits.illegal == RESAMPLE:
            action = pick(b.mask[i, p], word(~episode_seed(b.seed[i], b.episode[i]), b.cycles[i] * seats(b) + p))
        elif is_illegal and limits.illegal == NOOP and IDLE >= 0:
            action = action if 0 <= action < ACTIONS else IDLE
        elif is_illegal:
            wrong = True
        acts[p] = action if asked else max(IDLE, 0)
    status = RUNNING
    if not wrong:
        status = step(state, i, acts, b.rewards[i])
    elif limits.illegal == LOSE:
        status = TERMINATED
    for p in range(seats(b)):
        if b.illegal[i, p]:
            b.faults[i, p] += 1
            b.rewards[i, p] += np.float32(limits.illegal_reward)
        elif wrong:
            b.rewards[i, p] += np.float32(limits.others_reward)
    b.cycles[i] += 1
    if status == RUNNING and b.cycles[i] >= limits.max_cycles:
        status = TRUNCATED
    return status


def finish_turns(state: State, b: Arrays, i: int) -> None:
    """Save the last observation of row i before it restarts, and its mask if it was truncated."""
    p = mover(state, i)
    observe(state, i, p, b.final_observation[i])
    b.final_mask[i, :] = 0
    if b.truncated[i]:
        legal(state, i, p, b.final_mask[i])


def finish_ticks(state: State, b: Arrays, i: int) -> None:
    """Save the last observations of row i before it restarts, and its masks if a player was truncated."""
    cut = False
    for p in range(seats(b)):
        cut |= b.truncated[i, p]
    look(state, i, seats(b), b.final_observation[i], b.final_mask[i], cut)


def step_row(state: State, b: Arrays, i: int, action: Any, acts: NDArray[np.int32], limits: Limits) -> int:
    """One whole step of row i: advance, flags, restart, view. Returns 1 if a game ended."""
    for p in range(seats(b)):
        b.rewards[i, p] = 0
    if b.status[i] != RUNNING:
        b.illegal[i] = False
        b.ended[i] = False
        if limits.autoreset == NEXT_STEP:
            b.episode[i] += 1
            begin(state, b, i)
            b.terminated[i] = False
            b.truncated[i] = False
            view(state, b, i, False)
        return 0
    status = advance(state, b, i, action, acts, limits)
    flag(state, b, i, status)
    b.ended[i] = status != RUNNING
    if status != RUNNING:
        if limits.autoreset == SAME_STEP:
            finish(state, b, i)
            b.episode[i] += 1
            begin(state, b, i)
        else:
            b.status[i] = status
    view(state, b, i, status == RUNNING)
    return 1 if status != RUNNING else 0


def step_rows(state: State, b: Arrays, actions: NDArray[np.int32], lo: int, hi: int, limits: Limits) -> None:
    """Step rows lo..hi-1; actions [N] or [N, P]."""
    acts = b.acts[lo // BLOCK]
    for j in range(lo, hi):
        i = j & _INDEX
        row(state, b, i, actions[i], acts, limits)


def step_some(state: State, b: Arrays, actions: NDArray[np.int32], rows: NDArray[np.intp], limits: Limits) -> None:
    """Step the rows ``rows``, in one thread."""
    acts = b.acts[0]
    for i in rows:
        row(state, b, i, actions[i], acts, limits)


def observe_rows(state: State, rows: NDArray[np.intp], players: NDArray[np.int32], out: NDArray[Any]) -> None:
    """out[k] = what players[k] sees in rows[k]."""
    for k in range(rows.shape[0]):
        observe(state, rows[k], players[k], out[k])


def sample_turns(b: Arrays, i: int, key: int, counter: int, out: NDArray[np.int32]) -> None:
    """Write a random legal action of row i to out [N]."""
    out[i] = choose(b, i, word(key, counter * b.mask.shape[0] + i))


def sample_ticks(b: Arrays, i: int, key: int, counter: int, out: NDArray[np.int32]) -> None:
    """Write random legal actions of row i to out [N, P]."""
    for p in range(seats(b)):
        out[i, p] = pick(b.mask[i, p], word(key, (counter * out.shape[0] + i) * seats(b) + p))


def sample_rows(b: Arrays, key: int, counter: int, out: NDArray[np.int32], lo: int, hi: int) -> None:
    """Random legal actions for rows lo..hi-1: sample number ``counter`` of the generator with seed ``key``."""
    for j in range(lo, hi):
        i = j & _INDEX
        sample(b, i, key, counter, out)


def rollout(
    state: State,
    b: Arrays,
    out: NDArray[np.int32],
    key: int,
    counter: int,
    steps: int,
    lo: int,
    hi: int,
    limits: Limits,
    episodes: NDArray[np.int64],
    returns: NDArray[np.float64],
) -> None:
    """Sample and step ``steps`` times, ROWS rows at a time; adds to episodes [blocks] and returns [blocks, P]."""
    acts = b.acts[lo // BLOCK]
    for first in range(lo, hi, ROWS):
        last = min(first + ROWS, hi)
        block = first // BLOCK
        for t in range(steps):
            for j in range(last - first):
                i = (first + j) & _INDEX
                sample(b, i, key, counter + t, out)
                episodes[block] += row(state, b, i, out[i], acts, limits)
                for p in range(seats(b)):
                    returns[block, p] += b.rewards[i, p]


def begin_rows(state: State, b: Arrays, rows: NDArray[np.intp]) -> None:
    """Start new games in some rows and clear their flags."""
    for i in rows:
        begin(state, b, i)
        b.rewards[i, :] = 0
        b.terminated[i] = False
        b.truncated[i] = False
        b.illegal[i] = False
        b.ended[i] = False
        view(state, b, i, False)


def view_rows(state: State, b: Arrays, rows: NDArray[np.intp]) -> None:
    """Refresh observations, masks and lives of rows whose state was written from outside."""
    for i in rows:
        wake(state, b, i)
        view(state, b, i, False)


def any_sound(state: State, i: int) -> int:
    """The ``sound`` kernel of games without one."""
    return 0


def lives_always(state: State, i: int, player: int) -> bool:
    """The ``alive`` kernel of games without deaths."""
    return True


UNKNOWN = 255
"""A status that ``examine`` finds."""

OUTSIDE, NO_SEAT, STUCK, LEFT = 251, 252, 253, 254
"""Reasons to refuse a row, besides those of the game's ``sound``."""


def examine(
    state: State, mask: Mask, status: NDArray[np.uint8], gone: NDArray[np.bool_], reasons: NDArray[np.uint8]
) -> None:
    """Write why rows from outside must be refused, 0 if they may pass.

    reasons [N]: rows that have one already are skipped. status [N]: UNKNOWN becomes RUNNING if a player (turn-based:
    the current one) has a legal action, else TERMINATED. gone [N, P]: as in ``Snapshot``. mask [A] is scratch space.
    """
    for i in range(status.shape[0]):
        if reasons[i] != 0:
            continue
        reasons[i] = sound(state, i)
        if reasons[i] != 0:
            continue
        first = mover(state, i)
        if not -1 <= first < gone.shape[1]:
            reasons[i] = NO_SEAT
            continue
        anything: Any = 0
        for p in range(gone.shape[1]):
            if gone[i, p] and status[i] == RUNNING and lives(state, i, p):
                reasons[i] = LEFT
            if (first < 0 or p == first) and anything == 0:
                legal(state, i, p, mask)
                for a in range(ACTIONS):
                    anything |= mask[a]
        if status[i] == UNKNOWN:
            status[i] = RUNNING if anything != 0 else TERMINATED
        elif status[i] == RUNNING and anything == 0 and MORTAL == 0:
            reasons[i] = STUCK


def lone_turn(
    state: State,
    action: int,
    acts: NDArray[np.int32],
    rewards: NDArray[np.float32],
    observation: NDArray[Any],
    mask: Mask,
) -> int:
    """One legal turn of a single game (N = 1) and the next player's view. Returns status + 4 * next player."""
    i = 0 * mask.shape[0]  # a literal 0 would make numba compile every kernel again for that type
    acts[mover(state, i)] = action
    for p in range(PLAYERS):
        rewards[p] = 0
    status = step(state, i, acts, rewards)
    p = mover(state, i)
    observe(state, i, p, observation)
    if status == RUNNING:
        legal(state, i, p, mask)
    else:
        for a in range(ACTIONS):
            mask[a] = 0
    return status + 4 * p


def lone_start(state: State, seed: int, observation: NDArray[Any], mask: Mask) -> int:
    """Start a single game (N = 1, turn-based) and write the first player's view. Returns that player."""
    i = 0 * mask.shape[0]
    reset(state, i, seed)
    p = mover(state, i)
    observe(state, i, p, observation)
    legal(state, i, p, mask)
    return p


def lone_tick(
    state: State,
    b: Arrays,
    actions: NDArray[np.int64],
    observation: NDArray[Any],
    mask: Mask,
    limits: Limits,
) -> int:
    """One tick of a single game (N = 1) and all players' views after it: observation [P, ...], mask [P, A].

    Returns status, + 4 if an action was illegal, + 8 if a player died.
    """
    i = 0 * mask.shape[0]
    for p in range(seats(b)):
        b.rewards[i, p] = 0
    status = advance(state, b, i, actions, b.acts[0], limits)
    flag(state, b, i, status)
    b.status[i] = status
    wrong, died = 0, 0
    look(state, i, seats(b), observation, mask, status == RUNNING)
    for p in range(seats(b)):
        for a in range(ACTIONS):
            b.mask[i, p, a] = mask[p, a]
        wrong |= b.illegal[i, p]
        died |= not b.alive[i, p] and b.terminated[i, p]
    return status + 4 * wrong + 8 * died


@kernel
def first_outside(actions: NDArray[Any], least: int, count: int) -> int:
    """Flat index of the first number outside least..count-1; -1 if there is none."""
    flat = actions.reshape(-1)
    outside = 0
    for j in range(flat.shape[0]):
        outside += (flat[j] < least) | (flat[j] >= count)
    if outside == 0:
        return -1
    for j in range(flat.shape[0]):
        if flat[j] < least or flat[j] >= count:
            return j
    return -1


def choose_uncompiled(b: Arrays, i: int, random_word: int) -> int:
    """``choose_plain``, for uncompiled code."""
    return pick_plain(b.mask[i], random_word)


def uncompiled(template: Callable[..., Any], **links: Any) -> Callable[..., Any]:
    """A copy of a template that stays Python, with ``links`` among its globals: for rare cases, or without kernels."""
    plain = {
        "choose": choose_uncompiled,
        "pick": pick_plain,
        "seats": seats_counted,
        "word": word_plain,
        "episode_seed": episode_seed_plain,
    }
    assert isinstance(template, FunctionType)
    return FunctionType(template.__code__, template.__globals__ | plain | links, template.__name__)
