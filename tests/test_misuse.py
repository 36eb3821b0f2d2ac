"""What Python users get for a wrong argument: one sentence with what came and what to give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import coterie
from coterie.envs import make_game
from coterie.errors import UnknownArgument, UnknownName, UsageError
from coterie.training.evaluation.match import play_match
from coterie.training.runs.config import preset

GAME = make_game("tictactoe")


def begun(**options: Any) -> Any:
    env = coterie.make("tictactoe", **options)
    env.reset(seed=3)
    return env


@pytest.mark.parametrize(
    ("wrong", "kind", "told"),
    [
        (lambda: coterie.make(5), UsageError, r"5 \(int\) came; environments have names such as 'tictactoe-v0'"),
        (lambda: coterie.make_vec(None), UsageError, r"None \(NoneType\) came"),
        (lambda: coterie.make("tictacto"), UnknownName, "Did you mean 'tictactoe-v0'?"),
        (lambda: coterie.make("tictactoe", rendermode="ansi"), UnknownArgument, "Did you mean 'render_mode'?"),
        (lambda: coterie.make_vec("tictactoe", seeed=1), UnknownArgument, "Did you mean 'seed'?"),
        (
            lambda: coterie.make("tictactoe", num_envs=4),
            UnknownArgument,
            "'num_envs'. Environments of another kind take",
        ),
        (lambda: play_match(GAME, ("random", "randm")), UnknownName, "Did you mean 'random'?"),
        (lambda: play_match(GAME, ("random", 5)), UsageError, r"5 \(int\) came for an agent: give an object with act"),
        (lambda: play_match(GAME, "random"), UsageError, "a match has two sides"),
        (lambda: coterie.make("tictactoe").num_agents, AttributeError, r"num_agents cannot be read before reset\(\)"),
        (lambda: coterie.make("tictactoe").last(), AttributeError, r"Call reset\(\) first"),
        (lambda: begun().reset(seed=-1), UsageError, "seed must be 0 or more, not -1"),
        (lambda: begun(api="parallel").reset(seed=-1), UsageError, "seed must be 0 or more, not -1"),
        (lambda: begun(text=True).reset(seed=1.5), UsageError, "seed must be a whole number, not 1.5"),
        (lambda: coterie.make_vec("tictactoe", 2).reset(seed=-7), UsageError, "seed must be 0 or more, not -7"),
        (lambda: preset("foo"), UnknownName, "Unknown game 'foo'"),
        (lambda: preset("tictacto"), UnknownName, "Did you mean 'tictactoe-v0'?"),
        (lambda: preset(5), UsageError, r"5 \(int\) came"),
    ],
)
def test_a_wrong_argument_gets_a_sentence(wrong: Callable[[], Any], kind: type[Exception], told: str) -> None:
    with pytest.raises(kind, match=told) as caught:
        wrong()
    words = str(caught.value)
    assert words.count("\n") == 0
    for name in ("render_mode", "human", "random"):  # what came is never what is suggested
        assert f"{name!r}. Did you mean {name!r}" not in words


def test_a_match_takes_names_of_baselines() -> None:
    named = play_match(GAME, ("random", "minimax"), 6, 1)
    assert named.games == 6
    assert play_match(GAME, ("random", "minimax")).games == 100
    assert play_match("tictactoe", ("random", "minimax"), 6, 1).games == 6


@pytest.mark.parametrize("name", ["render_mode", "layout", "num_threads"])
def test_a_known_argument_in_the_wrong_place_is_not_suggested(name: str) -> None:
    with pytest.raises(UnknownArgument) as caught:
        make_game("tictactoe", **{name: 1})
    assert "Did you mean" not in str(caught.value)
    assert "coterie.make" in str(caught.value)
