"""Arguments that no one means: each gets a sentence."""

from __future__ import annotations

import contextlib
import inspect

import numpy as np
import pytest

import coterie
from coterie.benchmarks.fuzz_altering import HOSTILE
from coterie.cli import main
from coterie.envs import list_envs, make_game
from coterie.envs.faces.gym_vector import make_gym_vec
from coterie.envs.registry import factory
from coterie.errors import CoterieError, IllegalAction, UsageError

LONG = "x" * 300


@pytest.mark.parametrize("text", ["9" * 5000, "²", "\ud800", "a" + "9" * 5000, "\0", ""])
@pytest.mark.parametrize("game", ["tictactoe", "connect_four"])
def test_an_answer_that_is_no_action_counts_as_illegal(game, text) -> None:
    env = coterie.make(game, text=True)
    env.reset(seed=0)
    env.step(text)
    assert env.rewards == {"player_0": -1.0, "player_1": 0.0}


@pytest.mark.parametrize(
    "call",
    [
        lambda: coterie.make_vec("tictactoe", num_envs=10**9),
        lambda: coterie.make_vec("tictactoe", num_envs=10**30),
        lambda: coterie.make("matrix", rounds=2**31),
        lambda: coterie.make("highest_number", rounds=2**31),
        lambda: coterie.make("highest_number", players=2**31),
        lambda: coterie.make("highest_number", max_number=2**31),
        lambda: coterie.make("highest_string", length=10**12),
        lambda: coterie.make("tictactoe", illegal_reward="5"),
        lambda: coterie.make("tictactoe", max_cycles="5"),
        lambda: coterie.make("tictactoe").reset(options=5),
        lambda: coterie.make("tictactoe").reset(options={1: 2}),
        lambda: coterie.make("tictactoe").reset(seed="x"),
        lambda: coterie.make("tictactoe", illegal_reward=10**400),
        lambda: coterie.make("tictactoe", illegal=np.zeros(0)),
        lambda: coterie.make("tictactoe", max_cycles=10**30),
        lambda: coterie.make("tictactoe", render_mode=np.ones(2)),
        lambda: coterie.make("tictactoe", text=np.ones(2)),
        lambda: coterie.make("tictactoe", api={}),
        lambda: coterie.make("chess", claim=np.zeros(0)),
        lambda: coterie.make("go", superko=[1]),
        lambda: coterie.make("kuhn_poker", players=np.ones(2)),
        lambda: coterie.make("kuhn_poker", players=10**5000),
        lambda: coterie.make("matrix", game={}),
        lambda: coterie.make_vec("tictactoe", 2).reset(seed=[[1], [2, 3]]),
        lambda: make_gym_vec("highest_number", 2, opponent=lambda seen, mask, rng: mask.argmax(-1)),
        lambda: make_gym_vec("highest_number", 2, opponent="minimax"),
        lambda: make_gym_vec("highest_number", 2, seat=1),
    ],
)
def test_it_is_refused(call) -> None:
    with pytest.raises(UsageError):
        call()


OBJECTS = (np.array([0, 1]), np.array([[float("nan")]]), np.array([]), b"ab", object(), 10**5000, [[], "a"], [{}])


@pytest.mark.parametrize("game", list_envs())
def test_every_argument_of_a_game_takes_a_value_or_refuses_it_with_a_sentence(game) -> None:
    for name in inspect.signature(factory(game)).parameters:
        for value in (*HOSTILE, *OBJECTS):
            with contextlib.suppress(CoterieError):
                make_game(game, **{name: value})


@pytest.mark.parametrize("policy", ["lose", "noop"])
def test_an_opponent_that_always_answers_illegally_is_refused_instead_of_asked_forever(policy) -> None:
    env = make_gym_vec("tictactoe", 2, opponent=lambda seen, mask, rng: np.full(len(mask), -1), illegal=policy)
    with pytest.raises(IllegalAction, match="100 times in a row"):
        env.reset(seed=0)


@pytest.mark.parametrize(
    "words",
    [
        ("play", "tictactoe", "--players", LONG, "random"),
        ("play", "tictactoe", "--players", f"/{LONG}", "random"),
        ("play", "tictactoe", "--from", f"{LONG}.json"),
        ("play", "tictactoe", "--from", "folder.json"),
        ("play", "--replay", "/dev/zero"),
        ("play", "--replay", "."),
        ("play", "tictactoe", "random", "random", "--save", f"{LONG}.json"),
        ("eval", LONG, "--game", "tictactoe"),
        ("eval", "/" + "x" * 5000, "--game", "tictactoe"),
        ("play", "\ud800"),
    ],
    ids=lambda words: " ".join(words)[:40].encode("ascii", "replace").decode(),
)
def test_the_command_says_a_sentence(words, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.json").mkdir()
    assert main(words) == 2
    told = capsys.readouterr().err
    assert told.startswith("coterie: ")
    assert "Traceback" not in told


def test_limits_can_be_raised_and_a_wrong_one_is_named(tmp_path, monkeypatch) -> None:
    from coterie.envs import reading

    path = tmp_path / "file"
    path.write_bytes(bytes(3000))
    with pytest.raises(UsageError, match="COTERIE_LIMITS=10"):
        reading.read_bytes(path, 1000)
    monkeypatch.setenv("COTERIE_LIMITS", "3")
    assert len(reading.read_bytes(path, 1000)) == 3000
    for wrong in ("0", "-1", "x", "1e9", "9" * 5000, "²"):
        monkeypatch.setenv("COTERIE_LIMITS", wrong)
        with pytest.raises(UsageError, match="COTERIE_LIMITS is"):
            reading.read_bytes(path, 1000)


def test_a_long_message_is_cut_in_its_middle() -> None:
    told = str(CoterieError("a" * 5000 + "z" * 5000))
    assert len(told) < 4100
    assert (told[0], told[-1]) == ("a", "z")
