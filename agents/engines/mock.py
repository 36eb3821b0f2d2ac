"""An engine without a model, for tests and for trying out what asks engines: answers follow from the ask alone."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...errors import UsageError
from .base import Answer, Ask, Datum, Free
from .learning import AdamParams, Batch, Objective, Passed, Scored
from .protocol import Description

__all__ = ["MockEngine"]


class MockEngine:
    """Answers at random, by the ask's seed, or as a function of yours says; what it is to learn it writes down.

    At random, every candidate is equally likely; in free form, every token below ``vocabulary``.

    Args:
        answer: from an ask to an index among its candidates (choice and trie) or to token ids (free form). Whatever it
            raises, ``sample`` raises.
        vocabulary: how many tokens there are.
        players: who learns.

    Attributes:
        batches: the asks of every call, in order.
        passes: what it was to learn from, and whether backwards, in order. steps: of ``optim_step``, in order.
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
            UsageError: no candidates, or the function named one that there isn't.
        """
        self.batches.append(list(asks))
        return [self._free(ask, ask.form) if isinstance(ask.form, Free) else self._given(ask) for ask in asks]

    def _given(self, ask: Ask) -> Answer:
        assert not isinstance(ask.form, Free)
        candidates = ask.form.candidates
        chosen = int(ask.seed.uniform() * len(candidates)) if self._answer is None else self._answer(ask)
        if not isinstance(chosen, int) or not 0 <= chosen < len(candidates):
            raise UsageError(f"The mock answered {chosen!r} where one of {len(candidates)} candidates is asked for.")
        shares = np.full(len(candidates), -math.log(len(candidates)))
        return Answer(candidates[chosen], (float(shares[chosen]),), chosen, model="mock", distribution=shares)

    def _free(self, ask: Ask, form: Free) -> Answer:
        if self._answer is not None:
            found = self._answer(ask)
            said = (found,) if isinstance(found, int) else tuple(found)
        else:
            said = tuple(int(ask.seed.uniform(t) * self._vocabulary) for t in range(form.max_tokens))
        end = next((t + 1 for t, token in enumerate(said[: form.max_tokens]) if token in form.stop), form.max_tokens)
        ids = said[:end]
        stop = "stop" if ids and ids[-1] in form.stop else "length"
        return Answer(ids, (-math.log(self._vocabulary),) * len(ids), stop=stop, model="mock")

    def score(self, data: Sequence[Datum]) -> list[Scored]:
        """Everything is as likely as when it was said."""
        return [Scored(r.logprobs, 0.0) for r in data]

    def forward_backward(self, data: Batch, objective: Objective, *, backward: bool = True) -> Passed:
        """Write it down; the objective isn't called."""
        self.passes.append((data, backward))
        return Passed({player: {} for player in data.players}, {})

    def optim_step(self, steps: Mapping[str, AdamParams]) -> dict[str, float]:
        """Write it down; gradients are 0, and versions rise."""
        self.steps.append(dict(steps))
        for player in steps:
            self.players[player] += 1
        return dict.fromkeys(steps, 0.0)

    def add(self, name: str, init_from: str | None = None) -> None:
        """A new player, of version 0."""
        self.players[name] = 0

    def remove(self, name: str) -> None:
        """A player goes."""
        del self.players[name]

    def copy(self, src: str, dst: str) -> None:
        """A version more."""
        self.players[dst] += 1

    def save(self, name: str, folder: str | os.PathLike[str]) -> None:
        """There is nothing to write."""

    def load(self, name: str, folder: str | os.PathLike[str]) -> None:
        """A version more, whatever lies there."""
        self.players[name] = self.players.get(name, -1) + 1
