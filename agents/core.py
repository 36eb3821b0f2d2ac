"""The agent interface: ``Agent.act(turns) -> decisions``, always on a batch.

One call answers the turns of many games. A ``Turn`` is what a player is asked; a ``Decision`` is its answer and, for
players that learn, the exact tokens that the trainer needs, so that nothing is ever tokenised twice.
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

__all__ = ["Agent", "Decision", "HasPolicy", "Tokens", "Turn", "ask", "close", "seeded"]

FIRST = Seed(0, 0)

Tokens = Datum
"""The earlier name of ``Datum``, a language model's decision in tokens."""


@dataclass(slots=True)
class Turn:
    """A request for one action from one player.

    Attributes:
        game: the rules and the text face.
        state: N games; this turn is about row ``row`` only. Read it now: the arrays change as the game goes on.
        row: the row in ``state``.
        player: the seat that is asked.
        mask: [A] int8, 1 = legal. A view that the caller may reuse after ``act`` has returned.
        key: hash of the position (``Game.key``).
        seed: the source of all random numbers of the decision, so that it doesn't depend on the other turns.
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
        """The position as the game's shortest unambiguous text."""
        return self.game.compact(self.state, self.row, self.player)

    def action_to_text(self, action: Action) -> str:
        """The text of an action in this position."""
        return self.game.action_to_text(self.state, self.row, action)

    def answers(self) -> list[str] | None:
        """All legal answers as texts: of the legal actions, ascending; in games of words the messages, None if open."""
        if isinstance(self.game, TextGame):
            listed = self.game.choices(self.state[self.row], self.player)
            return None if listed is None else list(listed)
        return [self.action_to_text(a) for a in self.legal_actions]

    def parse_action(self, text: str) -> Action:
        """The action that a text names; in games of words always ``SAY``, if the game allows the text.

        Raises:
            ActionError: the text names no action, or one that is not legal for this player.
        """
        if isinstance(self.game, TextGame):
            self.game.read(self.state, self.row, self.player, text)
            return SAY
        action = self.game.parse_action(self.state, self.row, text)
        if not self.mask[action]:  # simultaneous games read texts without knowing which player wrote them
            legal = ", ".join(self.action_to_text(a) for a in self.legal_actions)
            raise IllegalAction(f"{text!r} cannot succeed now. Legal: {legal or 'nothing'}.")
        return action


@dataclass(slots=True)
class Decision:
    """An agent's answer to a turn.

    Attributes:
        action: the action number (in games of words ``SAY``, whatever is said), or None if the answer is no legal
            action (the environment's ``illegal`` policy then decides).
        text: the answer as text; in games of words the message, which is what counts.
        tokens: for language models, the prompt and answer in tokens, which training needs.
        info: anything else worth showing (value of the position, thoughts, ...), plain data.
        before: what the model was asked first, in the same context, if a decision takes several asks (a message, then
            an action); trained like ``tokens``.
    """

    action: Action | None
    text: str = ""
    tokens: Datum | None = None
    info: dict[str, object] = field(default_factory=dict)
    before: tuple[Datum, ...] = ()


class Agent(Protocol):
    """An agent: one method, and a name to show.

    An agent that uses no random numbers, and so always answers a position in the same way, has an attribute
    ``greedy = True``. A match between two such agents starts from random openings, since its games would otherwise be
    copies of each other.
    """

    name: str

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """Answer every turn independently of the others: all random numbers come from the turn's own ``seed``."""
        ...


class HasPolicy(Protocol):
    """An agent that can give its action probabilities."""

    def policy(self, turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
        """[A] probabilities for each turn, summing to 1 over the legal actions; in games of words over ``answers``."""
        ...


def ask(turns: Sequence[Turn], agents: Sequence[Agent]) -> list[Decision]:
    """Ask the agent of each turn; agents with the same backend and the same ``greedy`` answer in one call.

    Raises:
        UsageError: an agent doesn't answer each turn with one decision.
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
                f"{first.name} was asked {len(asked)} turns and gave {len(answers)} answers. The first answer is "
                f"{next(iter(answers), None)!r}; an agent must answer each turn with one Decision."
            )
        decisions.update(zip(members, answers, strict=True))
    return [decisions[k] for k in range(len(turns))]


def seeded(turns: Iterable[Turn], stream: int = 0) -> list[Turn]:
    """The same turns with one seed each, counted from 0: for callers that ask an agent outside a game."""
    return [dataclasses.replace(turn, seed=Seed(stream, k)) for k, turn in enumerate(turns)]


def close(agents: Iterable[object]) -> None:
    """End the programs of agents that run one."""
    for end in {id(agent): getattr(agent, "close", None) for agent in agents}.values():
        if end:
            end()
