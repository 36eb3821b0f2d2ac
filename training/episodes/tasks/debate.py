"""Two debaters, and a judge who pays the better one: zero-sum.

::

    A: opening ──> B: opening ──> ... ──> judge ──> +1 / -1, or 0 / 0

The debates on one topic are compared with each other, seat by seat. The judge is ``debate-v0``'s own rubric, or the
base model without any adapter, as an oracle that is never trained (``judges``).
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Literal

from ....agents.core import Turn
from ....agents.llm.judge import Jury, case_of
from ....envs.registry import make_game
from ....envs.words.debate.game import JUDGE
from ..arena import Arena
from ..game import GameEpisode
from ..judges import judged
from ..records import EpisodeState, Step
from ..role import Role
from .task import Task, averages, seeded

__all__ = ["DEBATER", "PHRASES", "DebateEpisode", "debate"]

DEBATER = "You are a debater. Argue for your side in two or three sentences, with a reason, and answer your opponent."
"""What debaters are told who speak in their own words."""

PHRASES = 100.0
"""The temperature at which the built-in model tries all of the sentences."""

_INVALID: ContextVar[list[int]] = ContextVar("invalid")  # votes, of the debate that the current task plays


class DebateEpisode(GameEpisode):
    """A debate between the roles A and B; the artifact is its seed, which draws the topic.

    ``extras`` also has ``draw``: 1 if the judge preferred neither, else 0; ``invalid``, the votes of the judge that
    were no verdict; and ``score``, the mean of both debaters' scores by the built-in judge (None: another judge).

    Args:
        jury: how the arena's base model is asked for a verdict; None: the built-in judge.
        config: of ``debate-v0``.
    """

    def __init__(self, jury: Jury | None = None, **config: Any) -> None:
        self.jury = jury
        seats = "rubric" if jury is None else "seat"
        game = make_game("debate", judge=seats, **config)
        others = {} if jury is None else {JUDGE: "scripted:rubric"}  # in whose place the model is asked
        super().__init__(game, ("A", "B", None)[: game.info.players], opponents=others, free=not game.config["phrases"])

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Debate and judge."""
        invalid: list[int] = []
        _INVALID.set(invalid)
        state = await super().rollout(arena, artifact, state)
        extras = state.data["extras"]
        extras["draw"] = float(not extras["illegal"] and not any(extras["returns"].values()))
        extras["invalid"] = sum(invalid)
        scores = [info["score"] for info in extras["infos"] if "score" in info]
        extras["score"] = sum(scores) / len(scores) if scores else None
        return state

    async def _act(self, turn: Turn, arena: Arena) -> tuple[Any, Step | None]:
        if self.jury is None or turn.player != JUDGE:
            return await super()._act(turn, arena)
        verdict = await judged(arena, case_of(turn), self.jury)
        _INVALID.get().append(verdict.invalid)
        return verdict.winner, None


def debate(
    *,
    topics: str = "",
    batch: int = 8,
    rollouts: int = 4,
    phrases: int = 8,
    rebuttals: int = 0,
    closing: bool = False,
    judge: Literal["rubric", "model"] = "rubric",
    votes: int = 1,
    shared: bool = True,
    temperature: float = 0.0,
    max_tokens: int = 64,
) -> Task:
    """The roles A and B debate; the better one gets 1, the other -1.

    Args:
        topics: a field (cities, school, work, ...); empty: all of them.
        batch: topics of an update.
        rollouts: debates on each topic, compared with each other.
        phrases: sentences to choose from at each turn; 0: the debaters speak in their own words.
        rebuttals: of each debater after its opening.
        closing: whether each debater closes.
        judge: rubric counts words and needs no model; model asks the base model in both orders of the speakers.
        votes: of the model in each order.
        shared: both roles have one adapter, not one each.
        temperature: of the debaters; 0: 1 in their own words, and 100 for sentences to choose from, whose whole
            probabilities differ by many orders of magnitude.
        max_tokens: the longest speech in a debater's own words.

    Raises:
        UnknownName: no such field.
        UsageError: no topics or debates; what ``debate-v0`` refuses.
    """
    source = seeded("debate", batch, rollouts)
    jury = Jury(votes) if judge == "model" else None
    config = {"topics": topics, "phrases": phrases, "rebuttals": rebuttals, "closing": closing}
    episode = DebateEpisode(jury, **config)
    told, player = "" if phrases else DEBATER, "main" if shared else ""
    warmth = temperature or (PHRASES if phrases else 1.0)
    roles = tuple(Role(name, told, warmth, max_tokens, player) for name in "AB")
    return Task("debate", roles, {"debate": episode}, source, {}, averages("score", "draw", "illegal", "invalid"))
