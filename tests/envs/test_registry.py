"""Names, registrations and their errors."""

from __future__ import annotations

import pytest

import coterie
from coterie.envs import make_game, registry, spec, tictactoe
from coterie.errors import UnknownName, UsageError


@pytest.fixture
def scratch(monkeypatch):
    """A registry that forgets what the test registers, and does not tell PettingZoo."""
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    monkeypatch.setattr(registry, "_TOLD", [])


def test_list():
    games = "chess connect_four go gridworld hex highest_number highest_string kuhn_poker leduc_poker matrix tictactoe"
    assert set(coterie.list_envs()) >= {f"{game}-v0" for game in games.split()}  # a new game need not be added here
    assert coterie.list_envs() == sorted(coterie.list_envs())


def test_names_without_version_mean_the_newest(scratch):
    assert make_game("tictactoe").info.id == "tictactoe-v0"
    coterie.register("tictactoe-v10", "coterie.envs.tictactoe:tictactoe")
    coterie.register("tictactoe-v9", "coterie.envs.tictactoe:tictactoe")
    assert spec("tictactoe").id == "tictactoe-v10"
    assert spec("tictactoe").version == 10


@pytest.mark.parametrize("name", ["tictacto", "tictactoe-v7", "", "TicTacToe-v0"])
def test_unknown_names(name):
    for make in (coterie.make, coterie.make_vec, make_game):
        with pytest.raises(UnknownName, match=r"Unknown game.*tictactoe-v0"):
            make(name)
    with pytest.raises(UnknownName, match="Did you mean 'tictactoe-v0'"):
        make_game("tictacto")


def test_unknown_arguments():
    with pytest.raises(UsageError, match=r"Did you mean 'max_number'\? It takes max_number, players, rounds"):
        coterie.make("highest_number-v0", max_numbr=4)
    with pytest.raises(UsageError, match="Did you mean 'illegal'"):
        coterie.make("tictactoe-v0", illegl="lose")
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'size'\. It takes no arguments"):
        coterie.make("connect_four-v0", size=3)


@pytest.mark.parametrize("id", ["tictactoe", "Chess-v0", "a b-v0", "-v0", "x-v"])
def test_malformed_ids(scratch, id):
    with pytest.raises(UsageError, match="name-vN"):
        coterie.register(id, "a:b")


@pytest.mark.parametrize("point", ["a", "a:b:c", "a:", ":b", "a b:c"])
def test_malformed_entry_points(scratch, point):
    with pytest.raises(UsageError, match=r"package\.module:name"):
        coterie.register("new-v0", point)


def test_registering_twice(scratch):
    coterie.register("new-v0", "coterie.envs.tictactoe:tictactoe")
    coterie.register("new-v0", "coterie.envs.tictactoe:tictactoe")
    with pytest.raises(UsageError, match="registered already"):
        coterie.register("new-v0", "coterie.envs.highest_number:highest_number")


@pytest.mark.parametrize("point", ["no.such.module:f", "coterie.envs.tictactoe:nothing"])
def test_entry_points_that_do_not_load(scratch, point):
    coterie.register("broken-v0", point)
    with pytest.raises(UsageError, match="cannot be loaded"):
        make_game("broken-v0")


def test_every_registered_game_has_a_module(scratch):
    from coterie import envs

    coterie.register("other-v3", "coterie.envs.tictactoe:tictactoe")
    assert "other_v3" in dir(envs)
    assert envs.other_v3.env().game.rules == tictactoe.tictactoe().rules
    with pytest.raises(ImportError):
        from coterie.envs import nothing_v0  # noqa: F401


def test_later_games_reach_pettingzoo_and_gymnasium(scratch, monkeypatch):
    told = []
    monkeypatch.setattr(registry, "_tell_others", told.append)
    coterie.register("early-v0", "coterie.envs.tictactoe:tictactoe")
    registry.register_elsewhere()
    assert told == registry.list_envs()
    coterie.register("late-v0", "coterie.envs.tictactoe:tictactoe")
    assert told[-1] == "late-v0"
