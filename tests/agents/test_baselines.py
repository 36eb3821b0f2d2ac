"""Random and minimax: who is drawn how often, what they say of themselves, how fast."""

from __future__ import annotations

import time

import numpy as np
import pytest

from coterie.agents.baselines import MinimaxAgent, RandomAgent, make_baseline
from coterie.agents.core import Turn
from coterie.agents.solver import solve
from coterie.envs.core import Game
from coterie.envs.registry import make_game
from coterie.errors import IllegalAction, UnknownName, UsageError


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("tictactoe")


def turns_of(game: Game, count: int) -> list[Turn]:
    """The first reachable positions of a game, over and over."""
    graph = solve(game).graph
    rows = [k % len(graph) for k in range(count)]
    movers, keys, masks = graph.movers.tolist(), graph.keys.tolist(), graph.legal.astype(np.int8)
    return [Turn(game, graph.states, r, movers[r], masks[r], keys[r]) for r in rows]


def after(game: Game, cells: list[int]) -> Turn:
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    actions, rewards = np.zeros(2, np.int32), np.zeros(2, np.float32)
    for cell in cells:
        actions[:] = cell
        game.kernels.step(state, 0, actions, rewards)
    seat = game.mover(state, 0)
    return Turn(game, state, 0, seat, game.legal_mask(state, 0, seat), game.key(state, 0))


@pytest.mark.parametrize("name", ["random", "minimax"])
def test_drawn_as_often_as_policy_says(game: Game, name: str) -> None:
    agent = make_baseline(name, game)
    turn = after(game, [4, 1])  # after a reply at the edge some moves win and some do not
    (expected,) = agent.policy([turn])  # type: ignore[attr-defined]
    drawn = [d.action for d in agent.act([turn] * 6000, np.random.default_rng(0))]
    seen = np.bincount(np.array(drawn), minlength=9) / 6000
    assert expected.sum() == pytest.approx(1)
    assert 0 < (expected > 0).sum() < 9
    assert (seen[expected == 0] == 0).all()
    np.testing.assert_allclose(seen, expected, atol=5 * 0.5 / np.sqrt(6000))


def test_random_covers_the_legal_actions_and_minimax_the_optimal_ones(game: Game) -> None:
    solution = solve(game)
    turns = turns_of(game, len(solution.graph))
    for agent, marked in ((RandomAgent(), solution.graph.legal), (MinimaxAgent(game), solution.optimal)):
        assert ((np.stack(agent.policy(turns)) > 0) == marked).all()
        for seed in range(3):
            actions = [d.action for d in agent.act(turns, np.random.default_rng(seed))]
            assert marked[np.arange(len(turns)), actions].all()


def test_minimax_wins_where_it_can_and_blocks_where_it_must(game: Game) -> None:
    agent, rng = MinimaxAgent(game), np.random.default_rng(0)
    assert {d.action for d in agent.act([after(game, [0, 3, 1, 4])] * 50, rng)} == {2}
    assert {d.action for d in agent.act([after(game, [4, 0, 1])] * 50, rng)} == {7}


@pytest.mark.parametrize("name", ["random", "minimax"])
def test_all_randomness_comes_from_the_generator(game: Game, name: str) -> None:
    agent, turns = make_baseline(name, game), turns_of(game, 300)
    first, again, other = ([d.action for d in agent.act(turns, np.random.default_rng(seed))] for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("name", ["random", "minimax"])
def test_no_turns_no_decisions(game: Game, name: str) -> None:
    agent = make_baseline(name, game)
    assert agent.act([], np.random.default_rng(0)) == []
    assert agent.policy([]) == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["random", "minimax"])
def test_five_thousand_turns_a_call(game: Game, name: str) -> None:
    agent, turns, rng = make_baseline(name, game), turns_of(game, 5000), np.random.default_rng(0)
    agent.act(turns, rng)
    best = min(_timed(lambda: agent.act(turns, rng)) for _ in range(5))
    assert best < 1.0  # vectorised; solving a position anew each time would take minutes


def test_random_plays_simultaneous_games_too() -> None:
    game = make_game("highest_number")
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    turns = [Turn(game, state, 0, p, game.legal_mask(state, 0, p), game.key(state, 0)) for p in range(2)]
    actions = [d.action for d in RandomAgent().act(turns * 400, np.random.default_rng(0))]
    assert set(actions) == set(game.legal_actions(state, 0, 0))


def test_unknown_names_and_unsolvable_games(game: Game) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'minimax'"):
        make_baseline("minmax", game)
    with pytest.raises(UsageError, match="all players move at once"):
        make_baseline("minimax", make_game("highest_number"))


def test_asking_who_cannot_move_is_refused(game: Game) -> None:
    turn = after(game, [0, 3, 1, 4, 2])  # X has won
    for call in (lambda: RandomAgent().act([turn], np.random.default_rng(0)), lambda: RandomAgent().policy([turn])):
        with pytest.raises(IllegalAction, match="has no legal action in row 0"):
            call()


def _timed(call: object) -> float:
    start = time.perf_counter()
    call()  # type: ignore[operator]
    return time.perf_counter() - start
