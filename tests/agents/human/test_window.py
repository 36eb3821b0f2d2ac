"""Games at the window, on SDL's dummy display: people by mouse events, opponents in their thread, undo, leaving.

The file is longer than most: every test sits at a ``Table``.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from coterie.agents.baselines import make_baseline
from coterie.agents.core import Agent, Decision, Turn
from coterie.agents.human.adviser import Adviser
from coterie.agents.human.board import SPEEDS
from coterie.agents.human.clock import Clock
from coterie.agents.human.session import Thinker
from coterie.agents.human.table import Match
from coterie.agents.human.window import BoardSession
from coterie.aliases import RUNNING, TERMINATED
from coterie.envs.core import GameRecord, Times
from coterie.envs.registry import make_game, spec
from coterie.envs.state import to_bytes

pygame = pytest.importorskip("pygame")
TICTACTOE = make_game("tictactoe-v0")
CHESS = make_game("chess-v0")


class Script:
    """Plays what it was told to, one action a turn; waits for ``gate`` first where there is one."""

    def __init__(self, *actions: int | None, gate: threading.Event | None = None) -> None:
        self.name, self.actions, self.gate, self.asked = "script", list(actions), gate, 0

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        self.asked += 1
        if self.gate is not None:
            self.gate.wait(300)
        return [Decision(self.actions.pop(0), "said") for _ in turns]


class Table:
    """A session that a test drives."""

    def __init__(self, game, *agents: Agent | None, record: GameRecord | None = None, seed: int = 0, **more) -> None:
        self.left: list[GameRecord] = []
        names = [agent.name if agent else "human" for agent in agents]
        times, people = more.pop("clock", None), [seat for seat, agent in enumerate(agents) if agent is None]

        def begin(number: int) -> Match:
            return Match(game, names, seed + number, record=record, clock=times and Clock(times, game, people))

        kept = more.pop("left", lambda one: self.left.append(one.record()))
        self.session = BoardSession(
            begin, agents, spec(game.info.id).draw, seconds=more.pop("seconds", 0.0), left=kept, **more
        )
        self.game, self.window = game, self.session.window
        self.rest()

    @property
    def match(self) -> Match:
        return self.session.match

    def rest(self, steps: int = 3) -> bool:
        alive = True
        for _ in range(steps):
            alive = self.session.step() and alive
        return alive

    def until(self, what: Callable[[], bool]) -> None:
        """Go on until something is so."""
        end = time.monotonic() + 300  # kernels may be compiled meanwhile
        while not what():
            assert time.monotonic() < end, "it never came to that"
            self.session.step(wait=0.001)

    def at(self, x: float, y: float) -> None:
        for kind in (pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP):
            pygame.event.post(pygame.event.Event(kind, pos=(int(x), int(y)), button=1))
        self.rest()

    def cell(self, *cells: int) -> None:
        for cell in cells:
            x, y, w, h = self.window.boxes()[cell]
            self.at(x + w / 2, y + h / 2)

    def button(self, label: str) -> None:
        width, height = self.window.screen.size
        top = height - self.window._panel_height()
        spots = {spot.label: spot for spot in self.window.panel.spots(width, self.window.view, self.window._buttons())}
        assert label in spots, f"there is no button {label!r}, only {list(spots)}"
        self.at(spots[label].x + 3, top + spots[label].y + 3)

    def key(self, key: int) -> None:
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key, unicode="", mod=0))
        self.rest()

    def played(self) -> list[int]:
        """The movers' actions so far."""
        return [ply.actions[ply.seats[0]] for ply in self.match.plies if ply.actions is not None]


@pytest.fixture
def table():
    made: list[Table] = []

    def make(*args, **more) -> Table:
        made.append(Table(*args, **more))
        return made[-1]

    yield make
    for one in made:
        one.session.close()


def test_the_game_waits_while_the_keys_are_shown(table) -> None:
    one = table(TICTACTOE, Script(0, 4), Script(8, 5))
    one.until(lambda: len(one.match.plies) > 0)
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_h, unicode="h", mod=0))
    one.rest()
    shown = len(one.match.plies)
    for _ in range(20):
        one.session.step(wait=0.002)
    assert len(one.match.plies) == shown
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_h, unicode="h", mod=0))
    one.until(lambda: len(one.match.plies) > shown)


# -- playing -----------------------------------------------------------------------------------------------------------


def test_a_person_plays_a_game_against_an_agent(table) -> None:
    game = table(TICTACTOE, None, Script(0, 1))
    assert game.window.view.status == "Your move"
    for own, plies in ((4, 2), (2, 4), (6, 5)):
        game.cell(own)
        game.until(lambda plies=plies: len(game.match.plies) == plies)
    game.rest()
    assert game.played() == [4, 0, 2, 1, 6]
    assert game.match.status == TERMINATED
    assert game.window.view.status == "You win."
    game.cell(8)
    assert len(game.match.plies) == 5, "the game is over"


def test_an_agent_may_begin(table) -> None:
    game = table(TICTACTOE, Script(4, 0), None)
    game.until(lambda: game.match.seats() == [1])
    game.rest()
    assert game.window.view.last == (4,)
    game.cell(4)
    assert game.played() == [4], "an occupied cell"
    game.cell(8)
    game.until(lambda: len(game.match.plies) == 3)
    assert game.played() == [4, 8, 0]


def test_two_people(table) -> None:
    game = table(TICTACTOE, None, None)
    for cell in (4, 0, 3, 1):
        status = game.window.view.status
        assert status == f"player_{len(game.match.plies) % 2} (human) to move"
        game.cell(cell)
    assert game.played() == [4, 0, 3, 1]
    game.cell(5)
    game.rest()
    assert game.window.view.status == "player_0 (human) wins."


def test_the_window_answers_while_an_opponent_thinks(table) -> None:
    gate = threading.Event()
    game = table(TICTACTOE, None, Script(0, gate=gate))
    game.cell(4)
    game.rest(20)
    assert game.played() == [4]
    assert game.window.view.status == "script to move ..."
    pygame.event.post(pygame.event.Event(pygame.VIDEORESIZE, size=(500, 700), w=500, h=700))
    game.rest()
    assert game.window.screen.size == (500, 700)
    game.cell(8)
    assert game.played() == [4], "it is not the person's turn"
    gate.set()
    game.until(lambda: game.played() == [4, 0])


def test_an_illegal_answer_of_an_agent_ends_the_game(table) -> None:
    game = table(TICTACTOE, None, Script(4))
    game.cell(4)
    game.until(lambda: game.match.status == TERMINATED)
    game.rest()
    assert "script) gave an illegal answer" in game.window.view.status
    assert game.match.record().illegal == 1
    game.button("Undo")
    assert (game.match.status, game.match.illegal, game.played()) == (RUNNING, None, [])


def test_what_goes_wrong_in_an_agent_is_raised_and_the_game_is_kept() -> None:
    class Broken:
        name = "broken"

        def act(self, turns: Sequence[Turn]) -> list[Decision]:
            raise RuntimeError("no more ideas")

    game = Table(TICTACTOE, None, Broken())
    x, y, w, h = game.window.boxes()[4]
    pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, pos=(int(x + w / 2), int(y + h / 2)), button=1))
    with pytest.raises(RuntimeError, match="no more ideas"):
        game.session.run()
    assert [record.status for record in game.left] == [RUNNING]
    assert len(game.left[0].actions) == 1
    assert not pygame.display.get_init()


def test_promotions(table) -> None:
    state = CHESS.new_state(1)
    CHESS.kernels.reset(state, 0, np.uint64(0))
    CHESS.options["fen"](state, 0, "8/P6k/8/8/8/8/7K/8 w - - 0 1")
    record = GameRecord(state, [], ("human", "human"), (0.0, 0.0), RUNNING)
    game = table(CHESS, None, None, record=record)
    game.cell(48, 56)
    assert game.played() == []
    _, spots, (left, top) = game.window._chooser()
    spot = next(spot for spot in spots if spot.label.startswith("a8=R"))
    game.at(left + spot.x + 5, top + spot.y + 5)
    assert game.played() == [CHESS.parse_action(state, 0, "a8=R")]
    assert "R" in CHESS.describe(game.match.state, 0, 0).split("\n")[0].split()[1].split("/")[0]


# -- taking back -------------------------------------------------------------------------------------------------------


def test_undo_restores_the_exact_state(table) -> None:
    game = table(CHESS, None, make_baseline("random", CHESS), seed=3)
    seen = [(to_bytes(CHESS, game.match.state), game.match.turn(0).seed)]
    for n, (start, target) in enumerate(((12, 28), (6, 21), (5, 33)), 1):
        game.cell(start, target)
        game.until(lambda n=n: len(game.match.plies) == 2 * n)
        seen.append((to_bytes(CHESS, game.match.state), game.match.turn(0).seed))
    for state, seed in reversed(seen[:-1]):
        game.button("Undo")
        assert to_bytes(CHESS, game.match.state) == state
        assert game.match.turn(0).seed == seed
        assert game.session.asked == 0
    game.rest()
    assert "undo" not in game.window.view.controls, "nothing is left to take back"
    for start, target in ((12, 28), (6, 21), (5, 33)):
        game.cell(start, target)
        game.until(lambda: game.session.asked == 0)
    assert to_bytes(CHESS, game.match.state) == seen[-1][0], "the same moves lead to the same game"


def test_undo_while_the_opponent_thinks(table) -> None:
    gate = threading.Event()
    opponent = Script(0, 1, gate=gate)
    game = table(TICTACTOE, None, opponent)
    game.cell(4)
    game.until(lambda: opponent.asked == 1)
    game.key(pygame.K_u)
    assert game.played() == []
    assert game.session.asked == 0
    game.cell(8)
    assert game.played() == [8]
    gate.set()
    game.until(lambda: len(game.match.plies) == 2)
    assert game.played() == [8, 1], "the late answer to the first question is thrown away"


def test_undo_after_the_end(table) -> None:
    game = table(TICTACTOE, None, None)
    game.cell(4, 0, 3, 1, 5)
    assert game.match.status == TERMINATED
    game.button("Undo")
    assert game.match.status == RUNNING
    assert game.played() == [4, 0, 3, 1]
    assert game.match.returns.tolist() == [0, 0]


@pytest.mark.parametrize("id", ["kuhn_poker-v0", "matrix-v0"])
def test_no_undo_where_something_is_hidden(id: str, table) -> None:
    game = make_game(id)
    one = table(game, None, make_baseline("random", game))
    assert "undo" not in one.window.view.controls
    one.button(next(iter(one.window.view.labels.values())))
    one.until(lambda: len(one.match.plies) > 0)
    one.rest()
    before = len(one.match.plies)
    one.key(pygame.K_u)
    assert "undo" not in one.window.view.controls
    assert len(one.match.plies) >= before


# -- games of other kinds ----------------------------------------------------------------------------------------------


def test_everybody_at_once_by_buttons(table) -> None:
    game = make_game("matrix-v0")
    one = table(game, None, Script(1, 1, 1), seed=1)
    one.button("rock")
    one.until(lambda: len(one.match.plies) == 1)
    assert one.match.plies[0].actions == [0, 1]


def test_two_people_at_once(table) -> None:
    game = make_game("matrix-v0")
    one = table(game, None, None)
    assert one.window.view.status.startswith("player_0")
    one.button("rock")
    assert len(one.match.plies) == 0
    assert one.window.view.status.startswith("player_1")
    one.button("paper")
    assert one.match.plies[0].actions == [0, 1]


def test_a_person_sees_its_own_cards_alone(table) -> None:
    game = make_game("kuhn_poker-v0")
    one = table(game, None, make_baseline("random", game))
    assert one.window.view.player == 0
    two = table(game, make_baseline("random", game), None)
    assert two.window.view.player == 1
    nobody = table(game, *[make_baseline("random", game)] * 2, seconds=9.0)
    assert nobody.window.view.player is None


def test_two_people_with_cards_pass_the_seat(table) -> None:
    game = make_game("kuhn_poker-v0")
    one = table(game, None, None)
    assert "player_0: click when nobody else is looking" in one.window.view.cover
    assert one.window._buttons() == []
    assert not one.window.view.labels, "nothing is told before"
    one.at(100, 100)
    assert (one.window.view.cover, one.window.view.player) == ("", 0)
    first = one.window.screen.picture()
    one.button("check")
    assert one.window.view.cover.startswith("player_1")
    one.at(100, 100)
    assert one.window.view.player == 1
    assert not np.array_equal(first, one.window.screen.picture())
    one.button("check")
    assert one.match.status == TERMINATED


# -- watching ----------------------------------------------------------------------------------------------------------


def test_agents_among_themselves(table) -> None:
    random = make_baseline("random", TICTACTOE)
    game = table(TICTACTOE, random, random, games=3)
    game.until(lambda: len(game.left) == 2 and game.match.status != RUNNING)
    game.rest(20)
    assert len(game.left) == 2, "the last game stays in the window"
    assert [record.status for record in game.left] == [TERMINATED] * 2
    assert game.left[0].actions != game.left[1].actions


def test_pause_step_and_speed(table) -> None:
    random = make_baseline("random", TICTACTOE)
    game = table(TICTACTOE, random, random, seconds=1000.0)
    game.key(pygame.K_SPACE)
    assert game.session.paused
    game.session.seconds = SPEEDS[2]
    assert game.window.view.status == "Paused; random to move"
    game.session._changed -= 1000
    game.rest(10)
    assert game.match.plies == []
    for n in (1, 2):
        game.key(pygame.K_RIGHT)
        game.until(lambda n=n: len(game.match.plies) == n)
        game.rest(10)
        assert len(game.match.plies) == n
    game.key(pygame.K_LEFT)
    assert len(game.match.plies) == 1
    game.button("-")
    assert game.session.seconds == SPEEDS[1]
    for _ in range(9):
        game.button("+")
    assert game.session.seconds == SPEEDS[-1]
    game.button("Play")
    game.until(lambda: game.match.status != RUNNING)


# -- new games, sides, leaving -----------------------------------------------------------------------------------------


def test_a_new_game(table) -> None:
    game = table(TICTACTOE, None, None)
    game.cell(4)
    game.button("New game")
    assert game.played() == []
    assert game.match.seed == 1
    assert [record.status for record in game.left] == [RUNNING], "the game that was left is told"
    game.cell(4)
    assert game.played() == [4]


def test_sides(table) -> None:
    white, black = table(CHESS, None, Script()), table(CHESS, Script(4), None)
    assert (white.window.view.player, black.window.view.player) == (None, 1) or white.window.view.player == 0
    both = table(CHESS, None, None)
    assert both.window.view.player is None
    both.button("Flip")
    assert both.window.view.player == 1
    both.key(pygame.K_f)
    assert both.window.view.player is None
    assert "flip" not in table(TICTACTOE, None, None).window.view.controls


def test_closing_tells_the_game_that_is_left() -> None:
    game = Table(TICTACTOE, None, None)
    game.cell(4, 0)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    game.session.run()
    assert len(game.left) == 1
    assert (game.left[0].status, len(game.left[0].actions)) == (RUNNING, 2)
    assert not pygame.display.get_init()


def test_closing_does_not_wait_for_who_thinks() -> None:
    gate = threading.Event()
    opponent = Script(0, gate=gate)
    game = Table(TICTACTOE, None, opponent)
    game.cell(4)
    game.until(lambda: opponent.asked == 1)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    game.session.run()
    assert game.session.thinker._thread.is_alive()
    gate.set()


# -- the thinker -------------------------------------------------------------------------------------------------------


def test_a_thinker_says_what_the_agent_says() -> None:
    agent = make_baseline("random", TICTACTOE)
    thinker = Thinker([agent, None])
    match = Match(TICTACTOE, ["a", "b"], 0)
    thinker.ask({0: match.turn(0)})
    while (answer := thinker.answer()) is None:
        time.sleep(0.001)
    assert answer[0].action == agent.act([match.turn(0)])[0].action
    thinker.stop()
    assert not thinker._thread.is_alive()


@pytest.mark.parametrize("torch", [True, False])
def test_a_thought_within_torch_is_finished_before_python_ends(torch: bool) -> None:
    code = f"""
import atexit, sys, threading
from coterie.agents.core import Decision
from coterie.agents.table import Match
from coterie.agents.human.session import Thinker
from coterie.envs.registry import make_game

begun, ending = threading.Event(), threading.Event()

class Slow:
    name = "slow"

    def act(self, turns):
        begun.set()
        ending.wait()
        sys.stdout.write("finished")
        sys.stdout.flush()
        return [Decision(0)]

if {torch}:
    sys.modules["torch"] = None
game = make_game("tictactoe")
match = Match(game, ["a", "b"], 0)
thinker = Thinker([Slow(), None])
thinker.ask({{0: match.turn(0)}})
begun.wait()
thinker.stop()
print("left", end=" ")
if {torch}:
    atexit.register(ending.set)  # comes before what was registered earlier
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("left finished" if torch else "left ")


# -- moves, clocks and hints -------------------------------------------------------------------------------------------


def test_moves_and_clocks_are_in_the_view() -> None:
    table = Table(TICTACTOE, None, None)
    assert table.session.view().moves == ()
    table.session.choose(4)
    table.rest()
    table.session.choose(0)
    table.rest()
    assert table.session.view().moves == (((0, "4"),), ((1, "0"),))
    table.session._spent = [61.5, 2.0]
    assert table.session.view().clocks == ("1:01", "0:02")
    table.session._control("undo")
    assert table.session.view().moves == (((0, "4"),),)
    table.session._control("new")
    assert (table.session.view().moves, table.session.view().clocks) == ((), ("0:00", "0:00"))
    table.session.close()


def test_only_the_thinking_side_s_clock_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now)
    table = Table(TICTACTOE, None, None)
    now += 100
    table.session.step()
    assert table.session.view().clocks == ("1:40", "0:00")
    table.session.close()


def test_a_person_at_the_window_loses_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now)
    table = Table(TICTACTOE, None, Script(0), clock=Times(30, 2))
    now += 10
    table.session.step()
    assert table.session.view().clocks == ("0:20", "0:30")
    table.session.choose(4)
    table.until(lambda: len(table.match.plies) == 2)
    assert table.match.clock.left == [22, 32]
    now += 25
    table.rest()
    view = table.session.view()
    assert (view.status, view.clocks[0]) == ("You lose. player_0 (human) ran out of time.", "0:00")
    table.session._control("undo")
    assert table.session.view().clocks == ("0:30", "0:30")
    table.session._control("new")
    assert table.match.status == RUNNING
    table.session.close()
    assert [one.clock.flagged for one in table.left] == [None, None]


def test_no_time_passes_while_the_cards_are_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now)
    table = Table(make_game("kuhn_poker"), None, None, clock=Times(30))
    now += 20
    table.rest()
    assert table.match.clock.left == [30, 30]
    table.session._control("uncover")
    now += 20
    table.rest()
    assert table.match.clock.left == [10, 30]
    table.session.close()


def test_hints_come_from_the_adviser() -> None:
    table = Table(TICTACTOE, None, None, adviser=Script(4, 5))
    table.session._control("hint")
    table.until(lambda: bool(table.session.view().hint))
    shown = table.session.view()
    assert (shown.hint, shown.status) == ((4,), "script would play 4")
    table.session.choose(0)
    table.rest()
    assert table.session.view().hint == (), "it was for the position before"
    table.session.close()


def test_a_hint_that_cannot_be_had_says_why() -> None:
    from coterie.agents.human.adviser import Adviser

    table = Table(CHESS, None, None, adviser=Adviser(["minimax"]))
    table.session._control("hint")
    table.until(lambda: table.session.view().status.startswith("No hint: "))
    assert "hint" in table.session.view().controls
    table.session.close()


def test_secret_moves_are_not_listed() -> None:
    table = Table(make_game("phantom_tictactoe"), None, make_baseline("random", make_game("phantom_tictactoe")))
    table.session.choose(table.session.match.turn(0).legal_actions[0])
    table.until(lambda: len(table.match.plies) >= 2 and table.session.asked is not None)
    seen = {seat for turn in table.session.view().moves for seat, _ in turn}
    assert seen == {0}
    table.session.close()


# -- resigning and draws -----------------------------------------------------------------------------------------------


def test_a_person_resigns() -> None:
    table = Table(TICTACTOE, None, Script(4))
    assert "offer" not in table.session.view().controls, "nobody is there to judge it"
    table.session._control("resign")
    table.rest()
    view = table.session.view()
    assert view.status == "You lose. player_0 (human) resigns."
    assert not {"resign", "offer", "hint"} & set(view.controls)
    table.session.close()


def test_two_people_agree_to_a_draw() -> None:
    table = Table(make_game("connect_four"), None, None)
    table.session._control("offer")
    assert table.session.view().status == "player_0 offers a draw"
    table.session._control("decline")
    assert "accept" not in table.session.view().controls
    table.session._control("offer")
    table.session._control("accept")
    assert table.session.view().status == "Draw agreed."
    assert table.match.returns.tolist() == [0, 0]
    table.session.close()


@pytest.mark.parametrize(("worth", "status"), [(1.0, "Draw agreed."), (-1.0, "script finds you worse off")])
def test_an_adviser_judges_offers(worth: float, status: str) -> None:
    class Judge(Script):
        def act(self, turns: Sequence[Turn]) -> list[Decision]:
            return [Decision(0, "0", info={"value": worth})]

    table = Table(TICTACTOE, None, Script(4), adviser=Adviser(["script"], lambda name, game: Judge()))
    table.session._control("offer")
    table.until(lambda: status in table.session.view().status)
    table.session.close()
