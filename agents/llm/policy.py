"""Language models as players: from a turn to an ask, from an answer to a decision.

``LoraPolicy`` is the shared part (prompt template, decoding, the engine that runs the model); an ``LLMAgent`` is one
player of it. A rollout asks all agents of one policy in a single call.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...envs.core import Game
from ...envs.marks import marked, without_thoughts
from ...envs.words import SAY, TextGame
from ...envs.words.talk import TalkGame
from ...errors import ActionError, UsageError
from ..core import Decision, Turn
from ..engines.base import Answer, Ask, Choice, Context, Datum, Form, Free, Trie
from ..engines.local import LocalEngine
from ..engines.protocol import Engine
from .prompts import make_template, stop_token, told_apart
from .scoring.decoding import check_kind
from .scoring.forest import Question

if TYPE_CHECKING:
    from ..bank.bank import LoraBank
    from .models import LoadedModel

__all__ = ["LLMAgent", "LoraPolicy"]

_Key: TypeAlias = tuple[int, str, str, bytes | tuple[str, ...]]
"""Identifies the question of a turn: the game's id(), the player's persona, the text, the mask (in games of words the
messages allowed)."""

_CACHE = 200_000  # the size at which the cache of prompts is emptied


class _Asked(NamedTuple):
    """A turn in tokens: the prompt, the allowed answers, and the action and text of each legal answer, in order."""

    context: Context
    form: Form
    actions: list[int]
    texts: list[str]
    game: Game  # kept alive, so that no other game gets its id()


class _Spoken(NamedTuple):
    """A message: the context with it, what of it is heard, and its record."""

    context: Context
    message: str
    record: Datum


class LoraPolicy:
    """A base model with a bank of adapters, a prompt template and a decoding.

    Args:
        loaded: model and tokenizer.
        bank: the adapters; None plays the base model alone.
        decode: ``choice``, ``constrained`` or ``free``.
        template: ``auto``, ``compact`` or ``chat``.
        temperature: divides the logits; training uses the same number.
        max_new_tokens: the longest free answer.
        batch_tokens: the most tokens of one forward pass.
        think: free decoding only: ask for thoughts before the answer.
        gradient_checkpointing: learn with less memory and more time, see ``LocalEngine``.
        engine: answers instead of the local model, but with the tokens of its tokenizer.

    Attributes:
        personas: player -> a text that stands before the rules, or the position, in whatever that player is asked.

    Raises:
        UnknownName: an unknown decoding or template.
        UsageError: a temperature that isn't positive.
        ModelError: the model's log-probabilities would be wrong (``scoring.passes.serving``).
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
        gradient_checkpointing: bool = False,
        engine: Engine | None = None,
    ) -> None:
        if not temperature > 0:
            raise UsageError(f"temperature is {temperature}; it must be > 0 (play greedily instead of at 0).")
        self.local = LocalEngine(loaded, bank, batch_tokens=batch_tokens, gradient_checkpointing=gradient_checkpointing)
        self.engine: Engine = engine or self.local
        self.loaded, self.bank = loaded, bank
        free = decode == "free"
        self.decode = check_kind(decode)
        self.template = make_template(template, loaded.tokenizer, think=think and free, free=free)
        self.temperature = temperature
        self.stop = stop_token(loaded.tokenizer)
        self.personas: dict[str, str] = {}
        self._free = Free(max_new_tokens, (self.stop,))
        self._asked: dict[_Key, _Asked] = {}

    def question(self, turn: Turn, slot: int) -> Question:
        """The question of a turn: the prompt, and the legal answers in the order of ``turn.answers()``.

        If one legal answer is a prefix of another, every answer ends with the stop token to make them distinct.
        """
        (known,) = self._ask_all([turn], [None])
        return Question(slot, known.context.ids, _candidates(known.form))

    def _form(self, texts: Sequence[str]) -> Form:
        if self.decode == "free":
            return self._free
        answers = told_apart([self.template.answer(text) for text in texts], (self.stop,))
        return Choice(answers) if self.decode == "choice" else Trie(answers)

    def _ask_all(self, turns: Sequence[Turn], players: Sequence[str | None]) -> list[_Asked]:
        """The prompt and answers of every turn, computed once for rows with the same bytes.

        A group of games starts as copies of one position, whose texts would otherwise cost more than the model.
        """
        if len(self._asked) >= _CACHE:
            self._asked.clear()
        seen: dict[tuple[int, str, int, bytes], _Key] = {}
        keys: list[_Key] = []
        fresh: dict[_Key, Turn] = {}
        for turn, player in zip(turns, players, strict=True):
            persona, alike = self.personas.get(player or "", ""), None
            if isinstance(turn.state, np.ndarray):
                alike = (id(turn.game), persona, turn.player, _bytes(turn.state[turn.row]))
                if alike in seen:
                    keys.append(seen[alike])
                    continue
            listed = isinstance(turn.game, TextGame) and self.decode != "free"
            allowed = tuple(_answers(turn)) if listed else turn.mask.tobytes()
            key = (id(turn.game), persona, self.template.text(turn), allowed)  # two games may have the same texts
            if alike is not None:
                seen[alike] = key
            if key not in self._asked:
                fresh[key] = turn
            keys.append(key)
        told = [text for _, _, text, _ in fresh], [persona for _, persona, _, _ in fresh]
        prompts = self.template.encode_all(list(fresh.values()), *told)
        for (key, turn), ids in zip(fresh.items(), prompts, strict=True):
            texts = [] if self.decode == "free" else list(key[3]) if isinstance(key[3], tuple) else _answers(turn)
            actions = [SAY] * len(texts) if isinstance(turn.game, TextGame) else turn.legal_actions
            self._asked[key] = _Asked(Context(ids), self._form(texts), actions, texts, turn.game)
        return [self._asked[key] for key in keys]

    def asked(self) -> list[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]]:
        """Prompt and legal answers of every distinct question in the cache, which is emptied when it is full."""
        return [(known.context.ids, _candidates(known.form)) for known in self._asked.values()]

    def act(
        self,
        turns: Sequence[Turn],
        players: Sequence[str | None],
        *,
        greedy: bool = False,
        explore: Sequence[float] = (),
    ) -> list[Decision]:
        """Answer all turns in one call.

        Args:
            turns: the turns to answer.
            players: the bank's player that answers each (None: the base model).
            greedy: take the likeliest answer (free decoding: the likeliest token each time).
            explore: choice decoding: for each turn the probability of an answer sampled uniformly from the legal ones;
                empty: 0.
        """
        known = self._ask_all(turns, players)
        asks = self._asks(turns, known, players, greedy)
        spoken = self._speak(turns, asks)
        for k, words in spoken.items():
            asks[k] = dataclasses.replace(asks[k], context=words.context)
        said = zip(turns, known, asks, self.engine.sample(asks), explore or [0.0] * len(asks), strict=True)
        made = [self._decision(turn, what, ask, *_tried(ask, answer, p)) for turn, what, ask, answer, p in said]
        for k, words in spoken.items():
            text = f"{words.message} {made[k].text}".lstrip()
            made[k] = dataclasses.replace(made[k], text=text, before=(words.record,))
        return made

    def _speak(self, turns: Sequence[Turn], asks: Sequence[Ask]) -> dict[int, _Spoken]:
        """The messages of turns with a talk channel, said freely before the action is chosen in the same context.

        In free decoding message and action are one answer.
        """
        talking = {
            k: dataclasses.replace(ask, form=self._speech(turn.game), seed=turn.seed.fork(1))
            for k, (turn, ask) in enumerate(zip(turns, asks, strict=True))
            if isinstance(turn.game, TalkGame) and self.decode != "free"
        }
        answers = self.engine.sample(list(talking.values())) if talking else []
        spoken = {}
        for (k, ask), answer in zip(talking.items(), answers, strict=True):
            kept = len(answer.ids) - (answer.stop == "stop")
            context, game = ask.context, turns[k].game
            if kept:
                context = context.extend(answer.ids[:kept], ask.player or "", answer.logprobs[:kept])
            said = answer.text or str(self.loaded.tokenizer.decode(list(answer.ids[:kept]), skip_special_tokens=False))
            message = game.sayable(said, turns[k].player) if isinstance(game, TalkGame) else ""
            spoken[k] = _Spoken(context, message, Datum.of(ask, answer))
        return spoken

    def _speech(self, game: TalkGame) -> Free:
        """A message ends with the stop token, or where the model begins the action's bracket itself."""
        brackets = [self.template.answer(text) for text in ("[", " [")]
        ends = (self.stop, *(ids[0] for ids in brackets if len(ids) == 1))
        return Free(min(self._free.max_tokens, game.length), ends)

    def policy(self, turns: Sequence[Turn], player: str | None, *, greedy: bool = False) -> list[NDArray[np.float64]]:
        """For each turn the probabilities [A] of all actions; in games of words those of ``turn.answers()``.

        Raises:
            UsageError: free decoding or a talk channel, whose distributions over actions can only be sampled, a game of
                words that lists no messages, or an engine that returns no distribution.
        """
        if any(isinstance(turn.game, TalkGame) for turn in turns):
            raise UsageError("A message comes before the action: its distribution is not exact; sample games instead.")
        if self.decode == "free":
            raise UsageError("Free decoding has no exact distribution over actions; sample games instead.")
        known = self._ask_all(turns, [player] * len(turns))
        out = []
        for turn, what, answer in zip(
            turns,
            known,
            self.engine.sample(self._asks(turns, known, [player] * len(turns), greedy)),
            strict=True,
        ):
            if answer.distribution is None:
                raise UsageError(f"{answer.model} gives no probabilities with its answers; sample games instead.")
            words = isinstance(turn.game, TextGame)
            places = range(len(what.texts)) if words else what.actions
            probabilities = np.zeros(len(what.texts) if words else turn.game.info.num_actions)
            if greedy:
                probabilities[places[int(answer.distribution.argmax())]] = 1.0
            else:
                probabilities[places] = np.exp(answer.distribution)
                probabilities /= probabilities.sum()
            out.append(probabilities)
        return out

    def _asks(
        self, turns: Sequence[Turn], known: Sequence[_Asked], players: Sequence[str | None], greedy: bool
    ) -> list[Ask]:
        return [
            Ask(what.context, what.form, player, turn.seed, self.temperature, greedy)
            for turn, what, player in zip(turns, known, players, strict=True)
        ]

    def _decision(self, turn: Turn, what: _Asked, ask: Ask, answer: Answer, explored: bool) -> Decision:
        record = Datum.of(ask, answer, explored)
        if answer.chosen >= 0:
            return Decision(what.actions[answer.chosen], what.texts[answer.chosen], record)
        ids = answer.ids[:-1] if answer.stop == "stop" else answer.ids
        said = answer.text or str(self.loaded.tokenizer.decode(list(ids), skip_special_tokens=False))
        words = isinstance(turn.game, TextGame)
        try:
            if words:
                said = without_thoughts(said)
                said = (marked(said) or said) if self.template.think else said
            return Decision(turn.parse_action(said), said, record)
        except ActionError as error:
            return Decision(None, said, record, {"error": str(error)})


class LLMAgent:
    """One player of a policy.

    Args:
        policy: the policy, shared with other agents.
        player: the bank's player; None plays the base model.
        greedy: take the likeliest answer instead of sampling.
        name: shown in tables; by default the player's name, or the model's id.
        explore: choice decoding: the probability of an answer sampled uniformly from the legal ones.
    """

    def __init__(
        self,
        policy: LoraPolicy,
        player: str | None = None,
        *,
        greedy: bool = False,
        name: str | None = None,
        explore: float = 0.0,
    ) -> None:
        if player is not None and (policy.bank is None or player not in policy.bank.players):
            known = "none" if policy.bank is None else ", ".join(policy.bank.players)
            raise UsageError(f"The bank has no player {player!r}; it has: {known}. Add it first.")
        self.backend, self.player, self.greedy, self.explore = policy, player, greedy, explore
        self.name = name or player or policy.loaded.id

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """Answer every turn."""
        players, explore = [self.player] * len(turns), [self.explore] * len(turns)
        return self.backend.act(turns, players, greedy=self.greedy, explore=explore)

    def policy(self, turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
        """For each turn the probabilities [A] of all actions, without exploration (greedy: 1 for one action).

        Raises:
            UsageError: free decoding, whose distribution over actions can only be sampled.
        """
        return self.backend.policy(turns, self.player, greedy=self.greedy)


def _tried(ask: Ask, answer: Answer, explore: float) -> tuple[Answer, bool]:
    """(answer, False), or in choice decoding with probability ``explore`` (a uniformly sampled candidate, True)."""
    if not explore or ask.greedy or not isinstance(ask.form, Choice) or answer.distribution is None:
        return answer, False
    if ask.seed.uniform(1) >= explore:
        return answer, False
    k = int(ask.seed.uniform(2) * len(ask.form.candidates))
    logprobs = (float(answer.distribution[k]),)
    return dataclasses.replace(answer, ids=ask.form.candidates[k], chosen=k, logprobs=logprobs), True


def _answers(turn: Turn) -> list[str]:
    """All legal answers of a turn; where a message comes first, the actions in brackets.

    Raises:
        UsageError: the game of words lists none.
    """
    if isinstance(turn.game, TalkGame):
        return turn.game.actions_in(turn.state[turn.row], turn.player)
    found = turn.answers()
    if found is None:
        raise UsageError(
            f"{turn.game.info.id} is a game of words, without actions to choose among: models decode freely (free)."
        )
    return found


def _bytes(row: Any) -> bytes:
    """The bytes of all fields of a row, without padding between them, whose content is arbitrary."""
    return b"".join(row[name].tobytes() for name in row.dtype.names) if _padded(row.dtype) else row.tobytes()


@cache
def _padded(dtype: np.dtype[Any]) -> bool:
    """Whether there are gaps between the fields of a row."""
    return dtype.names is not None and dtype.itemsize > sum(dtype[name].itemsize for name in dtype.names)


def _candidates(form: Form) -> tuple[tuple[int, ...], ...]:
    return () if isinstance(form, Free) else form.candidates
