"""Prompt templates: from a turn to token ids, and from a free completion to its answer.

Two templates, both using only the game's text face:

* ``compact``: the game's shortest unambiguous line, directly followed by the answer. For small models.
* ``chat``: the model's own chat template; the rules as the system message, the position and the legal actions as the
  user message.

With ``think`` (free decoding) the chat template asks for thoughts first and a last line ``Answer: <action>``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import UnknownName
from ..core import Turn

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["TEMPLATES", "Template", "answer_text", "make_template", "stop_token"]

TEMPLATES = ("auto", "compact", "chat")
BYTE_VOCABULARY = 512
"""A tokenizer of at most this many tokens is taken to be byte-level, and its model to be made for the compact line."""

_CACHE = 100_000
"""The size at which the cache of answers is emptied."""

_ANSWER = re.compile(r"answer\s*:\s*(.*)", re.IGNORECASE)


def stop_token(tokenizer: PreTrainedTokenizerBase) -> int:
    """The token that ends an answer: the one that the chat template puts after an assistant message, else eos.

    For a tokenizer without either it is the last id, which is rarely sampled.
    """
    if tokenizer.chat_template:
        shown = _chat_ids(tokenizer, [{"role": "user", "content": "x"}], generation=True)
        whole = _chat_ids(
            tokenizer, [{"role": "user", "content": "x"}, {"role": "assistant", "content": "x"}], generation=False
        )
        answer = tokenizer.encode("x", add_special_tokens=False)
        behind = len(shown) + len(answer)
        if whole[:behind] == shown + answer and len(whole) > behind:
            return whole[behind]
    eos = tokenizer.eos_token_id
    return int(eos) if isinstance(eos, int) else len(tokenizer) - 1


def _chat_ids(tokenizer: PreTrainedTokenizerBase, messages: list[dict[str, str]], *, generation: bool) -> list[int]:
    text: Any = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=generation)
    return list(tokenizer.encode(text, add_special_tokens=False))


def answer_text(completion: str) -> str:
    """The answer in a free completion: the rest of the line after the last ``Answer:``, else the whole completion."""
    found = _ANSWER.findall(completion)
    return str(found[-1] if found else completion).strip(" \t\r\n.*`'\"")


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

    def encode_all(self, turns: Sequence[Turn], texts: Sequence[str]) -> list[tuple[int, ...]]:
        """``encode`` for many turns in one call of the tokenizer; a call costs as much as a dozen short texts."""
        if self.name == "compact" and texts:
            start = self.tokenizer.bos_token_id
            begin = (start,) if isinstance(start, int) else ()
            return [(*begin, *ids) for ids in self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]]
        return [self._instructed(turn, text) for turn, text in zip(turns, texts, strict=True)]

    def _instructed(self, turn: Turn, text: str) -> tuple[int, ...]:
        if self.think:
            ask = "Think briefly, then end with one line: Answer: <action>."
        else:
            ask = "Answer with one legal action and nothing else."
        rules, question = turn.game.rules, f"{text}\n{ask}"
        if self.tokenizer.chat_template:
            return tuple(self._chat(rules, question))
        return tuple(self.tokenizer.encode(f"{rules}\n\n{question}\n"))

    def _chat(self, rules: str, question: str) -> list[int]:
        """The rules as system message, or before the question if the chat template has no system role."""
        from jinja2.exceptions import TemplateError

        user = {"role": "user", "content": question}
        try:
            return _chat_ids(self.tokenizer, [{"role": "system", "content": rules}, user], generation=True)
        except TemplateError:
            both = {"role": "user", "content": f"{rules}\n\n{question}"}
            return _chat_ids(self.tokenizer, [both], generation=True)

    def answer(self, text: str) -> tuple[int, ...]:
        """Token ids of an action's text alone; cached, since few different texts occur."""
        known = self._answers.get(text)
        if known is None:
            if len(self._answers) >= _CACHE:
                self._answers.clear()
            known = self._answers[text] = tuple(self.tokenizer.encode(text, add_special_tokens=False))
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
