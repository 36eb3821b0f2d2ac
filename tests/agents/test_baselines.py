"""Random, minimax, greedy and the names of all: who is drawn how often, what they say of themselves, how fast."""

from __future__ import annotations

import time

import numpy as np
import pytest

from coterie.agents.baselines import BASELINES, MinimaxAgent, RandomAgent, is_baseline, make_baseline
from coterie.agents.core import Turn, seeded
from coterie.agents.search.solver import solve
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
    drawn = [d.action for d in agent.act(seeded([turn] * 6000))]
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
            actions = [d.action for d in agent.act(seeded(turns, seed))]
            assert marked[np.arange(len(turns)), actions].all()


def test_minimax_wins_where_it_can_and_blocks_where_it_must(game: Game) -> None:
    agent = MinimaxAgent(game)
    assert {d.action for d in agent.act(seeded([after(game, [0, 3, 1, 4])] * 50))} == {2}
    assert {d.action for d in agent.act(seeded([after(game, [4, 0, 1])] * 50))} == {7}


@pytest.mark.parametrize("name", ["random", "minimax"])
def test_all_randomness_comes_from_the_generator(game: Game, name: str) -> None:
    agent, turns = make_baseline(name, game), turns_of(game, 300)
    first, again, other = ([d.action for d in agent.act(seeded(turns, seed))] for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("name", ["random", "minimax"])
def test_no_turns_no_decisions(game: Game, name: str) -> None:
    agent = make_baseline(name, game)
    assert agent.act(seeded([])) == []
    assert agent.policy([]) == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["random", "minimax"])
def test_five_thousand_turns_a_call(game: Game, name: str) -> None:
    agent, turns = make_baseline(name, game), turns_of(game, 5000)
    agent.act(seeded(turns))
    best = min(_timed(lambda: agent.act(seeded(turns))) for _ in range(5))
    assert best < 1.0  # vectorised; solving a position anew each time would take minutes


def test_random_plays_simultaneous_games_too() -> None:
    game = make_game("highest_number")
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    turns = [Turn(game, state, 0, p, game.legal_mask(state, 0, p), game.key(state, 0)) for p in range(2)]
    actions = [d.action for d in RandomAgent().act(seeded(turns * 400))]
    assert set(actions) == set(game.legal_actions(state, 0, 0))


def test_unknown_names_and_unsolvable_games(game: Game) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'minimax'"):
        make_baseline("minmax", game)
    with pytest.raises(UsageError, match="all players move at once"):
        make_baseline("minimax", make_game("highest_number"))


def test_asking_who_cannot_move_is_refused(game: Game) -> None:
    turn = after(game, [0, 3, 1, 4, 2])  # X has won
    for call in (lambda: RandomAgent().act(seeded([turn])), lambda: RandomAgent().policy([turn])):
        with pytest.raises(IllegalAction, match="has no legal action in row 0"):
            call()


# -- greedy ------------------------------------------------------------------------------------------------------------


def played(name: str, actions: list[int], **config: object) -> tuple[Game, Turn]:
    game = make_game(name, **config)
    return game, after(game, actions)


@pytest.mark.parametrize(
    ("name", "actions", "expected"),
    [
        ("tictactoe", [0, 3, 1, 4], {2}),  # wins, though blocking were possible
        ("tictactoe", [4, 0, 1], {7}),  # blocks
        ("tictactoe", [0], {1, 2, 3, 4, 5, 6, 7, 8}),  # sees nothing: all are equal
        ("tictactoe", [0, 1, 4, 8, 6], {2, 3, 5, 7}),  # two threats: no move saves it, none is better
        ("connect_four", [3, 0, 3, 0, 3], {3}),
        ("connect_four", [3, 0, 3, 0, 3, 1], {3}),
    ],
)
def test_greedy_takes_a_win_and_denies_one(name: str, actions: list[int], expected: set[int]) -> None:
    game, turn = played(name, actions)
    agent = make_baseline("greedy", game)
    (row,) = agent.policy([turn])  # type: ignore[attr-defined]
    best = set(np.flatnonzero(row).tolist())
    assert row.sum() == pytest.approx(1)
    assert set(row[row > 0]) == {row.max()}
    assert best == expected
    assert {d.action for d in agent.act(seeded([turn] * 200))} == best


def test_greedy_by_brute_force(game: Game) -> None:
    """Every reachable position of tic-tac-toe against rules written anew."""
    graph = solve(game).graph
    turns = turns_of(game, len(graph))
    rows = make_baseline("greedy", game).policy(turns)  # type: ignore[attr-defined]
    for s, row in enumerate(rows):
        wins = [a for a in np.flatnonzero(graph.legal[s]) if graph.rewards[s, a, graph.movers[s]] > 0]
        quiet = []
        for a in np.flatnonzero(graph.legal[s]):
            child = graph.children[s, a]
            if child < 0 or not (graph.rewards[child, :, graph.movers[child]] > 0).any():
                quiet.append(a)
        expected = wins or quiet or np.flatnonzero(graph.legal[s]).tolist()
        assert np.flatnonzero(row).tolist() == expected


def test_greedy_plays_chess_by_the_evaluation() -> None:
    game = make_game("chess")
    state = game.new_state(1)
    for fen, moves in (
        ("6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", {"d1d8"}),  # mate
        ("4k3/8/8/3q4/8/8/3R4/4K3 w - - 0 1", {"d2d5"}),  # a queen for nothing
        ("4k3/8/2p5/3p4/8/8/3Q4/4K3 w - - 0 1", {"d2d5"}),  # a pawn, though the queen is lost: it sees no reply
        ("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1", {"f1f8"}),  # mate, and not the stalemate on f7
    ):
        game.kernels.reset(state, 0, np.uint64(0))
        game.options["fen"](state, 0, fen)
        turn = Turn(game, state, 0, 0, game.legal_mask(state, 0, 0), game.key(state, 0))
        decisions = make_baseline("greedy", game).act(seeded([turn] * 20))
        assert {d.action for d in decisions} == {turn.parse_action(uci) for uci in moves}


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("mcts", {"playouts": 400, "cap": 1000}),
        ("mcts:50", {"playouts": 50}),
        ("mcts:50:cap=20", {"playouts": 50, "cap": 20}),
        ("mcts:cap=7:playouts=60", {"playouts": 60, "cap": 7}),
        ("mcts:exploration=0.5", {"exploration": 0.5}),
        ("alphabeta", {"_limits": (4, 1 << 62)}),
        ("alphabeta:6", {"_limits": (6, 1 << 62)}),
        ("alphabeta:depth=2", {"_limits": (2, 1 << 62)}),
        ("alphabeta:nodes=500", {"_limits": (64, 500)}),
        ("alphabeta:3:nodes=500", {"_limits": (3, 500)}),
    ],
)
def test_settings_behind_a_name(spec: str, expected: dict[str, object]) -> None:
    agent = make_baseline(spec, make_game("chess"))
    assert agent.name == spec
    assert {name: getattr(agent, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("random:3", "random takes no settings"),
        ("minimax:", "minimax takes no settings"),
        ("greedy:x=1", "greedy takes no settings"),
        ("mcts:", "playouts is a whole number, such as mcts:playouts=400, not ''"),
        ("mcts:many", "not 'many'"),
        ("mcts:1.5", "not '1.5'"),
        ("mcts:0", "0 playouts"),
        ("mcts:playout=3", "no setting 'playout'. Did you mean 'playouts'"),
        ("mcts:3:5", "no setting '5'"),
        ("mcts:3:playouts=5", "is named twice"),
        ("mcts:exploration=x", "exploration is a number"),
        ("alphabeta:0", "depth=0"),
        ("alphabeta:node=5", "Did you mean 'nodes'"),
        ("alphabeta:depth", "needs a value, alphabeta:depth=4. In a list of opponents"),
        ("uci", "needs the path"),
        ("uci:", "needs the path"),
    ],
)
def test_settings_that_there_are_not(spec: str, why: str) -> None:
    assert is_baseline(spec)
    with pytest.raises(UsageError, match=why):
        make_baseline(spec, make_game("chess"))


def test_misspelt_names_get_suggestions() -> None:
    game = make_game("chess")
    for wrong, right in (("alphbeta:4", "alphabeta"), ("mtcs:400", "mcts"), ("gredy", "greedy"), ("ucii:/x", "uci")):
        assert not is_baseline(wrong)
        with pytest.raises(UnknownName, match=f"Did you mean '{right}'"):
            make_baseline(wrong, game)
    for name in BASELINES:
        assert is_baseline(name)


def test_names_in_a_list_of_opponents() -> None:
    from coterie.training.schemes.mixed import parse_weights

    listed = "mcts:200,alphabeta:nodes=2000=1,uci:/usr/games/stockfish?Skill Level=3&movetime=50=0.5,uci:/x?A=b%2Cc=2"
    assert parse_weights(listed) == {
        "mcts:200": 1,
        "alphabeta:nodes=2000": 1,
        "uci:/usr/games/stockfish?Skill Level=3&movetime=50": 0.5,
        "uci:/x?A=b%2Cc": 2,
    }


def test_names_work_wherever_players_are_named() -> None:
    from coterie.games import play
    from coterie.training.runs.players import make_player

    assert play("tictactoe", "mcts:20", "greedy", seed=1) in ([1.0, -1.0], [-1.0, 1.0], [0.0, 0.0])
    assert make_player("mcts:20", make_game("tictactoe")).name == "mcts:20"
    with pytest.raises(UnknownName, match="Did you mean 'uci'"):
        make_player("ucci:/usr/games/stockfish", make_game("chess"))
    with pytest.raises(UnknownName, match="Did you mean 'mcts'"):
        make_player("mcst:40", make_game("chess"))


def _timed(call: object) -> float:
    start = time.perf_counter()
    call()  # type: ignore[operator]
    return time.perf_counter() - start
