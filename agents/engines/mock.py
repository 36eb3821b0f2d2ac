"""An engine without a model, for tests and for trying out what asks engines: answers follow from the ask alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...errors import UsageError
from .base import Answer, Ask, Description, Free

__all__ = ["MockEngine"]


class MockEngine:
    """Answers at random, by the ask's seed, or as a function of yours says.

    At random, every candidate is equally likely; in free form, every token below ``vocabulary``.

    Args:
        answer: from an ask to an index among its candidates (choice and trie) or to token ids (free form). Whatever it
            raises, ``sample`` raises.
        vocabulary: how many tokens there are.

    Attributes:
        batches: the asks of every call, in order.
    """

    def __init__(self, answer: Callable[[Ask], int | Sequence[int]] | None = None, *, vocabulary: int = 256) -> None:
        self._answer, self._vocabulary = answer, vocabulary
        self.batches: list[list[Ask]] = []

    def describe(self) -> Description:
        """A model called ``mock``."""
        return Description("mock")

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
