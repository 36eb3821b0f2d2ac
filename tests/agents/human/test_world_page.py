"""Worlds on a page: what its messages add up to, people who share it, who is taken over, files."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest

from coterie.agents.baselines import make_baseline
from coterie.agents.core import Agent, Decision, Turn
from coterie.agents.human.adviser import Adviser, advisers
from coterie.agents.human.paged import Request, opened
from coterie.agents.human.seating import company, seated
from coterie.agents.human.table import Match
from coterie.agents.human.world_page import PageWorld, live_of
from coterie.aliases import RUNNING
from coterie.envs.core import Game
from coterie.envs.gridworld.state import NOOP, ROTATE, USE
from coterie.envs.registry import make_game
from coterie.envs.replay.file import read_games
from coterie.renderers.gridworld_keys import action_of
from coterie.renderers.web.world import AGENT_COLUMNS, OBJECT_COLUMNS

MAP = {"height": 14, "width": 18, "agents": 4, "objects": {"wall": 9, "generator": 5, "altar": 4}}


class Turning:
    """Turns round and round; counts the seats that it was asked for."""

    name = "turning"

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        self.asked.append([turn.player for turn in turns])
        return [Decision(ROTATE + len(self.asked) % 4) for _ in turns]


def world(*words: str, agent: Agent | None = None, record: Any = None, **config: Any) -> tuple[PageWorld, Game]:
    game = make_game("gridworld", **{"map": MAP, "max_steps": 400, **config})
    players = company(words, game, window=False)
    agents = list(seated(players, game, lambda word, game: agent or make_baseline(word, game), window=True))
    people = [seat for seat, word in enumerate(players) if word == "human"]
    adviser = Adviser(advisers(game))

    def begin(number: int) -> Match:
        return Match(game, players, 7 + number, record=record)

    return PageWorld(begin, agents, live_of(game), people=people, adviser=adviser), game


def until(page: PageWorld, what: Any) -> None:
    end = time.monotonic() + 300  # kernels may be compiled meanwhile
    while not what():
        assert time.monotonic() < end, "it never came to that"
        page.step()
        time.sleep(0.001)


def play(page: PageWorld, *intentions: str) -> None:
    for intention in intentions:
        ticks = len(page.match.plies)
        page.do(Request("intend", name=intention))
        until(page, lambda ticks=ticks: len(page.match.plies) > ticks)


def test_what_is_sent_adds_up_to_the_world() -> None:
    page, _ = world("human", "forager")
    data = page.data()
    known = {name: list(values) for name, values in data["live"]["objects"].items()}
    for part in range(1, 15):
        play(page, "use" if part % 2 else "up")
        data = json.loads(json.dumps(page.data(first=False), allow_nan=False))
        assert data["part"] == part
        for place, *values in data["live"]["changed"]:
            for name, value in zip(OBJECT_COLUMNS, values, strict=True):
                known[name][place] = value
        state = page.match.state
        assert known == {name: state.objects[0][name].tolist() for name in OBJECT_COLUMNS}
        agents = data["live"]["agents"]
        assert agents == {name: state.agents[0][name].astype(int).tolist() for name in AGENT_COLUMNS}
    page.do(Request("all"))
    whole = page.data(first=False)
    assert whole["part"] == 0
    assert whole["live"]["objects"] == known
    page.close()


def test_the_buttons_that_can_be_pressed_are_what_would_succeed() -> None:
    page, game = world("human", "forager")
    for intention in ("up", "use", "left", "back", "down", "attack"):
        data, state = page.data(), page.match.state
        mask = game.legal_mask(state, 0, 0)
        expected = [verb for verb, _ in data["verbs"] if mask[action_of(state, 0, 0, verb, mask)]]
        assert data["able"] == expected
        play(page, intention)
    page.close()
    plain, _ = world("human", "forager", actions={"attack": False, "gift": False, "swap": False, "shield": False})
    assert [verb for verb, _ in plain.data()["verbs"]] == ["up", "down", "left", "right", "back", "use", "wait"]
    plain.close()


def test_people_who_share_a_page_are_asked_in_turn() -> None:
    agent = Turning()
    page, _ = world("human", "human", "turning", agent=agent)
    assert (page.paused, page.own) == (True, 0)
    page.do(Request("intend", name="use"))
    page.step()
    assert (page.own, len(page.match.plies)) == (1, 0)
    assert page.data()["status"] == "You play agent 1: the next key is for it"
    play(page, "wait")
    assert page.own == 0
    assert page.match.plies[0].actions is not None
    assert page.match.plies[0].actions[:2] == [USE, NOOP]
    assert agent.asked == [[2, 3]]
    page.do(Request("take", action=3))
    assert page.people == [0, 1, 3]
    page.do(Request("release"))
    page.do(Request("take", action=1))
    assert (page.people, page.own) == ([0, 1], 1)
    page.close()


@pytest.mark.parametrize(
    "intention", ["attack 0", "attack 99", "gift x", "attack", "gift 9", "", "fly", "up\n", "x" * 10**5]
)
def test_no_intention_harms_the_world(intention: str) -> None:
    page, _ = world("human", "turning", agent=Turning())
    page.do(Request("intend", name=intention))
    page.do(Request("look", action=2**70, plane=2**70))
    page.do(Request("take", action=-5))
    play(page, "wait")
    assert (page.failed, len(page.match.plies)) == ("", 1)
    assert page.data()["seen"] is None
    page.close()


def test_while_time_runs_people_who_say_nothing_wait_and_the_dead_come_back_in_the_next_world() -> None:
    page, _ = world("human", "turning", agent=Turning(), death={"energy": True})
    page.do(Request("pause"))
    until(page, lambda: len(page.match.plies) > 2)
    assert {ply.actions[0] for ply in page.match.plies} == {NOOP}
    assert not page.idle
    page.match.state.agents[0]["energy"] = 1
    page.match.state.agents[0]["upkeep"] = 100
    until(page, lambda: page.match.status != RUNNING)
    assert (page.own, page.data()["able"], page.idle) == (None, [], True)
    page.do(Request("new"))
    assert (page.own, page.data(first=False)["part"]) == (0, 0)
    page.close()


def test_a_world_is_saved_as_the_window_saves_it_and_goes_on() -> None:
    page, game = world("human", "forager")
    play(page, "up", "use", "left")
    text = page.saved(".json", ("human", *["forager"] * 3))
    (saved,) = read_games(text)
    assert saved.words == ("human", "forager", "forager", "forager")
    again, _ = world("human", "forager", record=opened(game, "w.json", text))
    assert again.data()["live"]["agents"] == page.data()["live"]["agents"]
    for one in (page, again):
        play(one, "down")
    assert again.data()["live"] == page.data()["live"]
    for one in (page, again):
        one.close()


def test_hints_say_what_another_player_would_do() -> None:
    page, _ = world("human", "forager")
    page.do(Request("hint"))
    until(page, lambda: not page.data()["busy"])
    assert page.data()["note"].startswith("forager would play ")
    play(page, "wait")
    assert page.data()["note"] == ""
    page.close()
