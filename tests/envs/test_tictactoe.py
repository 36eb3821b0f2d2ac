"""Tic-tac-toe against PettingZoo's, and against a second, naive set of rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.envs import make_game, tictactoe_v0
from coterie.errors import AmbiguousAction, IllegalAction, InvalidAction

from .beside import play_beside

GAME = make_game("tictactoe-v0")
LINES = ["012", "345", "678", "036", "147", "258", "048", "246"]


def play(cells):
    """State, status and rewards after some legal moves."""
    state = GAME.new_state(1)
    GAME.kernels.reset(state, 0, np.uint64(0))
    status, rewards = 0, np.zeros(2, np.float32)
    for cell in cells:
        rewards[:] = 0
        status = GAME.kernels.step(state, 0, np.array([cell, cell], np.int32), rewards)
    return state, status, rewards


def naive(cells):
    """(winner or None, over) by the book."""
    for player in (0, 1):
        mine = set(map(str, cells[player::2]))
        if any(set(line) <= mine for line in LINES):
            return player, True
    return None, len(cells) == 9


@settings(deadline=None)  # the first call may compile
@given(st.permutations(range(9)))
def test_rules_against_naive_ones(order):
    for length in range(10):
        cells = order[:length]
        state, status, rewards = play(cells)
        winner, over = naive(cells)
        assert (status != 0) == over
        assert rewards.tolist() == ([0, 0] if winner is None else [1, -1] if winner == 0 else [-1, 1])
        mover = GAME.mover(state, 0)
        assert mover == length % 2
        legal = [] if over else sorted(set(range(9)) - set(cells))
        assert GAME.legal_actions(state, 0, mover) == legal
        assert GAME.legal_actions(state, 0, 1 - mover) == []
        if over:
            break


def test_all_positions_are_counted():
    """5,478 reachable positions, 958 of them final, 255,168 games: the known counts. Equal keys are equal positions."""
    boards = {}
    level = {(): 1}  # an order of play that leads to a position, and how many orders do
    final, games = 0, 0
    for _ in range(10):
        after = {}
        for cells, ways in level.items():
            state, status, _ = play(cells)
            key, board = GAME.key(state, 0), (frozenset(cells[::2]), frozenset(cells[1::2]))
            assert key not in boards
            boards[key] = board
            if status:
                final += 1
                games += ways
                continue
            for cell in GAME.legal_actions(state, 0, len(cells) % 2):
                longer = (*cells, cell)
                board = (frozenset(longer[::2]), frozenset(longer[1::2]))
                first, so_far = after.get(board, (longer, 0))
                after[board] = (first, so_far + ways)
        level = dict(after.values())
    assert len(set(boards.values())) == len(boards) == 5478
    assert (final, games) == (958, 255_168)


def test_equal_to_pettingzoo_move_by_move():
    pytest.importorskip("pygame")
    pettingzoo = pytest.importorskip("pettingzoo")
    theirs = pettingzoo.make("aec", "classic/tictactoe-v3")
    ours = coterie.make("tictactoe-v0")
    rng = np.random.default_rng(0)
    names = {"player_0": "player_1", "player_1": "player_2"}
    for _ in range(300):
        play_beside(ours, theirs, rng, names)


def test_texts():
    state, _, _ = play([0, 4])
    assert GAME.compact(state, 0, 0) == "X X...O....>"
    assert GAME.compact(state, 0, 1) == "O X...O....>"
    board, last = GAME.describe(state, 0, 0).rsplit("\n", 1)
    assert board == " X | 3 | 6\n---+---+---\n 1 | O | 7\n---+---+---\n 2 | 5 | 8"
    assert last == "You are X. Legal actions: 1 2 3 5 6 7 8."


@pytest.mark.parametrize("text", ["7", " 7\n", "cell 7.", "I play (7)!", "7 7"])
def test_answers_that_are_understood(text):
    state, _, _ = play([0, 4])
    assert GAME.parse_action(state, 0, text) == 7


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", InvalidAction),
        ("x7", InvalidAction),
        ("9", InvalidAction),
        ("1 or 2", AmbiguousAction),
        ("4", IllegalAction),
    ],
)
def test_answers_that_are_not(text, error):
    state, _, _ = play([0, 4])
    with pytest.raises(error, match="Answer with one of 1 2 3 5 6 7 8"):
        GAME.parse_action(state, 0, text)


def test_no_answer_after_the_end():
    state, _, _ = play([0, 3, 1, 4, 2])
    with pytest.raises(IllegalAction, match="game is over"):
        GAME.parse_action(state, 0, "8")


def test_versioned_module():
    env = tictactoe_v0.env(render_mode="ansi")
    env.reset()
    assert env.render().startswith(" 0 | 3 | 6")
    assert tictactoe_v0.raw_env().checked is False
    assert tictactoe_v0.parallel_env().possible_agents == ["player_0", "player_1"]
