"""A judge of debates that needs no model: counts words by rules that are all in this file.

It is deterministic, and it does not understand arguments: it cannot tell a true reason from a false one, or a reason
from its denial. It reads English only; anything else scores 0. docs/games/debate.md says what it measures, how it was
tested against attempts to game it, and how often it is right.

Each message scores from 0 to 1, and a debater scores the mean over its messages (one that is missing scores 0). The
score of a message is the product of three gates and a weighted mean of three merits, all from 0 to 1::

    fluent   x   new   x   own     x     (0.5 topic + 0.3 reply + 0.2 reasons)

Every merit stops growing after a few words, and the gates are shares, so length as such earns nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from .topics import Topic

__all__ = ["MARGIN", "Marks", "mark", "scores", "verdict"]

MARGIN = 0.05
"""A difference of scores up to this is a draw."""

_WORD = re.compile(r"[^\W\d_]+")

_LINKS = frozenset(_WORD.findall("because since therefore thus hence so if unless although example instance means why"))
"""Words that tie a reason to a claim."""

_FUNCTION = _LINKS | frozenset(
    _WORD.findall("""
    a about after again against all also am an and any are as at be been before being below between both but by
    can could did do does doing down during each even ever every few for from further had has have having he her
    here hers him his how i in into is it its itself just less many may me might more most much must my never no
    nor not now of off on once one only or other others our ours out over own same shall she should some such
    than that the their theirs them then there these they this those through to too under until up upon us very
    was we were what when where whether which while who whom whose will with without would yes yet you your
    """)
)
"""English words that bear no topic."""


@dataclass(frozen=True)
class Marks:
    """What the judge finds in one message, all from 0 to 1.

    Attributes:
        fluent: gate: a share of function words as English has, at least eight words, and few repeated ones.
        new: gate: content words that the debater has not said before.
        own: gate: content words that are not the opponent's last message again.
        topic: merit: words of the question, and new words of this side's reasons, among not too many others.
        reply: merit: words of the opponent's last message that are taken up, up to two; not counted in openings, so
            that nobody gains by speaking second.
        reasons: merit: words such as "because" and "therefore", up to two different ones; 0 if off the topic.
        total: the score.
    """

    fluent: float
    new: float
    own: float
    topic: float
    reply: float
    reasons: float
    total: float


def _words(text: str) -> list[str]:
    """The words in lower case, compatibility forms resolved; an apostrophe ends a word."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _stem(word: str) -> str:
    """The first five letters of a word without its plural s."""
    return (word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word)[:5]


def _content(words: Sequence[str]) -> set[str]:
    """Stems of all but function words and single letters."""
    return {_stem(word) for word in words if word not in _FUNCTION and len(word) > 1}


def _ramp(x: float, low: float, high: float) -> float:
    """0 up to ``low``, 1 from ``high``, linear between."""
    return min(1.0, max(0.0, (x - low) / (high - low)))


def mark(topic: Topic, side: int, message: str, earlier: Sequence[str] = (), last: str = "") -> Marks:
    """Mark one message.

    Args:
        topic: the topic.
        side: 0 or 1, the side that the message argues for.
        message: the message.
        earlier: what the same debater said before.
        last: the opponent's last message; ``""``: none yet.
    """
    words = _words(message)
    content = _content(words)
    if not content:
        return Marks(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    function = [word for word in words if word in _FUNCTION]
    share = len(function) / len(words)
    fluent = _ramp(share, 0.1, 0.25) * _ramp(1 - share, 0.1, 0.25) * _ramp(len(words), 0, 8)
    fluent *= _ramp(len(set(words)) / len(words), 0.2, 0.6)

    before: set[str] = set().union(*(_content(_words(text)) for text in earlier))
    theirs = _content(_words(last))
    asked = _content(_words(" ".join((topic.question, *topic.sides))))
    new = _ramp(len(content - before) / len(content), 0.0, 0.4) if before else 1.0
    further = content - asked
    own = 1 - _ramp(len(further & theirs) / max(1, len(further)), 0.5, 0.9)

    mine = {_stem(word) for word in topic.grounds[side]}
    fresh, named = content & mine - before, content & asked
    wanted = 3.0 if mine else 1.0  # of a caller's topic without words for reasons, only the question's words are known
    covered = min(1.0, (0.5 * min(len(named), 2) + len(fresh)) / wanted)
    dense = _ramp(len(content & (mine | asked)) / len(content), 0.0, 0.2)
    about = covered * dense
    reply = min(1.0, len(further & theirs) / 2) if earlier else 0.0
    reasons = min(1.0, len(_LINKS & set(words)) / 2) if about else 0.0
    merit = 0.5 * about + 0.3 * reply + 0.2 * reasons if earlier else (0.5 * about + 0.2 * reasons) / 0.7
    return Marks(fluent, new, own, about, reply, reasons, fluent * new * own * merit)


def scores(topic: Topic, first: int, said: Sequence[tuple[int, str]]) -> tuple[float, float]:
    """The scores of both debaters.

    Args:
        topic: the topic.
        first: 0 or 1, the side of debater 0; debater 1 has the other.
        said: (debater, message), in order; ``""`` for a missing message.
    """
    marks: tuple[list[float], list[float]] = ([], [])
    so_far: tuple[list[str], list[str]] = ([], [])
    for who, message in said:
        other = so_far[1 - who]
        found = mark(topic, first ^ who, message, so_far[who], other[-1] if other else "")
        marks[who].append(found.total)
        so_far[who].append(message)
    return tuple(sum(part) / max(1, len(part)) for part in marks)  # type: ignore[return-value]


def verdict(both: tuple[float, float], margin: float = MARGIN) -> str:
    """``"A"`` (debater 0), ``"B"`` or ``"draw"``, from both scores."""
    apart = both[0] - both[1]
    return "draw" if abs(apart) <= margin else "A" if apart > 0 else "B"
