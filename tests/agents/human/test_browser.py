"""Games on a page: every game is played to its end, and nobody is shown what their seat may not see."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from coterie.agents.baselines import make_baseline
from coterie.agents.core import Agent
from coterie.agents.human.adviser import Adviser, advisers
from coterie.agents.human.browser import PageGame, Request
from coterie.agents.human.clock import Clock
from coterie.agents.human.table import Match
from coterie.aliases import TERMINATED
from coterie.envs import list_envs
from coterie.envs.core import Times
from coterie.envs.registry import make_game, spec
from coterie.errors import UsageError

BOARDS = [id for id in list_envs() if id != "gridworld-v0"]


def page(
    name: str, words: Sequence[str], *, seed: int = 3, hints: str = "", lock: Any = None, **arguments: Any
) -> PageGame:
    game = make_game(name, **arguments)
    agents: list[Agent | None] = [None if word == "human" else make_baseline(word, game) for word in words]
    adviser = Adviser((hints,) if hints else advisers(game))
    more: dict[str, Any] = {"adviser": adviser, "lock": lock, "seconds": 0.0}
    return PageGame(lambda number: Match(game, words, seed + number), agents, spec(game.info.id).draw, **more)


def settle(game: PageGame) -> dict[str, Any]:
    """The data once nothing happens any more before a person acts."""
    end = time.monotonic() + 300  # kernels may be compiled meanwhile
    game.step()
    while not game.idle:
        assert time.monotonic() < end
        game.step()
        time.sleep(0.001)
    data = game.data()
    json.dumps(data, allow_nan=False)
    return data


def choose(game: PageGame, data: dict[str, Any], rng: random.Random) -> None:
    """A random person's answer."""
    if data["cover"]:
        game.do(Request("uncover"))
    elif data["words"]:
        turn = game.match.turn(data["seat"])
        (said,) = make_baseline("random", game.game).act([turn])
        game.do(Request("say", data["version"], text=said.text))
    else:
        action = int(rng.choice(sorted(data["cells"], key=int)))
        game.do(Request("act", data["version"], action, text=rng.choice(["", "hello"]) if data["talk"] else ""))


@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("id", BOARDS)
def test_a_random_person_plays_every_game_to_its_end(id: str, people: int) -> None:
    players = make_game(id).info.players
    game = page(id, ["human" if p < people else "random" for p in range(players)])
    rng = random.Random(7)
    data = settle(game)
    for _ in range(900):
        if data["over"]:
            break
        assert data["seat"] is not None
        choose(game, data, rng)
        assert not game.note, game.note
        data = settle(game)
    assert data["over"]
    assert data["status"]
    assert data["cells"] == {}
    game.close()


def test_messages_go_with_actions_and_are_heard() -> None:
    game = page("negotiation", ["human", "random"], talk=20)
    data = settle(game)
    action = int(next(iter(data["cells"])))
    game.do(Request("act", data["version"], action, text="give [more]"))
    assert "bracket" in game.note
    game.do(Request("act", data["version"], action, text="x" * 21))
    assert game.note
    assert settle(game)["moves"] == []
    game.do(Request("act", data["version"], action, text="fair?"))
    assert [0, "fair?"] in settle(game)["said"]
    game.close()


def test_a_covered_page_holds_nothing_of_the_cards() -> None:
    game = page("kuhn_poker", ["human", "human"])
    data = settle(game)
    assert data["cover"]
    assert not {"picture", "text", "cells", "labels", "said", "moves"} & set(data)
    game.do(Request("act", data["version"], 0))
    assert not settle(game).get("moves")
    game.do(Request("uncover"))
    first = settle(game)
    game.do(Request("act", first["version"], int(next(iter(first["cells"])))))
    second = settle(game)
    assert second["cover"].startswith("player_1")
    game.do(Request("uncover"))
    shown = settle(game)
    assert shown["text"] != first["text"]
    assert "your card" in shown["text"].lower() or "you" in shown["text"].lower()
    game.close()


def test_a_shared_page_is_covered_before_the_first_person_moves() -> None:
    lock = threading.Lock()  # while it is held, nobody thinks
    game = page("kuhn_poker", ["random", "human", "human"], lock=lock, players=3)
    with lock:
        game.step()
        data = game.data()
    assert data["seat"] is None
    assert data["cover"] == "No person is to move yet"
    assert not {"picture", "text"} & set(data)
    assert settle(game)["cover"].startswith("player_1")
    game.close()


@pytest.mark.parametrize("id", ["phantom_tictactoe", "dark_hex"])
def test_secret_actions_stay_secret(id: str) -> None:
    game = page(id, ["human", "random"])
    rng = random.Random(1)
    data = settle(game)
    for _ in range(3):
        if not data["over"]:
            choose(game, data, rng)
            data = settle(game)
    assert {move["seat"] for move in data["moves"]} == {0}, "not even how many the other made"
    with pytest.raises(UsageError, match="when it is over"):
        game.saved(".json")
    game.close()


@pytest.mark.parametrize("id", ["phantom_tictactoe", "dark_hex"])
def test_how_often_another_seat_tried_stays_secret(id: str) -> None:
    seen: dict[str, set[str]] = {}
    tries = set()
    for seed in range(20):
        game = page(id, ["human", "random"], seed=seed)
        data = settle(game)
        game.do(Request("act", data["version"], int(next(iter(data["cells"])))))
        data = settle(game)
        seen.setdefault(data["text"], set()).add(json.dumps(data))
        tries.add(len(game.match.plies))
        game.close()
    assert len(tries) > 1
    assert all(len(kinds) == 1 for kinds in seen.values())


def test_equal_worlds_look_equal_to_one_seat() -> None:
    """What is sent to a seat depends on what the seat knows alone: the opponent's card changes nothing."""
    seen: dict[str, set[str]] = {}
    for seed in range(24):
        game = page("kuhn_poker", ["human", "random"], seed=seed)
        data = settle(game)
        seen.setdefault(data["text"], set()).add(json.dumps(data))
        game.close()
    assert len(seen) == 3
    assert all(len(kinds) == 1 for kinds in seen.values())


def test_hints_come_from_whom_they_should() -> None:
    for name, hints, by in (
        ("tictactoe", "", "minimax"),
        ("go", "", "mcts:1000"),
        ("kuhn_poker", "", "equilibrium"),
        ("chess", "random", "random"),
    ):
        game = page(name, ["human", "random"], hints=hints, **({"size": 5} if name == "go" else {}))
        settle(game)
        game.do(Request("hint"))
        hint = settle(game)["hint"]
        assert hint["by"] == by
        assert hint["text"] in game.data()["labels"].values()
        game.close()


def test_where_nobody_gives_hints_a_note_says_so() -> None:
    game = page("word_chain", ["human", "random"], hints="minimax")
    settle(game)
    game.do(Request("hint"))
    assert settle(game)["note"].startswith("No hint: minimax cannot play word_chain-v0")
    game.close()


def test_a_late_click_is_ignored() -> None:
    game = page("tictactoe", ["human", "human"])
    data = settle(game)
    game.do(Request("act", data["version"], 4))
    settle(game)
    game.do(Request("act", data["version"], 5))
    assert len(settle(game)["moves"]) == 1
    game.close()


def test_agents_alone_can_be_watched_paused_and_stepped() -> None:
    game = page("connect_four", ["random", "random"])
    game.do(Request("pause"))
    data = settle(game)
    moves = len(data["moves"])
    assert data["status"].startswith("Paused")
    game.do(Request("step"))
    assert len(settle(game)["moves"]) == moves + 1
    game.do(Request("undo"))
    assert len(settle(game)["moves"]) == moves
    game.close()


def test_a_clock_counts_only_while_somebody_can_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first game compiles kernels, before it is shown and in its first moves; and a game may have been over long."""
    now, tictactoe, whole = [0.0], make_game("tictactoe"), Match.play

    def slow(match: Match, decisions: Any) -> Any:
        now[0] += 50
        return whole(match, decisions)

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(Match, "play", slow)
    game = PageGame(
        lambda number: Match(tictactoe, ["a", "b"], number, clock=Clock(Times(30), tictactoe, [0, 1])),
        [None, None],
        spec("tictactoe").draw,
    )
    now[0] += 50
    game.step()
    game.do(Request("act", game.data()["version"], 4))
    for _ in range(2):
        game.step()
    assert game.data()["clock"] == [30, 30]
    now[0] += 40
    game.step()
    assert game.match.status == TERMINATED
    now[0] += 50
    game.do(Request("new"))
    game.step()
    assert game.data()["clock"] == [30, 30]
    game.close()


@pytest.mark.parametrize("do", ["hint", "offer"])
def test_advice_that_was_withdrawn_can_be_asked_for_again(do: str) -> None:
    game = page("tictactoe", ["human", "random"])
    settle(game)
    game.do(Request(do))
    game.rest()
    data = settle(game)
    assert data["offered"] is None
    assert {"hint", "offer"} <= {name for name, _ in data["controls"]}
    game.close()
