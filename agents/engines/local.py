"""The engine on this machine: one base model, many LoRA adapters, all asks of a call in a few passes.

Equal asks cost one pass, prompts that begin alike share their tokens, every row goes through its player's adapter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from ...errors import ModelError, UsageError
from ..deadline import breathe
from ..llm.scoring.decoding import score
from ..llm.scoring.forest import Question, pack_questions
from ..llm.scoring.generation import generate
from ..llm.scoring.passes import checkpointed_layers, serving
from ..seeds import uniforms
from .base import KINDS, Answer, Ask, Description, Free

if TYPE_CHECKING:
    from ..bank.bank import LoraBank
    from ..llm.models import LoadedModel

__all__ = ["LocalEngine"]


class LocalEngine:
    """A base model with a bank of adapters.

    Args:
        loaded: model and tokenizer.
        bank: the adapters; None: the base model alone.
        batch_tokens: tokens of one forward pass, at most.
        gradient_checkpointing: keep no activations within the model's layers and compute them again in the backward
            pass.

    Raises:
        ModelError: a model whose log-probs can't be told rightly, or whose layers can't be computed again.

    Attributes:
        forward_tokens: how many tokens went through the model so far: what sharing saves shows here.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        bank: LoraBank | None = None,
        *,
        batch_tokens: int = 16384,
        gradient_checkpointing: bool = False,
    ) -> None:
        serving(loaded.model, loaded.id)
        if gradient_checkpointing and not checkpointed_layers(loaded.model):
            raise ModelError(f"The model {loaded.id!r} can't be trained with gradient checkpointing; leave it out.")
        self.gradient_checkpointing = gradient_checkpointing
        self.loaded, self.bank, self.batch_tokens = loaded, bank, batch_tokens
        self.forward_tokens = 0

    def describe(self) -> Description:
        """Model, hash, dtype, device; versions of all players."""
        weight = next(self.loaded.model.parameters())
        versions = tuple(self.bank.versions.items()) if self.bank else ()
        dtype = str(weight.dtype).removeprefix("torch.")
        return Description(self.loaded.id, self.loaded.hash, dtype, str(weight.device), versions)

    def slot(self, player: str | None) -> int:
        """The bank's slot of a player; -1 for the base model alone.

        Raises:
            UsageError: the bank has no such player.
        """
        if player is None or self.bank is None:
            return -1
        if player not in self.bank.players:
            known = ", ".join(self.bank.players) or "nobody"
            raise UsageError(f"The bank has no player {player!r}; it has: {known}. Add it first.")
        return self.bank.players[player]

    def sample(self, asks: Sequence[Ask]) -> list[Answer]:
        """Answer every ask; those of one form (and temperature) go through the model together.

        Raises:
            UsageError: no candidates, a temperature that isn't above 0, an unknown player.
        """
        together: dict[object, list[int]] = {}
        for k, ask in enumerate(asks):
            if not ask.temperature > 0:
                raise UsageError(f"A temperature of {ask.temperature} can't divide logits: use one above 0, or greedy.")
            how = (ask.form, ask.greedy) if isinstance(ask.form, Free) else type(ask.form)
            together.setdefault((how, ask.temperature), []).append(k)
        answers: dict[int, Answer] = {}
        for members in together.values():
            part = [asks[k] for k in members]
            free = isinstance(part[0].form, Free)
            answers.update(zip(members, self._free(part) if free else self._given(part), strict=True))
        return [answers[k] for k in range(len(asks))]

    def distributions(
        self, questions: Sequence[Question], kind: str, temperature: float = 1.0
    ) -> tuple[NDArray[np.float64], list[NDArray[np.float32]]]:
        """Log-probabilities of all answers of distinct questions.

        Args:
            questions: Q of them.
            kind: ``choice`` or ``constrained``.
            temperature: > 0.

        Returns:
            [Q, C] log-probability of each whole answer (-inf: none there), and for each question its answers' log-probs
            [C, T] a token.
        """
        widest = max(len(q.answers) for q in questions)
        table = np.full((len(questions), widest), -np.inf)
        tokens: list[NDArray[np.float32]] = [np.zeros((0, 0), np.float32)] * len(questions)
        with torch.no_grad():
            for pack in pack_questions(questions, batch_tokens=self.batch_tokens):
                breathe()
                self.forward_tokens += pack.tokens
                scores = score(self.loaded.model, pack, kind, bank=self.bank, temperature=temperature)
                table[pack.questions, : scores.by_question.shape[1]] = scores.by_question.cpu().numpy()
                each = scores.logprobs.cpu().numpy()
                answers = pack.question_answers.numpy()
                for k, q in enumerate(pack.questions):
                    tokens[q] = each[answers[k][answers[k] >= 0]]
        return table, tokens

    def _given(self, asks: Sequence[Ask]) -> list[Answer]:
        """Choices and tries."""
        kind = KINDS[type(asks[0].form)]
        questions, index = self._distinct(asks)
        table, tokens = self.distributions(questions, kind, asks[0].temperature)
        cumulative = np.exp(table).cumsum(1)
        cumulative /= cumulative[:, -1:]
        chosen = (cumulative[index] <= uniforms([ask.seed for ask in asks])).sum(1)
        chosen = np.where([ask.greedy for ask in asks], table.argmax(1)[index], chosen)
        answers = []
        for ask, q, k in zip(asks, index.tolist(), chosen.tolist(), strict=True):
            candidates = questions[q].answers
            logprobs = tuple(tokens[q][k][: 1 if kind == "choice" else len(candidates[k])].tolist())
            shares = table[q, : len(candidates)]
            version = self._version(ask)
            answers.append(Answer(candidates[k], logprobs, k, "", version, self.loaded.id, distribution=shares))
        return answers

    def _free(self, asks: Sequence[Ask]) -> list[Answer]:
        form = asks[0].form
        assert isinstance(form, Free)
        made = generate(
            self.loaded.model,
            self.bank,
            [ask.context.ids for ask in asks],
            [self.slot(ask.player) for ask in asks],
            max_new_tokens=form.max_tokens,
            stop_ids=form.stop,
            temperature=asks[0].temperature,
            seeds=[ask.seed for ask in asks],
            greedy=asks[0].greedy,
        )
        self.forward_tokens += made.fed
        said = zip(asks, made.tokens, made.logprobs, made.stop, strict=True)
        return [
            Answer(tuple(ids), tuple(logprobs), -1, stop, self._version(ask), self.loaded.id)
            for ask, ids, logprobs, stop in said
        ]

    def _version(self, ask: Ask) -> int:
        return 0 if ask.player is None or self.bank is None else self.bank.versions[ask.player]

    def _distinct(self, asks: Sequence[Ask]) -> tuple[list[Question], NDArray[np.int64]]:
        """The different questions among those asked, and the number of each one's."""
        numbers: dict[Question, int] = {}
        by_identity: dict[tuple[int, int, str | None], int] = {}  # equal ones are mostly one object; tuples hash slowly
        index = np.empty(len(asks), np.int64)
        for k, ask in enumerate(asks):
            key = (id(ask.context), id(ask.form), ask.player)
            at = by_identity.get(key)
            if at is None:
                assert not isinstance(ask.form, Free)
                if not ask.form.candidates:
                    raise UsageError("An ask came without candidates; give it at least one, or ask in free form.")
                question = Question(self.slot(ask.player), ask.context.ids, ask.form.candidates)
                at = by_identity[key] = numbers.setdefault(question, len(numbers))
            index[k] = at
        return list(numbers), index
