"""Pictures of poker: cards that a seat may not see are face down, byte for byte the same whatever they are."""

from __future__ import annotations

import importlib
from collections import defaultdict

import numpy as np
import pytest

from coterie.envs.registry import make_game, spec
from coterie.renderers.board import PALETTE
from coterie.renderers.cards import PAPER, SEAT_COLORS

GAMES = [("kuhn_poker", {}), ("kuhn_poker", {"players": 3}), ("leduc_poker", {})]


def near(picture, color):
    """How many pixels are of a colour, but for rounding when scaled down."""
    return int((np.abs(picture.astype(int) - color).max(-1) <= 3).sum())


def dealt(game, deal, actions=()):
    state = game.new_state(2)
    for i in (0, 1):
        game.kernels.reset(state, i, np.uint64(i))
    game.options["deal"](state, 1, deal)
    for action in actions:
        rewards = np.zeros(game.info.players, np.float32)
        game.kernels.step(state, 1, np.full(game.info.players, action, np.int32), rewards)
    return state


def drawer(name):
    module, _, function = spec(name).draw.partition(":")
    return getattr(importlib.import_module(module), function)


@pytest.mark.parametrize(("name", "config"), GAMES)
def test_pictures_of_a_seat_do_not_depend_on_what_it_cannot_see(name, config):
    game, draw = make_game(name, **config), drawer(name)
    seen, spectator = defaultdict(set), set()
    for deal, _ in game.deals():
        state = dealt(game, deal, [1])
        for player in range(game.info.players):
            seen[player, deal[player]].add(draw(game, state, 1, size=120, player=player).tobytes())
        spectator.add(draw(game, state, 1, size=120).tobytes())
    assert all(len(pictures) == 1 for pictures in seen.values())
    assert len({next(iter(pictures)) for pictures in seen.values()}) == len(seen)
    hidden = {deal[: game.info.players] for deal, _ in game.deals()}  # nobody has seen Leduc's public card yet
    assert len(spectator) == len(hidden)


@pytest.mark.parametrize(("name", "deal", "folded"), [("kuhn_poker", "KQ", [1, 0]), ("leduc_poker", "KQJ", [1, 2])])
def test_folded_cards_stay_face_down_and_shown_ones_are_turned(name, deal, folded):
    game, draw = make_game(name), drawer(name)
    other = deal[0] + "J" + deal[2:] if name == "kuhn_poker" else "KJJ"
    pictures = [draw(game, dealt(game, d, folded), 1, player=0) for d in (deal, other)]
    assert np.array_equal(*pictures)
    shown = [1, 1] if name == "kuhn_poker" else [1, 0, 3, 3]
    pictures = [draw(game, dealt(game, d, shown), 1, player=0) for d in (deal, other)]
    assert not np.array_equal(*pictures)
    assert near(pictures[0], PALETTE.accent) > near(draw(game, dealt(game, deal), 1, player=0), PALETTE.accent)


@pytest.mark.parametrize(("name", "config"), GAMES)
def test_who_looks_sits_below_and_the_mover_is_marked(name, config):
    game, draw = make_game(name, **config), drawer(name)
    state = dealt(game, game.deals()[0][0])
    for player in range(game.info.players):
        picture = draw(game, state, 1, player=player)
        below = picture[picture.shape[0] // 2 :]
        counts = [near(below, color) for color in SEAT_COLORS[: game.info.players]]
        assert counts.index(max(counts)) == player
    mine, everything = draw(game, state, 1, player=0), draw(game, state, 1)
    assert near(everything, PAPER) > near(mine, PAPER)  # a spectator sees faces where a seat sees a back


def test_the_public_card_is_turned_up_for_the_second_round():
    game, draw = make_game("leduc_poker"), drawer("leduc_poker")
    first = {draw(game, dealt(game, d, [1]), 1, player=0).tobytes() for d in ("KQJ", "KQQ")}
    second = {draw(game, dealt(game, d, [1, 0]), 1, player=0).tobytes() for d in ("KQJ", "KQQ")}
    assert (len(first), len(second)) == (1, 2)


def test_a_shared_pot_marks_both():
    game, draw = make_game("leduc_poker"), drawer("leduc_poker")
    both, one = (draw(game, dealt(game, d, [3, 3, 3, 3]), 1) for d in ("KKJ", "KQJ"))
    assert near(both, PALETTE.accent) > near(one, PALETTE.accent)


@pytest.mark.parametrize(("name", "config"), GAMES)
@pytest.mark.parametrize("size", [48, 200, 481])
def test_any_size_and_the_row_that_is_asked_for(name, config, size):
    game, draw = make_game(name, **config), drawer(name)
    state = dealt(game, game.deals()[-1][0], [1])
    picture = draw(game, state, 1, size=size)
    assert picture.shape == (round(size * 0.75), size, 3)
    assert picture.dtype == np.uint8
    assert np.array_equal(picture, draw(game, state, 1, size=size))
    assert not np.array_equal(picture, draw(game, state, 0, size=size))


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "matrix"])
def test_actions_are_buttons(name):
    module = importlib.import_module(spec(name).draw.partition(":")[0])
    game = make_game(name)
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    assert module.boxes(game, 300, player=1) == []
    assert all(module.cells(game, state, 0, action) == () for action in range(game.info.num_actions))
