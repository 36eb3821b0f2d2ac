"""From prompts to questions for a model, and from its answers to responses: what the arena and its models share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ...agents.engines.base import Answer, Form, Free
from ...agents.engines.batcher import Batcher
from ...agents.engines.openai import Utf8
from ...agents.engines.protocol import Engine
from ...agents.llm.chat import Chat, Style, candidates, check_messages
from ...envs.plain import told
from ...errors import UsageError
from .records import Messages, ModelResponse, Step

__all__ = ["Model", "Prompt", "bare", "form_of", "messages_of", "response_of", "tell"]

Prompt: TypeAlias = str | Messages
"""A text (said by the user), or messages."""


class Model:
    """A model that roles and oracles can ask.

    Attributes:
        engine: answers. chat: turns messages into contexts. batcher: collects questions.
        longest: the longest context, in tokens.
    """

    def __init__(self, policy: Any, style: Style | None = None) -> None:
        loaded = getattr(policy, "loaded", None)
        self.engine: Engine = policy.engine if loaded is not None else policy
        spelling = getattr(self.engine, "spelling", None) or Utf8()
        self.chat = Chat(spelling, "plain") if loaded is None else Chat(loaded.tokenizer, style)
        self.batcher = Batcher(self.engine)
        config = None if loaded is None else loaded.model.config
        self.longest = int(getattr(config, "max_position_embeddings", 0) or 1 << 17)


def messages_of(prompt: Prompt, system: str) -> Messages:
    """The messages of a prompt, the system prompt first unless they begin with one.

    Raises:
        UsageError: neither a text nor messages.
    """
    if not isinstance(prompt, str | Sequence):
        raise UsageError(f"A prompt is a text or a list of messages; {told(prompt)} came.")
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    check_messages(messages)
    first = messages[0]["role"] if messages else ""
    return [{"role": "system", "content": system}, *messages] if system and first != "system" else messages


def bare(messages: Messages) -> Messages:
    """Messages without their tokens."""
    return [{"role": m["role"], "content": m["content"]} for m in messages]


def tell(step: Step, response: ModelResponse, choices: Sequence[str] | None) -> None:
    """Write an answer into its step."""
    step.text, step.chosen, step.probabilities = response.text, response.chosen, response.probabilities
    step.choices = list(choices or ())


def form_of(chat: Chat, choices: Sequence[str] | None, max_tokens: int) -> Form:
    """The answers that are allowed: one of the choices, or any of so many tokens."""
    return Free(max_tokens, chat.stop) if choices is None else candidates(choices, chat)


def response_of(chat: Chat, answer: Answer, choices: Sequence[str] | None) -> ModelResponse:
    """An answer as episodes see it."""
    if choices is not None:
        shares = [] if answer.distribution is None else np.exp(answer.distribution).tolist()
        text = choices[answer.chosen] if answer.chosen >= 0 else answer.text
        return ModelResponse(text, answer.chosen, shares, "", answer.ids)
    return ModelResponse(answer.text or chat.text(answer.ids), stop=answer.stop, ids=answer.ids)
