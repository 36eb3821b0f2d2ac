"""The engine that asks a chat server, against a stand-in that this file runs in a thread."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from coterie.agents.engines.base import Ask, Choice, Context, Free, Trie
from coterie.agents.engines.openai import OpenAIEngine, Utf8
from coterie.agents.seeds import Seed
from coterie.errors import EngineError, UsageError

WORDS = Choice(tuple(tuple(word.encode()) for word in ("rock", "paper", "scissors")))


class Server:
    """Says what ``reply`` makes of a request: text, (status, text), or raw bytes."""

    def __init__(self):
        self.requests, self.reply = [], lambda body: "hello"
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((self.path, dict(self.headers), body))
                said = outer.reply(body)
                status, said = said if isinstance(said, tuple) else (200, said)
                if isinstance(said, str) and status == 200:
                    told = [{"token": word, "logprob": -0.5 * k} for k, word in enumerate(said.split())]
                    choice = {"message": {"content": said}, "finish_reason": "stop", "logprobs": {"content": told}}
                    said = json.dumps({"model": "stand-in", "choices": [choice]})
                data = said if isinstance(said, bytes) else said.encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with contextlib.suppress(BrokenPipeError):  # whoever asked did not wait
                    self.wfile.write(data)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def server():
    made = Server()
    yield made
    made.server.shutdown()
    made.server.server_close()


def ask(text="Say something.", form=Free(20), **more):  # noqa: B008
    return Ask(Context(Utf8().encode(text)), form, "ann", Seed(1, 2), **more)


def test_free_answers_are_the_servers(server):
    server.reply = lambda body: "good day"
    engine = OpenAIEngine(server.url, "m", key="secret")
    (answer,) = engine.sample([ask(temperature=0.7)])
    assert (answer.text, bytes(answer.ids).decode(), answer.stop) == ("good day", "good day", "stop")
    assert (answer.logprobs, answer.chosen, answer.model) == ((0.0, -0.5), -1, "stand-in")
    path, headers, body = server.requests[0]
    assert (path, headers["Authorization"]) == ("/v1/chat/completions", "Bearer secret")
    assert (body["temperature"], body["max_tokens"], body["model"]) == (0.7, 20, "m")
    assert body["messages"] == [{"role": "user", "content": "Say something."}]
    engine.sample([ask(greedy=True)])
    assert server.requests[1][2]["temperature"] == 0.0
    assert server.requests[1][2]["seed"] == body["seed"]


def test_a_conversation_goes_there_as_messages(server):
    engine, spell = OpenAIEngine(server.url, "m"), Utf8().encode
    context = Context(spell("Hi.")).extend(spell("Hm."), by="ann").extend(spell("And"), by="bob")
    engine.sample([Ask(context.extend(spell(" now?"), by="game"), Free(5), "ann", Seed(0, 0))])
    said = [(m["role"], m["content"]) for m in server.requests[0][2]["messages"]]
    assert said == [("user", "Hi."), ("assistant", "Hm."), ("user", "And now?")]


def test_a_choice_is_asked_for_and_read(server):
    server.reply = lambda body: "'paper'." if "rock, paper, scissors" in body["messages"][-1]["content"] else "?"
    (answer,) = OpenAIEngine(server.url, "m").sample([ask(form=WORDS)])
    assert (answer.chosen, bytes(answer.ids), answer.distribution) == (1, b"paper", None)
    server.reply = lambda body: "lizard"
    (other,) = OpenAIEngine(server.url, "m").sample([ask(form=WORDS)])
    assert (other.chosen, other.ids, other.text) == (-1, (), "lizard")
    with pytest.raises(UsageError, match="can't follow a trie"):
        OpenAIEngine(server.url, "m").sample([ask(form=Trie(WORDS.candidates))])


def test_answers_stand_in_the_order_of_the_asks(server):
    def reply(body):
        text = body["messages"][0]["content"]
        time.sleep(0.01 * (int(text) % 3))
        return f"got {text}"

    server.reply = reply
    answers = OpenAIEngine(server.url, "m", at_once=4).sample([ask(str(k)) for k in range(12)])
    assert [answer.text for answer in answers] == [f"got {k}" for k in range(12)]
    assert OpenAIEngine(server.url, "m").sample([]) == []


def test_busy_servers_are_asked_again(server):
    said = iter([(503, "busy"), (429, "slow down"), "here"])
    server.reply = lambda body: next(said)
    (answer,) = OpenAIEngine(server.url, "m", pause=0).sample([ask()])
    assert (answer.text, len(server.requests)) == ("here", 3)


@pytest.mark.parametrize(
    ("reply", "requests", "message"),
    [
        ((503, "busy"), 3, r"answered 503: busy\. Check the address, the key and that the model 'm' is there"),
        ((401, "no such key"), 1, "answered 401: no such key"),
        (b"<html>", 1, "sent a reply that is not JSON"),
        (b"[1]", 1, r"answered '\[1\]', which is no chat completion"),
        (b'{"choices": []}', 1, "which is no chat completion"),
    ],
)
def test_what_goes_wrong_is_one_sentence(server, reply, requests, message):
    server.reply = lambda body: reply
    with pytest.raises(EngineError, match=message):
        OpenAIEngine(server.url, "m", pause=0).sample([ask()])
    assert len(server.requests) == requests


def test_servers_that_are_slow_or_away(server):
    gate = threading.Event()
    server.reply = lambda body: gate.wait(5) and "late"
    with pytest.raises(EngineError, match=r"took longer than 0\.05 seconds"):
        OpenAIEngine(server.url, "m", seconds=0.05, retries=0).sample([ask()])
    gate.set()
    with pytest.raises(EngineError, match="can't be reached"):
        OpenAIEngine("http://127.0.0.1:1/v1", "m", retries=0).sample([ask()])
    with pytest.raises(UsageError, match="'localhost' is no server address"):
        OpenAIEngine("localhost", "m")


def test_one_failed_request_leaves_the_others_their_answers(server):
    server.reply = lambda body: (400, "too long") if body["messages"][0]["content"] == "1" else "fine"
    found = OpenAIEngine(server.url, "m").sample_each([ask(str(k)) for k in range(3)])
    assert [getattr(answer, "text", "") for answer in found] == ["fine", "", "fine"]
    assert isinstance(found[1], EngineError)


def test_the_systems_words_go_there_as_such(server):
    spell = Utf8().encode
    context = Context(spell("Be brief."), by="system").extend(spell("Hi."), by="game")
    OpenAIEngine(server.url, "m").sample([Ask(context, Free(5), None, Seed(0, 0))])
    said = [(m["role"], m["content"]) for m in server.requests[0][2]["messages"]]
    assert said == [("system", "Be brief."), ("user", "Hi.")]
