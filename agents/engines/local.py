"""The local engine: one base model, many LoRA adapters, all asks of a call in a few passes.

Equal asks are computed once, prompts with a common prefix share its tokens, every row uses its player's adapter.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from ...errors import CollapseError, ModelError, UsageError
from ..bank.optimizer import BankAdamW
from ..deadline import breathe
from ..llm.scoring.batches import caches
from ..llm.scoring.decoding import Scores, score
from ..llm.scoring.forest import Question, distinct, pack_questions
from ..llm.scoring.generation import generate
from ..llm.scoring.passes import checkpointed, checkpointed_layers, serving
from ..seeds import uniforms
from .base import KINDS, Answer, Ask, Datum, Free
from .conversations import Conversations
from .learning import AdamParams, Batch, Given, Objective, Passed, Scored, Terms
from .packing import Packed, Part, pack
from .protocol import Description

if TYPE_CHECKING:
    from ..bank.bank import LoraBank
    from ..llm.models import LoadedModel

__all__ = ["LocalEngine"]


class LocalEngine:
    """A base model with a bank of adapters.

    Args:
        loaded: model and tokenizer.
        bank: the adapters; None: the base model alone.
        batch_tokens: the most tokens of one forward pass.
        cache_bytes: the most bytes of keys and values that are cached for free asks whose context was extended.
        gradient_checkpointing: keep no activations within the model's layers and recompute them in the backward pass.

    Raises:
        ModelError: the model's log-probs would be wrong, or its layers don't support gradient checkpointing.

    Attributes:
        forward_tokens: how many tokens have gone through the model for answers so far; sharing lowers it.
        optimizer: of the bank; None without one.
        conversations: keys and values of free asks.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        bank: LoraBank | None = None,
        *,
        batch_tokens: int = 16384,
        cache_bytes: int = 1 << 28,
        gradient_checkpointing: bool = False,
    ) -> None:
        serving(loaded.model, loaded.id)
        if gradient_checkpointing and not checkpointed_layers(loaded.model):
            raise ModelError(f"The model {loaded.id!r} can't be trained with gradient checkpointing; leave it out.")
        self.gradient_checkpointing = gradient_checkpointing
        self.loaded, self.bank, self.batch_tokens = loaded, bank, batch_tokens
        self.forward_tokens = 0
        self.optimizer = None if bank is None else BankAdamW(bank)
        self.conversations = Conversations(cache_bytes)
        self._packed: WeakKeyDictionary[Batch, list[Packed]] = WeakKeyDictionary()

    def describe(self) -> Description:
        """Model, hash, dtype and device; versions of all players."""
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
            known = ", ".join(self.bank.players) or "none"
            raise UsageError(f"The bank has no player {player!r}; it has: {known}. Add it first.")
        return self.bank.players[player]

    def sample(self, asks: Sequence[Ask]) -> list[Answer]:
        """Answer every ask; asks with the same form and temperature go through the model together.

        Raises:
            UsageError: no candidates, a temperature that isn't above 0, or an unknown player.
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
            [Q, C] log-probability of each whole answer (-inf: no such answer), and for each question [C, T] log-probs
            of its answers: one per token, or for ``choice`` a single one of the whole answer (T = 1).
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
        questions, index = distinct(
            [(id(ask.context), id(ask.form), ask.player) for ask in asks], lambda k: self._question(asks[k])
        )
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
        form, loaded, answers = asks[0].form, self.loaded, dict[int, Answer]()
        assert isinstance(form, Free)
        weights = self._weights()
        self.conversations.only(weights)
        reach = serving(loaded.model).reach - form.max_tokens
        grown = {k for k, a in enumerate(asks) if a.context.past and len(a.context) <= reach and caches(loaded.model)}
        found = {k: self.conversations.find(self._who(asks[k]), asks[k].context.ids) for k in sorted(grown)}
        pasts = {k: past for k, past in found.items() if past is not None}
        for members in ([k for k in range(len(asks)) if k not in pasts], list(pasts)):
            part = [asks[k] for k in members]
            made = generate(
                loaded.model,
                self.bank,
                [ask.context.ids for ask in part],
                [self.slot(ask.player) for ask in part],
                max_new_tokens=form.max_tokens,
                stop_ids=form.stop,
                temperature=asks[0].temperature,
                seeds=[ask.seed for ask in part],
                greedy=asks[0].greedy,
                pasts=[pasts[k] for k in members if k in pasts],
                keep=[n for n, k in enumerate(members) if k in grown],
            )
            self.forward_tokens += made.fed
            for n, past in made.pasts.items():
                self.conversations.keep(self._who(part[n]), past, weights[self._who(part[n])])
            said = zip(members, part, made.tokens, made.logprobs, made.stop, strict=True)
            for k, ask, ids, logprobs, stop in said:
                answers[k] = Answer(tuple(ids), tuple(logprobs), -1, stop, self._version(ask), loaded.id)
        return [answers[k] for k in range(len(asks))]

    def _who(self, ask: Ask) -> str:
        """The player whose adapter answers; empty for the base model alone."""
        return "" if self.bank is None else ask.player or ""

    def _weights(self) -> dict[str, tuple[int, ...]]:
        """For each player a value that changes whenever its weights do."""
        bank = self.bank
        own = {} if bank is None else {n: (bank.births[n], bank.versions[n], bank.loads) for n in bank.players}
        return {"": (), **own}

    def _version(self, ask: Ask) -> int:
        return 0 if self.bank is None or not ask.player else self.bank.versions[ask.player]

    def _question(self, ask: Ask) -> Question:
        assert not isinstance(ask.form, Free)
        if not ask.form.candidates:
            raise UsageError("An ask has no candidates; give it at least one, or ask in free form.")
        return Question(self.slot(ask.player), ask.context.ids, ask.form.candidates)

    # -- learning -----------------------------------------------------------------------------------------------------

    def score(self, data: Sequence[Datum]) -> list[Scored]:
        """Log-probs and entropy of decisions with the current weights of the bank.

        In half precision, the sampler, which feeds token by token, and the learner, which feeds whole sequences, round
        differently: their ratio is not 1 before the first step.
        """
        nothing = np.zeros(len(data))
        found: list[Scored] = [Scored((), 0.0)] * len(data)
        with torch.no_grad():
            for packed in self._pack(Batch(data, nothing, nothing > 0)):
                breathe()
                scores = self._scores(packed)
                for part in packed.parts:
                    rows, entropies = scores.logprobs[part.answer].tolist(), scores.entropy[part.answer].tolist()
                    for d, row, entropy in zip(part.rows.tolist(), rows, entropies, strict=True):
                        found[d] = Scored(tuple(row[: len(data[d].logprobs)]), entropy)
        return found

    def forward_backward(self, data: Batch, objective: Objective, *, backward: bool = True) -> Passed:
        """Score all decisions and store the gradients of their objective in the bank; see ``Engine``."""
        bank = self._learns().bank
        sums: dict[str, defaultdict[str, float]] = {player: defaultdict(float) for player in data.players}
        broken: dict[str, CollapseError] = {}
        with ExitStack() as stack:
            if not backward:
                stack.enter_context(torch.no_grad())
            else:
                bank.zero_grad()
                if self.gradient_checkpointing:
                    stack.enter_context(checkpointed(self.loaded.model, bank.checkpoint_context))
            for packed in self._pack(data):
                breathe()
                scores = self._scores(packed)
                losses = []
                for part in packed.parts:
                    if part.player in broken:
                        continue
                    try:
                        loss, shown = objective(self._terms(packed, part, scores))
                    except CollapseError as error:
                        broken[part.player] = error
                        continue
                    losses.append(loss)
                    for name, value in shown.items():
                        sums[part.player][name] += value
                if backward and losses:
                    torch.stack(losses).sum().backward()
        return Passed({player: dict(shown) for player, shown in sums.items() if player not in broken}, broken)

    def optim_step(self, steps: Mapping[str, AdamParams]) -> dict[str, float]:
        """Update each named player by its gradient in the bank; see ``Engine``."""
        optimizer = self._learns()
        norms: dict[str, float] = {}
        for player, params in steps.items():
            norms |= optimizer.clip_grad_norm([player], params.max_grad_norm)
            if math.isfinite(norms[player]):
                optimizer.step([player], params.learning_rate, betas=params.betas, weight_decay=params.weight_decay)
        optimizer.zero_grad()
        return norms

    def _learns(self) -> BankAdamW:
        if self.optimizer is None:
            raise UsageError("An engine without a bank has nothing to train: give it LoraBank(model, LoraConfig(...)).")
        return self.optimizer

    def _pack(self, data: Batch) -> list[Packed]:
        if data not in self._packed:
            device = next(self.loaded.model.parameters()).device
            self._packed[data] = pack(data, self.slot, self.batch_tokens, device)
        return self._packed[data]

    def _scores(self, packed: Packed, *, base: bool = False) -> Scores:
        model, bank = self.loaded.model, self.bank
        return score(model, packed.pack, packed.kind, bank=bank, temperature=packed.temperature, base=base)

    def _terms(self, packed: Packed, part: Part, scores: Scores) -> Terms:
        def reference() -> torch.Tensor:
            if part.ref is None:
                with torch.no_grad():
                    part.ref = self._scores(packed, base=True).logprobs[part.answer]
            return part.ref

        def magnet() -> torch.Tensor:
            if part.magnet is None:
                with torch.no_grad():
                    table = self._scores(self._magnets(packed)).by_question
                for each in packed.parts:
                    each.magnet = table
            assert part.magnet is not None
            return part.magnet

        return Terms(
            **{field.name: getattr(part, field.name) for field in dataclasses.fields(Given)},
            logprobs=scores.logprobs[part.answer],
            mask=scores.mask[part.answer],
            entropies=scores.entropy[part.answer],
            distributions=scores.by_question,
            hidden=scores.hidden,
            reference=reference,
            magnet=magnet,
        )

    def _magnets(self, packed: Packed) -> Packed:
        """The same questions, to the players' magnets."""
        bank = self._learns().bank
        instead = {bank.slot(part.player): bank.slot(f"{part.player}@magnet") for part in packed.parts}
        slots = packed.pack.slots.clone().apply_(lambda slot: instead.get(slot, slot))
        return packed._replace(pack=dataclasses.replace(packed.pack, slots=slots))

    # -- players ------------------------------------------------------------------------------------------------------

    def add(self, name: str, init_from: str | None = None) -> int:
        """Add a player to the bank; returns its slot."""
        return self._learns().bank.add(name, init_from)

    def remove(self, name: str) -> None:
        """Remove a player from the bank, which gives memory back when most of it is free."""
        bank = self._learns().bank
        bank.remove(name)
        bank.shrink()
        self._packed.clear()  # of decisions of slots

    def copy(self, src: str, dst: str, *, moments: bool = False) -> None:
        """Overwrite the weights of player ``dst`` with those of ``src``; ``moments``: its optimizer's state too."""
        optimizer = self._learns()
        optimizer.bank.copy(src, dst)
        if moments:
            optimizer.copy(src, dst)

    def reset(self, name: str) -> None:
        """Give a player its initial weights again, without moments."""
        self._learns().bank.reset(name)

    def breed(self, child: str, parents: Mapping[str, float], **how: Any) -> None:
        """Overwrite a player with a mixture of others, see ``LoraBank.breed``; it has no moments then."""
        self._learns().bank.breed(child, parents, **how)

    def save(self, name: str, folder: str | os.PathLike[str]) -> None:
        """Write a player as a peft adapter."""
        self._learns().bank.save_peft(name, folder)

    def load(self, name: str, folder: str | os.PathLike[str]) -> None:
        """Overwrite a player with a peft adapter; a new name adds a player."""
        self._learns().bank.load_peft(name, folder)

    def state_dict(self) -> dict[str, Any]:
        """Copies of bank and optimizer."""
        return {"bank": self._learns().bank.state_dict(), "optimizer": self._learns().state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace bank and optimizer by what ``state_dict`` returned; other keys are ignored."""
        self._learns().bank.load_state_dict(state["bank"])
        self._learns().load_state_dict(state["optimizer"])
