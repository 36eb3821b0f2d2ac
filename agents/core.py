"""Who decides: ``Agent.act(turns) -> decisions``, always a batch.

Many games wait, one call answers. A ``Turn`` is what a player is asked; a ``Decision`` is what it answered and, for
those who learn, everything the trainer needs token-exactly, so that nothing is ever tokenised twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..aliases import Action, Mask, Player, State
from ..envs.core import Game
from ..envs.words import SAY, TextGame
from ..errors import IllegalAction, UsageError
from .engines.base import Datum
from .seeds import Seed

__all__ = ["Agent", "Decision", "HasPolicy", "Tokens", "Turn", "ask", "seeded"]

FIRST = Seed(0, 0)

Tokens = Datum
"""The record of a language model's decision, by its earlier name."""


@dataclass(slots=True)
class Turn:
    """One player is asked for one action.

    Attributes:
        game: the rules and the text face.
        state: N games; only row ``row`` is this turn's. Read it now: the arrays move on with the game.
        row: the row in ``state``.
        player: the seat that is asked.
        mask: [A] int8, 1 = legal. A view that the caller may reuse after ``act`` returned.
        key: hash of the position (``Game.key``).
        seed: whatever chance the decision has follows from it, so that it doesn't depend on who else is asked.
    """

    game: Game
    state: State
    row: int
    player: Player
    mask: Mask
    key: int
    seed: Seed = FIRST

    @property
    def legal_actions(self) -> list[Action]:
        """Legal action numbers, ascending."""
        return [int(a) for a in np.flatnonzero(self.mask)]

    def describe(self) -> str:
        """The position in words."""
        return self.game.describe(self.state, self.row, self.player)

    def compact(self) -> str:
        """The position in as few characters as are unambiguous."""
        return self.game.compact(self.state, self.row, self.player)

    def action_to_text(self, action: Action) -> str:
        """How an action is written in this position."""
        return self.game.action_to_text(self.state, self.row, action)

    def parse_action(self, text: str) -> Action:
        """The action that a text means; in games of words the one there is, if the text may be said.

        Raises:
            ActionError: none is meant, or one that is not legal for this player.
        """
        if isinstance(self.game, TextGame):
            self.game.read(self.state, self.row, self.player, text)
            return SAY
        action = self.game.parse_action(self.state, self.row, text)
        if not self.mask[action]:  # games without turns read texts without knowing whose they are
            legal = ", ".join(self.action_to_text(a) for a in self.legal_actions)
            raise IllegalAction(f"{text!r} cannot succeed now. Legal: {legal or 'nothing'}.")
        return action


@dataclass(slots=True)
class Decision:
    """An answer.

    Attributes:
        action: the action number, or None where the answer is no legal action (the environment's policy decides).
        text: what was said, as text; in games of words the message, which is what counts.
        tokens: for language models, the record that training needs.
        info: anything else worth showing (value of the position, thoughts, ...), plain data.
    """

    action: Action | None
    text: str = ""
    tokens: Datum | None = None
    info: dict[str, object] = field(default_factory=dict)


class Agent(Protocol):
    """Whoever decides. One method; a name to be shown.

    An agent that draws no lots, so that one position always gets one answer, says so by an attribute ``greedy = True``:
    matches between two of them begin after random openings, for their games would be copies of each other.
    """

    name: str

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """Answer every turn, each by itself: all chance comes from its own ``seed``."""
        ...


class HasPolicy(Protocol):
    """Whoever can say how likely it plays what."""

    def policy(self, turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
        """[A] probabilities for each turn, summing to 1 over the legal actions."""
        ...


def ask(turns: Sequence[Turn], agents: Sequence[Agent]) -> list[Decision]:
    """Ask the agent of each turn; agents that share a backend (and are greedy or not) answer in one call.

    Raises:
        UsageError: one doesn't answer each turn with one decision.
    """
    together: dict[tuple[int, bool], list[int]] = {}
    for k, agent in enumerate(agents):
        backend = getattr(agent, "backend", agent)
        together.setdefault((id(backend), bool(getattr(agent, "greedy", False))), []).append(k)
    decisions: dict[int, Decision] = {}
    for (_, greedy), members in together.items():
        asked = [turns[k] for k in members]
        first: Any = agents[members[0]]
        if hasattr(first, "backend"):
            players = [agents[k].player for k in members]  # type: ignore[attr-defined]
            explore = [getattr(agents[k], "explore", 0.0) for k in members]
            answers = first.backend.act(asked, players, greedy=greedy, explore=explore)
        else:
            answers = first.act(asked)
        if len(answers) != len(asked) or not all(isinstance(answer, Decision) for answer in answers):
            raise UsageError(
                f"{first.name} was asked {len(asked)} turns and gave {len(answers)} answers, the first of which is "
                f"{next(iter(answers), None)!r}; an agent answers each turn with one Decision."
            )
        decisions.update(zip(members, answers, strict=True))
    return [decisions[k] for k in range(len(turns))]


def seeded(turns: Iterable[Turn], stream: int = 0) -> list[Turn]:
    """The same turns with a seed each, numbered from 0: for those who ask outside of games."""
    return [dataclasses.replace(turn, seed=Seed(stream, k)) for k, turn in enumerate(turns)]
