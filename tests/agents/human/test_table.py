"""One game, moment by moment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from coterie.agents.baselines import make_baseline
from coterie.agents.core import Decision, Tokens, Turn
from coterie.agents.human.films import draw_film
from coterie.agents.human.replayed import Again
from coterie.agents.human.table import Match, TakeBack, can_undo, follow, picture, tell, watch, winner
from coterie.agents.human.terminal import play_games
from coterie.aliases import RUNNING, TERMINATED
from coterie.envs.core import GameRecord
from coterie.envs.registry import make_game
from coterie.envs.state import to_bytes
from coterie.errors import UsageError

GAME = make_game("tictactoe")


class Script:
    """Says what it was told to say, one word a turn."""

    def __init__(self, name: str, *words: str) -> None:
        self.name, self.words = name, list(words)

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        word = self.words.pop(0)
        return [Decision(int(word) if word.isdigit() else None, word) for _ in turns]


def test_a_game_is_shown_from_start_to_end() -> None:
    moments = [
        (m.status, m.actions, m.rewards.tolist())
        for m in watch(GAME, [Script("a", *"036"), Script("b", *"12")], seed=0)
    ]
    assert moments == [
        (RUNNING, {}, [0, 0]),
        (RUNNING, {0: "0"}, [0, 0]),
        (RUNNING, {1: "1"}, [0, 0]),
        (RUNNING, {0: "3"}, [0, 0]),
        (RUNNING, {1: "2"}, [0, 0]),
        (TERMINATED, {0: "6"}, [1, -1]),
    ]


@pytest.mark.parametrize("answer", ["nonsense", "0", "99"])
def test_an_illegal_answer_loses_and_the_others_get_nothing(answer: str) -> None:
    agents = [Script("a", "0"), Script("b", answer)]
    last = list(watch(GAME, agents, seed=0))[-1]
    assert last.status == TERMINATED
    assert last.rewards.tolist() == [0, -1]
    said: list[str] = []
    tell(last, agents, said.append)
    assert said == [f"player_1 (b): {answer!r}, which is no legal action"]


def test_everybody_acts_where_the_game_is_simultaneous() -> None:
    game = make_game("highest_number")
    last = list(watch(game, [Script("a", "7"), Script("b", "12")], seed=0))[-1]
    assert last.actions == {0: "7", 1: "12"}
    assert last.rewards.tolist() == [-1, 1]


def test_the_same_seed_gives_the_same_game() -> None:
    agents = [make_baseline("random", GAME)] * 2
    games = [[m.actions for m in watch(GAME, agents, seed)] for seed in (5, 5, 6)]
    assert games[0] == games[1] != games[2]


def test_the_number_of_agents_must_fit() -> None:
    with pytest.raises(UsageError, match="2 players, but got 1: a"):
        next(watch(GAME, [Script("a")], 0))


@pytest.mark.parametrize(
    ("total", "seat"), [([1, -1], 0), ([-1, 1], 1), ([0, 0], None), ([0, 3, 3], None), ([0, 1, 3], 2)]
)
def test_winner(total: list[float], seat: int | None) -> None:
    assert winner(np.array(total, np.float64)) == seat


def test_picture_names_the_players() -> None:
    agents = [Script("a", *"036"), Script("b", *"12")]
    for moment in watch(GAME, agents, seed=0):
        frame = picture("coterie.renderers.tictactoe:draw", GAME, moment.state, [a.name for a in agents])
        assert frame.shape[0] > frame.shape[1] == 480


# -- a match -----------------------------------------------------------------------------------------------------------


def play(match: Match, *cells: int) -> Match:
    for cell in cells:
        match.play({match.seats()[0]: Decision(cell)})
    return match


def test_a_match_asks_who_is_to_move() -> None:
    match = Match(GAME, ["a", "b"], 0)
    assert match.seats() == [0]
    play(match, 4)
    assert match.seats() == [1]
    turn = match.turn(1)
    play(match, 0)
    assert turn.mask.tolist() == [1, 1, 1, 1, 0, 1, 1, 1, 1], "a turn stays what it was"
    assert GAME.legal_actions(turn.state, 0, 1) == turn.legal_actions
    play(match, 3, 1, 5)
    assert (match.seats(), match.status, match.returns.tolist()) == ([], TERMINATED, [1, -1])
    assert Match(make_game("highest_number"), ["a", "b"], 0).seats() == [0, 1]


def test_the_record_of_a_match() -> None:
    record = play(Match(GAME, ["a", "b"], 0), 4, 0).record()
    assert (record.players, record.status, record.returns, record.illegal) == (("a", "b"), RUNNING, (0, 0), None)
    assert [actions[turn % 2] for turn, actions in enumerate(record.actions)] == [4, 0]
    assert to_bytes(GAME, record.start) == to_bytes(GAME, Match(GAME, ["a", "b"], 7).state)


def test_what_was_said_is_recorded_where_it_is_more_than_the_action() -> None:
    match = Match(GAME, ["a", "b"], 0)
    free = Tokens((), (), (), "free")
    match.play({0: Decision(4, "The middle, of course: 4", free)})
    match.play({1: Decision(0, "0", Tokens((), (), (), "choice"))})
    match.play({0: Decision(None, "I resign", free)})
    record = match.record()
    assert record.comments == {0: "The middle, of course: 4", 2: "I resign"}
    assert (record.illegal, record.status, len(record.actions)) == (0, TERMINATED, 2)
    numbers = make_game("highest_number")
    match = Match(numbers, ["a", "b"], 0)
    match.play({0: Decision(3, "three", free), 1: Decision(5, "5")})
    assert match.record().comments == {0: "player_0: three"}


def test_taking_back() -> None:
    match = Match(GAME, ["a", "b"], 0)
    seen = [(to_bytes(GAME, match.state), match.turn(0).seed)]
    for cell in (4, 0, 3, 1, 5):
        play(match, cell)
        seen.append((to_bytes(GAME, match.state), match.turn(0).seed))
    assert len({seed for _, seed in seen}) == len(seen)
    assert match.status == TERMINATED
    assert match.undo([1])
    assert (match.status, len(match.plies), match.seats()) == (RUNNING, 3, [1])
    assert to_bytes(GAME, match.state) == seen[3][0]
    assert match.returns.tolist() == [0, 0]
    assert match.undo([0, 1])
    assert len(match.plies) == 2
    assert match.undo([0])
    assert (to_bytes(GAME, match.state), match.turn(0).seed) == seen[0]
    assert not match.undo([0])
    assert [len(list(play(match, 8).positions())), match.undo([0])] == [2, True]


def test_an_illegal_answer_can_be_taken_back() -> None:
    match = Match(GAME, ["a", "b"], 0)
    match.play({0: Decision(99)})
    assert (match.illegal, match.status) == (0, TERMINATED)
    assert match.undo([0])
    assert (match.illegal, match.status, match.returns.tolist()) == (None, RUNNING, [0, 0])


def test_nothing_is_taken_back_where_players_know_different_things() -> None:
    assert can_undo(GAME)
    for name in ("kuhn_poker", "matrix", "highest_number"):
        game = make_game(name)
        assert not can_undo(game)
        match = Match(game, ["a", "b"], 0)
        match.play({p: Decision(match.turn(p).legal_actions[0]) for p in match.seats()})
        assert not match.undo([0, 1])


def test_players_resign_and_agree_to_a_draw() -> None:
    match = Match(make_game("connect_four"), ["a", "b"], seed=1)
    match.play({0: Decision(3)})
    match.resign(1)
    assert match.status == TERMINATED
    assert match.returns.tolist() == [1, -1]
    assert match.record().returns == (1, -1)
    assert match.ended == "player_1 (b) resigns"
    with pytest.raises(UsageError, match="is over"):
        match.agree()
    assert match.undo([0])
    assert (match.status, match.ended, match.returns.tolist()) == (RUNNING, "", [0, 0])
    match.agree()
    assert (match.status, match.returns.tolist()) == (TERMINATED, [0, 0])


@pytest.mark.parametrize("name", ["kuhn_poker", "matrix", "word_chain"])
def test_nobody_resigns_where_games_are_not_just_won_or_lost(name: str) -> None:
    match = Match(make_game(name), ["a", "b"], seed=1)
    with pytest.raises(UsageError, match="cannot be resigned or agreed to be drawn"):
        match.resign(0)


def test_going_on_from_a_record() -> None:
    whole = play(Match(GAME, ["a", "b"], 0), 4, 0, 3)
    other = Match(GAME, ["c", "d"], 0, record=whole.record())
    assert to_bytes(GAME, other.state) == to_bytes(GAME, whole.state)
    assert [ply.seats for ply in other.plies] == [ply.seats for ply in whole.plies]
    assert other.record().actions == whole.record().actions
    assert other.undo([1])
    assert len(other.plies) == 1
    ended = Match(GAME, ["a", "b"], 0, record=play(whole, 1, 5).record())
    assert (ended.status, ended.returns.tolist(), ended.seats()) == (TERMINATED, [1, -1], [])


def test_agents_may_take_back() -> None:
    class Wavering(Script):
        def act(self, turns: Sequence[Turn]) -> list[Decision]:
            if self.words[0] == "undo":
                self.words.pop(0)
                raise TakeBack
            return super().act(turns)

    match = Match(GAME, ["a", "b"], 0)
    agents = [Wavering("a", "undo", "0", "undo", "4", "3", "5"), Script("b", *"1826")]
    moments = list(follow(match, agents))
    assert [ply.actions[ply.seats[0]] for ply in match.plies] == [4, 8, 3, 2, 5]
    assert [m.actions for m in moments if not m.decisions] == [{}] * 3
    assert match.returns.tolist() == [1, -1]


# -- worlds ------------------------------------------------------------------------------------------------------------


WORLD = make_game("gridworld", preset="a3_11x11")


class Many:
    """Sits in several seats; answers the same action, or none."""

    def __init__(self, name: str, action: int | None) -> None:
        self.name, self.action, self.asked = name, action, []

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        self.asked.append([turn.player for turn in turns])
        assert len({id(turn.state) for turn in turns}) == 1, "one copy of the state for all"
        return [Decision(self.action, "what?") for _ in turns]


def test_an_agent_in_several_seats_is_asked_once() -> None:
    one, two = Many("one", 3), Many("two", 4)
    match = Match(WORLD, ["one", "two", "one"], 0)
    moments = list(follow(match, [one, two, one]))
    assert (len(moments), len(match.plies)) == (41, 40)
    assert one.asked == [[0, 2]] * 40
    assert two.asked == [[1]] * 40
    assert {tuple(ply.actions) for ply in match.plies} == {(3, 4, 3)}
    assert all(ply.before is None for ply in match.plies), "thousands of states are not kept"


def test_nothing_that_is_answered_ends_a_world() -> None:
    match = Match(WORLD, ["a", "b", "c"], 0)
    moment = match.play({0: Decision(None, "I think"), 1: Decision(99, "99"), 2: Decision(7, "use")})
    assert (match.status, match.illegal, moment.rewards.tolist()) == (RUNNING, None, [0, 0, 0])
    assert match.plies[0].actions == [0, 0, 7]
    assert moment.actions == {0: "", 1: "", 2: "use"}
    assert match.record().comments == {0: "player_0: I think"}


def test_the_record_of_a_world_knows_every_state() -> None:
    match = Match(WORLD, ["a", "b", "c"], 5)
    agent = make_baseline("random", WORLD)
    seen = [to_bytes(WORLD, moment.state) for moment in follow(match, [agent] * 3)]
    record = match.record()
    assert len(record.keys) == len(record.actions) + 1 == 41
    assert [to_bytes(WORLD, state) for state in match.positions()] == seen
    half = GameRecord(record.start, record.actions[:20], record.players, (0.0,) * 3, RUNNING, keys=record.keys[:21])
    other = Match(WORLD, ["a", "b", "c"], 5, record=half)
    assert to_bytes(WORLD, other.state) == seen[20]
    for ply in match.plies[20:]:
        other.play({p: Decision(action) for p, action in enumerate(ply.actions)})
    again = other.record()
    for name in ("actions", "returns", "status", "comments", "keys"):
        assert getattr(again, name) == getattr(record, name), name
    assert not match.undo([0])


def test_a_match_begins_where_an_option_of_reset_says() -> None:
    game = make_game("connect_four")
    match = Match(game, ["a", "b"], 0, start={"moves": "3 3"})
    assert (match.status, match.seats()) == (RUNNING, [0])
    with_moves = next(match.positions())
    assert game.describe(with_moves, 0, 0) != game.describe(Match(game, ["a", "b"], 0).state, 0, 0)


def test_a_recorded_game_is_played_once_more_and_no_further() -> None:
    game = make_game("tictactoe")
    played = Match(game, ["a", "b"], 3)
    for action in (4, 0, 8):
        played.play({played.seats()[0]: Decision(action)})
    again = Again(game, played.record(), 3)
    for _ in range(2):
        assert len(list(follow(again, [again, again]))) == 4
        assert [ply.actions for ply in again.plies] == [ply.actions for ply in played.plies]
        assert (again.seats(), again.status) == ([], RUNNING)
        assert again.again(1).plies == []


def test_a_match_is_filmed(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("pygame")
    match = Match(make_game("tictactoe"), ["a", "b"], 3)
    for action in (4, 0):
        match.play({match.seats()[0]: Decision(action)})
    with image.open(draw_film(match, tmp_path / "game.gif")) as film:
        assert film.n_frames == 3


def test_games_are_played_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    game = make_game("tictactoe")
    left: list[int] = []
    agents = [make_baseline("minimax", game)] * 2
    play_games(lambda number: Match(game, ["a", "b"], number), agents, 2, left=lambda match: left.append(match.seed))
    assert left == [0, 1]
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["player_0", "a", "won", "0", "of", "2"],
        ["player_1", "b", "won", "0", "of", "2"],
        ["drawn", "2", "of", "2"],
    ]
