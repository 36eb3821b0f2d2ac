"""Matrix games: two players choose at once, a table gives both payoffs, for a number of rounds.

Presets with the usual payoffs, or any table. Player_0 chooses a row, player_1 a column; each player sees the game from
its own side: its own choice and payoff first.

Sources of the presets: prisoner's dilemma: Axelrod, "The Evolution of Cooperation", 1984 (5, 3, 1, 0); stag hunt,
chicken, Bach or Stravinsky: Leibo et al., "Scalable evaluation of multi-agent reinforcement learning with Melting Pot",
2021; the others are textbook zero-sum and coordination games.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..aliases import RUNNING, TERMINATED, Action, Mask, Player, Rewards, Status
from ..errors import IllegalAction, UsageError
from .answers import known_name, one_of, way_out, whole_number
from .core import Game, GameInfo, Kernels
from .plain import told
from .stepping.defaults import everybody
from .stepping.jit import kernel
from .stepping.rng import Word, mix64

__all__ = ["PRESETS", "Matches", "choices", "matrix", "names_of", "payoff_table"]

Cell = tuple[float, float]

PRESETS: dict[str, tuple[tuple[str, ...], list[list[Any]]]] = {
    "rock_paper_scissors": (("rock", "paper", "scissors"), [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]),
    "matching_pennies": (("heads", "tails"), [[1, -1], [-1, 1]]),
    "prisoners_dilemma": (("cooperate", "defect"), [[[3, 3], [0, 5]], [[5, 0], [1, 1]]]),
    "stag_hunt": (("stag", "hare"), [[[4, 4], [0, 2]], [[2, 0], [2, 2]]]),
    "chicken": (("swerve", "dare"), [[[3, 3], [2, 5]], [[5, 2], [0, 0]]]),
    "coordination": (("left", "right"), [[[1, 1], [0, 0]], [[0, 0], [1, 1]]]),
    "bach_or_stravinsky": (("bach", "stravinsky"), [[[3, 2], [0, 0]], [[0, 0], [2, 3]]]),
}
"""Names of the choices, and payoffs by row and column: [player_0's, player_1's], or only player_0's if zero-sum."""

LARGEST, LONGEST = 20, 50
"""The most choices of a player; the most rounds remembered. Texts list them all."""


class Matches(NamedTuple):
    """N matches of two players that remember M rounds.

    Attributes:
        rounds: [N, 4] int32 rounds played, rounds in total, number of choices of player_0, of player_1.
        payoffs: [N, A, A, 2] float32 by the choices of player_0 and player_1.
        past: [N, M, 2] int32 choices of the last M rounds, the latest first; -1 where there was none.
        scores: [N, 2] float64 sums of the payoffs so far.
    """

    rounds: NDArray[np.int32]
    payoffs: NDArray[np.float32]
    past: NDArray[np.int32]
    scores: NDArray[np.float64]


@kernel
def reset(state: Matches, i: int, seed: int) -> None:
    """No round played yet; nothing is random."""
    state.rounds[i, 0] = 0
    state.past[i, :, :] = -1
    state.scores[i, :] = 0


@kernel
def legal(state: Matches, i: int, player: Player, mask: Mask) -> None:
    """The player's rows or columns, until the last round is over."""
    count = state.rounds[i, 2 + player] if state.rounds[i, 0] < state.rounds[i, 1] else 0
    for a in range(mask.shape[0]):
        mask[a] = a < count


@kernel
def step(state: Matches, i: int, actions: NDArray[np.int32], rewards: Rewards) -> Status:
    """One round."""
    past = state.past[i]
    for k in range(past.shape[0] - 1, 0, -1):
        past[k, 0] = past[k - 1, 0]
        past[k, 1] = past[k - 1, 1]
    for p in range(2):
        past[0, p] = actions[p]
        rewards[p] = state.payoffs[i, actions[0], actions[1], p]
        state.scores[i, p] += rewards[p]
    state.rounds[i, 0] += 1
    return RUNNING if state.rounds[i, 0] < state.rounds[i, 1] else TERMINATED


@kernel
def observe(state: Matches, i: int, player: Player, out: NDArray[np.float32]) -> None:
    """[1 + 2 A M] share of rounds played; per remembered round, the latest first, own and other choice, one-hot."""
    past = state.past[i]
    choices = (out.shape[0] - 1) // (2 * past.shape[0])
    out[:] = 0
    out[0] = state.rounds[i, 0] / state.rounds[i, 1]
    for k in range(past.shape[0]):
        if past[k, 0] >= 0:
            out[1 + 2 * k * choices + past[k, player]] = 1
            out[1 + (2 * k + 1) * choices + past[k, 1 - player]] = 1


@kernel
def key(state: Matches, i: int) -> Word:
    """The rounds left and the remembered rounds: all that players observe."""
    past = state.past[i]
    mixed = mix64(np.uint64(state.rounds[i, 1] - state.rounds[i, 0]))
    for k in range(past.shape[0]):
        for p in range(2):
            mixed = mix64(mixed ^ np.uint64(past[k, p] + 2))
    return mixed


# -- the table ---------------------------------------------------------------------------------------------------------


def choices(state: Matches, i: int, player: Player) -> int:
    """How many choices a player has."""
    return int(state.rounds[i, 2 + player])


def payoff_table(state: Matches, i: int, player: Player) -> list[list[Cell]]:
    """(own payoff, the other's) by own choice and the other's."""
    table = state.payoffs[i] if player == 0 else state.payoffs[i].transpose(1, 0, 2)[:, :, ::-1]
    rows, columns = choices(state, i, player), choices(state, i, 1 - player)
    return [[(float(own), float(other)) for own, other in line[:columns]] for line in table[:rows].tolist()]


def _numbers(given: Any) -> list[list[Cell]]:
    """``[R, C]`` pairs from nested lists or an array of pairs, or of player_0's payoffs in a zero-sum game.

    Raises:
        UsageError: not such a table.
    """

    def wrong(what: str) -> UsageError:
        return UsageError(
            f"matrix: payoffs={told(given)} {what}. Give one list per choice of player_0, with one pair "
            "[player_0's payoff, player_1's] per choice of player_1, e.g. [[[3,3],[0,5]],[[5,0],[1,1]]]; "
            "or plain numbers for a zero-sum game."
        )

    table = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(table, list | tuple) or not all(isinstance(row, list | tuple) for row in table):
        raise wrong("is not a table")
    if not table or not table[0] or len({len(row) for row in table}) != 1:
        raise wrong("has rows of different lengths, or none")
    if max(len(table), len(table[0])) > LARGEST or len(table) * len(table[0]) < 2:
        raise wrong(f"gives {len(table)} x {len(table[0])} choices, not 2 to {LARGEST}")
    cells = [cell for row in table for cell in row]
    pairs = [isinstance(cell, list | tuple) for cell in cells]
    if any(pairs) and not (all(pairs) and all(len(cell) == 2 for cell in cells)):
        raise wrong("mixes pairs and numbers, or holds a list that is not a pair")
    flat = [number for cell in cells for number in (cell if pairs[0] else (cell,))]
    for number in flat:
        if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) < 1e6:
            raise wrong(f"holds {told(number)}, which is not a number below a million")
    return [[(float(c[0]), float(c[1])) if pairs[0] else (float(c), -float(c) + 0.0) for c in row] for row in table]


def names_of(game: Game) -> tuple[str, ...]:
    """The choices' names, by number."""
    return PRESETS[game.config["game"]][0] if "game" in game.config else tuple(game.config["actions"])


def _check_names(given: Any, count: int) -> tuple[str, ...]:
    if given is None:
        return tuple(chr(ord("a") + k) if count <= 26 else f"c{k}" for k in range(count))
    names = [str(name).lower() for name in given] if isinstance(given, list | tuple) else []
    plain = all(name.isascii() and name.replace("_", "").isalnum() for name in names)
    if len(names) != count or len(set(names)) != count or not plain:
        raise UsageError(
            f"matrix: actions={given!r} came; {count} different names are needed, each of letters and digits, "
            "e.g. ['left', 'right']."
        )
    return tuple(names)


# -- text --------------------------------------------------------------------------------------------------------------


def _number(x: float) -> str:
    return f"{x:g}"


def _signs(names: tuple[str, ...]) -> tuple[str, ...]:
    """The compact line's signs for the choices: first letters if all differ, else numbers."""
    letters = tuple(name[0] for name in names)
    return letters if len(set(letters)) == len(names) else tuple(f"{k}." for k in range(len(names)))


def _grid(table: list[list[Cell]], names: tuple[str, ...]) -> list[str]:
    rows = [["", *names[: len(table[0])]]]
    rows += [
        [name, *(f"{_number(a)}, {_number(b)}" for a, b in line)] for name, line in zip(names, table, strict=False)
    ]
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _describe(names: tuple[str, ...]) -> Callable[[Matches, int, Player], str]:
    def describe(state: Matches, i: int, player: Player) -> str:
        """Round, payoffs from the player's side, past choices, the score and the legal choices."""
        played, total = (int(n) for n in state.rounds[i, :2])
        lines = [f"Round {min(played + 1, total)} of {total}. You are player_{player}."]
        lines.append("Payoffs (yours, the other's); your choice down, the other's across:")
        lines += _grid(payoff_table(state, i, player), names)
        past = [(int(own), int(other)) for own, other in state.past[i, :, :: 1 if player == 0 else -1] if own >= 0]
        for k, (own, other) in enumerate(reversed(past)):
            lines.append(f"Round {played - len(past) + k + 1}: you {names[own]}, the other {names[other]}.")
        if played:
            own_score, other_score = (float(s) for s in state.scores[i, :: 1 if player == 0 else -1])
            lines.append(f"Score: you {_number(own_score)}, the other {_number(other_score)}.")
        running = played < total
        own_names = names[: choices(state, i, player)]
        lines.append(f"Legal actions: {' '.join(own_names)}." if running else "The game is over.")
        return "\n".join(lines)

    return describe


def _compact(names: tuple[str, ...]) -> Callable[[Matches, int, Player], str]:
    signs = _signs(names)

    def compact(state: Matches, i: int, player: Player) -> str:
        """``P0 2/10 cc cd>``: seat, rounds played and in total, own and other's choice by round, the latest last."""
        played, total = (int(n) for n in state.rounds[i, :2])
        past = [signs[int(r[player])] + signs[int(r[1 - player])] for r in state.past[i, ::-1] if r[0] >= 0]
        return " ".join([f"P{player} {played}/{total}", *past]) + ">"

    return compact


def _parser(names: tuple[str, ...]) -> Callable[[Matches, int, str], Action]:
    def parse_action(state: Matches, i: int, text: str) -> Action:
        """The one choice that a text names."""
        action = one_of(text, names, way_out(names), "choice")
        if state.rounds[i, 0] >= state.rounds[i, 1]:
            raise IllegalAction(f"{text!r} comes after the last of {int(state.rounds[i, 1])} rounds: the game is over.")
        return action

    return parse_action


# -- factory -----------------------------------------------------------------------------------------------------------


# Longer than most: its arguments, what they mean, and the game that they make.
def matrix(
    game: str | None = None, payoffs: Any = None, actions: Any = None, rounds: int = 10, memory: int = 10
) -> Game:
    """A matrix game of two players over a number of rounds.

    Args:
        game: a preset: rock_paper_scissors (default), matching_pennies, prisoners_dilemma, stag_hunt, chicken,
            coordination or bach_or_stravinsky.
        payoffs: a table instead: ``[[[r, c], ...], ...]``, or ``[[r, ...], ...]`` for a zero-sum game.
        actions: names of the choices of such a table; a, b, c, ... by default. Rows and columns share them.
        rounds: how many rounds, 1 to 1,000,000.
        memory: M, how many past rounds observations and texts show, 1 to 50 (and at most ``rounds``).

    Raises:
        UnknownName: no such preset.
        UsageError: an invalid argument; the message names it.
    """
    total = whole_number("matrix: rounds", rounds, 1, 1_000_000)
    remembered = whole_number("matrix: memory", memory, 1, LONGEST)
    if payoffs is not None and game is not None:
        raise UsageError(f"matrix: game={told(game)} and payoffs came together; give one of them.")
    if payoffs is None:
        chosen = "rock_paper_scissors" if game is None else game
        known_name("matrix game", chosen, PRESETS)
        if actions is not None:
            raise UsageError(
                f"matrix: actions={told(actions)} came for {chosen}, whose choices have names; give payoffs too."
            )
        names, given = PRESETS[chosen]
        table = _numbers(given)
    else:
        chosen, table = "", _numbers(payoffs)
        names = _check_names(actions, max(len(table), len(table[0])))
    rows, columns = len(table), len(table[0])
    size = max(rows, columns)
    depth = min(remembered, total)
    padded = np.zeros((size, size, 2), np.float32)
    padded[:rows, :columns] = table

    def new_state(n: int) -> Matches:
        counts = np.tile(np.array([0, total, rows, columns], np.int32), (n, 1))
        past = np.full((n, depth, 2), -1, np.int32)
        return Matches(counts, np.tile(padded, (n, 1, 1, 1)), past, np.zeros((n, 2)))

    config: dict[str, Any] = {"game": chosen} if chosen else {"payoffs": [[list(c) for c in r] for r in table]}
    if not chosen:
        config["actions"] = list(names)
    return Game(
        info=GameInfo(
            name="matrix",
            players=2,
            num_actions=size,
            observation_shape=(1 + 2 * size * depth,),
            observation_dtype="float32",
            max_cycles=total,
            simultaneous=True,
        ),
        kernels=Kernels(reset, everybody, legal, step, observe, key),
        new_state=new_state,
        ranges={
            "rounds": ([0, total, rows, columns], [total, total, rows, columns]),
            "payoffs": (padded, padded),
            "past": (-1, [rows - 1, columns - 1]),
            "scores": (-np.inf, np.inf),
        },
        rules=_rules(chosen, table, names, total),
        goal="Collect the largest total; what a choice pays depends on what the other player chooses.",
        describe=_describe(names),
        compact=_compact(names),
        actions=names,
        parse_action=_parser(names),
        config=config | {"rounds": total, "memory": remembered},
    )


def _rules(chosen: str, table: list[list[Cell]], names: tuple[str, ...], rounds: int) -> str:
    title = chosen.replace("_", " ").replace("prisoners", "prisoner's").capitalize() if chosen else "A matrix game"
    paid = "; ".join(
        f"{names[r]} against {names[c]} pays {_number(own)} and {_number(other)}"
        for r, line in enumerate(table)
        for c, (own, other) in enumerate(line)
    )
    told = f"Player_0's choice first: {paid}." if len(names) <= 4 else f"The choices are {', '.join(names)}."
    return f"{title}: two players choose at the same time, {rounds} round{'s' * (rounds > 1)}. {told}"
