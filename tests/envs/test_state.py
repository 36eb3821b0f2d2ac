"""Rows of both layouts: take, put, bytes, and what is refused."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.envs import make_game, make_vec, state
from coterie.errors import StateError

TTT = make_game("tictactoe")
NUMBERS = make_game("highest_number", players=3, rounds=2)


class Nested(NamedTuple):
    rows: np.ndarray
    pair: NUMBERS.new_state(0).__class__


def played(game, n, seed):
    """Rows from the middle of random games."""
    vec = make_vec(game.info.id, n, seed=seed, **game.config)
    vec.reset()
    for _ in range(seed % 4):
        vec.step(vec.sample_actions())
    return state.take(vec.state)


def equal(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return len(a) == len(b) and all(map(equal, a, b))


@pytest.mark.parametrize("game", [TTT, NUMBERS], ids=lambda g: g.info.name)
@settings(deadline=None)  # the first call may compile
@given(n=st.integers(1, 12), seed=st.integers(0, 99), data=st.data())
def test_take_put_bytes(game, n, seed, data):
    rows = played(game, n, seed)
    index = data.draw(st.lists(st.integers(0, n - 1), unique=True, min_size=1))
    part = state.take(rows, index)
    assert state.size(part) == len(index)
    assert equal(part, state.take(state.take(rows), index))
    assert equal(state.from_bytes(game, state.to_bytes(game, rows)), rows)
    other = played(game, n, seed + 1)
    left = sorted(set(range(n)) - set(index))
    before = state.take(other, left)
    state.put(other, part, index)
    assert equal(state.take(other, index), part)
    assert equal(state.take(other, left), before)


def test_take_copies():
    rows = TTT.new_state(3)
    part = state.take(rows, [1])
    part["own"] = 5
    assert not rows["own"].any()


def test_one_row_fills_many_and_nesting_works():
    nested = Nested(np.arange(4), NUMBERS.new_state(4))
    one = state.take(nested, 2)
    state.put(nested, one, [0, 1, 3])
    assert nested.rows.tolist() == [2, 2, 2, 2]
    assert isinstance(one.pair, type(nested.pair))


@pytest.mark.parametrize("rows", [[9], [-9], ["a"], [1.5], [[0]], np.zeros(2, bool), np.ones((4, 2), bool)])
def test_bad_rows(rows):
    with pytest.raises(StateError):
        state.take(TTT.new_state(4), rows)


def test_masks_and_negative_rows():
    assert state.rows_of(np.array([True, False, True]), 3).tolist() == [0, 2]
    assert state.rows_of([-1], 3).tolist() == [2]
    assert state.rows_of([], 3).tolist() == []


def test_put_refuses_other_layouts_and_counts():
    with pytest.raises(StateError, match="layout"):
        state.put(TTT.new_state(2), NUMBERS.new_state(2))
    with pytest.raises(StateError, match="3 rows came for 2"):
        state.put(TTT.new_state(2), TTT.new_state(3))
    with pytest.raises(StateError, match="not dict"):
        state.take({})
    numbers = NUMBERS.new_state(3)
    with pytest.raises(StateError, match="their arrays have 1 to 3 rows"):
        state.put(numbers, numbers._replace(said=numbers.said[:1]))


def test_rows_of_another_size_are_refused_before_a_kernel_sees_them():
    """A kernel writes as many marks as the rows have cells, whatever room there is."""
    large = make_game("hex", size=11)
    vec, aec = make_vec("hex", 2, size=5), coterie.make("hex", size=5)
    parallel = coterie.make("hex", api="parallel", size=5)
    for face in (vec, aec, parallel):
        face.reset(seed=0)
        for rows in (large.new_state(1), TTT.new_state(1), state.snapshot(large, large.new_state(1))):
            with pytest.raises(StateError, match="another layout"):
                face.set_state(rows)
            with pytest.raises(StateError, match="another layout"):
                face.reset(options={"state": rows})


class Sized(NamedTuple):
    """N pictures, and how wide each is."""

    width: np.ndarray
    seen: np.ndarray

    def configured(self):
        return (self.width,)


def test_rows_that_need_other_room_are_refused():
    narrow, wide = (Sized(np.full(3, width), np.zeros((3, 4))) for width in (5, 7))
    state.put(narrow, narrow._replace(seen=np.ones((3, 4))))
    assert narrow.seen.all()
    for rows in (wide, narrow._replace(width=np.array([5, 5, 6]))):
        with pytest.raises(StateError, match="another configuration"):
            state.put(narrow, rows)


def test_rows_that_lie_scattered_are_read_right():
    """Kernels read some arrays as if they lay in one piece."""
    vec = make_vec("tictactoe", 4, seed=0)
    vec.reset()
    vec.step(np.array([0, 1, 2, 3]))
    apart = state.take(vec.state)[::-2]
    assert not apart.flags.c_contiguous
    other = make_vec("tictactoe", 2, seed=0)
    other.set_state(apart)
    assert np.array_equal(other.observation, vec.observation[::-2])


def blobs():
    vec = make_vec("tictactoe", 3, seed=0)
    vec.reset()
    vec.random_rollout(3)
    return state.to_bytes(TTT, vec.get_state()), state.to_bytes(TTT, vec.state)


@pytest.mark.parametrize("blob", blobs(), ids=["snapshot", "bare"])
def test_every_truncation_is_an_error(blob):
    for length in range(len(blob)):
        with pytest.raises(StateError):
            state.from_bytes(TTT, blob[:length])
    with pytest.raises(StateError, match="truncated"):
        state.from_bytes(TTT, blob[:-1])
    with pytest.raises(StateError):
        state.from_bytes(TTT, blob + b"x")
    for rows in (b"-1", b"900000000000", b"null"):
        with pytest.raises(StateError, match="truncated or altered"):
            state.from_bytes(TTT, blob.replace(b'"rows": 3', b'"rows": ' + rows))


def test_flipped_bits_are_an_error():
    blob = bytearray(blobs()[0])
    for at in range(len(blob) - 40, len(blob)):
        blob[at] ^= 1
        with pytest.raises(StateError, match="altered"):
            state.from_bytes(TTT, bytes(blob))
        blob[at] ^= 1


def test_other_game_version_and_configuration():
    blob = blobs()[0]
    with pytest.raises(StateError, match="tictactoe-v0, but highest_number-v0"):
        state.from_bytes(NUMBERS, blob)
    with pytest.raises(StateError, match="version"):
        state.from_bytes(TTT, blob.replace(b"tictactoe-v0", b"tictactoe-v9"))
    with pytest.raises(StateError, match="configuration"):
        state.from_bytes(make_game("highest_number"), state.to_bytes(NUMBERS, NUMBERS.new_state(1)))
    with pytest.raises(StateError, match="not str"):
        state.from_bytes(TTT, "text")
    with pytest.raises(StateError, match="not a coterie state"):
        state.from_bytes(TTT, b"PNG")


def faces():
    vec, aec = make_vec("tictactoe", 3), coterie.make("tictactoe-v0")
    parallel = coterie.make("tictactoe-v0", api="parallel")
    for face in (vec, aec, parallel):
        face.reset()
        yield face.set_state
        yield lambda blob, face=face: face.reset(options={"state": blob})


@pytest.mark.parametrize("face", range(6))
def test_every_face_refuses_bad_blobs(face):
    accept = list(faces())[face]
    for blob in (state.to_bytes(NUMBERS, NUMBERS.new_state(1)), blobs()[0][:-3], b""):
        with pytest.raises(StateError):
            accept(blob)


def test_gaps_of_aligned_rows_do_not_count():
    """NumPy's copies leave anything between the fields of an aligned layout; equal rows have equal bytes still."""
    game = make_game("connect_four")
    layout = game.new_state(1).dtype
    gap = set(range(layout.itemsize))
    for kind, offset, *_ in layout.fields.values():
        gap -= set(range(offset, offset + kind.itemsize))
    assert gap, "this layout has no gap; test another"
    rows = played(game, 1, 0)
    other = rows.copy()
    other.view(np.uint8)[sorted(gap)] ^= 0xFF
    assert state.to_bytes(game, rows) == state.to_bytes(game, other)
    assert equal(state.from_bytes(game, state.to_bytes(game, other)), rows)


@pytest.mark.parametrize(
    ("id", "written", "read"),
    [
        ("chess", {"claim": "never"}, {}),
        ("kuhn_poker", {"players": 3}, {}),
        ("matrix", {"game": "stag_hunt"}, {"game": "prisoners_dilemma"}),
        ("hex", {"swap": True}, {"swap": False}),
        ("go", {"size": 5, "komi": 5.5}, {"size": 5, "komi": 7.5}),
        ("highest_number", {"rounds": 3}, {"rounds": 2}),
    ],
)
def test_rows_of_another_configuration_are_refused(id, written, read):
    """Their layouts may be equal: what was configured stands in the rows, and would be played on with."""
    game = make_game(id, **written)
    blob = state.to_bytes(game, played(game, 2, 0))
    assert state.from_bytes(game, blob) is not None
    with pytest.raises(StateError, match="another configuration"):
        state.from_bytes(make_game(id, **read), blob)
