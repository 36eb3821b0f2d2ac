"""An engine without a model, for tests and for trying out code that uses engines."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import UsageError
from .base import Answer, Ask, Datum, Free
from .learning import AdamParams, Batch, Objective, Passed, Scored
from .protocol import Description

__all__ = ["MockEngine"]


class MockEngine:
    """Answers at random by the ask's seed, or by a given function, and logs the calls that would make it learn.

    At random, every candidate is equally likely; in free form, every token below ``vocabulary``. What a function
    answers has the probability 1.

    Args:
        answer: maps an ask to an index among its candidates (choice and trie) or to token ids (free form). Its
            exceptions pass through ``sample``.
        vocabulary: the number of tokens.
        players: names of the players that learn.

    Attributes:
        batches: the asks of every call, in order.
        passes: (batch, backward) of every ``forward_backward``, in order. steps: those of ``optim_step``, in order.
        players: versions by name.
    """

    def __init__(
        self,
        answer: Callable[[Ask], int | Sequence[int]] | None = None,
        *,
        vocabulary: int = 256,
        players: Sequence[str] = (),
    ) -> None:
        self._answer, self._vocabulary = answer, vocabulary
        self.batches: list[list[Ask]] = []
        self.passes: list[tuple[Batch, bool]] = []
        self.steps: list[dict[str, AdamParams]] = []
        self.players = dict.fromkeys(players, 0)

    def describe(self) -> Description:
        """A model called ``mock``."""
        return Description("mock", players=tuple(self.players.items()))

    def sample(self, asks: Sequence[Ask]) -> list[Answer]:
        """Answer every ask.

        Raises:
            UsageError: no candidates, or the function returned an invalid index.
        """
        self.batches.append(list(asks))
        return [self._free(ask, ask.form) if isinstance(ask.form, Free) else self._given(ask) for ask in asks]

    def _given(self, ask: Ask) -> Answer:
        assert not isinstance(ask.form, Free)
        candidates = ask.form.candidates
        chosen = int(ask.seed.uniform() * len(candidates)) if self._answer is None else self._answer(ask)
        if not isinstance(chosen, int) or not 0 <= chosen < len(candidates):
            raise UsageError(f"The mock answered {chosen!r}, which is no index of {len(candidates)} candidates.")
        shares = np.full(len(candidates), -math.log(len(candidates)) if self._answer is None else -math.inf)
        if self._answer is not None:
            shares[chosen] = 0.0
        logprobs, version = (float(shares[chosen]),), self._version(ask)
        return Answer(candidates[chosen], logprobs, chosen, version=version, model="mock", distribution=shares)

    def _version(self, ask: Ask) -> int:
        return self.players.get(ask.player or "", 0)

    def _free(self, ask: Ask, form: Free) -> Answer:
        if self._answer is not None:
            found = self._answer(ask)
            said = (found,) if isinstance(found, int) else tuple(found)
        else:
            said = tuple(int(ask.seed.uniform(t) * self._vocabulary) for t in range(form.max_tokens))
        end = next((t + 1 for t, token in enumerate(said[: form.max_tokens]) if token in form.stop), form.max_tokens)
        ids = said[:end]
        stop = "stop" if ids and ids[-1] in form.stop else "length"
        logprobs = (-math.log(self._vocabulary) if self._answer is None else 0.0,) * len(ids)
        return Answer(ids, logprobs, stop=stop, version=self._version(ask), model="mock")

    def score(self, data: Sequence[Datum]) -> list[Scored]:
        """The log-probs that the decisions already have."""
        return [Scored(r.logprobs, 0.0) for r in data]

    def forward_backward(self, data: Batch, objective: Objective, *, backward: bool = True) -> Passed:
        """Log the call in ``passes``; the objective isn't called."""
        self.passes.append((data, backward))
        return Passed({player: {} for player in data.players}, {})

    def optim_step(self, steps: Mapping[str, AdamParams]) -> dict[str, float]:
        """Log the call in ``steps`` and raise the versions; all norms are 0."""
        self.steps.append(dict(steps))
        for player in steps:
            self.players[player] += 1
        return dict.fromkeys(steps, 0.0)

    def add(self, name: str, init_from: str | None = None) -> None:
        """Add a player, of version 0."""
        self.players[name] = 0

    def remove(self, name: str) -> None:
        """Remove a player."""
        del self.players[name]

    def copy(self, src: str, dst: str, *, moments: bool = False) -> None:
        """Raise the version of ``dst``."""
        self.players[dst] += 1

    def reset(self, name: str) -> None:
        """Raise the player's version."""
        self.players[name] += 1

    def breed(self, child: str, parents: Mapping[str, float], **how: Any) -> None:
        """Raise the child's version."""
        self.players[child] += 1

    def save(self, name: str, folder: str | os.PathLike[str]) -> None:
        """Do nothing: there are no weights."""

    def load(self, name: str, folder: str | os.PathLike[str]) -> None:
        """Raise the player's version, or add it at version 0; nothing is read."""
        self.players[name] = self.players.get(name, -1) + 1

    def state_dict(self) -> dict[str, Any]:
        """The players' versions."""
        return {"players": dict(self.players)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the players by those that ``state_dict`` returned."""
        self.players = dict(state["players"])
