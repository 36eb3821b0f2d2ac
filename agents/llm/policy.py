"""Language models as players: one base model, many LoRA adapters, one of three decodings.

``LoraPolicy`` is the shared part (base model, bank, prompt template, decoding); an ``LLMAgent`` is one player of it. A
rollout asks all agents of one policy in a single call, whoever they are: rows are routed to their adapters, equal
prompts are computed once.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ...errors import ActionError, UsageError
from ..core import Decision, Tokens, Turn
from ..seeds import uniforms
from .prompts import answer_text, make_template, stop_token
from .scoring.decoding import check_kind, score
from .scoring.forest import Question, pack_questions
from .scoring.passes import serving

if TYPE_CHECKING:
    from ..bank.bank import LoraBank
    from .models import LoadedModel

__all__ = ["LLMAgent", "LoraPolicy"]

_CACHE = 200_000  # prompts remembered before the memory is emptied


class _Asked(NamedTuple):
    """A turn in tokens: the prompt; every legal answer with its action and its text, in the order of the actions."""

    prompt: tuple[int, ...]
    answers: tuple[tuple[int, ...], ...]
    actions: list[int]
    texts: list[str]


class LoraPolicy:
    """A base model with a bank of adapters, and how it answers.

    Args:
        loaded: model and tokenizer.
        bank: the adapters; None plays the base model alone.
        decode: ``choice``, ``constrained`` or ``free``.
        template: ``auto``, ``compact`` or ``chat``.
        temperature: divides the logits; the same number is used in training.
        max_new_tokens: longest free answer.
        batch_tokens: tokens of one forward pass, at most.
        think: free decoding only: ask for thoughts before the answer.

    Raises:
        UnknownName: an unknown decoding or template.
        UsageError: a temperature that isn't positive.
        ModelError: a model whose log-probabilities would be wrong (``scoring.passes.serving``).
    """

    def __init__(
        self,
        loaded: LoadedModel,
        bank: LoraBank | None = None,
        *,
        decode: str = "choice",
        template: str = "auto",
        temperature: float = 1.0,
        max_new_tokens: int = 64,
        batch_tokens: int = 16384,
        think: bool = False,
    ) -> None:
        if not temperature > 0:
            raise UsageError(f"temperature is {temperature}; it must be > 0 (play greedily instead of at 0).")
        serving(loaded.model, loaded.id)
        self.loaded, self.bank = loaded, bank
        free = decode == "free"
        self.decode = check_kind(decode)
        self.template = make_template(template, loaded.tokenizer, think=think and free, free=free)
        self.temperature = temperature
        self.max_new_tokens = max_new_tokens
        self.batch_tokens = batch_tokens
        self.stop = stop_token(loaded.tokenizer)
        self.forward_tokens = 0
        self._asked: dict[tuple[str, bytes], _Asked] = {}

    @property
    def model(self) -> torch.nn.Module:
        """The base model."""
        return self.loaded.model

    def slot(self, player: str | None) -> int:
        """The bank's slot of a player; -1 for the base model alone."""
        return -1 if player is None or self.bank is None else self.bank.players[player]

    def question(self, turn: Turn, slot: int) -> Question:
        """What the model is asked in a turn: prompt, and the legal answers in the order of ``turn.legal_actions``.

        If one legal answer begins another, every answer ends with the stop token, so that both can be told apart.
        """
        known = self._ask(turn)
        return Question(slot, known.prompt, known.answers)

    def _ask(self, turn: Turn) -> _Asked:
        text, mask = self.template.text(turn), turn.mask.tobytes()
        known = self._asked.get((text, mask))
        if known is None:
            actions = turn.legal_actions
            texts = [turn.action_to_text(a) for a in actions]
            answers: tuple[tuple[int, ...], ...] = ()
            if self.decode != "free":
                answers = tuple(map(self.template.answer, texts))
                if _not_prefix_free(answers):
                    answers = tuple((*a, self.stop) for a in answers)
            known = _Asked(self.template.encode(turn, text), answers, actions, texts)
            if len(self._asked) >= _CACHE:
                self._asked.clear()
            self._asked[(text, mask)] = known
        return known

    def _ask_all(self, turns: Sequence[Turn]) -> list[_Asked]:
        """What every turn asks; games that stand alike to the last byte are looked at once.

        A group begins as so many copies of one position: its texts would cost more than the model.
        """
        seen: dict[tuple[int, int, bytes], _Asked] = {}
        out = []
        for turn in turns:
            if not isinstance(turn.state, np.ndarray):
                out.append(self._ask(turn))
                continue
            key = (id(turn.game), turn.player, _bytes(turn.state[turn.row]))
            known = seen.get(key)
            if known is None:
                known = seen[key] = self._ask(turn)
            out.append(known)
        return out

    def asked(self) -> list[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]]:
        """Prompt and legal answers of every different question so far (the memory is emptied when it is full)."""
        return [(known.prompt, known.answers) for known in self._asked.values()]

    def distributions(self, questions: Sequence[Question]) -> tuple[NDArray[np.float64], list[NDArray[np.float32]]]:
        """Log-probabilities of all answers of distinct questions (choice and constrained).

        Returns:
            [Q, C] log-probability of each whole answer (-inf: none there), and for each question its answers' log-probs
            [C, T] a token.
        """
        widest = max(len(q.answers) for q in questions)
        table = np.full((len(questions), widest), -np.inf)
        tokens: list[NDArray[np.float32]] = [np.zeros((0, 0), np.float32)] * len(questions)
        with torch.no_grad():
            for pack in pack_questions(questions, batch_tokens=self.batch_tokens):
                self.forward_tokens += pack.tokens
                scores = score(self.model, pack, self.decode, bank=self.bank, temperature=self.temperature)
                table[pack.questions, : scores.by_question.shape[1]] = scores.by_question.double().cpu().numpy()
                each = scores.logprobs.cpu().numpy()
                answers = pack.question_answers.numpy()
                for k, q in enumerate(pack.questions):
                    tokens[q] = each[answers[k][answers[k] >= 0]]
        return table, tokens

    def act(
        self,
        turns: Sequence[Turn],
        players: Sequence[str | None],
        *,
        greedy: bool = False,
    ) -> list[Decision]:
        """Answer all turns in one go.

        Args:
            turns: who is asked what.
            players: the bank's player that answers each (None: the base model).
            greedy: take the likeliest answer (free decoding: the likeliest token each time).
        """
        if not turns:
            return []
        known = self._ask_all(turns)
        slots = {player: self.slot(player) for player in set(players)}
        if self.decode == "free":
            asked = [Question(slots[p], a.prompt, a.answers) for a, p in zip(known, players, strict=True)]
            return self._act_free(turns, players, asked, greedy)
        questions, index = _distinct(known, [slots[player] for player in players])
        table, tokens = self.distributions(questions)
        if greedy:
            chosen = table.argmax(1)[index]
        else:
            cumulative = np.exp(table).cumsum(1)
            cumulative /= cumulative[:, -1:]
            drawn = uniforms([turn.seed for turn in turns])
            chosen = (cumulative[index] <= drawn).sum(1)
        decisions = []
        for what, player, q, k in zip(known, players, index.tolist(), chosen.tolist(), strict=True):
            answer = what.answers[k]
            logprobs = tokens[q][k][: 1 if self.decode == "choice" else len(answer)]
            record = self._record(questions[q], player, answer, tuple(logprobs.tolist()), chosen=k)
            decisions.append(Decision(what.actions[k], what.texts[k], record))
        return decisions

    def _record(
        self,
        question: Question,
        player: str | None,
        completion: tuple[int, ...],
        logprobs: tuple[float, ...],
        *,
        chosen: int = -1,
        stop: str = "",
    ) -> Tokens:
        version = 0 if player is None or self.bank is None else self.bank.versions[player]
        return Tokens(
            prompt=question.prompt,
            completion=completion,
            logprobs=logprobs,
            kind=self.decode,
            candidates=question.answers,
            chosen=chosen,
            temperature=self.temperature,
            lora=player or "",
            version=version,
            model=self.loaded.id,
            stop=stop,
        )

    def _act_free(
        self,
        turns: Sequence[Turn],
        players: Sequence[str | None],
        asked: Sequence[Question],
        greedy: bool,
    ) -> list[Decision]:
        from .scoring.generation import generate

        made = generate(
            self.model,
            self.bank,
            [q.prompt for q in asked],
            [q.slot for q in asked],
            max_new_tokens=self.max_new_tokens,
            stop_ids=(self.stop,),
            temperature=self.temperature,
            seeds=[turn.seed for turn in turns],
            greedy=greedy,
        )
        decisions = []
        self.forward_tokens += made.fed
        for k, (turn, player, question) in enumerate(zip(turns, players, asked, strict=True)):
            ids, stop = made.tokens[k], made.stop[k]
            said = str(self.loaded.tokenizer.decode(ids[:-1] if stop == "stop" else ids, skip_special_tokens=False))
            record = self._record(question, player, tuple(ids), tuple(made.logprobs[k]), stop=stop)
            try:
                action: int | None = turn.parse_action(answer_text(said))
                decisions.append(Decision(action, said, record))
            except ActionError as error:
                decisions.append(Decision(None, said, record, {"error": str(error)}))
        return decisions


class LLMAgent:
    """One player of a policy.

    Args:
        policy: who it shares the model with.
        player: the bank's player; None plays the base model.
        greedy: the likeliest answer instead of sampling.
        name: shown in tables; the player's name by default.
    """

    def __init__(
        self, policy: LoraPolicy, player: str | None = None, *, greedy: bool = False, name: str | None = None
    ) -> None:
        if player is not None and (policy.bank is None or player not in policy.bank.players):
            known = "none" if policy.bank is None else ", ".join(policy.bank.players)
            raise UsageError(f"The bank has no player {player!r}; it has: {known}. Add it first.")
        self.backend, self.player, self.greedy = policy, player, greedy
        self.name = name or player or policy.loaded.id

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """Answer every turn."""
        return self.backend.act(turns, [self.player] * len(turns), greedy=self.greedy)

    def policy(self, turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
        """The policy itself: for each turn the probability [A] of every action (greedy: all on one).

        Raises:
            UsageError: free decoding; its distribution over actions can only be sampled.
        """
        if self.backend.decode == "free":
            raise UsageError("Free decoding has no distribution over actions that could be written down; sample games.")
        if not turns:
            return []
        known = self.backend._ask_all(turns)
        questions, index = _distinct(known, [self.backend.slot(self.player)] * len(turns))
        table, _ = self.backend.distributions(questions)
        out = []
        for turn, what, q in zip(turns, known, index.tolist(), strict=True):
            probabilities = np.zeros(turn.game.info.num_actions)
            legal = what.actions
            if self.greedy:
                probabilities[legal[int(table[q].argmax())]] = 1.0
            else:
                probabilities[legal] = np.exp(table[q, : len(legal)])
                probabilities /= probabilities.sum()
            out.append(probabilities)
        return out


def _bytes(row: Any) -> bytes:
    """All fields of a structured row; bytes between them, where there are any, are whatever stood there before."""
    return b"".join(row[name].tobytes() for name in row.dtype.names) if row.dtype.names else row.tobytes()


def _distinct(known: Sequence[_Asked], slots: Sequence[int]) -> tuple[list[Question], NDArray[np.int64]]:
    """The different questions among those asked, and the number of each one's."""
    numbers: dict[Question, int] = {}
    by_identity: dict[tuple[int, int], int] = {}  # equal questions are mostly one object, and tuples hash slowly
    index = np.empty(len(known), np.int64)
    for k, (what, slot) in enumerate(zip(known, slots, strict=True)):
        at = by_identity.get((id(what), slot))
        if at is None:
            at = numbers.setdefault(Question(slot, what.prompt, what.answers), len(numbers))
            by_identity[(id(what), slot)] = at
        index[k] = at
    return list(numbers), index


def _not_prefix_free(answers: Sequence[tuple[int, ...]]) -> bool:
    """Whether some answer begins another."""
    ordered = sorted(answers)
    return any(b[: len(a)] == a for a, b in itertools.pairwise(ordered))
