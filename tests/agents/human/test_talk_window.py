"""Games with talk at the window, on SDL's dummy display: messages by the keyboard, actions by the mouse."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from coterie.agents.core import Decision, Turn
from coterie.agents.human.table import Match
from coterie.agents.human.window import BoardSession
from coterie.aliases import TERMINATED
from coterie.cli import main
from coterie.envs import make_game
from coterie.envs.registry import spec
from coterie.envs.replay.file import read_games
from coterie.renderers.board import PALETTE

pygame = pytest.importorskip("pygame")
TICTACTOE = make_game("tictactoe", talk=20)
THREE = make_game("negotiation", preset="issues", talk=80)


class Talker:
    """Says the same with the first legal action, every time."""

    name = "talker"

    def __init__(self, message: str) -> None:
        self.message = message

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        return [Decision(0, f"{self.message} {t.game.actions_in(t.state[0], t.player)[0]}") for t in turns]


class Desk:
    """A session that a test drives by mouse and keyboard."""

    def __init__(self, session: BoardSession) -> None:
        self.session, self.window = session, session.window
        self.rest()

    def rest(self, steps: int = 3) -> None:
        for _ in range(steps):
            self.session.step()

    def until(self, what: Callable[[], bool]) -> None:
        end = time.monotonic() + 300  # kernels may be compiled meanwhile
        while not what():
            assert time.monotonic() < end, "it never came to that"
            self.session.step(wait=0.001)
        self.rest()

    def type(self, words: str) -> None:
        for character in words:
            key = pygame.key.key_code(character) if character.isascii() and character.isalnum() else 0
            pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key, unicode=character, mod=0))
            pygame.event.post(pygame.event.Event(pygame.TEXTINPUT, text=character))
        self.rest()

    def key(self, *keys: int) -> None:
        for key in keys:
            pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key, unicode="", mod=0))
        self.rest()

    def cell(self, *cells: int) -> None:
        for cell in cells:
            x, y, w, h = self.window.boxes()[cell]
            self.at(x + w / 2, y + h / 2)

    def button(self, label: str) -> None:
        width, height = self.window.screen.size
        top = height - self.window._panel_height()
        spots = {spot.label: spot for spot in self.window.panel.spots(width, self.window.view, self.window._buttons())}
        self.at(spots[label].x + 3, top + spots[label].y + 3)

    def at(self, x: float, y: float) -> None:
        for kind in (pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP):
            pygame.event.post(pygame.event.Event(kind, pos=(int(x), int(y)), button=1))
        self.rest()

    def done(self) -> list[str]:
        return [ply.actions[ply.seats[0]] for ply in self.session.match.plies if ply.actions is not None]

    def panel(self) -> np.ndarray:
        _, y, _, h = self.window.board
        return self.window.screen.picture()[y + h :]


@pytest.fixture
def desk() -> Iterator[Callable[..., Desk]]:
    made: list[BoardSession] = []

    def make(game, *agents: Talker | None, seed: int = 0) -> Desk:
        names = [agent.name if agent else "human" for agent in agents]
        draw = spec(game.info.id).draw
        made.append(BoardSession(lambda number: Match(game, names, seed + number), agents, draw, seconds=0.0))
        return Desk(made[-1])

    yield make
    for session in made:
        session.close()


def test_what_was_typed_goes_with_the_next_action(desk) -> None:
    game = desk(TICTACTOE, None, Talker("so there"))
    game.type("  Hi, fun!")
    assert game.done() == [], "letters are no controls here"
    game.cell(4)
    game.until(lambda: len(game.done()) == 2)
    assert game.done() == ["Hi, fun! [4]", "so there [0]"]
    assert game.window.view.said == ((0, "Hi, fun!"), (1, "so there"))
    assert game.window.view.last == (0,)
    game.cell(1)
    game.until(lambda: len(game.done()) == 4)
    assert game.done()[2] == "[1]", "a message is said once, and nothing need be said"


def test_a_message_is_edited(desk) -> None:
    game = desk(TICTACTOE, None, Talker(""))
    game.type("hxllo")
    game.key(pygame.K_LEFT, pygame.K_LEFT, pygame.K_LEFT, pygame.K_BACKSPACE)
    game.type("e")
    game.key(pygame.K_HOME, pygame.K_DELETE, pygame.K_BACKSPACE)
    game.type("J")
    game.key(pygame.K_END)
    game.type(" 😀")
    game.cell(8)
    assert game.done()[0] == "Jello 😀 [8]"


def test_only_what_may_be_said_can_be_typed(desk) -> None:
    game = desk(TICTACTOE, None, Talker(""))
    game.type("a[4]\x1b\x00\n\tb" + "x" * 500)
    game.cell(2)
    assert game.done()[0] == "a4b" + "x" * 17 + " [2]"


def test_enter_says_what_is_missing(desk) -> None:
    game = desk(TICTACTOE, None, Talker(""))
    game.key(pygame.K_RETURN)
    assert game.window.view.said == ()
    game.type("hello")
    game.key(pygame.K_RETURN)
    assert game.done() == []
    assert "Choose an action" in game.window.view.said[-1][1]
    game.cell(2)
    assert game.window.view.said[0] == (0, "hello")
    assert game.done()[0] == "hello [2]"


def test_an_address_that_names_nobody_is_explained_and_the_message_is_kept(desk) -> None:
    game = desk(THREE, None, Talker("@2 between us"), Talker("aloud"))
    game.type("@7 psst")
    game.cell(0, 5, 10)
    assert game.done() == []
    assert "cannot be read" in game.window.view.said[-1][1]
    game.key(*[pygame.K_BACKSPACE] * 6)
    game.type("1 psst")
    game.cell(0, 5, 10)
    game.until(lambda: len(game.done()) == 3)
    assert game.done()[0] == "@1 psst [Offer: price 0, date 1, place 2]"
    assert game.window.view.said == ((0, "@1 psst"), (2, "aloud")), "what is said to others stays with them"


def test_those_who_watch_hear_everything_and_type_nothing(desk) -> None:
    game = desk(THREE, Talker("@1 psst"), Talker("aloud"), Talker("@0 no"))
    game.key(pygame.K_SPACE)
    for _ in range(3):
        done = len(game.done())
        game.key(pygame.K_RIGHT)
        game.until(lambda done=done: len(game.done()) > done)
    assert game.window.view.said[:3] == ((0, "@1 psst"), (1, "aloud"), (2, "@0 no"))
    game.type("n")
    assert game.done() == [], "a new game: keys are controls"


def test_two_people_at_one_window_see_their_own(desk) -> None:
    game = desk(THREE, None, None, Talker(""))
    assert game.window.view.cover
    game.key(pygame.K_RETURN)
    game.type("@2 not for 1")
    game.cell(0, 5, 10)
    assert game.window.view.cover
    hidden = game.panel()
    assert (np.abs(hidden.astype(int) - PALETTE.cell).sum(-1) == 0).any()
    game.type("unseen")
    game.key(pygame.K_RETURN)
    assert game.window.view.said == ()
    game.button("Accept")
    assert game.done()[:2] == ["@2 not for 1 [Offer: price 0, date 1, place 2]", "[Accept]"]


def test_words_are_drawn(desk) -> None:
    game = desk(TICTACTOE, None, Talker("0123456789 987654321"))
    before = game.panel()
    game.type("i" * 12 + "W" * 8)
    typed = game.panel()
    assert not np.array_equal(before, typed)
    game.cell(4)
    game.until(lambda: len(game.done()) == 2)
    assert not np.array_equal(game.panel(), before)
    pygame.event.post(pygame.event.Event(pygame.VIDEORESIZE, size=(260, 400), w=260, h=400))
    game.type("j" * 20)
    assert game.window.screen.size == (260, 400)


def test_buttons_where_a_game_has_no_picture(desk) -> None:
    game = desk(make_game("bluff", dice=2), None, Talker("you lie"), seed=3)
    game.type("one two")
    game.button("1x2")
    game.until(lambda: len(game.done()) == 2)
    assert game.done()[0] == "one two [1x2]"


def test_what_was_said_is_taken_back_with_its_action(desk) -> None:
    game = desk(TICTACTOE, None, Talker("ha"))
    game.type("hm")
    game.cell(4)
    game.until(lambda: len(game.done()) == 2)
    game.button("Undo")
    assert (game.done(), game.window.view.said) == ([], ())


def at_window(monkeypatch: pytest.MonkeyPatch, play: Callable[[Desk], None]) -> None:
    def run(session: BoardSession) -> None:
        session.seconds = 0.0
        play(Desk(session))
        session.close()

    monkeypatch.setattr(BoardSession, "run", run)


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (["negotiation", "--set", "talk=80", "preset=ultimatum"], "[Offer: 3 coin]"),
        (["negotiation", "human", "bargainer", "--set", "talk=80", "--set", "preset=ultimatum"], "[Offer: 3 coin]"),
        (["bluff"], "[1x1]"),
    ],
)
def test_from_the_command_line(words, first, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    said: list[str] = []

    def play(game: Desk) -> None:
        game.type("I begin")
        if words[0] == "bluff":
            game.button("1x1")
        else:
            game.cell(3)
        game.until(lambda: len(game.done()) == 2 or game.session.match.status == TERMINATED)
        said.extend(game.done())

    at_window(monkeypatch, play)
    assert main(["play", *words, "--window", "--save", "g.json", "--seed", "5"]) == 0
    assert said[0] == f"I begin {first}"
    (saved,) = read_games(Path("g.json"))
    assert saved.record.actions[0][0] == said[0]
    assert json.loads(Path("g.json").read_text())["config"]["talk"] == 80


def test_a_replay_with_talk_at_the_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["play", "negotiation", "random", "random", "--set", "talk=30", "--seed", "2", "--save", "g.json"]
    assert main(words) == 0
    (saved,) = read_games(Path("g.json"))
    texts = [next(text for text in turn if text) for turn in saved.record.actions]
    seen: list[str] = []

    def watch(game: Desk) -> None:
        game.until(lambda: len(game.done()) == len(texts))
        seen.extend(game.done())

    at_window(monkeypatch, watch)
    assert main(["play", "--replay", "g.json", "--window"]) == 0
    assert seen == texts
