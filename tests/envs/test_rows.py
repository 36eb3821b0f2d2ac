"""Rows from outside: no forged row corrupts memory, hangs, or ends in another error than a StateError."""

from __future__ import annotations

import copy
import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.aliases import RUNNING, TERMINATED
from coterie.envs import Game, GameInfo, Kernels, kernel, make_game, make_vec, row_mover
from coterie.envs.core import GameRecord
from coterie.envs.faces.vec import VecEnv
from coterie.envs.replay.file import replay
from coterie.envs.state import from_bytes, put, size, snapshot, take, to_bytes
from coterie.envs.stepping.jit import disabled
from coterie.envs.testing.rows import forge, try_rows
from coterie.envs.words.vec import vec_of
from coterie.errors import StateError

GAMES: list[tuple[str, dict[str, Any]]] = [
    *((id, {}) for id in coterie.list_envs() if not id.startswith("gridworld")),
    ("go-v0", {"size": 5, "superko": "simple", "max_moves": 20}),
    ("go-v0", {"size": 7, "superko": "situational", "handicap": 2}),
    ("hex-v0", {"size": 4, "swap": True}),
    ("phantom_tictactoe-v0", {"gameversion": "abrupt"}),
    ("dark_hex-v0", {"num_cols": 5, "num_rows": 3, "obstype": "reveal-numturns"}),
    ("kuhn_poker-v0", {"players": 3}),
    ("highest_number-v0", {"players": 3, "rounds": 4}),
    ("highest_string-v0", {"players": 3, "rounds": 4}),
    ("matrix-v0", {"payoffs": [[1, 2, 3], [4, 5, 6]], "rounds": 20}),
    ("chess-v0", {"claim": "never"}),
]
SLOW = [pytest.mark.slow, pytest.mark.bounds]
EACH = [
    pytest.param(k, id=" ".join([id, *map(str, config.values())]), marks=SLOW if config else [])
    for k, (id, config) in enumerate(GAMES)
]
ROWS = 2000


@cache
def made(k):
    return make_game(GAMES[k][0], **GAMES[k][1])


@pytest.mark.parametrize("k", EACH)
def test_forged_rows(k):
    game = made(k)
    rows = forge(game, ROWS if not isinstance(game.new_state(1), list) else 400, seed=k)
    accepted = try_rows(game, rows, seed=k)
    assert size(rows) / 50 < accepted < size(rows), "a forger whose rows are all of one kind tests nothing"


@pytest.mark.parametrize("k", EACH)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), data=st.data())
def test_forged_rows_by_hypothesis(k, seed, data):
    """One row a time, and what surrounds it in a snapshot."""
    game = made(k)
    rows = forge(game, 1, seed)
    try_rows(game, rows, seed, moves=3)
    env = coterie.make(game.info.id, api=data.draw(st.sampled_from(["aec", "parallel"])), **game.config)
    env.reset(seed=seed)
    whole = copy.deepcopy(env.get_state())
    name = data.draw(st.sampled_from([name for name in whole._fields if name not in ("state", "waiting")]))
    part = getattr(whole, name)
    part.view(np.uint8).reshape(-1)[data.draw(st.integers(0, part.nbytes - 1))] = data.draw(st.integers(0, 255))
    try:
        env.set_state(to_bytes(game, whole))
    except StateError:
        return
    for _ in range(3):
        if env.agents:
            asked = env.agents if api_of(env) == "parallel" else [env.agent_selection]
            sampled = {agent: env.action_space(agent).sample() for agent in asked}
            if api_of(env) == "parallel":
                env.step(sampled)
            else:
                over = env.terminations[asked[0]] or env.truncations[asked[0]]
                env.step(None if over else sampled[asked[0]])
    env.get_state()


@pytest.mark.parametrize("id", ["debate-v0", "word_chain-v0", "tictactoe-v0"])
def test_nobody_has_left_a_running_game(id):
    game = make_game(id)
    env = coterie.make(id)
    env.reset(seed=0)
    for p in range(2):
        whole = copy.deepcopy(env.get_state())
        whole.gone[0, p] = True
        with pytest.raises(StateError, match="a player that is alive has left it"):
            env.set_state(to_bytes(game, whole))


def api_of(env):
    return "aec" if hasattr(env, "last") else "parallel"


def test_every_game_of_ours_says_what_its_rows_must_fulfil():
    for id, _ in GAMES:
        game = make_game(id)
        assert game.ranges or game.kernels.sound is not None, id


def doors(game):
    """Every way for a row to come in: a function that takes one bare row."""
    id, config = game.info.id, game.config

    def face(env):
        env.reset(seed=0)
        return [env.set_state, lambda row: env.reset(options={"state": row})]

    made = [coterie.make(id, api=api, **config) for api in ("aec", "parallel")]
    made += [vec_of(game, 2), getattr(coterie.envs, id.replace("-", "_")).raw_env(**config)]
    ways = [way for env in made for way in face(env)]
    ways += [lambda row, way=way: way(to_bytes(game, row)) for way in ways]
    ways += [lambda row: from_bytes(game, to_bytes(game, row)), lambda row: snapshot(game, row)]
    names, returns = tuple(game.info.agents), (0.0,) * game.info.players
    ways.append(lambda row: list(replay(game, GameRecord(row, [], names, returns, RUNNING))))

    def pickled(env):
        def way(row):
            target = env.state if hasattr(env, "num_envs") else env.table.state
            if isinstance(target, list):
                target[0] = row[0]
            else:
                put(target, row, [0])
            pickle.loads(pickle.dumps(env))

        return way

    return ways + [pickled(env) for env in made]


@pytest.mark.parametrize("id", [id for id, config in GAMES if not config])
def test_every_door_has_the_gate(id):
    game = make_game(id)
    rows = forge(game, 64, seed=7)
    bad = []
    for i in range(size(rows)):
        try:
            snapshot(game, take(rows, [i]))
        except StateError:
            bad.append(i)
    assert bad
    for way in doors(game):
        with pytest.raises(StateError, match="is no position of"):
            way(take(rows, bad[:1]))


def test_messages_name_the_field_and_what_it_may_be():
    for id, field, value, said in [
        ("hex", ("facts", 2), 9, r"Row 1 is no position of hex-v0: facts\[2\] is 9; it may be 0 to 1\."),
        ("go", ("facts", "size"), 19, r"facts.size is 19; it must be 9\."),
        ("kuhn_poker", ("turns",), 9, "turns is 9; it may be 0 to 3"),
        ("leduc_poker", ("chips", 1), 200, "past is no betting"),
        ("chess", ("position", 4), 2**40 + 2**5, "en passant"),
    ]:
        vec = make_vec(id, 2, seed=0)
        vec.reset()
        rows = take(vec.state)
        part = getattr(rows, field[0]) if hasattr(rows, "_fields") else rows[field[0]]
        if field[1:] and isinstance(field[1], str):
            part[field[1]][1] = value
        else:
            part[(1, *field[1:])] = value
        with pytest.raises(StateError, match=said):
            vec.set_state(rows)


def test_a_running_game_has_a_move_and_its_players():
    env = coterie.make("tictactoe")
    env.reset()
    start = env.get_state()
    over = take(start)
    over.state["over"] = 1
    with pytest.raises(StateError, match="no player has a legal action"):
        env.set_state(over)
    left = take(start)
    left.gone[0, 1] = True
    with pytest.raises(StateError, match="has left it"):
        env.set_state(left)
    env.set_state(start)
    for name, value in (("status", 7), ("cycles", -1), ("rewards", np.nan), ("illegal", -3)):
        odd = take(start)
        getattr(odd, name)[...] = value
        with pytest.raises(StateError, match=name):
            env.set_state(odd)


def test_arrays_that_only_look_alike():
    env = coterie.make("hex", size=3)
    env.reset()
    whole = env.get_state()
    for odd in (
        whole._replace(cycles=np.zeros((1, 3), np.int32)),
        whole._replace(gone=whole.gone.astype(np.int64)),
        whole._replace(state=whole.state._replace(facts=np.zeros(6, np.int16)[0])),
        whole._replace(state=whole.state._replace(stones=None)),
    ):
        with pytest.raises(StateError):
            env.set_state(odd)


def test_headers_that_ask_for_more_than_came():
    game = make_game("chess")
    blob = to_bytes(game, forge(game, 1, 0))
    for old, new in (
        (b'"rows": 1', b'"rows": 1000'),
        (b'"kind": "state"', b'"kind": "snapshot"'),
        (b"{", b'{"plain": [-1], '),
    ):
        with pytest.raises(StateError):
            from_bytes(game, blob.replace(old, new, 1))


@kernel
def look_up(state, i, player, out):
    out[0] = state[i]["table"][state[i]["at"]]


@kernel
def nothing(state, i, seed):
    state[i]["at"] = 0


@kernel
def legal(state, i, player, mask):
    mask[0] = state[i]["table"][state[i]["at"]] == 0


@kernel
def step(state, i, actions, rewards):
    return TERMINATED


@pytest.mark.skipif(disabled(), reason="NumPy checks bounds itself")
def test_a_game_of_ones_own_without_ranges_touches_no_other_memory():
    row = np.dtype([("table", np.int8, (4,)), ("at", np.int64), ("mover", np.int8)])
    game = Game(
        info=GameInfo(players=2, num_actions=1, observation_shape=(1,), max_cycles=1),
        kernels=Kernels(nothing, row_mover, legal, step, look_up),
        new_state=lambda n: np.zeros(n, row),
        rules="Look up a number.",
        describe=lambda state, i, player: "A table.",
    )
    vec = VecEnv(game, 2)
    vec.reset(seed=0)
    for at in (10**12, -(10**12), 4):
        rows = take(vec.state)
        rows["at"] = at
        with pytest.raises(StateError, match="beyond their arrays"):
            vec.set_state(rows)
    rows = take(vec.state)
    rows["mover"] = 77
    with pytest.raises(StateError, match="seat to move"):
        vec.set_state(rows)
