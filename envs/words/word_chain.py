"""Word chain: each word begins with the last letter of the one before, comes from a list, and is said only once.

Whoever has no word left loses (``goal="last"``), or all players together make the chain long (``goal="long"``). Words
are edges from their first to their last letter, so a chain is a walk that uses no edge twice; small lists are solved
exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...aliases import RUNNING, TERMINATED, Player, Seed, Status
from ...errors import IllegalAction, UsageError
from ..answers import known_name, several_names, true_or_false, whole_number
from .core import Plain, TextGame, one_of, text_game
from .vocabulary import LISTS

__all__ = ["GOALS", "chain_value", "replies", "word_chain"]

GOALS = ("last", "long")

SOLVED = 16
"""The most words of a list that the script ``perfect`` solves, in at most 2 ** 16 positions."""

_SHOWN, _WORDS, _LETTERS, _TURNS = 120, 5000, 24, 200
"""The most words that a text lists, that a list has, letters of a word, and words of a chain."""


def replies(words: Iterable[str], said: Sequence[str]) -> list[str]:
    """The words that may be said next, in the list's order.

    Args:
        words: the list.
        said: the chain so far, at least one word.
    """
    return [word for word in words if word[0] == said[-1][-1] and word not in said]


@lru_cache(maxsize=200_000)
def chain_value(left: frozenset[str], letter: str, turns: int) -> int:
    """The outcome of a perfect game of two, for the player to move: 1 the other has no word first, -1, 0 neither.

    Args:
        left: the words not yet said; 2 to the power of their number bounds the time.
        letter: the last letter said.
        turns: how many words may still be said.
    """
    among = [word for word in left if word[0] == letter]
    if not among:
        return -1
    if not turns:
        return 0
    return max(-chain_value(left - {word}, word[-1], turns - 1) for word in among)


# Longer than most: its arguments, what they mean, and the game that they make.
def word_chain(
    words: str | Sequence[str] = "common",
    players: int = 2,
    turns: int = 30,
    goal: str = "last",
    closed: bool = True,
) -> TextGame:
    """Players say words in turn; each begins with the last letter of the one before.

    Args:
        words: ``common`` (more than a thousand words), ``animals`` (80), ``tiny`` (16), or words of your own: a list,
            or one text with commas.
        players: P, 2 to 6.
        turns: the chain ends after this many words.
        goal: ``last``: a player without a word left gets -1, the others 1 / (P - 1) each, and all get 0 after the last
            turn. ``long``: every word pays all players 1 / ``turns``.
        closed: the words that may be said are listed (``choices``); otherwise players find them, in any case.

    Raises:
        UsageError: another number of players or turns, or words that cannot be used.
        UnknownName: no such list or goal.
    """
    listed = _listed(words)
    seats = whole_number("word_chain: players", players, 2, 6)
    total = whole_number("word_chain: turns", turns, 1, _TURNS)
    known_name("word_chain: goal", goal, GOALS)
    closed = true_or_false("word_chain: closed", closed)
    known, open_ = frozenset(listed), not closed
    first = [word for word in listed if replies(listed, [word])]
    if not first:
        raise UsageError(f"word_chain: no word of {', '.join(listed[:9])} begins with the last letter of another one.")
    begins: dict[str, list[str]] = {}
    for word in listed:
        begins.setdefault(word[0], []).append(word)

    def left(game: Plain) -> list[str]:
        return replies(begins.get(game["said"][-1][-1], ()), game["said"])

    def begin(seed: Seed) -> Plain:
        return {"said": [first[int(np.random.default_rng(seed).integers(len(first)))]]}

    def sound(game: Plain) -> bool:
        said = game["said"]
        linked = all(later[0] == word[-1] for word, later in itertools.pairwise(said))
        return 0 < len(said) <= total + 1 and known.issuperset(said) and len(set(said)) == len(said) and linked

    def asked(game: Plain) -> Sequence[Player]:
        count = len(game["said"]) - 1
        return (count % seats,) if count < total and left(game) else ()

    def check(game: Plain, player: Player, message: str) -> None:
        word, letter = message.lower(), game["said"][-1][-1]
        if word[0] != letter:
            raise IllegalAction(f"{word!r} begins with {word[0]!r}; say a word that begins with {letter!r}.")
        if word in game["said"]:
            raise IllegalAction(f"{word!r} was said before; say a new word that begins with {letter!r}.")
        if word not in known:
            raise IllegalAction(f"{word!r} is not on the list; say another word that begins with {letter!r}.")

    def hear(game: Plain, messages: Mapping[Player, str]) -> tuple[list[float], Status]:
        (message,) = messages.values()
        game["said"].append(message.lower())
        stuck, count = not left(game), len(game["said"]) - 1
        status = TERMINATED if stuck or count == total else RUNNING
        if goal == "long":
            return [1 / total] * seats, status
        if not stuck:
            return [0.0] * seats, status
        return [-1.0 if p == count % seats else 1 / (seats - 1) for p in range(seats)], status

    def tell(game: Plain, player: Player) -> str:
        said, count = game["said"], len(game["said"]) - 1
        lines = [f"Turn {min(count + 1, total)} of {total}. You are player {player} of {seats}."]
        lines.append(f"Said so far: {', '.join(said)}.")
        may = left(game)
        if not may:
            lines.append(f"The game is over: player {count % seats} has no word left.")
        elif count == total:
            lines.append("The game is over: the chain is complete.")
        else:
            who = "Say" if count % seats == player else f"Player {count % seats} says"
            lines.append(f"{who} a new word that begins with {said[-1][-1]!r}.")
            if closed:
                lines.append(f"One of: {', '.join(may[:_SHOWN])}{', ...' if len(may) > _SHOWN else '.'}")
        return "\n".join(lines)

    def compact(game: Plain, player: Player) -> str:
        return f"P{player} {len(game['said']) - 1}/{total} {' '.join(game['said'])}>"

    def info(game: Plain) -> list[dict[str, Any]]:
        return [{"chain": len(game["said"]) - 1}] * seats

    def any_of(game: Plain, player: Player, rng: np.random.Generator) -> str:
        return one_of(left(game), rng)

    def look_ahead(game: Plain, player: Player, rng: np.random.Generator) -> str:
        """Leave the next player the fewest words, or the most if the chain is to be long."""
        ahead = {word: len(replies(begins.get(word[-1], ()), [*game["said"], word])) for word in left(game)}
        best = min(ahead.values()) if goal == "last" else max(ahead.values())
        return one_of([word for word, count in ahead.items() if count == best], rng)

    def perfect(game: Plain, player: Player, rng: np.random.Generator) -> str:
        rest, turns = known - set(game["said"]), total - len(game["said"])
        ahead = {word: -chain_value(rest - {word}, word[-1], turns) for word in left(game)}
        return one_of([word for word, value in ahead.items() if value == max(ahead.values())], rng)

    solvable = len(listed) <= SOLVED and seats == 2 and goal == "last"
    letters = "".join(sorted({*"".join(listed), *"".join(listed).upper()} if open_ else set("".join(listed))))
    aim = (
        "Whoever has no word left loses."
        if goal == "last"
        else "The chain ends when a player has no word left; all players gain with every word."
    )
    return text_game(
        "word_chain-v0",
        players=seats,
        rules=(
            f"Word chain: {seats} players in turn say a word from a list of {len(listed)} English words. It must begin "
            f"with the last letter of the word before, and no word may be said twice. {aim} The game ends after "
            f"{total} words at the latest."
        ),
        goal=(
            "Leave the next player without a word to say."
            if goal == "last"
            else "Keep the chain going together for as long as it may be."
        ),
        begin=begin,
        asked=asked,
        choices=(lambda game, player: left(game)) if closed else None,
        check=check,
        hear=hear,
        tell=tell,
        compact=compact,
        info=info,
        sound=sound,
        sample=any_of,
        scripts={"look_ahead": look_ahead} | ({"perfect": perfect} if solvable else {}),
        max_cycles=total,
        hidden=False,
        max_length=max(map(len, listed)),
        charset=letters,
        config={
            "words": words if isinstance(words, str) else list(listed),
            "players": seats,
            "turns": total,
            "goal": goal,
            "closed": closed,
        },
    )


def _listed(words: str | Sequence[str]) -> tuple[str, ...]:
    """The words of a list by name, or of the user's own.

    Raises:
        UnknownName: no such list.
        UsageError: too few, too many or too long words, or such that are not lower-case letters.
    """
    if isinstance(words, str) and "," not in words:
        known_name("word_chain: words", words, LISTS)
        return LISTS[words]
    own = [word.strip() for word in words.split(",")] if isinstance(words, str) else words
    found = several_names("word_chain: words", own)
    for word in found:
        if not (word.isalpha() and word.islower() and len(word) <= _LETTERS):
            raise UsageError(f"word_chain: {word[:60]!r} is not a word of 1 to {_LETTERS} lower-case letters.")
    if not 2 <= len(found) <= _WORDS:
        raise UsageError(f"word_chain: {len(found)} different words came; a list has 2 to {_WORDS}.")
    return found
