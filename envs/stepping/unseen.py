"""``random_rollout(observe=False)``: loops that write no observations until the end.

Templates as in ``templates``, bound to a game's kernels in the same way. A game that can sample a legal action without
a mask (``Kernels.draw``) needs no masks either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, TRUNCATED, State, Status
from .buffers import BLOCK, NEXT_STEP, SAME_STEP, Arrays, Limits
from .rng import word

_INDEX = 2**63 - 1  # as in ``templates``


def _unbound(*_: Any) -> Any:
    raise NotImplementedError("a template was called that is not bound to a game")


mover: Callable[..., int] = _unbound
legal: Callable[..., None] = _unbound
step: Callable[..., int] = _unbound
draw: Callable[..., int] = _unbound
pick: Callable[..., int] = _unbound
seats: Callable[[Arrays], int] = _unbound
flag: Callable[..., None] = _unbound
begin: Callable[..., None] = _unbound
view: Callable[..., None] = _unbound
play: Callable[..., Status] = _unbound
unseen: Callable[..., int] = _unbound


def play_drawn(state: State, b: Arrays, i: int, key: int, counter: int, acts: NDArray[np.int32]) -> Status:
    """A random turn in row i, sampled by the game's ``draw`` kernel."""
    acts[mover(state, i)] = draw(state, i, word(key, counter * b.mask.shape[0] + i))
    return step(state, i, acts, b.rewards[i])


def play_turns(state: State, b: Arrays, i: int, key: int, counter: int, acts: NDArray[np.int32]) -> Status:
    """A random turn in row i, with the action that ``sample_turns`` would give."""
    p = mover(state, i)
    legal(state, i, p, b.mask[i])
    acts[p] = pick(b.mask[i], word(key, counter * b.mask.shape[0] + i))
    return step(state, i, acts, b.rewards[i])


def play_ticks(state: State, b: Arrays, i: int, key: int, counter: int, acts: NDArray[np.int32]) -> Status:
    """A random tick in row i, with the actions that ``sample_ticks`` would give."""
    for p in range(seats(b)):
        legal(state, i, p, b.mask[i, p])
        acts[p] = pick(b.mask[i, p], word(key, (counter * b.mask.shape[0] + i) * seats(b) + p))
    return step(state, i, acts, b.rewards[i])


def unseen_row(state: State, b: Arrays, i: int, key: int, counter: int, acts: NDArray[np.int32], limits: Limits) -> int:
    """``step_row`` with a random action, without observations and masks. Returns 1 if a game ended."""
    for p in range(seats(b)):
        b.rewards[i, p] = 0
    b.illegal[i] = False
    if b.status[i] != RUNNING:
        b.ended[i] = False
        if limits.autoreset == NEXT_STEP:
            b.episode[i] += 1
            begin(state, b, i)
            b.terminated[i] = False
            b.truncated[i] = False
        return 0
    status = play(state, b, i, key, counter, acts)
    b.cycles[i] += 1
    if status == RUNNING and b.cycles[i] >= limits.max_cycles:
        status = TRUNCATED
    flag(state, b, i, status)
    b.ended[i] = status != RUNNING
    if status == RUNNING:
        return 0
    if limits.autoreset == SAME_STEP:
        b.episode[i] += 1
        begin(state, b, i)
    else:
        b.status[i] = status
    return 1


def rollout_unseen(
    state: State,
    b: Arrays,
    key: int,
    counter: int,
    steps: int,
    lo: int,
    hi: int,
    limits: Limits,
    episodes: NDArray[np.int64],
    returns: NDArray[np.float64],
) -> None:
    """``rollout`` row by row; writes each row's observation and mask once, at the end."""
    acts = b.acts[lo // BLOCK]
    for j in range(lo, hi):
        i = j & _INDEX
        block = i // BLOCK
        for t in range(steps):
            episodes[block] += unseen(state, b, i, key, counter + t, acts, limits)
            for p in range(seats(b)):
                returns[block, p] += b.rewards[i, p]
        view(state, b, i, False)
