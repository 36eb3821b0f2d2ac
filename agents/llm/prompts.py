"""Prompt templates: from a turn to token ids, and from a free completion to its answer.

Two templates, both using only the game's text face:

* ``compact``: the game's shortest unambiguous line, directly followed by the answer. For small models.
* ``chat``: the model's own chat template; the rules as the system message, the position and the legal actions as the
  user message.

What a game tells may hold messages of other players. Special tokens that are spelt out in it are encoded as ordinary
text, so that no message can forge a turn of the conversation.

With ``think`` (free decoding) the chat template asks for thoughts first and a last line ``Answer: <action>``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ...envs.words.talk import TalkGame
from ...errors import UnknownName
from ..core import Turn

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["TEMPLATES", "Template", "chat_ids", "make_template", "plain_ids", "stop_token", "told_apart"]

TEMPLATES = ("auto", "compact", "chat")
BYTE_VOCABULARY = 512
"""A tokenizer of at most this many tokens is taken to be byte-level, and its model to be made for the compact line."""

_CACHE = 100_000
"""The size at which the cache of answers is emptied."""


def stop_token(tokenizer: PreTrainedTokenizerBase) -> int:
    """The token that ends an answer: the one that the chat template puts after an assistant message, else eos.

    For a tokenizer without either it is the last id, which is rarely sampled.
    """
    if tokenizer.chat_template:
        shown = chat_ids(tokenizer, [{"role": "user", "content": "x"}], generation=True)
        whole = chat_ids(
            tokenizer, [{"role": "user", "content": "x"}, {"role": "assistant", "content": "x"}], generation=False
        )
        answer = tokenizer.encode("x", add_special_tokens=False)
        behind = len(shown) + len(answer)
        if whole[:behind] == shown + answer and len(whole) > behind:
            return whole[behind]
    eos = tokenizer.eos_token_id
    return int(eos) if isinstance(eos, int) else len(tokenizer) - 1


def chat_ids(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Mapping[str, str]], *, generation: bool
) -> list[int]:
    """Token ids of a conversation in the model's chat template.

    Special tokens that are spelt out in a message become ordinary text, so that no message can end its own turn or
    begin another one.

    Args:
        tokenizer: the model's, with a chat template.
        messages: each with ``role`` and ``content``.
        generation: append the beginning of an assistant's answer.
    """
    contents = [message["content"] for message in messages]
    forged = any(map(_special(tokenizer).search, contents))
    # Marks take the place of the contents, so that template and contents can be told apart in the rendered text.
    marks = [f"{_MARK}{k}{_MARK}" for k in range(len(contents))]
    shown = [{**m, "content": mark if forged else m["content"]} for m, mark in zip(messages, marks, strict=True)]
    text: Any = tokenizer.apply_chat_template(shown, tokenize=False, add_generation_prompt=generation)
    if not forged:
        return list(tokenizer.encode(text, add_special_tokens=False))
    ids: list[int] = []
    for k, part in enumerate(re.split(f"{_MARK}([0-9]+){_MARK}", text)):
        ids += plain_ids(tokenizer, contents[int(part)]) if k % 2 else tokenizer.encode(part, add_special_tokens=False)
    return ids


def plain_ids(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """Token ids of a text; special tokens that are spelt out in it become ordinary text."""
    return list(tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True))


_MARK = "x7q5"
"""Stands around the number of a message in a rendered conversation."""


_SPECIAL: WeakKeyDictionary[PreTrainedTokenizerBase, re.Pattern[str]] = WeakKeyDictionary()


def _special(tokenizer: PreTrainedTokenizerBase) -> re.Pattern[str]:
    """Finds special tokens that are spelt out in a text."""
    if tokenizer not in _SPECIAL:
        added = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
        names = sorted(added.union(tokenizer.all_special_tokens), key=len, reverse=True)
        _SPECIAL[tokenizer] = re.compile("|".join(map(re.escape, names)) or "(?!)")
    return _SPECIAL[tokenizer]


def told_apart(answers: Sequence[tuple[int, ...]], stop: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The answers; if one is a prefix of another, every answer ends with the stop token to make them distinct."""
    ordered = sorted(answers)
    if any(b[: len(a)] == a for a, b in itertools.pairwise(ordered)):
        return tuple((*answer, *stop) for answer in answers)
    return tuple(answers)


@dataclass(frozen=True)
class Template:
    """Turn -> text -> token ids.

    Attributes:
        name: ``compact`` or ``chat``.
        tokenizer: the model's.
        think: ask for thoughts before the answer (``chat`` with free decoding).
    """

    name: str
    tokenizer: PreTrainedTokenizerBase
    think: bool = False
    _answers: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)

    def text(self, turn: Turn) -> str:
        """The part of the prompt that depends on the turn."""
        return turn.compact() if self.name == "compact" else turn.describe()

    def encode(self, turn: Turn, text: str) -> tuple[int, ...]:
        """Token ids of the whole prompt."""
        return self.encode_all([turn], [text])[0]

    def encode_all(
        self, turns: Sequence[Turn], texts: Sequence[str], personas: Sequence[str] = ()
    ) -> list[tuple[int, ...]]:
        """``encode`` for many turns in one call of the tokenizer; a call costs as much as a dozen short texts.

        ``personas`` stand before all else, one for each turn; empty: none.
        """
        personas = personas or [""] * len(texts)
        if self.name == "compact" and texts:
            texts = [f"{persona}\n{text}" if persona else text for persona, text in zip(personas, texts, strict=True)]
            start = self.tokenizer.bos_token_id
            begin = (start,) if isinstance(start, int) else ()
            found = self.tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True)["input_ids"]
            return [(*begin, *ids) for ids in found]
        return [self._instructed(*told) for told in zip(turns, texts, personas, strict=True)]

    def _instructed(self, turn: Turn, text: str, persona: str) -> tuple[int, ...]:
        if self.think:
            ask = "Think briefly, then end with one line: Answer: <action>."
        elif isinstance(turn.game, TalkGame):
            ask = "Answer with a short message to the others, then one legal action in brackets."
        else:
            ask = "Answer with one legal action and nothing else."
        rules, question = turn.game.rules, f"{text}\n{ask}"
        rules = f"{persona}\n\n{rules}" if persona else rules
        if self.tokenizer.chat_template:
            return tuple(self._chat(rules, question))
        return tuple(self.tokenizer.encode(f"{rules}\n\n{question}\n", split_special_tokens=True))

    def _chat(self, rules: str, question: str) -> list[int]:
        """The rules as system message, or before the question if the chat template has no system role."""
        from jinja2.exceptions import TemplateError

        user = {"role": "user", "content": question}
        try:
            return chat_ids(self.tokenizer, [{"role": "system", "content": rules}, user], generation=True)
        except TemplateError:
            both = {"role": "user", "content": f"{rules}\n\n{question}"}
            return chat_ids(self.tokenizer, [both], generation=True)

    def answer(self, text: str) -> tuple[int, ...]:
        """Token ids of an action's text alone; cached, since few different texts occur."""
        known = self._answers.get(text)
        if known is None:
            if len(self._answers) >= _CACHE:
                self._answers.clear()
            known = self._answers[text] = tuple(plain_ids(self.tokenizer, text))
        return known


def make_template(
    name: str, tokenizer: PreTrainedTokenizerBase, *, think: bool = False, free: bool = False
) -> Template:
    """Build a template.

    ``auto`` means ``chat`` with ``think``, or for free decoding unless the tokenizer is byte-level; otherwise it means
    ``compact``: with given answers (choice, constrained) a model needs no instructions, and a line of a dozen tokens
    instead of a hundred is an order of magnitude cheaper.

    Args:
        name: ``auto``, ``compact`` or ``chat``.
        tokenizer: the model's.
        think: ask for thoughts before the answer.
        free: whether the answer is decoded freely.

    Raises:
        UnknownName: no template has this name.
    """
    if name not in TEMPLATES:
        raise UnknownName("prompt template", name, TEMPLATES)
    if name == "auto":
        name = "chat" if think or (free and len(tokenizer) > BYTE_VOCABULARY) else "compact"
    return Template(name, tokenizer, think)
