"""Connect four against PettingZoo's, against a second, naive set of rules, and against known counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.envs import make_game
from coterie.envs.connect_four import board
from coterie.errors import AmbiguousAction, IllegalAction, InvalidAction, NotationError

from .beside import play_beside

GAME = make_game("connect_four-v0")


def play(columns):
    """State, status and rewards after some legal moves."""
    state = GAME.new_state(1)
    GAME.kernels.reset(state, 0, np.uint64(0))
    status, rewards = 0, np.zeros(2, np.float32)
    for column in columns:
        rewards[:] = 0
        status = GAME.kernels.step(state, 0, np.array([column, column], np.int32), rewards)
    return state, status, rewards


class Naive:
    """The rules by the book: a list of columns, stones in the order they fell."""

    def __init__(self):
        self.columns = [[] for _ in range(7)]
        self.turn = 0

    def legal(self):
        return [] if self.winner() is not None or self.full() else [c for c in range(7) if len(self.columns[c]) < 6]

    def play(self, column):
        self.columns[column].append(self.turn)
        self.turn = 1 - self.turn

    def full(self):
        return all(len(column) == 6 for column in self.columns)

    def at(self, column, height):
        return self.columns[column][height] if 0 <= column < 7 and 0 <= height < len(self.columns[column]) else None

    def winner(self):
        for column in range(7):
            for height in range(6):
                for right, up in ((1, 0), (0, 1), (1, 1), (1, -1)):
                    four = {self.at(column + k * right, height + k * up) for k in range(4)}
                    if len(four) == 1 and four != {None}:
                        return four.pop()
        return None

    def rows(self):
        """42 characters, the top row first."""
        return "".join(
            ".XO"[1 + (-1 if (s := self.at(c, h)) is None else s)] for h in range(5, -1, -1) for c in range(7)
        )


@settings(deadline=None, max_examples=60)  # the first call may compile
@given(st.lists(st.integers(0, 6), min_size=42, max_size=80))
def test_rules_against_naive_ones(wishes):
    naive, turn = Naive(), 0
    state, status, rewards = play([])
    for wish in [None, *wishes]:
        winner = naive.winner()
        free = [] if status else [c for c in range(7) if len(naive.columns[c]) < 6]
        if wish is not None and wish in free:
            naive.play(wish)
            turn, winner = turn + 1, naive.winner()
            rewards[:] = 0
            status = GAME.kernels.step(state, 0, np.array([wish, wish], np.int32), rewards)
            free = [] if winner is not None else [c for c in range(7) if len(naive.columns[c]) < 6]
        assert (status != 0) == (winner is not None or naive.full())
        assert rewards.tolist() == ([0, 0] if winner is None else [1, -1] if winner == 0 else [-1, 1])
        assert board(state, 0) == naive.rows()
        assert GAME.mover(state, 0) == turn % 2
        assert GAME.legal_actions(state, 0, turn % 2) == free
        assert GAME.legal_actions(state, 0, 1 - turn % 2) == []


def test_observations_are_the_board_from_each_side():
    rng = np.random.default_rng(5)
    for _ in range(60):
        naive, played = Naive(), []
        for _ in range(rng.integers(0, 42)):
            if not naive.legal():
                break
            played.append(int(rng.choice(naive.legal())))
            naive.play(played[-1])
        state, _, _ = play(played)
        marks = np.array(list(naive.rows())).reshape(6, 7)
        for player, (own, other) in enumerate(("XO", "OX")):
            seen = np.full((6, 7, 2), 9, np.int8)
            GAME.kernels.observe(state, 0, player, seen)
            assert np.array_equal(seen, np.stack([marks == own, marks == other], -1))


def test_positions_and_games_are_counted():
    """Distinct positions after n stones (OEIS A212693) and orders of play that lead there; equal keys, equal boards."""
    level, positions, games = {(): 1}, [], []
    for _ in range(6):
        after = {}
        for columns, ways in level.items():
            state, _, _ = play(columns)
            for column in GAME.legal_actions(state, 0, len(columns) % 2):
                longer = (*columns, column)
                child, _, _ = play(longer)
                key = GAME.key(child, 0)
                first, text, so_far = after.get(key, (longer, board(child, 0), 0))
                assert text == board(child, 0)
                after[key] = (first, text, so_far + ways)
        assert len({text for _, text, _ in after.values()}) == len(after)
        level = {columns: ways for columns, _, ways in after.values()}
        positions.append(len(level))
        games.append(sum(level.values()))
    assert positions == [7, 49, 238, 1120, 4263, 16422]
    assert games == [7**n for n in range(1, 7)]


def test_equal_to_pettingzoo_move_by_move():
    pytest.importorskip("pygame")
    pettingzoo = pytest.importorskip("pettingzoo")
    theirs = pettingzoo.make("aec", "classic/connect_four-v3")
    ours = coterie.make("connect_four-v0")
    rng = np.random.default_rng(0)
    for _ in range(60):
        play_beside(ours, theirs, rng)


def test_a_full_board_is_a_draw():
    order = [c for pair in ((0, 1), (2, 3), (4, 5)) for c in (*pair, *pair, *pair[::-1], *pair[::-1], *pair, *pair)]
    state, status, rewards = play(order + [6] * 6)
    assert "." not in board(state, 0)
    assert status == 1
    assert rewards.tolist() == [0, 0]
    assert GAME.legal_actions(state, 0, GAME.mover(state, 0)) == []


def test_texts():
    state, _, _ = play([3, 3, 4])
    assert GAME.compact(state, 0, 1) == "O " + "." * 31 + "O" + "." * 6 + "XX..>"
    shown, last = GAME.describe(state, 0, 1).rsplit("\n", 1)
    assert shown == "0 1 2 3 4 5 6\n" + ". . . . . . .\n" * 4 + ". . . O . . .\n. . . X X . ."
    assert last == "You are O. Legal actions: 0 1 2 3 4 5 6."
    assert GAME.describe(state, 0, 0).endswith("You are X. You have no move now.")


@pytest.mark.parametrize("text", ["2", " 2\n", "column 2.", "I play (2)!", "2 2"])
def test_answers_that_are_understood(text):
    state, _, _ = play([3] * 6)
    assert GAME.parse_action(state, 0, text) == 2


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", InvalidAction),
        ("c2", InvalidAction),
        ("7", InvalidAction),
        ("1 or 2", AmbiguousAction),
        ("3", IllegalAction),
    ],
)
def test_answers_that_are_not(text, error):
    state, _, _ = play([3] * 6)
    with pytest.raises(error, match="Answer with one of 0 1 2 4 5 6"):
        GAME.parse_action(state, 0, text)


def test_no_answer_after_the_end():
    state, _, _ = play([0, 1, 0, 1, 0, 1, 0])
    with pytest.raises(IllegalAction, match="game is over"):
        GAME.parse_action(state, 0, "2")


@pytest.mark.parametrize("moves", ["3 3 4", "334", "3,3,4", " 3\n3 4 "])
def test_starting_from_moves(moves):
    env = coterie.make("connect_four-v0")
    env.reset(options={"moves": moves})
    assert board(env.table.state, 0) == board(play([3, 3, 4])[0], 0)
    assert env.agent_selection == "player_1"
    vec = coterie.make_vec("connect_four-v0", 2, seed=0)
    vec.reset(options={"moves": [moves, ""]})
    assert vec.player.tolist() == [1, 0]
    assert np.array_equal(vec.observation[0], env.observe("player_1")["observation"])


@pytest.mark.parametrize(
    ("moves", "words", "at", "read"),
    [
        ("3 3 x", "Move 3 of '3 3 x' is 'x', at character 4; columns are 0..6", 4, [3, 3]),
        ("337", "columns are 0..6", 2, [3, 3]),
        ("3333333", "that column is full", 6, [3] * 6),
        ("0101010", "it ends the game", 6, [0, 1, 0, 1, 0, 1]),
        ([3, 3], "a text of columns", None, None),
    ],
)
def test_starting_from_bad_moves(moves, words, at, read):
    env = coterie.make("connect_four-v0")
    with pytest.raises(NotationError, match=words) as caught:
        env.reset(options={"moves": moves})
    assert (caught.value.at, caught.value.read) == (at, read)


def test_the_page_shows_what_its_blocks_print(capsys):
    page, names = (Path(__file__).parents[2] / "docs" / "games" / "connect_four.md").read_text(), {}
    for block in page.split("```python\n")[1:]:
        exec(block.split("```")[0], names)
        assert capsys.readouterr().out in page


def test_equal_to_openspiel():
    """Random games: movers, legal actions, ends and results."""
    pyspiel = pytest.importorskip("pyspiel")
    rng, theirs = np.random.default_rng(0), pyspiel.load_game("connect_four")
    for _ in range(1000):
        state, status, rewards = play([])
        other = theirs.new_initial_state()
        while not status:
            mover = GAME.mover(state, 0)
            assert mover == other.current_player()
            legal = GAME.legal_actions(state, 0, mover)
            assert legal == other.legal_actions()
            action = int(rng.choice(legal))
            rewards[:] = 0
            status = GAME.kernels.step(state, 0, np.array([action, action], np.int32), rewards)
            other.apply_action(action)
            assert other.is_terminal() == (status != 0)
            assert other.returns() == rewards.tolist()


def test_equal_to_pgx():
    """Random games: masks, observations, rewards and ends."""
    pgx, jax = pytest.importorskip("pgx"), pytest.importorskip("jax")
    env = pgx.make("connect_four")
    init, step, rng = jax.jit(env.init), jax.jit(env.step), np.random.default_rng(0)
    seen = np.zeros((6, 7, 2), np.int8)
    for number in range(100):
        state, status, rewards = play([])
        other = init(jax.random.PRNGKey(number))
        first = int(other.current_player)
        while not status:
            mover = GAME.mover(state, 0)
            assert (mover + first) % 2 == int(other.current_player)
            mask = GAME.legal_mask(state, 0, mover)
            assert np.array_equal(mask, np.asarray(other.legal_action_mask))
            GAME.kernels.observe(state, 0, mover, seen)
            assert np.array_equal(seen, np.asarray(other.observation))
            action = int(rng.choice(np.flatnonzero(mask)))
            rewards[:] = 0
            status = GAME.kernels.step(state, 0, np.array([action, action], np.int32), rewards)
            other = step(other, action)
            assert bool(other.terminated) == (status != 0)
            assert np.roll(np.asarray(other.rewards), first).tolist() == rewards.tolist()
