"""The solver against theory (Nim), a slow recursive minimax, and tic-tac-toe's published counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from coterie.agents.search import solver
from coterie.agents.search.solver import END, ILLEGAL, explore, solve
from coterie.aliases import RUNNING, TERMINATED
from coterie.envs.core import Game, GameInfo, Kernels
from coterie.envs.registry import make_game
from coterie.errors import StateError, UsageError


class Heap(NamedTuple):
    """Rows of Nim, the layout with several arrays."""

    left: np.ndarray
    seat: np.ndarray
    seed: np.ndarray


def nim(
    heap: int = 7,
    *,
    again: int = 0,
    chance: bool = False,
    repeats: bool = False,
    gift: float = 0.0,
    players: int = 2,
    simultaneous: bool = False,
) -> Game:
    """Take 1 to 3; whoever takes the last wins. Taking ``again`` keeps the turn. Each other argument breaks a rule."""

    def reset(state: Heap, i: int, seed: int) -> None:
        state.left[i], state.seat[i], state.seed[i] = heap, 0, seed

    def legal(state: Heap, i: int, player: int, mask: np.ndarray) -> None:
        for a in range(3):
            mask[a] = a < state.left[i] and player == state.seat[i]

    def step(state: Heap, i: int, actions: np.ndarray, rewards: np.ndarray) -> int:
        seat = int(state.seat[i])
        taken = int(actions[seat]) + 1
        state.left[i] -= taken
        if repeats and state.left[i] == 2:
            state.left[i] = heap
        if chance and state.left[i] > 3 and int(state.seed[i]) % 2:
            state.left[i] -= 1
        if taken != again:
            state.seat[i] = 1 - seat
        if state.left[i] > 0:
            return RUNNING
        rewards[seat], rewards[1 - seat] = 1.0 + gift, -1.0
        return TERMINATED

    def new_state(n: int) -> Heap:
        return Heap(np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.uint64))

    def text(*_: Any) -> str:
        return ""

    return Game(
        info=GameInfo(
            name="nim",
            players=players,
            num_actions=3,
            observation_shape=(1,),
            observation_high=99,
            max_cycles=heap,
            simultaneous=simultaneous,
        ),
        kernels=Kernels(
            reset,
            lambda state, i: int(state.seat[i]),
            legal,
            step,
            lambda *_: None,
            lambda state, i: int(state.left[i]) * 2 + int(state.seat[i]),
        ),
        new_state=new_state,
        rules="",
        describe=text,
        compact=text,
        action_to_text=text,
        parse_action=lambda *_: 0,
        config={"heap": heap},
    )


def row(game: Game, left: int, seat: int) -> Heap:
    state: Heap = game.new_state(1)
    state.left[0], state.seat[0] = left, seat
    return state


@pytest.mark.parametrize("heap", range(1, 13))
def test_nim_is_lost_on_multiples_of_four(heap: int) -> None:
    game = nim(heap)
    solution = solve(game)
    assert solution.game_values.tolist() == ([-1, 1] if heap % 4 == 0 else [1, -1])
    start = row(game, heap, 0)
    best = [heap % 4 - 1] if heap % 4 else [0, 1, 2]
    assert solution.optimal_actions(start, 0) == best
    assert solution.value(start, 0) == (-1 if heap % 4 == 0 else 1)


@pytest.mark.parametrize("again", [1, 2, 3])
def test_keeping_the_turn_against_a_recursive_minimax(again: int) -> None:
    game = nim(12, again=again)
    solution = solve(game)

    @cache
    def value(left: int) -> int:
        return max(following(left, taken) for taken in range(1, min(3, left) + 1))

    def following(left: int, taken: int) -> int:
        if left == taken:
            return 1
        return value(left - taken) if taken == again else -value(left - taken)

    for left, seat in zip(solution.states.left.tolist(), solution.states.seat.tolist(), strict=True):
        state = row(game, left, seat)
        assert solution.value(state, 0) == value(left)
        best = [t - 1 for t in range(1, min(3, left) + 1) if following(left, t) == value(left)]
        assert solution.optimal_actions(state, 0) == best


def test_graph_of_a_heap_of_three() -> None:
    graph = explore(nim(3))
    assert list(zip(graph.states.left.tolist(), graph.states.seat.tolist(), strict=True)) == [
        (3, 0),
        (2, 1),
        (1, 1),
        (1, 0),
    ]
    assert graph.children.tolist() == [
        [1, 2, END],
        [3, END, ILLEGAL],
        [END, ILLEGAL, ILLEGAL],
        [END, ILLEGAL, ILLEGAL],
    ]
    assert graph.rewards[0, 2].tolist() == [1, -1]
    assert graph.movers.tolist() == [0, 1, 1, 0]
    assert sorted(np.concatenate(graph.layers).tolist()) == [0, 1, 2, 3]
    assert graph.layers[-1].tolist() == [0]


def test_tictactoe_is_a_draw_of_4520_open_positions() -> None:
    game = make_game("tictactoe")
    solution = solve(game)
    assert len(solution.graph) == 4520  # 5,478 positions in all, 958 of them over
    assert solution.game_values.tolist() == [0, 0]
    start = game.new_state(1)
    game.kernels.reset(start, 0, np.uint64(5))
    assert solution.optimal_actions(start, 0) == list(range(9))  # every opening holds the draw
    _play(game, start, [0])
    assert solution.optimal_actions(start, 0) == [4]  # a corner is answered in the middle, or lost
    _play(game, start, [1])
    assert solution.value(start, 0) == 1


def test_tictactoe_against_a_recursive_minimax_on_its_own_rules() -> None:
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

    @cache
    def value(own: frozenset[int], other: frozenset[int]) -> int:
        return max((after(own, other, c) for c in set(range(9)) - own - other), default=0)

    def after(own: frozenset[int], other: frozenset[int], cell: int) -> int:
        mine = own | {cell}
        if any(mine.issuperset(line) for line in lines):
            return 1
        return -value(other, mine) if len(mine | other) < 9 else 0

    solution = solve(make_game("tictactoe"))
    for s, packed in enumerate(solution.graph.keys.tolist()):
        own, other = (frozenset(c for c in range(9) if packed >> shift + c & 1) for shift in (0, 9))
        assert solution.values[s] == value(own, other)
        best = [c for c in sorted(set(range(9)) - own - other) if after(own, other, c) == value(own, other)]
        assert np.flatnonzero(solution.optimal[s]).tolist() == best


def test_solutions_are_kept_by_game_and_configuration() -> None:
    assert solve(make_game("tictactoe")) is solve(make_game("tictactoe-v0"))
    seven = nim(7)
    assert solve(seven) is solve(dataclasses.replace(seven))
    assert len(solve(nim(7)).graph) != len(solve(nim(9)).graph)


def test_a_position_that_cannot_arise_is_refused() -> None:
    game = nim(7)
    with pytest.raises(StateError, match="No running position of nim-v0"):
        solve(game).value(row(game, 100, 0), 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nim(simultaneous=True), "all players move at once"),
        (lambda: nim(players=3), "it has 3 players"),
        (lambda: nim(9, chance=True), "depends on the seed"),
        (lambda: nim(7, repeats=True), "before a repetition"),
        (lambda: nim(gift=0.5), "does not sum to 0"),
    ],
)
def test_games_that_cannot_be_solved_say_why(make: Callable[[], Game], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        solve(make())


def test_too_large_is_said_early_and_again() -> None:
    game = nim(60)
    for _ in range(2):
        with pytest.raises(UsageError, match=r"nim-v0 has more than 50 positions, too many to solve"):
            solve(game, limit=50)
    solve(game)
    with pytest.raises(UsageError, match="more than 50 positions"):
        solve(game, limit=50)


def test_exploring_changes_nothing_but_its_own_rows() -> None:
    solver._GRAPHS.clear()
    game = nim(5)
    graph = explore(game)
    before = graph.states.left.copy()
    solve(game)
    assert (graph.states.left == before).all()


def _play(game: Game, state: Any, cells: list[int]) -> None:
    actions, rewards = np.zeros(2, np.int32), np.zeros(2, np.float32)
    for cell in cells:
        actions[:] = cell
        game.kernels.step(state, 0, actions, rewards)


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_hidden_cards_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name}-v0 cannot be solved by minimax: its players see different things"):
        solve(make_game(name))


@pytest.mark.parametrize("name", ["connect_four", "chess", "go", "hex"])
def test_large_games_are_refused_after_a_short_look(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random games prove it: not many more positions are numbered than it takes to get suspicious."""
    numbered = []
    number = solver._Explorer._number

    def counted(self: Any, pair: Any) -> int:
        numbered.append(1)
        return number(self, pair)

    monkeypatch.setattr(solver._Explorer, "_number", counted)
    with pytest.raises(UsageError, match="more than 200,000 positions, too many to solve"):
        solve(make_game(name))
    assert len(numbered) < 10 * solver.PROBE


def test_the_look_ahead_refuses_no_game_that_is_small_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "PROBE", 1000)
    monkeypatch.setattr(solver, "_GRAPHS", {})
    assert len(explore(make_game("tictactoe"))) == 4520
    with pytest.raises(UsageError, match="more than 4,000 positions"):
        solver._Explorer(make_game("tictactoe"), 4000).graph()
