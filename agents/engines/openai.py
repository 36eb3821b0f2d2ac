"""An engine behind a server that speaks OpenAI's chat completions: vLLM, llama.cpp, Ollama, a hosted model.

Such servers work on text. A context is sent as messages (segments of the asked player as ``assistant``, those by
``system`` as ``system``, all others as ``user``; neighbours of the same role are joined), and the reply is tokenised
again. Hence

* free form is the server's own sampling; the log-probs are the server's, for *its* tokens, and empty if it returns
  none. Learn from such answers only after scoring the text with the model that learns.
* a choice is requested in words and parsed from the reply. A reply that matches no candidate has ``chosen`` -1 and no
  ids. The log-probs are those of the reply's tokens, and the distribution is unknown.
* tries and all learning are refused.

The request contains the ask's seed; the server may ignore it.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn, Protocol

from ...errors import EngineError, UsageError, needs
from .base import Answer, Ask, Choice, Free, Trie
from .protocol import Description

__all__ = ["OpenAIEngine", "Spelling", "Utf8"]

BUSY = (408, 409, 429, 500, 502, 503, 504)
"""HTTP status codes after which a request is retried."""


class Spelling(Protocol):
    """Converts between text and token ids; tokenizers of transformers fit."""

    def encode(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        """Text to ids."""
        ...

    def decode(self, ids: list[int], *, skip_special_tokens: bool = True) -> str:
        """Ids to text."""
        ...


class Utf8:
    """One token per byte, for contexts without a tokenizer."""

    def encode(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        """Text to bytes."""
        return list(text.encode())

    def decode(self, ids: list[int], *, skip_special_tokens: bool = True) -> str:
        """Bytes to text."""
        return bytes(ids).decode(errors="replace")


class OpenAIEngine:
    """A server's model.

    Args:
        url: of the API, including the version: ``http://localhost:8000/v1``.
        model: its name on the server.
        key: sent as bearer token; ``""``: none.
        spelling: converts between text and the contexts' token ids; None: ``Utf8``.
        seconds: the time limit of one request.
        retries: how often a request is repeated if the server is busy or can't be reached.
        pause: seconds before the first retry; each further pause is twice as long.
        at_once: the most concurrent requests.

    Raises:
        UsageError: the url doesn't start with http:// or https://.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str = "",
        spelling: Spelling | None = None,
        seconds: float = 60.0,
        retries: int = 2,
        pause: float = 0.5,
        at_once: int = 8,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"{url!r} is no server address; it must start with http:// or https://.")
        self.url, self.model, self.spelling = url.rstrip("/"), model, spelling or Utf8()
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._seconds, self._retries, self._pause, self._at_once = seconds, retries, pause, at_once

    def describe(self) -> Description:
        """The model's name; the rest is unknown."""
        return Description(self.model)

    def sample(self, asks: Sequence[Ask]) -> list[Answer]:
        """Answer every ask, each by its own request.

        Raises:
            UsageError: an ask whose form is a trie.
            EngineError: the server can't be reached, takes too long, refuses, or sends an invalid reply.
        """
        answers = []
        for found in self.sample_each(asks):
            if isinstance(found, Exception):
                raise found
            answers.append(found)
        return answers

    def sample_each(self, asks: Sequence[Ask]) -> list[Answer | Exception]:
        """Answer every ask; an error in the place of an answer that failed."""
        with ThreadPoolExecutor(max_workers=max(1, min(self._at_once, len(asks)))) as pool:
            return list(pool.map(self._answer_or_error, asks))

    def _answer_or_error(self, ask: Ask) -> Answer | Exception:
        if isinstance(ask.form, Trie):
            return UsageError("A chat server can't follow a trie of tokens: use choice or free decoding with it.")
        try:
            return self._answer(ask)
        except Exception as error:
            return error

    def _only_answers(self, *_: object, **__: object) -> NoReturn:
        raise UsageError(
            f"{self.url} only answers: it can't score, learn, or hold our players. Learn with a model on this "
            "machine (LocalEngine)."
        )

    score = forward_backward = optim_step = add = remove = copy = save = load = _only_answers
    state_dict = load_state_dict = _only_answers

    def _answer(self, ask: Ask) -> Answer:
        body = {
            "model": self.model,
            "messages": self._messages(ask),
            "temperature": 0.0 if ask.greedy else ask.temperature,
            "seed": ask.seed.integer() >> 33,
            "max_tokens": self._longest(ask),
            "logprobs": True,
        }
        reply = self._post("/chat/completions", body)
        try:
            choice = reply["choices"][0]
            text = str(choice["message"]["content"] or "")
            told = ((choice.get("logprobs") or {}).get("content")) or []
            logprobs = tuple(float(token["logprob"]) for token in told)
            stop = "length" if choice.get("finish_reason") == "length" else "stop"
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise EngineError(f"{self.url} answered {str(reply)[:80]!r}, which is no chat completion.") from error
        model = str(reply.get("model") or self.model)
        if isinstance(ask.form, Free):
            return Answer(tuple(self._encode(text)), logprobs, stop=stop, model=model, text=text)
        assert isinstance(ask.form, Choice)
        said = text.strip().strip("\"'`.")
        chosen = next((k for k, c in enumerate(ask.form.candidates) if self._decode(c) == said), -1)
        ids = ask.form.candidates[chosen] if chosen >= 0 else ()
        return Answer(ids, logprobs, chosen, "", model=model, text=text)

    def _messages(self, ask: Ask) -> list[dict[str, str]]:
        messages: list[dict[str, str]] = []
        for segment in ask.context.segments():
            own = {"system": "system", "assistant": "assistant"}
            role = "assistant" if segment.by == ask.player else own.get(segment.by, "user")
            if messages and messages[-1]["role"] == role:
                messages[-1]["content"] += self._decode(segment.ids)
            else:
                messages.append({"role": role, "content": self._decode(segment.ids)})
        if isinstance(ask.form, Choice):
            words = ", ".join(map(self._decode, ask.form.candidates))
            messages.append({"role": "user", "content": f"Answer with exactly one of these and nothing else: {words}"})
        return messages

    def _longest(self, ask: Ask) -> int:
        if isinstance(ask.form, Free):
            return ask.form.max_tokens
        assert isinstance(ask.form, Choice)
        return 8 + max(len(c) for c in ask.form.candidates)  # the server's tokens differ from ours

    def _encode(self, text: str) -> list[int]:
        return self.spelling.encode(text, add_special_tokens=False)

    def _decode(self, ids: Sequence[int]) -> str:
        return self.spelling.decode(list(ids), skip_special_tokens=True)

    def _post(self, path: str, body: dict[str, object]) -> dict[str, Any]:
        """The server's reply, after retries if necessary."""
        asked = urllib.request.Request(self.url + path, json.dumps(body).encode(), self._headers)
        with needs("Asking a server", "train"):
            from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential
        again = Retrying(
            stop=stop_after_attempt(self._retries + 1),
            wait=wait_exponential(self._pause, max=60.0),
            retry=retry_if_exception_type(_Busy),
            reraise=True,
        )
        try:
            reply: dict[str, Any] = again(self._once, asked)
        except _Busy as busy:
            raise EngineError(self._wrong(str(busy))) from None
        return reply

    def _wrong(self, told: str) -> str:
        return f"{self.url} {told}. Check the address, the key and that the model {self.model!r} is there."

    def _once(self, asked: urllib.request.Request) -> dict[str, Any]:
        """The server's reply to one request; ``_Busy`` if another try may help."""
        try:
            with urllib.request.urlopen(asked, timeout=self._seconds) as response:
                reply = json.loads(response.read())
        except urllib.error.HTTPError as error:
            told = f"answered {error.code}: {error.read(300).decode(errors='replace').strip() or error.reason}"
            raise _Busy(told) if error.code in BUSY else EngineError(self._wrong(told)) from None
        except json.JSONDecodeError as error:
            raise EngineError(f"{self.url} sent a reply that is not JSON ({error}): is it a chat server?") from None
        except TimeoutError:
            raise _Busy(f"took longer than {self._seconds} seconds") from None
        except (urllib.error.URLError, OSError) as error:
            raise _Busy(f"can't be reached ({getattr(error, 'reason', error)})") from None
        if not isinstance(reply, dict):
            raise EngineError(f"{self.url} answered {str(reply)[:80]!r}, which is no chat completion.")
        return reply


class _Busy(Exception):  # never leaves this file
    """A request failed in a way that may pass."""
