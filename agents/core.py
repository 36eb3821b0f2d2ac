"""Who decides: ``Agent.act(turns) -> decisions``, always a batch.

Many games wait, one call answers. A ``Turn`` is what a player is asked; a ``Decision`` is what it answered and, for
those who learn, everything the trainer needs token-exactly, so that nothing is ever tokenised twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ..aliases import Action, Mask, Player, State
from ..envs.core import Game
from ..errors import IllegalAction

__all__ = ["Agent", "Decision", "Tokens", "Turn"]


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
    """

    game: Game
    state: State
    row: int
    player: Player
    mask: Mask
    key: int

    @property
    def legal_actions(self) -> list[Action]:
        """Legal action numbers, ascending."""
        return [int(a) for a in np.flatnonzero(self.mask)]

    def describe(self) -> str:
        """The position as a person would be told it."""
        return self.game.describe(self.state, self.row, self.player)

    def compact(self) -> str:
        """The position in as few characters as are unambiguous."""
        return self.game.compact(self.state, self.row, self.player)

    def action_to_text(self, action: Action) -> str:
        """How an action is written in this position."""
        return self.game.action_to_text(self.state, self.row, action)

    def parse_action(self, text: str) -> Action:
        """The action that a text means.

        Raises:
            ActionError: none is meant, or one that is not legal for this player.
        """
        action = self.game.parse_action(self.state, self.row, text)
        if not self.mask[action]:  # games without turns read texts without knowing whose they are
            legal = ", ".join(self.action_to_text(a) for a in self.legal_actions)
            raise IllegalAction(f"{text!r} cannot succeed now. Legal: {legal or 'nothing'}.")
        return action


@dataclass(slots=True)
class Tokens:
    """How a language model made a decision, exactly.

    Attributes:
        prompt: token ids the model was shown.
        completion: token ids that were chosen.
        logprobs: natural-log probabilities of the sampling policy, at its temperature. One number a token for ``free``
            and ``constrained`` decoding; one number in all for ``choice``, normalised over the legal set.
        kind: ``"choice"``, ``"constrained"`` or ``"free"``.
        candidates: token ids of every legal answer (choice and constrained), in the order of ``legal_actions``; else
            ``()``.
        chosen: index into ``candidates``, or -1 (free).
        temperature: divides the logits (choice: the candidates' log-probabilities).
        lora: the bank's player that answered.
        version: how often that player's weights had been updated.
        model: id of the base model.
        stop: why a free answer ended: ``"stop"`` or ``"length"``; ``""`` otherwise.
    """

    prompt: tuple[int, ...]
    completion: tuple[int, ...]
    logprobs: tuple[float, ...]
    kind: str
    candidates: tuple[tuple[int, ...], ...] = ()
    chosen: int = -1
    temperature: float = 1.0
    lora: str = ""
    version: int = 0
    model: str = ""
    stop: str = ""


@dataclass(slots=True)
class Decision:
    """An answer.

    Attributes:
        action: the action number, or None where the answer is no legal action (the environment's policy decides).
        text: what was said, as text.
        tokens: for language models, the record that training needs.
        info: anything else worth showing (value of the position, thoughts, ...), plain data.
    """

    action: Action | None
    text: str = ""
    tokens: Tokens | None = None
    info: dict[str, object] = field(default_factory=dict)


class Agent(Protocol):
    """Whoever decides. One method; a name to be shown.

    An agent that draws no lots, so that one position always gets one answer, says so by an attribute ``greedy = True``:
    matches between two of them begin after random openings, for their games would be copies of each other.
    """

    name: str

    def act(self, turns: Sequence[Turn], rng: np.random.Generator) -> list[Decision]:
        """Answer every turn; all randomness comes from ``rng``."""
        ...
