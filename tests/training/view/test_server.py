"""Games and runs over the socket of the server of ``coterie view``."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from coterie.agents.core import Decision, Turn
from coterie.agents.human.browser import PageGame
from coterie.agents.human.clock import Clock
from coterie.agents.human.table import Match
from coterie.envs.core import Times
from coterie.envs.registry import make_game
from coterie.envs.replay.file import write_json
from coterie.errors import UsageError
from coterie.training.runs.players import make_player

pytest.importorskip("starlette")
from starlette.websockets import WebSocketDisconnect

from coterie.training.view import rooms
from coterie.training.view.app import application
from coterie.training.view.run import RunPage

from .client import HOSTS, OWN, client, host, show, until

# -- games -------------------------------------------------------------------------------------------------------------


def test_a_game_is_played_to_its_end() -> None:
    with client() as browser, browser.websocket_connect("/play", headers=OWN) as socket:
        data = until(socket, lambda data: data["session"])
        assert data["players"] == ["human", "minimax"]
        while not data["over"]:
            action = min(map(int, data["cells"]))
            socket.send_json({"do": "act", "version": data["version"], "action": action})
            data = until(socket, lambda data: data["over"] or (data["seat"] == 0 and len(data["moves"]) % 2 == 0))
        assert data["status"] in ("You lose.", "A draw.")
        assert len(data["moves"]) >= 5


def test_undo_resign_and_a_new_game() -> None:
    with client() as browser, browser.websocket_connect("/play", headers=OWN) as socket:
        begun = until(socket, lambda data: data["seat"] == 0)
        socket.send_json({"do": "act", "version": begun["version"], "action": 4})
        until(socket, lambda data: len(data["moves"]) == 2)
        socket.send_json({"do": "undo"})
        assert until(socket, lambda data: not data["moves"])["status"] == "Your move"
        socket.send_json({"do": "resign"})
        assert until(socket, lambda data: data["over"])["status"] == "You lose. player_0 (human) resigns."
        socket.send_json({"do": "new", "players": ["random", "human"]})
        data = until(socket, lambda data: data["seat"] == 1)
        assert data["players"] == ["random", "human"]
        assert len(data["moves"]) == 1


def test_a_person_on_the_page_loses_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, passed = time.monotonic, [0]
    monkeypatch.setattr("time.monotonic", lambda: now() + passed[0])
    app = application(show(), HOSTS, host=host(times=Times(600)))
    with client(app) as browser, browser.websocket_connect("/play", headers=OWN) as socket:
        begun = until(socket, lambda data: data["seat"] == 0)
        assert begun["running"]
        assert begun["clock"][1] == 600 >= begun["clock"][0]
        flagged = threading.Event()

        def think() -> None:  # again and again, since time counts only from the server's first look at the clock on
            while not flagged.wait(0.05):
                passed[0] += 600

        thinking = threading.Thread(target=think)
        thinking.start()
        try:
            data = until(socket, lambda data: data["over"])
        finally:
            flagged.set()
            thinking.join()
        assert data["status"] == "You lose. player_0 (human) ran out of time."
        assert (data["clock"], data["running"]) == ([0, 600], False)
        socket.send_json({"do": "save", "name": ".json"})
        saved = until(socket, lambda data: True, "file")["text"]
        socket.send_json({"do": "new"})
        assert until(socket, lambda data: not data["over"])["clock"][0] > 300
    assert json.loads(saved)["clock"]["flagged"] == 0


def test_a_file_continues_on_its_clock() -> None:
    game = make_game("tictactoe")
    match = Match(game, ["a", "b"], 0, clock=Clock(Times(500), game, [0]))
    match.clock.spend(0, 100)
    match.play({0: Decision(4)})
    match.play({1: Decision(0)})
    with client() as browser, browser.websocket_connect("/play", headers=OWN) as socket:
        assert until(socket, lambda data: True)["clock"] == []
        socket.send_json({"do": "load", "name": "a.json", "text": write_json(game, match.record(), 0)})
        data = until(socket, lambda data: len(data["moves"]) == 2)
        assert 390 < data["clock"][0] <= 400
        assert data["clock"][1] == 500


def test_hints_and_offers_of_a_draw() -> None:
    with client() as browser, browser.websocket_connect("/play", headers=OWN) as socket:
        begun = until(socket, lambda data: data["seat"] == 0)
        socket.send_json({"do": "hint"})
        hint = until(socket, lambda data: data.get("hint"))["hint"]
        assert hint["by"] == "minimax"
        assert hint["cells"] == [int(hint["text"])]
        socket.send_json({"do": "act", "version": begun["version"], "action": 0})
        until(socket, lambda data: len(data["moves"]) == 2)
        socket.send_json({"do": "offer"})
        assert until(socket, lambda data: data["over"])["status"] == "Draw agreed."


def test_a_draw_is_declined_where_it_would_be_a_gift() -> None:
    app = application(show(), HOSTS, host=host("tictactoe", "human", "human"))
    lost = ("0", "4", "1", "2", "7", "8")  # player_1 has two threats, and player_0 is to move
    game = make_game("tictactoe")
    match = Match(game, ["a", "b"], 0)
    for text in lost:
        match.play({match.seats()[0]: Decision(int(text))})
    record = write_json(game, match.record(), 0)
    with client(app) as browser, browser.websocket_connect("/play", headers=OWN) as socket:
        until(socket, lambda data: True)
        socket.send_json({"do": "new", "players": ["human", "random"]})
        until(socket, lambda data: data["players"][1] == "random")
        socket.send_json({"do": "load", "name": "lost.json", "text": record})
        until(socket, lambda data: len(data["moves"]) == len(lost))
        socket.send_json({"do": "offer"})
        assert until(socket, lambda data: data["note"])["note"] == "The draw is declined: minimax finds you worse off."


def test_two_people_agree_to_a_draw() -> None:
    app = application(show(), HOSTS, host=host("tictactoe", "human", "human"))
    with client(app) as browser, browser.websocket_connect("/play", headers=OWN) as socket:
        until(socket, lambda data: data["seat"] == 0)
        socket.send_json({"do": "offer"})
        data = until(socket, lambda data: data["offered"] == 0)
        assert [name for name, _ in data["controls"]][:2] == ["accept", "decline"]
        socket.send_json({"do": "decline"})
        until(socket, lambda data: data["offered"] is None)
        socket.send_json({"do": "offer"})
        socket.send_json({"do": "accept"})
        assert until(socket, lambda data: data["over"])["status"] == "Draw agreed."


def test_reloading_keeps_the_game_and_another_tab_takes_it_over() -> None:
    with client() as browser:
        with browser.websocket_connect("/play", headers=OWN) as socket:
            begun = until(socket, lambda data: data["seat"] == 0)
            socket.send_json({"do": "act", "version": begun["version"], "action": 4})
            until(socket, lambda data: len(data["moves"]) == 2)
        again = f"/play?session={begun['session']}"
        with browser.websocket_connect(again, headers=OWN) as socket:
            assert len(until(socket, lambda data: True)["moves"]) == 2
            with browser.websocket_connect(again, headers=OWN) as other:
                assert len(until(other, lambda data: True)["moves"]) == 2
                with pytest.raises(WebSocketDisconnect) as closed:
                    until(socket, lambda data: False)
                assert closed.value.code == 4001
        with browser.websocket_connect("/play?session=guessed", headers=OWN) as socket:
            assert not until(socket, lambda data: True)["moves"]


def test_one_thread_at_a_time_works_on_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is loaded again while a step runs used to start a second thread on the same match."""
    at_work, most = [], []
    whole = PageGame.step

    def slow(self: PageGame, wait: float = 0.0) -> bool:
        at_work.append(1)
        most.append(len(at_work))
        time.sleep(0.1)
        at_work.pop()
        return whole(self, wait)

    monkeypatch.setattr(PageGame, "step", slow)
    with client() as browser:
        again = "/play"
        for _ in range(5):
            with browser.websocket_connect(again, headers=OWN) as socket:
                again = f"/play?session={until(socket, lambda data: True)['session']}"
                time.sleep(0.03)
    assert max(most) == 1


def test_pages_that_come_at_once_are_counted() -> None:
    async def come() -> list[object]:
        many = rooms.Rooms(host(), most=3)

        async def page() -> str:
            room = await many.room("")
            room.socket = object()
            return room.id

        found = await asyncio.gather(*(page() for _ in range(8)), return_exceptions=True)
        await many.close()
        return found

    found = asyncio.run(come())
    assert len([one for one in found if isinstance(one, str)]) == 3
    assert all("3 pages play here" in str(one) for one in found if not isinstance(one, str))


def test_a_page_that_goes_at_once_leaves_its_room() -> None:
    class Gone:
        async def send_text(self, text: str) -> None:
            raise ConnectionResetError

    async def come() -> object:
        room = rooms.Room(host())
        with pytest.raises(ConnectionResetError):
            await room.serve(Gone())
        return room.socket

    assert asyncio.run(come()) is None


def test_files_go_out_and_in() -> None:
    game = '[White "a"]\n[Result "*"]\n\n1. e4 e5 2. Nf3 *\n'
    app = application(show(), HOSTS, host=host("chess", "human", "human"))
    with client(app) as browser, browser.websocket_connect("/play", headers=OWN) as socket:
        until(socket, lambda data: data["seat"] == 0)
        socket.send_json({"do": "load", "name": "g.pgn", "text": game})
        data = until(socket, lambda data: len(data["moves"]) == 3)
        assert [move["text"] for move in data["moves"]] == ["e4", "e5", "Nf3"]
        assert data["seat"] == 1
        for format in (".pgn", ".json"):
            socket.send_json({"do": "save", "name": format})
            saved = until(socket, lambda data: True, "file")
            assert saved["name"].endswith(format)
            socket.send_json({"do": "new"})
            until(socket, lambda data: not data["moves"])
            socket.send_json({"do": "load", "name": f"x{format}", "text": saved["text"]})
            assert len(until(socket, lambda data: data["moves"])["moves"]) == 3
        socket.send_json({"do": "undo"})
        assert len(until(socket, lambda data: len(data["moves"]) < 3)["moves"]) == 2


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("g.pgn", "1. e4 Ke4", "Ke4"),
        ("g.pgn", "", "no game"),
        ("g.sgf", "(;GM[1])", "this is chess-v0"),
        ("g.exe", "MZ", "not a file of games"),
        ("/etc/passwd", "", "no game"),
        ("g.json", "{", "not JSON"),
        ("g.json", '{"game": "tictactoe-v0", "config": {}, "seed": 1, "actions": [4], "players": ["a", "b"], '
                   '"returns": [0, 0], "status": "running"}', "this is chess-v0"),
        ("<img src=x>.pgn", "1. e5", "e5"),
        ("g.pgn", "1. e4 {\ud800} *", "surrogates not allowed"),
    ],
)  # fmt: skip
def test_bad_files_are_told_in_one_sentence(name: str, text: str, told: str) -> None:
    app = application(show(), HOSTS, host=host("chess", "human", "human"))
    with client(app) as browser, browser.websocket_connect("/play", headers=OWN) as socket:
        until(socket, lambda data: True)
        socket.send_json({"do": "load", "name": name, "text": text})
        assert told in until(socket, lambda data: True, "refused")["why"]
        socket.send_json({"do": "flip"})
        assert until(socket, lambda data: True)["moves"] == []


@pytest.mark.parametrize("word", ["uci:/bin/sh", "runs/a", "tiny", "/etc/passwd", "hub/model", "nobody"])
def test_pages_invite_no_programs_and_no_files(word: str) -> None:
    with client() as browser, browser.websocket_connect("/play", headers=OWN) as socket:
        until(socket, lambda data: True)
        socket.send_json({"do": "new", "players": ["human", word]})
        assert "cannot invite" in until(socket, lambda data: True, "refused")["why"]
        socket.send_json({"do": "new", "players": ["human", "alphabeta"]})
        assert "chess" in until(socket, lambda data: True, "refused")["why"]
        socket.send_json({"do": "new", "players": ["human"]})
        assert "2 seats" in until(socket, lambda data: True, "refused")["why"]


# -- what goes wrong ---------------------------------------------------------------------------------------------------

BAD = ["", "[]", "{", "null", '"act"', "{}", '{"do": 3}', '{"do": "eval"}', '{"do": "act", "action": "4"}', "[" * 5000]
BAD += ['{"do": "act", "action": 1e999}', '{"do": "act", "more": 1}', '{"do": "act", "action": true}', "\x00"]
BAD += ['{"do": "save", "name": "../../etc/passwd"}', '{"do": "save"}', '{"do": "load"}']


def test_malformed_messages_are_refused_one_by_one() -> None:
    with client() as browser, browser.websocket_connect("/play", headers=OWN) as socket:
        until(socket, lambda data: data["seat"] == 0)
        for text in BAD:
            socket.send_text(text)
            why = until(socket, lambda data: True, "refused")["why"]
            assert why
            assert "Traceback" not in why
            assert len(why) < 500


def test_illegal_and_late_actions_change_nothing() -> None:
    with client() as browser, browser.websocket_connect("/play", headers=OWN) as socket:
        begun = until(socket, lambda data: data["seat"] == 0)
        for action, version in ((99, 0), (-1, 0), (2**63, 0), (4, 7), (4, -1)):
            socket.send_json({"do": "act", "version": begun["version"] + version, "action": action})
            assert until(socket, lambda data: True)["moves"] == []
        for name in ("accept", "decline", "retry", "pause", "step", "uncover", "say"):
            socket.send_json({"do": name})
            assert until(socket, lambda data: True)["status"] == "Your move"


def test_a_burst_of_messages_ends_the_connection_and_keeps_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "RATE", 0.0)  # a slow machine answers no more a second than are allowed
    with client() as browser:
        with browser.websocket_connect("/play", headers=OWN) as socket:
            begun = until(socket, lambda data: data["seat"] == 0)
            with pytest.raises(WebSocketDisconnect) as closed:  # noqa: PT012
                for _ in range(1000):
                    socket.send_json({"do": "flip"})
                until(socket, lambda data: False)
            assert closed.value.code == 1008
        with browser.websocket_connect(f"/play?session={begun['session']}", headers=OWN) as socket:
            assert until(socket, lambda data: True)["session"] == begun["session"]


def test_a_message_that_is_too_long_ends_the_connection() -> None:
    with client() as browser, browser.websocket_connect("/play", headers=OWN) as socket:
        until(socket, lambda data: True)
        socket.send_text("x" * (rooms.LONGEST + 1))
        with pytest.raises(WebSocketDisconnect) as closed:
            until(socket, lambda data: False)
        assert closed.value.code == 1008


def test_rooms_are_few_and_left_ones_make_place() -> None:
    held = rooms.Rooms(host(), most=2)

    async def fill() -> None:
        first, second = await held.room(""), await held.room("")
        first.socket = object()
        assert await held.room(first.id) is first
        third = await held.room("")  # takes the place of the second, which nobody shows
        third.socket = object()
        assert await held.room(third.id) is third
        with pytest.raises(UsageError, match="close one"):
            await held.room(second.id)
        first.socket = None
        assert await held.room(first.id) is first
        first.seen -= 7200  # two hours pass
        assert await held.room(first.id) is not first

    asyncio.run(fill())


class Failing:
    """Fails at its first move."""

    name = "failing"

    def __init__(self) -> None:
        self.calls = 0
        self.closed = threading.Event()

    def act(self, turns: list[Turn]) -> list[Decision]:
        self.calls += 1
        if self.calls == 1:
            raise RuntimeError("<b>out of tape</b>")
        return [Decision(turn.legal_actions[0]) for turn in turns]

    def close(self) -> None:
        self.closed.set()


def test_an_opponents_failure_is_a_sentence_and_can_be_tried_again() -> None:
    agent = Failing()
    known = host("tictactoe", "human", "failing", player=lambda word, game: agent)
    app = application(show(), HOSTS, host=known)
    with client(app) as browser, browser.websocket_connect("/play", headers=OWN) as socket:
        begun = until(socket, lambda data: data["seat"] == 0)
        socket.send_json({"do": "act", "version": begun["version"], "action": 4})
        data = until(socket, lambda data: data["failed"])
        assert data["failed"] == "RuntimeError: <b>out of tape</b>"
        assert data["controls"][0] == ["retry", "Try again"]
        socket.send_json({"do": "retry"})
        assert until(socket, lambda data: len(data["moves"]) == 2)["failed"] == ""
    assert agent.closed.wait(300)


class Slow:
    """Thinks until it is let go."""

    name = "slow"

    def __init__(self) -> None:
        self.go, self.thinks = threading.Event(), threading.Event()

    def act(self, turns: list[Turn]) -> list[Decision]:
        self.thinks.set()
        let = self.go.wait(300)
        self.thinks.clear()
        assert let
        return [Decision(turn.legal_actions[0]) for turn in turns]


def test_the_page_answers_while_an_opponent_thinks() -> None:
    agent = Slow()
    known = host("tictactoe", "human", "slow", player=lambda word, game: agent)
    app = application(show(), HOSTS, host=known)
    with client(app) as browser, browser.websocket_connect("/play", headers=OWN) as socket:
        begun = until(socket, lambda data: data["seat"] == 0)
        socket.send_json({"do": "act", "version": begun["version"], "action": 4})
        until(socket, lambda data: data["busy"] and data["moves"])
        assert browser.get("/").status_code == 200
        socket.send_json({"do": "undo"})
        assert until(socket, lambda data: not data["moves"])["status"] == "Your move"
        agent.go.set()


def test_nobody_waits_for_an_opponent_of_a_game_that_was_left() -> None:
    agent = Slow()
    known = host(
        "tictactoe", "human", "random", player=lambda word, game: agent if word == "mcts" else make_player(word, game)
    )
    with client(application(show(), HOSTS, host=known)) as browser:
        try:
            with browser.websocket_connect("/play", headers=OWN) as socket:
                socket.send_json({"do": "new", "players": ["mcts", "human"]})
                assert agent.thinks.wait(300)
                socket.send_json({"do": "new", "players": ["random", "human"]})
                assert until(socket, lambda data: data["seat"] == 1)["moves"]
                assert agent.thinks.is_set()
        finally:
            agent.go.set()


@pytest.mark.parametrize("leave", ["new", "close"])
def test_a_strong_opponent_that_was_left_stops_thinking(monkeypatch: pytest.MonkeyPatch, leave: str) -> None:
    monkeypatch.setattr(rooms, "GRACE", 0.01)
    begun, ended = threading.Event(), threading.Event()

    def make(word: str, game: Any) -> Any:
        agent = make_player(word, game)
        if word == "mcts:2000000000":
            whole = agent.act

            def act(turns: Any) -> Any:
                begun.set()
                try:
                    return whole(turns)
                finally:
                    ended.set()

            agent.act = act
        return agent

    app = application(show(), HOSTS, host=host("tictactoe", "mcts:2000000000", "human", player=make))
    with client(app) as browser:
        with browser.websocket_connect("/play", headers=OWN) as socket:
            assert begun.wait(300)
            if leave == "new":
                socket.send_json({"do": "new", "players": ["random", "human"]})
                assert ended.wait(300)
        assert ended.wait(300)


def test_a_game_is_closed_once_no_thread_works_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    working, done, orders = threading.Event(), threading.Event(), []
    step, close = PageGame.step, PageGame.close

    def slow(game: PageGame) -> bool:
        working.set()
        done.wait(300)
        orders.append("step")
        return step(game)

    monkeypatch.setattr(PageGame, "step", slow)
    monkeypatch.setattr(PageGame, "close", lambda game: (orders.append("close"), close(game)))
    app = application(show(), HOSTS, host=host())
    with client(app) as browser, browser.websocket_connect("/play", headers=OWN):
        assert working.wait(300)
        threading.Timer(0.5, done.set).start()
    assert orders[-2:] == ["step", "close"]


def test_markup_in_names_stays_text() -> None:
    nasty = "</script><script>alert(1)</script>"
    page = client(application({**show(), "title": nasty}, HOSTS, host=host())).get("/").text
    assert nasty not in page
    assert page.count("<script>") == 0


# -- runs --------------------------------------------------------------------------------------------------------------


def test_a_tournaments_own_page_may_do_nothing(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("game: tictactoe\n")
    (tmp_path / "leaderboard.html").write_text("<script>alert(1)</script>")
    run = {"format": 1, "kind": "run", "title": "r", "live": True, "runs": [{"name": "r"}]}
    with client(application(run, HOSTS, runs=[RunPage(tmp_path)])) as browser:
        policy = browser.get("/run/0/leaderboard.html").headers["content-security-policy"]
        assert policy.startswith("sandbox; default-src 'none'")
        (tmp_path / "leaderboard.html").unlink()
        secret = tmp_path.parent / "secret.html"
        secret.write_text("secret")
        (tmp_path / "leaderboard.html").symlink_to(secret)
        assert browser.get("/run/0/leaderboard.html").status_code == 404
        with browser.websocket_connect("/play", headers=OWN) as socket:
            assert "nothing to play" in until(socket, lambda data: True, "refused")["why"]


def test_a_run_that_is_asked_for_nonsense_answers_as_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("game: tictactoe\n")
    run = {"format": 1, "kind": "run", "title": "r", "live": True, "runs": [{"name": "r"}]}
    with client(application(run, HOSTS, runs=[RunPage(tmp_path)])) as browser:
        whole = browser.get("/run/0").json()
        for query in ("rows=-1", "rows=x&stride=0&stamp=..", "rows=" + "9" * 30, "rows=5&stride=5"):
            assert browser.get(f"/run/0?{query}").json() == whole


# -- a real server -----------------------------------------------------------------------------------------------------


def test_a_real_server_closes_on_ten_megabytes(served: Any) -> None:
    websockets = pytest.importorskip("websockets.sync.client")
    from websockets.exceptions import ConnectionClosed

    url = served(show(), host=host())
    address = url.replace("http", "ws") + "play"
    with websockets.connect(address, origin=url.rstrip("/"), open_timeout=60) as socket:
        assert json.loads(socket.recv())["kind"] == "game"
        with pytest.raises(ConnectionClosed):  # noqa: PT012
            socket.send("x" * 10_000_000)
            for _ in range(100):
                socket.recv(timeout=60)
    with websockets.connect(address, origin=url.rstrip("/"), open_timeout=60) as socket:
        assert json.loads(socket.recv())["kind"] == "game"
