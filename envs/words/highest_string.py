"""Highest string: all players say a string at once; the one that sorts last wins. The smallest game of words.

Strings are compared as in Python: by the code of the first character that differs, and a string is higher than its own
beginning. So the optimum is known: the highest character of the alphabet, ``length`` times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...aliases import RUNNING, TERMINATED, Player, Seed, Status
from ...errors import UsageError
from ..answers import whole_number
from ..plain import told
from .core import Plain, TextGame, text_game

__all__ = ["PRINTABLE", "height", "highest_string"]

PRINTABLE = "".join(map(chr, range(32, 127)))
"""The printable characters of ASCII, space to tilde."""

_LETTERS, _LENGTH = 256, 250  # the most characters of an alphabet, and of a string: texts show the last string of all


def height(message: str, length: int = 8, alphabet: str = PRINTABLE) -> float:
    """The rank of a string among all strings of 1 to ``length`` characters, from 0 (lowest) to 1 (highest).

    Args:
        message: 1 to ``length`` characters of the alphabet.
        length: the length of the longest string.
        alphabet: all characters.
    """
    ordered = sorted(set(alphabet))
    below = _below(length, len(ordered))
    lower = sum(ordered.index(c) * below[k] + 1 for k, c in enumerate(message, 1)) - 1
    return float(lower / (below[0] - 2))


@cache
def _below(length: int, letters: int) -> tuple[int, ...]:
    """How many strings begin with one of k = 0..length characters, itself included: 1 + A + ... + A ** (length - k)."""
    counts = [1]
    for _ in range(length):
        counts.append(counts[-1] * letters + 1)
    return tuple(reversed(counts))


# Longer than most: its arguments, what they mean, and the game that they make.
def highest_string(length: int = 8, alphabet: str = PRINTABLE, players: int = 2, rounds: int = 1) -> TextGame:
    """All players say a string of 1 to ``length`` characters at once; the higher one wins.

    Args:
        length: the length of the longest string, 1 to 250.
        alphabet: the characters of strings, 2 to 256 printable ones; printable ASCII by default.
        players: P, 2 to 8.
        rounds: how many rounds.

    Raises:
        UsageError: a number out of range, or an unusable alphabet.
    """
    longest = whole_number("highest_string: length", length, 1, _LENGTH)
    total = whole_number("highest_string: rounds", rounds, 1, 1_000_000)
    seats = whole_number("highest_string: players", players, 2, 8)
    letters = "".join(sorted(set(alphabet if isinstance(alphabet, str) else "")))
    if not (2 <= len(letters) <= _LETTERS and letters.isprintable()):
        raise UsageError(
            f"highest_string: alphabet={told(alphabet)} came; 2 to {_LETTERS} printable characters are needed."
        )
    named = "printable ASCII characters" if letters == PRINTABLE else f"characters of {letters!r}"

    def begin(seed: Seed) -> Plain:
        return {"round": 0, "said": [""] * seats}

    def sound(game: Plain) -> bool:
        said, number = game["said"], game["round"]
        fine = len(said) == seats and 0 <= number <= total
        return fine and all(bool(s) == (number > 0) and len(s) <= longest and set(s) <= set(letters) for s in said)

    def asked(game: Plain) -> Sequence[Player]:
        return range(seats) if game["round"] < total else ()

    def hear(game: Plain, messages: Mapping[Player, str]) -> tuple[list[float], Status]:
        said = [messages[p] for p in range(seats)]
        rewards = [sum((mine > other) - (mine < other) for other in said) / (seats - 1) for mine in said]
        game["said"] = said
        game["round"] += 1
        return rewards, RUNNING if game["round"] < total else TERMINATED

    def tell(game: Plain, player: Player) -> str:
        number = min(game["round"] + 1, total)
        lines = [f"Round {number} of {total}. You are player {player} of {seats}."]
        if game["round"]:
            said = (f"player {p}: {s!r}" + (" (you)" if p == player else "") for p, s in enumerate(game["said"]))
            lines.append(f"Said last: {', '.join(said)}.")
        over = game["round"] == total
        lines.append("The game is over." if over else f"Say a string of 1 to {longest} {named}.")
        return "\n".join(lines)

    def compact(game: Plain, player: Player) -> str:
        said = " ".join(game["said"]) if game["round"] else "-"
        return f"P{player} {game['round']}/{total} {longest} {said}>"

    def info(game: Plain) -> list[dict[str, Any]]:
        return [{"height": height(s, longest, letters) if s else 0.0} for s in game["said"]]

    def sample(game: Plain, player: Player, rng: np.random.Generator) -> str:
        return "".join(letters[k] for k in rng.integers(len(letters), size=int(rng.integers(1, longest + 1))))

    return text_game(
        "highest_string-v0",
        players=seats,
        rules=(
            f"Highest string: all {seats} players say a string of 1 to {longest} {named} at the same time, {total} "
            "round(s). The string that sorts last is the highest: the first character that differs decides, and a "
            "string stands above its own beginning. In a round you gain for every player whose string is lower than "
            "yours and lose for every higher one."
        ),
        goal="Say a string that sorts after the others'.",
        begin=begin,
        asked=asked,
        hear=hear,
        tell=tell,
        compact=compact,
        info=info,
        sound=sound,
        sample=sample,
        max_cycles=total,
        simultaneous=True,
        hidden=False,
        max_length=longest,
        charset=letters,
        config={"length": longest, "alphabet": letters, "players": seats, "rounds": total},
    )
