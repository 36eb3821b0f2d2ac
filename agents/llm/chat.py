"""Conversations in tokens: from messages to a context in which no message can forge a turn.

Only the chat template writes special tokens. What a message says is encoded as plain text, even if it spells out
``<|im_end|>``; so the turns of the context are the messages that were given, whoever wrote them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from ...envs.plain import told
from ...errors import UsageError
from ..engines.base import Choice, Context
from .prompts import BYTE_VOCABULARY, plain_ids, stop_token, told_apart

__all__ = ["Chat", "Message", "Messages", "Style", "candidates", "check_messages"]

Message: TypeAlias = dict[str, Any]
"""``role`` (system, user or assistant) and ``content``; a model's own message may have ``ids``, its exact tokens."""

Messages: TypeAlias = list[Message]

Style: TypeAlias = Literal["chat", "compact", "plain"]

ROLES = ("system", "user", "assistant")

_MARK = "\ue000{}\ue001"  # stands for a message's content while the template is rendered


class Chat:
    """Turns messages into contexts, and answers into text.

    Styles: ``chat``, the tokenizer's chat template; ``compact``, bare lines, one for each message, for small models
    that were made for them; ``plain``, the contents alone, for engines that apply a template themselves (a server).

    Args:
        tokenizer: the model's; ``plain`` needs ``encode`` and ``decode`` only.
        style: see above; None: ``compact`` for a byte-level tokenizer, else ``chat``.

    Attributes:
        answer: text -> token ids of it alone. stop: the tokens that end an answer.

    Raises:
        UsageError: ``chat`` with a tokenizer that has no template.
    """

    def __init__(self, tokenizer: Any, style: Style | None = None) -> None:
        if style is None:
            style = "compact" if len(tokenizer) <= BYTE_VOCABULARY or not tokenizer.chat_template else "chat"
        if style == "chat" and not tokenizer.chat_template:
            raise UsageError("The model's tokenizer has no chat template: use the compact one.")
        self.tokenizer, self.style = tokenizer, style
        self.answer: Callable[[str], tuple[int, ...]] = lru_cache(100_000)(self._plain)
        self.stop: tuple[int, ...] = () if style == "plain" else (stop_token(tokenizer),)
        self._special = frozenset(getattr(tokenizer, "all_special_ids", ()))
        self._layout = lru_cache(1000)(self._rendered)

    def context(self, messages: Sequence[Mapping[str, Any]], player: str | None = None) -> Context:
        """The context in which the next message of the assistant is asked for.

        Args:
            messages: at least one; a system message comes first.
            player: the author of the assistant's messages.

        Raises:
            UsageError: a message that is none, or messages without any text.
        """
        check_messages(messages)
        context: Context | None = None
        for ids, by in self._segments(messages, player or "assistant"):
            if ids:
                context = Context(ids, by) if context is None else context.extend(ids, by)
        if context is None:
            raise UsageError("The prompt has no text: give at least one message that says something.")
        return context

    def text(self, ids: Sequence[int]) -> str:
        """The text of an answer, without special tokens."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    def _segments(self, messages: Sequence[Mapping[str, Any]], player: str) -> list[tuple[tuple[int, ...], str]]:
        own = {"system": "system", "user": "game", "assistant": player}
        if self.style == "chat":
            layout = self._layout(tuple(message["role"] for message in messages))
            return [
                (piece, "template")
                if isinstance(piece, tuple)
                else (self._said(messages[piece]), own[messages[piece]["role"]])
                for piece in layout
            ]
        found: list[tuple[tuple[int, ...], str]] = []
        begin = getattr(self.tokenizer, "bos_token_id", None)
        if self.style == "compact" and isinstance(begin, int):
            found.append(((begin,), "template"))
        shown = [m for m in messages if m["content"]]
        for number, message in enumerate(shown):
            text = str(message["content"])
            if self.style == "compact" and len(shown) > 1:
                text = " ".join(text.split("\n"))  # a message is a line, so it can't forge another
            break_after = "\n" if number < len(shown) - 1 else ""
            found.append((self._plain(text + break_after), own[message["role"]]))
        return found

    def _said(self, message: Mapping[str, Any]) -> tuple[int, ...]:
        """A message's tokens: those that the model chose, if known and free of special tokens."""
        ids = tuple(message.get("ids") or ())
        ids = ids[:-1] if ids and ids[-1] in self.stop else ids
        return ids if ids and self._special.isdisjoint(ids) else self._plain(str(message["content"]))

    def _plain(self, text: str) -> tuple[int, ...]:
        """Token ids of a text in which nothing is special; halves of surrogate pairs become question marks."""
        whole = text.encode("utf-8", "replace").decode()
        if not whole:
            return ()
        plain = self.style == "plain"
        return tuple(
            self.tokenizer.encode(whole, add_special_tokens=False) if plain else plain_ids(self.tokenizer, whole)
        )

    def _rendered(self, roles: tuple[str, ...]) -> list[tuple[int, ...] | int]:
        """The template's token ids, with the numbers of messages in the places of their contents."""
        from jinja2.exceptions import TemplateError

        marked = [{"role": role, "content": _MARK.format(k)} for k, role in enumerate(roles)]
        try:
            text = self._template(marked)
        except TemplateError as error:  # no system role: it comes before the first message of the user
            if roles[:2] != ("system", "user"):
                raise UsageError(f"The model's chat template refuses {', '.join(roles)}: {error}") from None
            both = {"role": "user", "content": f"{marked[0]['content']}\n\n{marked[1]['content']}"}
            text = self._template([both, *marked[2:]])
        found: list[tuple[int, ...] | int] = []
        for k in range(len(roles)):
            before, mark, text = text.partition(_MARK.format(k))
            if not mark:
                raise UsageError(f"The model's chat template leaves out message {k} of {', '.join(roles)}.")
            found += [tuple(self.tokenizer.encode(before, add_special_tokens=False)), k]
        return [*found, tuple(self.tokenizer.encode(text, add_special_tokens=False))]

    def _template(self, messages: list[dict[str, str]]) -> str:
        return str(self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))


def check_messages(messages: Sequence[Mapping[str, Any]]) -> None:
    """Check that every message has a known role and a text.

    Raises:
        UsageError: one has not.
    """
    for message in messages:
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            raise UsageError(f"{told(message)} is no message: give a role (system, user, assistant) and a content.")
        if not isinstance(message.get("content"), str):
            raise UsageError(f"A message's content must be a text; {told(message.get('content'))} came.")


def candidates(texts: Sequence[str], chat: Chat) -> Choice:
    """The form of a question with given answers, in their order.

    If one answer is a prefix of another, every answer ends with the stop token to make them distinct.

    Raises:
        UsageError: no answers, an empty one, or two equal ones.
    """
    answers = tuple(chat.answer(text) for text in texts if isinstance(text, str))
    if len(answers) < len(texts) or not answers or not all(answers) or len(set(answers)) < len(answers):
        raise UsageError(f"choices are {list(texts)[:10]}: give at least one text, none empty, all different.")
    return Choice(told_apart(answers, chat.stop))
