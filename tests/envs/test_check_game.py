"""The conformance check over every registered game, golden transcripts, and proof that the check can fail."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from coterie.envs import Kernels, list_envs, make_game
from coterie.envs.stepping.defaults import everybody
from coterie.envs.stepping.jit import disabled, kernel
from coterie.envs.testing import CHECKS, check_game, transcript
from coterie.envs.testing.games import ARGUMENTS
from coterie.envs.words import TextGame

BOARDS = [id for id in list_envs() if not isinstance(make_game(id), TextGame)]
WORDS = sorted(set(list_envs()) - set(BOARDS))
GOLDEN = Path(__file__).with_name("golden")


def _marks(id, check):
    """The batched loops of a game take long to compile: of three games always, of the others among the slow tests."""
    quick = check != "batched" or id in ("tictactoe-v0", "kuhn_poker-v0", "gridworld-v0")
    return () if quick else (pytest.mark.slow, pytest.mark.bounds)


@pytest.mark.parametrize(("id", "check"), [pytest.param(i, c, marks=_marks(i, c)) for i in BOARDS for c in CHECKS])
def test_every_registered_game(id, check):
    CHECKS[check](make_game(id))


@pytest.mark.parametrize("id", WORDS)
def test_every_game_of_words(id):
    check_game(make_game(id))


@pytest.mark.slow
@pytest.mark.bounds
@pytest.mark.parametrize("check", CHECKS)
def test_many_actions_players_and_rounds(check):
    CHECKS[check](make_game("highest_number", max_number=300, players=3, rounds=10))


def test_check_game_runs_all_checks(monkeypatch):
    ran = []
    for name in list(CHECKS):
        monkeypatch.setitem(CHECKS, name, lambda game, name=name: ran.append(name))
    check_game(make_game("tictactoe"))
    assert ran == list(CHECKS)


@pytest.mark.parametrize("id", [*BOARDS, *WORDS])
def test_golden_transcripts(id):
    """Rewrite a file only together with a new version of the game; CONTRIBUTING says how."""
    assert (GOLDEN / f"{id}.txt").is_file(), f"{id} has no golden transcript yet; CONTRIBUTING.md says how to write it"
    assert transcript(make_game(id)) == (GOLDEN / f"{id}.txt").read_text()


@kernel
def _everything_is_legal(state, i, player, mask):
    mask[:] = 1


@kernel
def _half_a_mask(state, i, player, mask):
    mask[0] = 0


@kernel
def _half_an_observation(state, i, player, out):
    out[0, 0, 0] = 0


@kernel
def _endless(state, i, actions, rewards):
    return 0


@pytest.mark.parametrize(
    ("verb", "wrong"),
    [
        ("legal", _everything_is_legal),
        ("legal", _half_a_mask),
        ("observe", _half_an_observation),
        ("step", _endless),
    ],
)
def test_wrong_rules_are_found(verb, wrong):
    game = make_game("tictactoe")
    broken = dataclasses.replace(game, kernels=game.kernels._replace(**{verb: wrong}))
    with pytest.raises(AssertionError):
        CHECKS["rules"](broken)


@kernel
def _without_a_player(state, i, mask):
    mask[:] = 1


@kernel
def _without_a_status(state, i, actions, rewards):
    rewards[0] = 0


@pytest.mark.parametrize(
    ("verb", "wrong", "words"),
    [
        ("legal", _without_a_player, r"legal must take \(state, i, player, mask\); this one takes \(state, i, mask\)"),
        ("legal", lambda state, i, player, mask: None, "legal is a plain function; decorate it with @kernel"),
        ("step", _without_a_status, "step returned None; it must return RUNNING"),
        ("mover", everybody, "mover must be -1 in simultaneous games"),
    ],
)
def test_a_wrong_kernel_is_explained(verb, wrong, words):
    if disabled() and "@kernel" in words:
        pytest.skip("without the compiler all kernels are plain functions")
    game = make_game("tictactoe")
    broken = dataclasses.replace(game, kernels=game.kernels._replace(**{verb: wrong}))
    with pytest.raises(AssertionError, match=words):
        CHECKS["rules"](broken)


@kernel
def _one_key(state, i):
    return 7


def test_keys_that_do_not_tell_positions_are_found():
    game = make_game("tictactoe")
    broken = dataclasses.replace(game, kernels=game.kernels._replace(key=_one_key))
    with pytest.raises(AssertionError, match="two positions have the key 0000000000000007"):
        CHECKS["rules"](broken)


def test_texts_that_no_space_holds_are_found():
    game = make_game("tictactoe")
    for text, words in (("\u265e to move", "beyond ASCII"), ("x" * 9000, "9000 characters")):
        broken = dataclasses.replace(game, describe=lambda state, i, player, text=text: text)
        with pytest.raises(AssertionError, match=words):
            CHECKS["text"](broken)


def test_a_wrong_text_is_found():
    game = make_game("tictactoe")
    broken = dataclasses.replace(
        game,
        action_to_text=lambda state, i, action: str(8 - action),
        parse_action=lambda state, i, text: game.parse_action(state, i, text),
    )
    with pytest.raises(AssertionError, match="is not parsed as action"):
        CHECKS["text"](broken)


def test_hidden_randomness_is_found():
    game = make_game("tictactoe")
    rng = np.random.default_rng()

    def restless(state, i, player):
        return str(rng.random())

    assert transcript(dataclasses.replace(game, compact=restless)) != transcript(game)


def test_the_arguments_of_every_kernel_are_known():
    assert set(ARGUMENTS) == set(Kernels._fields)
