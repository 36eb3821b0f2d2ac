"""Tournament selection: proposals meet head to head, winners go on, and what wins is kept.

::

    Speaker x 8 ──> 4 battles ──> 2 battles ──> final ──> the store "winners"
    reward of a proposal: the share of the rounds that it has won

A proposal is an opening in a debate: all of a tournament argue for the same side of the same topic, so they can be
compared with each other. A battle is judged by the rubric, or by the base model in both orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ....agents.llm.judge import Case, Jury
from ....envs.registry import make_game
from ....envs.words.debate.rubric import mark, verdict
from ....envs.words.debate.topics import Topic, chosen_topics
from ....errors import UsageError
from ..arena import Arena
from ..episode import Episode
from ..game import GameEpisode
from ..judges import judged
from ..records import EpisodeRequest, EpisodeState, GenerateResult
from ..role import Role
from ..store import ArtifactStore
from .debate import DEBATER, PHRASES
from .task import Task

__all__ = ["BattleEpisode", "TournamentEpisode", "tournament"]


class BattleEpisode(Episode):
    """Two texts for one side of one topic; the artifact is ``{"topic", "side", "texts"}``. Nobody learns from it.

    ``extras``: ``winner``, 0 or 1, drawn by lot if the judge prefers neither.

    Args:
        topics: those that numbers refer to.
        jury: how the arena's base model is asked; None: the rubric decides.
    """

    def __init__(self, topics: Sequence[Topic], jury: Jury | None) -> None:
        super().__init__()
        self.topics, self.jury = topics, jury

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Judge."""
        topic, side, (one, other) = self.topics[artifact["topic"]], artifact["side"], artifact["texts"]
        if self.jury is None:
            found = verdict((mark(topic, side, one).total, mark(topic, side, other).total), 0.0)
        else:
            case = Case(topic.question, (topic.sides[side],) * 2, ((0, one), (1, other)))
            found = (await judged(arena, case, self.jury)).winner
        state.data["winner"] = int(state.rng.integers(2)) if found == "draw" else "AB".index(found)
        return state

    def get_extras(self, state: EpisodeState) -> dict[str, Any]:
        """The winner."""
        return {"winner": state.data["winner"]}


class TournamentEpisode(Episode):
    """One tournament; the artifact is a seed, which draws topic and side.

    Args:
        entrants: proposals, a power of two.
        proposal: the type of their episodes, on ``debate-v0``.
    """

    def __init__(self, entrants: int, proposal: GameEpisode) -> None:
        super().__init__()
        self.entrants, self.proposal = entrants, proposal

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Collect proposals, then play rounds until one is left. A proposal that failed loses."""
        position = self.proposal.game.new_state(1)
        self.proposal.game.kernels.reset(position, 0, artifact)
        about = {"topic": position[0]["topic"], "side": position[0]["first"]}
        entered = await arena.generate_rollouts([EpisodeRequest("proposal", artifact)] * self.entrants)
        left, wins = list(range(self.entrants)), [0] * self.entrants
        while len(left) > 1:
            pairs = list(zip(left[::2], left[1::2], strict=True))
            fights = [
                EpisodeRequest("battle", {**about, "texts": [_text(entered[k]) for k in pair]}, is_trainable=False)
                for pair in pairs
            ]
            fought = await arena.generate_rollouts(fights)
            left = [pair[0 if f.error else f.rollout.extras["winner"]] for pair, f in zip(pairs, fought, strict=True)]
            for k in left:
                wins[k] += 1
        rounds = max(wins)
        for result, won in zip(entered, wins, strict=True):
            if not result.error:
                result.rollout.rewards["Speaker"] = won / rounds
        if _text(entered[left[0]]):
            arena.stores["winners"].add({**about, "text": _text(entered[left[0]])})
        state.data["winner"] = _text(entered[left[0]])
        return state

    def get_extras(self, state: EpisodeState) -> dict[str, Any]:
        """The winner's text."""
        return {"winner": state.data["winner"]}


def _text(result: GenerateResult) -> str:
    """What a proposal says; empty if it failed or broke the rules."""
    legal = not result.error and not result.rollout.extras["illegal"]
    return result.rollout.steps[0].text if legal else ""


def tournament(
    *,
    topics: str = "",
    batch: int = 4,
    entrants: int = 8,
    phrases: int = 8,
    judge: Literal["rubric", "model"] = "rubric",
    max_tokens: int = 64,
) -> Task:
    """The role Speaker makes proposals that compete in tournaments.

    Args:
        topics: a field (cities, school, work, ...); empty: all of them.
        batch: tournaments of an update.
        entrants: proposals of a tournament: 2, 4, 8, 16, 32 or 64.
        phrases: sentences to choose from; 0: the speaker uses its own words.
        judge: rubric counts words and needs no model; model asks the base model in both orders.
        max_tokens: the longest proposal in the speaker's own words.

    Raises:
        UnknownName: no such field.
        UsageError: another number of entrants, no tournaments, or what ``debate-v0`` refuses.
    """
    if entrants not in (2, 4, 8, 16, 32, 64) or batch < 1:
        raise UsageError(f"entrants is {entrants} and batch {batch}: a power of two up to 64, and at least one.")
    game = make_game("debate", topics=topics, phrases=phrases)
    proposal = GameEpisode(game, ("Speaker", None), opponents={1: "random"}, max_plies=1, free=not phrases)
    episodes = {
        "tournament": TournamentEpisode(entrants, proposal),
        "proposal": proposal,
        "battle": BattleEpisode(chosen_topics(topics), Jury() if judge == "model" else None),
    }

    def source(arena: Arena, rng: np.random.Generator) -> list[EpisodeRequest]:
        return [EpisodeRequest("tournament", seed) for seed in rng.integers(2**63, size=batch).tolist()]

    role = Role("Speaker", "" if phrases else DEBATER, PHRASES if phrases else 1.0, max_tokens)
    return Task("tournament", (role,), episodes, source, {"winners": ArtifactStore("winners", 1000)})
