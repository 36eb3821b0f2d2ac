"""Worlds at their window, on SDL's dummy display: camera, panel, keys, taking over, speed, replays.

The file is longer than most: every test sits at a ``Desk``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from coterie.agents.core import Agent, Decision, Turn
from coterie.agents.human.table import Match, follow
from coterie.agents.human.world_window import RATES, Replayed, WorldSession
from coterie.aliases import RUNNING, TERMINATED, TRUNCATED
from coterie.envs.core import Game
from coterie.envs.gridworld.state import FORWARD, NOOP, PAD, ROTATE, USE
from coterie.envs.registry import make_game
from coterie.envs.state import to_bytes
from coterie.errors import ModelError, UsageError
from coterie.renderers.gridworld_keys import INTENTIONS, KEYS

pygame = pytest.importorskip("pygame")
WINDOW = "coterie.renderers.gridworld_window:GridworldWindow"
K = pygame


def world(**config: Any) -> Game:
    given = {"map": {"height": 14, "width": 18, "agents": 5, "objects": {"wall": 9, "generator": 5, "altar": 4}}}
    return make_game("gridworld", **{**given, "max_steps": 100_000, **config})  # a fast machine plays 85 ticks a frame


class Turning:
    """Turns round and round; counts the turns that it was asked."""

    name = "turning"

    def __init__(self, gate: threading.Event | None = None, fails: int = 10**9) -> None:
        self.asked: list[list[int]] = []
        self.gate, self.fails = gate, fails

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        self.asked.append([turn.player for turn in turns])
        if self.gate is not None:
            self.gate.wait(300)  # opened by the test; a busy machine is slow to get there
        if len(self.asked) > self.fails:
            raise ModelError("The engine has died.")
        return [Decision(ROTATE + len(self.asked) % 4) for _ in turns]


class Desk:
    """A session that a test drives."""

    def __init__(self, game: Game, agent: Agent | None = None, replay: Replayed | None = None, **more: Any) -> None:
        self.left: list[Match] = []
        self.agent = agent or Turning()
        seats = game.info.players
        self.session = WorldSession(
            replay or (lambda number: Match(game, ["turning"] * seats, number)),
            [self.agent] * seats,
            WINDOW,
            left=self.left.append,
            **{"rate": 0, **more},
        )
        self.game, self.window = game, self.session.window
        self.session.step()

    @property
    def clock(self) -> int:
        return int(self.session.match.state.rules[0]["clock"])

    @property
    def state(self) -> Any:
        return self.session.match.state

    @property
    def status(self) -> str:
        return str(self.session.scene().status)

    def key(self, key: int, mod: int = 0, text: str = "") -> None:
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key, unicode=text, mod=mod))
        self.session.step()
        self.session.step()

    def click(self, x: float, y: float) -> None:
        for kind in (pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP):
            pygame.event.post(pygame.event.Event(kind, pos=(int(x), int(y)), button=1))
        self.session.step()
        self.session.step()

    def cell(self, row: int, col: int) -> None:
        camera, left, top, wide = self.window.camera()
        side = wide / camera.columns
        self.click(left + (col - camera.left + 0.5) * side, top + (row - camera.top + 0.5) * side)

    def button(self, name: str) -> None:
        spot = self.window.spot(name)
        self.click(spot.x + spot.w / 2, spot.y + spot.h / 2)

    def until(self, what: Callable[[], bool]) -> None:
        end = time.monotonic() + 300  # kernels may be compiled meanwhile
        while not what():
            assert time.monotonic() < end, "it never came to that"
            self.session.step()

    def until_it_waits(self) -> None:
        """A key in a paused world is one tick."""
        self.until(lambda: not self.session._single)


@pytest.fixture
def desk():
    made: list[Desk] = []

    def make(*args: Any, **more: Any) -> Desk:
        made.append(Desk(*args, **more))
        return made[-1]

    yield make
    for one in made:
        one.session.close()


# -- time --------------------------------------------------------------------------------------------------------------


def test_agents_play_and_all_seats_are_asked_at_once(desk) -> None:
    one = desk(world())
    one.until(lambda: one.clock >= 30)
    assert all(seats == [0, 1, 2, 3, 4] for seats in one.agent.asked)


def test_pause_step_and_speed(desk) -> None:
    one = desk(world())
    one.until(lambda: one.clock > 3)
    one.key(K.K_p)
    stood = one.clock
    assert one.status == "Paused"
    for _ in range(5):
        one.session.step()
    assert one.clock == stood
    for key in (K.K_PERIOD, K.K_RIGHT):
        one.key(key)
        one.until_it_waits()
    assert one.clock == stood + 2
    one.button("step")
    one.until_it_waits()
    assert one.clock == stood + 3
    one.session.rate = 8
    one.key(K.K_EQUALS, text="+")
    assert one.session.rate == 15
    for _ in range(20):
        one.button("slower")
    assert one.session.rate == RATES[0]
    for _ in range(20):
        one.button("faster")
    assert one.session.rate == RATES[-1] == 0
    one.key(K.K_SPACE)
    assert not one.session.paused
    one.until(lambda: one.clock > stood + 10)


def test_the_rate_is_kept(desk) -> None:
    one = desk(world(), rate=30)
    one.until(lambda: one.clock >= 2)
    begun, clock = time.monotonic(), one.clock
    while time.monotonic() - begun < 0.5:
        one.session.step(wait=0.002)
    assert one.clock - clock <= 17
    one.until(lambda: one.clock > clock)


def test_the_window_answers_while_agents_think(desk) -> None:
    gate = threading.Event()
    one = desk(world(), agent=Turning(gate))
    for _ in range(3):
        one.session.step()
    one.key(K.K_TAB)
    assert one.window.slot == 0
    assert one.clock == 0
    gate.set()
    one.until(lambda: one.clock > 0)


def test_the_end_and_a_new_world(desk) -> None:
    one = desk(world(max_steps=12))
    one.until(lambda: one.session.match.status != RUNNING)
    assert one.session.match.status == TRUNCATED
    assert one.status == "The last tick is over."
    one.key(K.K_n)
    assert [len(match.plies) for match in one.left] == [12]
    assert one.session.match.seed == 1


def test_several_worlds_follow_each_other(desk, monkeypatch: pytest.MonkeyPatch) -> None:
    one = desk(world(max_steps=5), games=2)
    monkeypatch.setattr("coterie.agents.human.world_window.REST", 0.0)
    one.until(lambda: len(one.left) == 1 and one.session.match.status != RUNNING)
    for _ in range(5):
        one.session.step()
    assert len(one.left) == 1, "the last one stays"


def test_an_agent_that_breaks_is_told_and_the_match_is_left(desk) -> None:
    turning = Turning()
    one = desk(world(), agent=turning)
    turning.fails = len(turning.asked) + 3  # a slow machine has played a few ticks by now
    with pytest.raises(ModelError, match="has died"):
        one.session.run()
    assert len(one.left[0].plies) == turning.fails


def test_closing(desk) -> None:
    one = desk(world())
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    one.session.run()
    assert len(one.left) == 1


# -- looking -----------------------------------------------------------------------------------------------------------


def test_clicks_look_at_agents_and_things(desk) -> None:
    one = desk(world())
    one.key(K.K_p)
    agent = one.state.agents[0, 3]
    one.cell(int(agent["row"]), int(agent["col"]))
    assert (one.window.slot, one.window.place) == (3, None)
    thing = int(np.flatnonzero(one.state.objects[0]["type"] == 3)[0])
    one.cell(int(one.state.objects[0, thing]["row"]), int(one.state.objects[0, thing]["col"]))
    assert (one.window.slot, one.window.place) == (None, thing)
    free = np.argwhere(one.state.kind[0, PAD:-PAD, PAD:-PAD] == 0)[0]
    one.cell(*map(int, free))
    assert (one.window.slot, one.window.place) == (None, None)
    one.button("look")
    assert one.window.slot is not None, "the list of agents"


def test_the_next_agent_and_the_one_before(desk) -> None:
    one = desk(world())
    seen = []
    for _ in range(6):
        one.key(K.K_TAB)
        seen.append(one.window.slot)
    one.key(K.K_TAB, mod=K.KMOD_SHIFT)
    assert [*seen, one.window.slot] == [0, 1, 2, 3, 4, 0, 4]
    one.key(K.K_ESCAPE)
    assert one.window.slot is None


def test_the_camera_follows_and_zooms(desk) -> None:
    one = desk(world(map={"height": 40, "width": 40, "agents": 5, "objects": {}}))
    one.key(K.K_p)
    assert one.window.camera()[0] == (0, 0, 40, 40)
    one.key(K.K_c)
    assert not one.window.following, "there is nobody to follow"
    one.key(K.K_TAB)
    one.key(K.K_c)
    camera, _, _, wide = one.window.camera()
    agent = one.state.agents[0, 0]
    assert camera.columns == 17
    assert camera.top <= agent["row"] < camera.top + camera.rows
    assert camera.left <= agent["col"] < camera.left + camera.columns
    assert 0 <= camera.top <= 40 - camera.rows
    one.key(K.K_PAGEUP)
    assert one.window.camera()[0].columns == 15
    pygame.event.post(pygame.event.Event(pygame.MOUSEWHEEL, x=0, y=-3))
    one.session.step()
    assert one.window.camera()[0].columns == 25
    one.button("camera")
    assert one.window.camera()[0] == (0, 0, 40, 40)
    assert wide > 300


def test_the_panel_shows_planes_and_words(desk) -> None:
    one = desk(world())
    one.key(K.K_p)
    one.key(K.K_TAB)
    planes = one.window.picture()
    one.key(K.K_RIGHTBRACKET)
    assert one.window.panel.plane == 1
    one.key(K.K_LEFTBRACKET)
    one.button("plane before")
    assert one.window.panel.plane == len(one.window.panel.planes) - 1
    one.button("words")
    assert one.window.panel.words
    words = one.window.picture()
    assert not np.array_equal(planes[:, 800:], words[:, 800:])
    one.key(K.K_o)
    assert not one.window.panel.words


def test_the_keys_are_listed(desk) -> None:
    one = desk(world())
    one.key(K.K_p)
    before = one.window.picture()
    for key, text in ((K.K_h, "h"), (K.K_SLASH, "?"), (K.K_F1, "")):
        one.key(key, text=text)
        assert one.window.helping
        assert not np.array_equal(before, one.window.picture())
        one.key(K.K_ESCAPE)
        assert not one.window.helping
        assert np.array_equal(before, one.window.picture())


def test_the_world_waits_while_the_keys_are_shown(desk) -> None:
    one = desk(world())
    one.until(lambda: one.clock > 0)
    one.key(K.K_h)
    shown = one.clock
    for _ in range(20):
        one.session.step(wait=0.002)
    assert one.clock == shown
    one.key(K.K_h)
    one.until(lambda: one.clock > shown)


def test_any_size_of_window(desk) -> None:
    one = desk(world())
    one.key(K.K_TAB)
    for size in ((300, 320), (500, 900), (1600, 500), (1120, 800)):
        pygame.event.post(pygame.event.Event(pygame.VIDEORESIZE, size=size, w=size[0], h=size[1]))
        one.session.step()
        one.window.draw()
        assert one.window.picture().shape[:2] == size[::-1]
        _, left, top, wide = one.window.camera()
        assert left >= 0 <= top
        assert wide > 100


def test_what_is_looked_at_may_be_destroyed_or_die(desk) -> None:
    one = desk(world())
    one.key(K.K_p)
    thing = int(np.flatnonzero(one.state.objects[0]["type"] == 1)[0])
    one.cell(int(one.state.objects[0, thing]["row"]), int(one.state.objects[0, thing]["col"]))
    assert one.window.place == thing
    one.state.objects[0, thing]["type"] = 255
    one.window.draw()
    assert one.window.place is None
    one.key(K.K_TAB)
    one.state.agents[0, 0]["alive"] = False
    one.window.draw()
    one.key(K.K_RETURN)
    assert one.session.own is None, "the dead cannot be taken over"


# -- taking over -------------------------------------------------------------------------------------------------------


def test_an_agent_is_taken_over_and_handed_back(desk) -> None:
    one = desk(world())
    one.key(K.K_p)
    one.key(K.K_TAB)
    one.key(K.K_RETURN)
    assert (one.session.own, one.window.following) == (0, True)
    assert one.status == "You play: each key is a tick"
    clock = one.clock
    for key in (K.K_UP, K.K_a, K.K_SPACE):
        one.key(key)
        one.until_it_waits()
    assert one.clock == clock + 3
    assert one.agent.asked[-3:] == [[1, 2, 3, 4]] * 3, "the others play on"
    plies = one.session.match.plies[-3:]
    facing = [ply.actions[0] for ply in plies]
    assert facing[0] in (ROTATE, FORWARD)
    assert facing[1] in (ROTATE + 2, FORWARD)
    assert facing[2] == USE
    assert one.session.touched
    one.key(K.K_RETURN)
    assert one.session.own is None
    one.key(K.K_RIGHT)
    one.until_it_waits()
    assert one.agent.asked[-1] == [0, 1, 2, 3, 4]
    one.button("take")
    one.key(K.K_ESCAPE)
    assert (one.session.own, one.window.slot) == (None, 0)


def test_while_time_goes_on_whoever_presses_nothing_waits(desk) -> None:
    one = desk(world(), people=[2])
    assert (one.session.paused, one.session.own, one.window.slot) == (True, 2, 2)
    one.button("pause")
    one.until(lambda: one.clock > 5)
    assert {ply.actions[2] for ply in one.session.match.plies} == {NOOP}
    one.key(K.K_SPACE)
    one.until(lambda: any(ply.actions[2] == USE for ply in one.session.match.plies))


def test_people_who_share_the_window_are_asked_in_turn(desk) -> None:
    one = desk(world(), people=[1, 3])
    assert one.window.slot == 1
    one.key(K.K_SPACE)
    assert (one.clock, one.session.own, one.window.slot) == (0, 3, 3)
    one.key(K.K_PERIOD)
    one.until_it_waits()
    assert (one.clock, one.session.own) == (1, 1)
    assert [one.session.match.plies[0].actions[seat] for seat in (1, 3)] == [USE, NOOP]


def test_nobody_plays_on_after_death(desk) -> None:
    one = desk(world(death={"energy": True}, agent={"upkeep": 100}), people=[1])
    for _ in range(3):
        one.key(K.K_PERIOD)
        one.until_it_waits()
    assert one.session.own is None
    assert one.session.match.status == TERMINATED
    assert one.status == "No agent is alive."


def test_there_is_no_agent_of_that_number(desk) -> None:
    before = threading.enumerate()
    with pytest.raises(UsageError, match=r"no agent 9 to follow, only 0\.\.4"):
        desk(world(), look=9)
    assert not {*threading.enumerate()} - {*before}, "nobody thinks on"
    assert not pygame.display.get_init(), "nothing stays open"


# -- replays -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded() -> Match:
    match = Match(world(), ["turning"] * 5, 4)
    agent = Turning()
    for moment in follow(match, [agent] * 5):
        if moment.state.rules[0]["clock"] == 300:
            break
    return match


def test_a_replay_goes_to_any_tick(recorded: Match) -> None:
    game, record = recorded.game, recorded.record()
    again = Replayed(game, record)
    states = list(recorded.positions())
    for tick in (0, 7, 300, 299, 260, 249, 250, 3, -5, 999):
        again.seek(tick)
        at = max(0, min(300, tick))
        assert again.tick == at
        assert to_bytes(game, again.state) == to_bytes(game, states[at])
    assert again.returns.tolist() == recorded.returns.tolist()


def test_a_replay_at_the_window(desk, recorded: Match) -> None:
    one = desk(recorded.game, replay=Replayed(recorded.game, recorded.record()))
    one.until(lambda: one.clock > 20)
    one.key(K.K_p)
    stood = one.clock
    one.key(K.K_LEFT)
    assert one.clock == stood - 1
    one.key(K.K_RIGHT)
    one.until_it_waits()
    assert one.clock == stood
    spot = one.window.spot("seek")
    one.click(spot.x + spot.w / 2, spot.y + 3)
    assert one.clock == 150
    one.key(K.K_TAB)
    one.key(K.K_RETURN)
    assert one.session.own is None, "what has been cannot be taken over"
    one.button("pause")
    one.until(lambda: one.session.match.status != RUNNING)
    assert (one.clock, one.status) == (300, "The end of the replay.")
    one.key(K.K_p)
    one.key(K.K_n)
    assert one.clock == 0
    assert one.left == []
    assert one.agent.asked == []


def test_every_key_is_in_the_docs() -> None:
    from pathlib import Path

    page = (Path(__file__).parents[3] / "docs" / "playing" / "worlds.md").read_text(encoding="utf-8")
    for keys, words in KEYS + INTENTIONS:
        assert f"| {keys} | {words} |" in page
