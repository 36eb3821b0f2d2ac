"""Games as plain functions."""

from __future__ import annotations

import pytest

from coterie.agents.baselines import RandomAgent
from coterie.errors import UnknownName, UsageError
from coterie.games import play
from coterie.games.tictactoe import play as tictactoe


def test_perfect_players_draw_and_random_ones_lose_to_them() -> None:
    assert tictactoe("minimax", "minimax", seed=3) == [0.0, 0.0]
    results = [tictactoe("minimax", RandomAgent(), seed=k) for k in range(20)]
    assert all(a == -b and a >= 0 for a, b in results)
    assert [1.0, -1.0] in results
    assert results[4] == tictactoe("minimax", "random", seed=4)


def test_any_game() -> None:
    assert sum(play("highest_number", "random", "random", seed=1)) == 0.0


def test_each_game_says_which_it_is() -> None:
    from coterie.games import chess, go, play_of

    assert [module.play.game for module in (chess, go)] == ["chess", "go"]
    assert play_of("connect_four")("random", "random", seed=2) == play("connect_four", "random", "random", seed=2)


def test_bad_calls() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'minimax'"):
        tictactoe("minmax", "random")
    with pytest.raises(UsageError, match="2 players, but got 1"):
        tictactoe("random")
