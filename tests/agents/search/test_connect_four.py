"""The solver of connect four against brute force with rules of its own, and against itself one move later."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.agents.search.connect_four import new_table, score, scores, solve
from coterie.agents.search.solver import solve as minimax
from coterie.envs import make_game
from coterie.errors import NotationError, UsageError

GAME = make_game("connect_four-v0")


def wins(columns, c):
    """Whether the top stone of column c stands in a line of four."""
    mark, top = columns[c][-1], len(columns[c]) - 1

    def is_mine(x, y):
        return 0 <= x < 7 and 0 <= y < len(columns[x]) and columns[x][y] == mark

    for right, up in ((1, 0), (0, 1), (1, 1), (1, -1)):
        length = 1
        for sign in (1, -1):
            k = 1
            while is_mine(c + sign * k * right, top + sign * k * up):
                length, k = length + 1, k + 1
        if length >= 4:
            return True
    return False


def brute(columns, turn, known):
    """The score by looking at everything: no bounds, no order, no threats."""
    if columns not in known:
        stones, best = sum(map(len, columns)), None
        for c in range(7):
            if len(columns[c]) < 6:
                after = (*columns[:c], columns[c] + "XO"[turn], *columns[c + 1 :])
                value = (43 - stones) // 2 if wins(after, c) else -brute(after, 1 - turn, known)
                best = value if best is None else max(best, value)
        known[columns] = 0 if best is None else best
    return known[columns]


def random_position(rng, stones):
    """(state, columns) of a running game with so many stones."""
    while True:
        state, columns, status = GAME.new_state(1), [""] * 7, 0
        GAME.kernels.reset(state, 0, np.uint64(0))
        for n in range(stones):
            c = int(rng.choice(GAME.legal_actions(state, 0, n % 2)))
            columns[c] += "XO"[n % 2]
            status = GAME.kernels.step(state, 0, np.full(2, c, np.int32), np.zeros(2, np.float32))
            if status:
                break
        if not status:
            return state, tuple(columns)


def test_endgames_equal_brute_force():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(60):
        stones = int(rng.integers(31, 42))
        state, columns = random_position(rng, stones)
        seen.add(value := score(state, 0))
        assert value == brute(columns, stones % 2, {}), columns
    assert len(seen) > 5


@pytest.mark.parametrize("stones", [20, 26, 32, 38, 41])
def test_a_position_is_worth_its_best_move(stones):
    """With its own table for each search, so that nothing that one found helps the other."""
    rng = np.random.default_rng(stones)
    for _ in range(5):
        state, _ = random_position(rng, stones)
        each = scores(state, 0, new_table(12))
        assert [c for c in range(7) if each[c] is not None] == GAME.legal_actions(state, 0, stones % 2)
        assert score(state, 0, new_table(12)) == max(value for value in each if value is not None)


def test_mirrored_positions_are_worth_the_same():
    for moves in ("333421565066", "0123456012345", "3333332020265"):
        mirrored = "".join(str(6 - int(c)) for c in moves)
        assert solve(moves, new_table(18)) == solve(mirrored, new_table(18))


def test_scores_count_the_stones_that_are_left():
    """Three in a row with both ends free: X wins with its fourth stone and so keeps 17 back; O sees it coming."""
    assert solve("1 1 2 2 3 3") == 18
    assert solve("1 1 2 2 3") == -18
    state = GAME.new_state(1)
    GAME.options["moves"](state, 0, "1 1 2 2 3 3")
    assert scores(state, 0)[0] == scores(state, 0)[4] == 18


def test_a_table_too_small_costs_time_not_truth():
    moves = "333421565066"
    tables = new_table(6), new_table(20)
    assert solve(moves, tables[0]) == solve(moves, tables[1])
    assert tables[0].nodes[0] >= tables[1].nodes[0] > 0
    once = int(tables[1].nodes[0])
    solve(moves, tables[1])
    assert tables[1].nodes[0] - once < once / 10, "the second time it is known"


def test_what_cannot_be_solved():
    state = GAME.new_state(1)
    for column in (0, 1, 0, 1, 0, 1, 0):
        GAME.kernels.step(state, 0, np.full(2, column, np.int32), np.zeros(2, np.float32))
    with pytest.raises(UsageError, match="The game is over"):
        score(state, 0)
    with pytest.raises(NotationError, match=r"columns are 0\.\.6"):
        solve("7")


def test_minimax_refuses_quickly():
    with pytest.raises(UsageError, match=r"connect_four-v0 has more than 200,000 positions.*another baseline"):
        minimax(GAME)
