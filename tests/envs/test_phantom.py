"""Phantom tic-tac-toe and dark hex: tries, marks, what a player knows, and OpenSpiel where it is installed."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.agents.baselines import RandomAgent
from coterie.agents.core import Decision
from coterie.agents.human.table import Match
from coterie.agents.human.terminal import HumanAgent, play_games
from coterie.agents.human.window import BoardSession
from coterie.envs import make_game
from coterie.envs.phantom import tries, view, winner
from coterie.envs.testing import check_game
from coterie.errors import IllegalAction, NotationError, UsageError

VERSIONS = [
    (name, {"gameversion": version, "obstype": obstype})
    for name, versions in (("phantom_tictactoe", ("classical", "abrupt")), ("dark_hex", ("cdh", "adh")))
    for version in versions
    for obstype in ("reveal-nothing", "reveal-numturns")
]
LINES = [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}]


@pytest.mark.slow
@pytest.mark.bounds
@pytest.mark.parametrize(
    "config", [{"num_cols": 2, "num_rows": 2}, {"num_cols": 5, "num_rows": 3, "gameversion": "adh"}]
)
def test_every_configuration_passes(config):
    check_game(make_game("dark_hex", obstype="reveal-numturns", **config))


def played(name, moves, **config):
    """(game, state, status, rewards) after some tries, by name."""
    game = make_game(name, **config)
    state, status = game.new_state(1), 0
    game.kernels.reset(state, 0, 0)
    rewards = np.zeros(2, np.float32)
    for said in moves.split():
        status = game.kernels.step(state, 0, np.full(2, game.parse_action(state, 0, said), np.int32), rewards)
    return game, state, status, rewards.tolist()


def seen(game, state, player):
    out = np.zeros(game.info.observation_shape, game.info.observation_dtype)
    game.kernels.observe(state, 0, player, out)
    return out


@pytest.mark.parametrize(("version", "mover"), [("classical", 1), ("abrupt", 0)])
def test_a_failed_try_tells_one_player_alone(version, mover):
    game, state, _, _ = played("phantom_tictactoe", "4 4", gameversion=version)
    assert game.mover(state, 0) == mover
    assert (view(state, 0, 0), view(state, 0, 1), view(state, 0, None)) == ("....X....",) * 3
    assert game.compact(state, 0, 0) == "X? ....X.... 4>"
    assert "You tried: 4 (taken)." in game.describe(state, 0, 1)
    if mover == 1:
        assert game.legal_actions(state, 0, 1) == [0, 1, 2, 3, 5, 6, 7, 8]
        with pytest.raises(IllegalAction):
            game.parse_action(state, 0, "4")


def test_what_is_observed():
    game, state, _, _ = played("dark_hex", "b2 c1 a3 b2 a1", obstype="reveal-numturns")
    own, found, when, seat, turns = np.moveaxis(seen(game, state, 1), 2, 0)
    assert own.tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert found.tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert when.tolist() == [[5, 0, 2], [0, 4, 0], [0, 0, 0]]
    assert (seat.min(), turns.min(), turns.max()) == (1, 5, 5)
    assert tries(state, 0, 1) == [None, 2, None, 4, 0]
    assert game.compact(state, 0, 1) == "O* O.O.X.... ? c1 ? b2 a1>"


def test_how_games_end():
    assert played("phantom_tictactoe", "0 3 1 4 2")[2:] == (1, [1, -1])
    _, state, status, rewards = played("phantom_tictactoe", "0 1 2 4 3 5 7 6 8")
    assert (status, rewards, winner(state, 0)) == (1, [0, 0], None)
    game, state, status, rewards = played("dark_hex", "a1 a2 c1 b2 c3 c3 c2")
    assert (status, rewards, winner(state, 0)) == (1, [-1, 1], 1)
    assert game.describe(state, 0, 0).endswith("O won.")
    assert game.compact(state, 0, 0) == "X* X.XOOO..X a1 c1 c3>", "at the end all is shown"
    assert seen(game, state, 0)[:, :, 1].sum() == 0, "but not in observations"


def joins(cells, player, rows, columns):
    """Whether stones join a player's edges, by sets."""
    side = [(r, c) for r, c in cells if (r if player == 0 else c) == 0]
    known = set(side)
    while side:
        r, c = side.pop()
        if (r == rows - 1) if player == 0 else (c == columns - 1):
            return True
        near = {(r, c - 1), (r, c + 1), (r - 1, c), (r - 1, c + 1), (r + 1, c), (r + 1, c - 1)} & cells - known
        known |= near
        side += near
    return False


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(VERSIONS), st.integers(2, 6), st.integers(2, 6), st.integers(0, 2**32))
def test_random_games_are_those_of_plain_rules(version, columns, rows, seed):
    name, config = version
    hexagons = name == "dark_hex"
    if not hexagons:
        rows = columns = 3
    game = make_game(name, **config, **({"num_cols": columns, "num_rows": rows} if hexagons else {}))
    state, rng, rewards = game.new_state(1), random.Random(seed), np.zeros(2, np.float32)
    game.kernels.reset(state, 0, seed)
    own, past, mover, turns = [set(), set()], [[], []], 0, []
    while True:
        open_cells = [a for a in range(rows * columns) if a not in past[mover]]
        assert (game.mover(state, 0), game.legal_actions(state, 0, mover)) == (mover, open_cells)
        assert game.legal_actions(state, 0, 1 - mover) == []
        action = rng.choice(open_cells)
        status = game.kernels.step(state, 0, np.full(2, action, np.int32), rewards)
        past[mover].append(action)
        turns.append((mover, action))
        if action in own[1 - mover]:
            mover = 1 - mover if config["gameversion"] in ("abrupt", "adh") else mover
        else:
            own[mover].add(action)
            cells = {divmod(a, columns) for a in own[mover]}
            won = joins(cells, mover, rows, columns) if hexagons else any(line <= own[mover] for line in LINES)
            mover = 1 - mover
            if won or len(own[0] | own[1]) == rows * columns:
                assert status == 1
                assert rewards[1 - mover] == -rewards[mover] == (1 if won else 0)
                return
        assert status == 0
        for p in (0, 1):
            known = own[1 - p] & set(past[p])
            marks = "".join("XO"[p] if a in own[p] else "OX"[p] if a in known else "." for a in range(rows * columns))
            assert view(state, 0, p) == marks
            own_turns = [a if q == p else None for q, a in turns]
            counted = config["obstype"] == "reveal-numturns"
            assert tries(state, 0, p) == (own_turns if counted else past[p])


@pytest.mark.parametrize(("name", "config"), VERSIONS)
def test_players_see_what_they_may_know_and_no_more(name, config):
    """Equal knowledge looks the same, different knowledge differs: in observations, in both texts, and in masks."""
    game = make_game(name, **config)
    looks = [defaultdict(set) for _ in range(3)]
    state, rewards = game.new_state(1), np.zeros(2, np.float32)
    for seed in range(150):
        game.kernels.reset(state, 0, 0)
        rng, turns, status = random.Random(seed), [], 0
        while status == 0:
            mover = game.mover(state, 0)
            for p in (0, 1):
                found = [a for a in range(9) if state.tried[0, p, a] and state.marks[0, a] == 2 - p]
                told = [a if q == p else None for q, a in turns if q == p or "num" in config["obstype"]]
                known = str((p, told, found))
                text = "".join(game.describe(state, 0, p).splitlines()[:-1])  # the last line tells who is to move
                for look, what in zip(
                    looks, (seen(game, state, p).tobytes(), game.compact(state, 0, p), text), strict=True
                ):
                    look[known].add(what)
            action = rng.choice(game.legal_actions(state, 0, mover)[:4])
            turns.append((mover, action))
            status = game.kernels.step(state, 0, np.full(2, action, np.int32), rewards)
    for look in looks:
        assert len(look) > 300
        assert {len(what) for what in look.values()} == {1}
        assert len({next(iter(what)) for what in look.values()}) == len(look)


def test_the_terminal_hides_what_the_other_player_does(capsys):
    """A person reads only its own tries; two programs are printed in full."""
    game = make_game("phantom_tictactoe")
    lines = (str(cell) for cell in (4, 4, 0, 0, 1, 1, 2, 2, 3, 3, 5, 5, 6, 6, 7, 7, 8, 8))
    person = HumanAgent("human", read=lambda prompt: next(lines), write=print)
    agents = [person, RandomAgent()]
    play_games(lambda number: Match(game, ["human", "random"], number), agents)
    told = capsys.readouterr().out
    assert "player_0 (human): 4" in told
    assert "player_1 (random):" not in told
    play_games(lambda number: Match(game, ["random", "random"], number), [RandomAgent(), RandomAgent()])
    assert "player_1 (random):" in capsys.readouterr().out


def test_the_window_marks_no_secret_move():
    pytest.importorskip("pygame")
    game = make_game("phantom_tictactoe")
    match = Match(game, ["a", "b"], 0, start={"moves": "0"})
    match.play({1: Decision(4, "4")})
    for agents, cells in (([None, RandomAgent()], ()), ([RandomAgent(), RandomAgent()], (4,))):
        session = BoardSession(lambda number: match, agents, "coterie.renderers.tictactoe:draw")
        assert session.view().last == cells
        session.close()


def test_pictures_show_a_seat_its_own_side():
    pytest.importorskip("pygame")
    from coterie.renderers import hex as hexagons
    from coterie.renderers import tictactoe

    for name, draw in (("dark_hex", hexagons.draw), ("phantom_tictactoe", tictactoe.draw)):
        game = make_game(name)
        first, second = ("b2 a1", "b2 c1") if name == "dark_hex" else ("4 0", "4 2")
        rows = [played(name, moves)[1] for moves in (first, second)]
        frames = [[draw(game, state, 0, player=p) for state in rows] for p in (0, 1, None)]
        assert [np.array_equal(*pair) for pair in frames] == [True, False, False]


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("dark_hex", {"num_cols": 1}),
        ("dark_hex", {"num_rows": 12}),
        ("dark_hex", {"gameversion": "classical"}),
        ("dark_hex", {"obstype": 3}),
        ("phantom_tictactoe", {"gameversion": "cdh"}),
        ("phantom_tictactoe", {"obstype": "all"}),
    ],
)
def test_arguments_are_checked(name, bad):
    with pytest.raises(UsageError, match=next(iter(bad))):
        make_game(name, **bad)


@pytest.mark.parametrize("moves", [7, "9", "0 3 1 4 2", "4 4 4", "a1"])
def test_start_moves_are_checked(moves):
    env = coterie.make("phantom_tictactoe")
    with pytest.raises(NotationError, match=r"moves|Move"):
        env.reset(options={"moves": moves})


BOARDS = [
    (name, {**config, **board})
    for name, config in VERSIONS
    for board in (
        [{"num_cols": c, "num_rows": r} for c, r in ((3, 3), (2, 2), (3, 2), (2, 3), (5, 4))]
        if name == "dark_hex"
        else [{}]
    )
]


@pytest.mark.parametrize(("name", "config"), BOARDS)
def test_open_spiel_plays_the_same_games(name, config):
    """Movers, legal actions, results; and information states divide the histories in the same way.

    OpenSpiel's string for classical dark hex with reveal-nothing tells the number of turns, which its observation does
    not; there only what we tell must follow from its string.
    """
    pyspiel = pytest.importorskip("pyspiel")
    game = make_game(name, **config)
    words = ",".join(f"{k}={v}" for k, v in config.items())
    theirs = pyspiel.load_game(f"{'dark_hex' if name == 'dark_hex' else 'phantom_ttt'}({words})")
    ours, other = defaultdict(set), defaultdict(set)
    state = game.new_state(1)
    for seed in range(300):
        rng, rewards, twin = random.Random(seed), np.zeros(2, np.float32), theirs.new_initial_state()
        game.kernels.reset(state, 0, 0)
        while not twin.is_terminal():
            mover = game.mover(state, 0)
            assert (twin.current_player(), twin.legal_actions()) == (mover, game.legal_actions(state, 0, mover))
            what, said = (mover, seen(game, state, mover).tobytes()), (mover, twin.information_state_string(mover))
            ours[what].add(said)
            other[said].add(what)
            action = rng.choice(twin.legal_actions())
            twin.apply_action(action)
            game.kernels.step(state, 0, np.full(2, action, np.int32), rewards)
        assert twin.returns() == rewards.tolist()
    assert {len(what) for what in other.values()} == {1}
    if (config["gameversion"], config["obstype"]) != ("cdh", "reveal-nothing"):
        assert {len(said) for said in ours.values()} == {1}
