"""Logic puzzles, without limit, each with exactly one answer, found by trying all possibilities."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from .problems import Problem, checked

__all__ = ["knights_and_knaves", "ordering"]

NAMES = ("Ann", "Bob", "Cid", "Dora", "Ed", "Fay")
NUMBERS = ("none", "one", "two", "three", "four", "five", "six")
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")

World: TypeAlias = Sequence[int]
"""Knights and knaves: 1 for every knight. Orderings: the place of everyone, from 0."""


class Fact(NamedTuple):
    """A sentence, and in which worlds it is true."""

    text: str
    holds: Callable[[World], bool]


def knights_and_knaves(level: int, rng: np.random.Generator) -> Problem:
    """``level`` + 1 people (level 1 to 4) say something about each other; all sets of knights are the choices.

    Knights always tell the truth, knaves always lie (Smullyan 1978).
    """
    checked(level, 4)
    names = NAMES[: level + 1]
    worlds = list(itertools.product((0, 1), repeat=len(names)))
    while True:
        said = [_claim(k, names, rng) for k in range(len(names))]
        fits = [w for w in worlds if all(fact.holds(w) == bool(w[k]) for k, fact in enumerate(said))]
        if len(fits) == 1:
            break
    told = " ".join(f'{name} says: "{fact.text}"' for name, fact in zip(names, said, strict=True))
    return {
        "question": (
            f"Knights always tell the truth, knaves always lie. Everyone is one or the other. {told} "
            "Who are the knights? Name them in alphabetical order, or say nobody."
        ),
        "answer": _listed(fits[0], names),
        "choices": [_listed(w, names) for w in worlds],
        "level": level,
    }


def _listed(world: World, names: Sequence[str]) -> str:
    """The knights of a world, or ``nobody``."""
    knights = [name for name, knight in zip(names, world, strict=True) if knight]
    return " and ".join([", ".join(knights[:-1]), knights[-1]] if len(knights) > 1 else knights) or "nobody"


def _claim(speaker: int, names: Sequence[str], rng: np.random.Generator) -> Fact:
    """Something that a person may say."""
    others = [k for k in range(len(names)) if k != speaker]
    a = int(rng.choice(others))
    kind = int(rng.integers(4))
    if kind == 0:
        knight = int(rng.integers(2))
        return Fact(f"{names[a]} is a {'knight' if knight else 'knave'}.", lambda w: w[a] == knight)
    if kind == 1:
        same = int(rng.integers(2))
        text = f"{names[a]} and I are {'of the same kind' if same else 'of different kinds'}."
        return Fact(text, lambda w: (w[a] == w[speaker]) == bool(same))
    count = int(rng.integers(len(names) + (kind == 2)))
    if kind == 2:
        verb = "is a knight" if count == 1 else "are knights"
        return Fact(f"Exactly {NUMBERS[count]} of us {verb}.", lambda w: sum(w) == count)
    verb = "is a knave" if count == 0 else "are knaves"
    return Fact(f"At least {NUMBERS[count + 1]} of us {verb}.", lambda w: len(w) - sum(w) >= count + 1)


def ordering(level: int, rng: np.random.Generator) -> Problem:
    """``level`` + 2 runners (level 1 to 4), clues about their places, and who came in at one of them; choices: all."""
    checked(level, 4)
    names = NAMES[: level + 2]
    worlds = list(itertools.permutations(range(len(names))))
    true = worlds[int(rng.integers(len(worlds)))]
    clues: list[Fact] = []
    left = worlds
    while len(left) > 1:
        clue = _clue(true, names, rng)
        fits = [w for w in left if clue.holds(w)]
        if len(fits) < len(left):
            clues.append(clue)
            left = fits
    for clue in list(clues):  # those that the others imply
        rest = [other for other in clues if other is not clue]
        if sum(all(other.holds(w) for other in rest) for w in worlds) == 1:
            clues = rest
    asked = int(rng.integers(len(names)))
    order = rng.permutation(len(clues)).tolist()
    told = " ".join(clues[k].text for k in order)
    return {
        "question": f"{', '.join(names[:-1])} and {names[-1]} ran a race. {told} Who was {PLACES[asked]}?",
        "answer": names[true.index(asked)],
        "choices": list(names),
        "level": level,
    }


def _clue(true: World, names: Sequence[str], rng: np.random.Generator) -> Fact:
    """Something that is true of a race."""
    a, b = (int(x) for x in rng.choice(len(names), size=2, replace=False))
    a, b = (a, b) if true[a] < true[b] else (b, a)
    kind = int(rng.integers(4))
    if kind == 0 and true[b] == true[a] + 1:
        return Fact(f"{names[a]} was directly before {names[b]}.", lambda w: w[b] == w[a] + 1)
    if kind == 1:
        k = int(rng.choice([p for p in range(len(names)) if p != true[a]]))
        return Fact(f"{names[a]} was not {PLACES[k]}.", lambda w: w[a] != k)
    if kind == 2 and true[b] > true[a] + 1:
        return Fact(f"Somebody was between {names[a]} and {names[b]}.", lambda w: abs(w[b] - w[a]) > 1)
    return Fact(f"{names[a]} was before {names[b]}.", lambda w: w[a] < w[b])
