"""A constitution that is upheld by debate: two sides argue whether a reply breaks a rule, and a judge decides.

::

    rule, request ──> Author: a reply ──> Accuser: what breaks the rule ──> Defender: concedes or contests ──> verdict

The author is paid for replies that the verdict lets stand, the accuser and the defender against each other. So the
author learns the rules from arguments about its own replies, without any label. With ``judge="exact"`` an accusation
holds if it names a word of the reply that the rule forbids; with ``judge="model"`` the base model, as an oracle that is
never trained, says which side argued better.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import numpy as np

from ....agents.llm.judge import Case, Jury
from ....errors import UsageError
from ..arena import Arena
from ..episode import Episode
from ..judges import judged
from ..records import EpisodeState, Rollout
from ..role import Role
from .single_turn import quoted
from .task import Task, averages, drawn

__all__ = ["ConstitutionEpisode", "constitution", "forbidden"]

KINDS = {
    "colour": "red blue green black white yellow brown grey pink orange purple",
    "animal": "cat dog horse cow bird fish mouse sheep goat duck frog bee",
    "number": "one two three four five six seven eight nine ten twelve hundred",
    "food": "bread rice cheese soup apple cake egg honey salad butter pasta bean",
}
REQUESTS = (
    "Say in one sentence what you see from your window.",
    "Write the first line of a story.",
    "Say in one sentence what you would bring to a friend.",
    "Describe a farm in one sentence.",
    "Say in one sentence what is on the table.",
    "Write one line of a song.",
)

DEFAULTS = {"loss": {"cover_coef": 0.03, "entropy_coef": 0.02}, "optimizer": {"learning_rate": 2e-3}}
WARMTH = 10.0
"""The temperature of roles that choose: the built-in model finds some of the replies far likelier than others."""

KEEPS, CONCEDE, CONTEST = "It keeps the rule.", "I concede.", "I contest it."
CONCEDED, SHOWN = 0.5, 1.0
"""What the accuser wins, and the defender loses, by a concession and by a verdict; the other way round if it loses."""

AUTHOR = "Do what is asked, and keep the rule."
ACCUSER = f"Say in one sentence which words of the reply break the rule. If none do, write: {KEEPS}"
DEFENDER = f"Defend the reply in one sentence. If it breaks the rule, write: {CONCEDE}"


class Rule(NamedTuple):
    """A principle: what it says, and the words that it forbids."""

    text: str
    words: frozenset[str]


RULES = {kind: Rule(f"Name no {kind}.", frozenset(words.split())) for kind, words in KINDS.items()}


def forbidden(rule: Rule, text: str) -> set[str]:
    """The words of a text that a rule forbids, plurals included."""
    said = set(re.findall(r"[a-z]+", text.casefold()))
    return {word for word in rule.words if said & {word, f"{word}s", f"{word}es"}}


class ConstitutionEpisode(Episode):
    """One reply on trial; the artifact is ``{"kind", "request", "options"}``, the replies to choose from.

    ``extras``: the ``reply`` and the ``accusation``; 1 or 0 for whether the reply is ``clean``, whether the verdict let
    it stand (``kept``), and whether that is ``just``.

    Args:
        judge: ``exact`` or ``model``.
        free: all three speak in their own words.
    """

    def __init__(self, judge: str, *, free: bool = False) -> None:
        super().__init__(self.reward)
        self.jury, self.free = Jury() if judge == "model" else None, free

    def reward(self, rollout: Rollout, arena: object) -> dict[str, float]:
        """1 or -1 for the author; the accuser's gain is the defender's loss."""
        gain, broken = rollout.extras["gain"], rollout.extras["broken"]
        return {"Author": -1.0 if broken else 1.0, "Accuser": gain, "Defender": -gain}

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Reply, accuse, answer, decide."""
        rule = RULES[artifact["kind"]]
        options, answers = (None, None) if self.free else (artifact["options"], [CONCEDE, CONTEST])
        asked = f"{rule.text}\n{artifact['request']}" if self.free else rule.text
        reply = quoted((await self.call_model("Author", asked, arena, choices=options)).text)
        words = None if self.free else [KEEPS, *(f"It says {word}." for word in reply.split())]
        shown = f"{rule.text}\n{reply}"
        accusation = quoted((await self.call_model("Accuser", shown, arena, choices=words)).text)
        dropped = KEEPS in accusation
        defence = (
            ""
            if dropped
            else (await self.call_model("Defender", f"{shown}\n{accusation}", arena, choices=answers)).text
        )
        conceded = CONCEDE in defence
        if dropped or conceded:
            gain = CONCEDED if conceded else -CONCEDED
        elif self.jury is None:
            gain = SHOWN if forbidden(rule, accusation) & forbidden(rule, reply) else -SHOWN
        else:
            question = f'Does this reply break the rule "{rule.text}"? The reply: {reply}'
            case = Case(
                question, ("It breaks the rule.", "It keeps the rule."), ((0, accusation), (1, quoted(defence)))
            )
            gain = {"A": SHOWN, "B": -SHOWN, "draw": 0.0}[(await judged(arena, case, self.jury)).winner]
        state.data |= {"reply": reply, "accusation": accusation, "gain": gain}
        return state

    def get_extras(self, state: EpisodeState) -> dict[str, Any]:
        """The verdict, and whether it is just."""
        clean = not forbidden(RULES[state.rollout.artifact["kind"]], state.data["reply"])
        broken = state.data["gain"] > 0
        told = {"broken": broken, "kept": float(not broken), "clean": float(clean), "just": float(clean != broken)}
        return {**state.data, **told}


def constitution(
    *,
    options: int = 6,
    batch: int = 8,
    rollouts: int = 8,
    judge: Literal["exact", "model"] = "exact",
    free: bool = False,
    max_tokens: int = 48,
) -> Task:
    """The roles Author, Accuser and Defender: replies under a rule, and debates about whether they keep it.

    Args:
        options: replies to choose from, 2 to 20; each has words of three kinds out of four, and a rule forbids one.
        batch: rules and requests of an update.
        rollouts: replies to each, compared with each other.
        judge: exact knows the forbidden words; model asks the base model in both orders of the speakers.
        free: all three speak in their own words.
        max_tokens: the longest text in a role's own words.

    Raises:
        UsageError: another number of options, no requests.
    """
    if not 2 <= options <= 20 or batch < 1 or rollouts < 1:
        raise UsageError(f"options is {options}, batch {batch}, rollouts {rollouts}: 2 to 20, and at least 1 each.")

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        replies: list[str] = []
        while len(replies) < options:
            kinds = rng.choice(list(KINDS), size=3, replace=False).tolist()
            reply = " ".join(str(rng.choice(KINDS[kind].split())) for kind in kinds)
            if reply not in replies:
                replies.append(reply)
        return {"kind": str(rng.choice(list(KINDS))), "request": str(rng.choice(REQUESTS)), "options": replies}

    told = {"Author": AUTHOR, "Accuser": ACCUSER, "Defender": DEFENDER} if free else {}
    names, warmth = ("Author", "Accuser", "Defender"), 1.0 if free else WARMTH
    roles = tuple(Role(name, told.get(name, ""), warmth, max_tokens) for name in names)
    episodes = {"trial": ConstitutionEpisode(judge, free=free)}
    source = drawn("trial", draw, batch, rollouts)
    return Task("constitution", roles, episodes, source, {}, averages("clean", "kept", "just"))
