"""Every drawer keeps its promises, whichever the game: pictures, boxes, cells, and that clicks lead to every action."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from coterie.aliases import RUNNING
from coterie.envs.registry import list_envs, make_game, spec
from coterie.envs.state import to_bytes
from coterie.envs.words import TextGame
from coterie.renderers.picking import Picker, nearest

DRAWN = [id for id in list_envs() if spec(id).draw]
CONFIGS = {
    "dark_hex-v0": [{}, {"num_cols": 5, "num_rows": 3}, {"num_cols": 2, "num_rows": 4, "gameversion": "adh"}],
    "go-v0": [{"size": 9}, {"size": 19}],
    "gridworld-v0": [{"preset": "a5_25x25"}, {"preset": "a3_11x11", "map": {"width": 9, "height": 21}}],
    "hex-v0": [{}, {"size": 5}],
    "matrix-v0": [{}, {"rounds": 4}],
    "negotiation-v0": [{}, {"preset": "deal_or_no_deal"}, {"preset": "ultimatum"}, {"preset": "issues", "players": 6}],
}
CASES = [(id, config) for id in DRAWN for config in CONFIGS.get(id, [{}])]


def drawer(id: str):
    module, _, name = str(spec(id).draw).partition(":")
    found = importlib.import_module(module)
    return found, getattr(found, name)


def positions(game, seed: int, most: int = 120):
    """Some positions of a random game, the start and the end among them; the row is the second of two."""
    rng = np.random.default_rng(seed)
    state = game.new_state(2)
    for i in range(2):
        game.kernels.reset(state, i, np.uint64(seed + i))
    status, turn = RUNNING, 0
    while True:
        seats = range(game.info.players) if game.info.simultaneous else [game.mover(state, 1)]
        if status != RUNNING or turn in (0, 1, 2, 5, 13, 40, most):
            yield state, list(seats), status
        if status != RUNNING or turn == most:
            return
        actions = np.zeros(game.info.players, np.int32)
        for p in seats:
            actions[p] = rng.choice(game.legal_actions(state, 1, p))
        rewards = np.zeros(game.info.players, np.float32)
        status, turn = int(game.kernels.step(state, 1, actions, rewards)), turn + 1


def test_every_game_has_a_picture() -> None:
    without = set(list_envs()) - set(DRAWN)
    assert {id for id in without if not isinstance(make_game(id), TextGame)} <= {"highest_number-v0", "liars_dice-v0"}


@pytest.mark.parametrize(("id", "config"), CASES, ids=str)
def test_pictures(id: str, config: dict[str, object]) -> None:
    game = make_game(id, **config)
    module, draw = drawer(id)
    for state, _, _ in positions(game, 3):
        before = to_bytes(game, state)
        for player in (None, *range(game.info.players)):
            for size in (240, 333):
                frame = draw(game, state, 1, size=size, player=player)
                assert (frame.dtype, frame.ndim, frame.shape[2]) == (np.uint8, 3, 3)
                assert max(frame.shape[:2]) <= 2 * size
                assert frame.shape[1] == size, "size is the width"
                assert frame.std() > 5, "nothing is drawn"
            assert np.array_equal(frame, draw(game, state, 1, size=333, player=player))
        assert draw(game, state, 1).shape[1] == 480
        assert to_bytes(game, state) == before, "drawing changed the state"


@pytest.mark.parametrize(("id", "config"), CASES, ids=str)
def test_boxes_lie_in_the_picture(id: str, config: dict[str, object]) -> None:
    game = make_game(id, **config)
    module, draw = drawer(id)
    state = next(positions(game, 0))[0]
    for player in (None, *range(game.info.players)):
        for size in (240, 481):
            height, width = draw(game, state, 1, size=size, player=player).shape[:2]
            boxes = module.boxes(game, size=size, player=player)
            for x, y, w, h in boxes:
                assert w > 4 < h
                assert -1 <= x < x + w <= width + 1
                assert -1 <= y < y + h <= height + 1
            middles = [nearest(boxes, x + w / 2, y + h / 2) for x, y, w, h in boxes]
            assert middles == list(range(len(boxes))), "a click into the middle of a cell finds another cell"


@pytest.mark.parametrize(("id", "config"), CASES, ids=str)
def test_clicks_lead_to_every_legal_action(id: str, config: dict[str, object]) -> None:
    game = make_game(id, **config)
    module, _ = drawer(id)
    count = len(module.boxes(game))
    for seed in (0, 1):
        for state, seats, status in positions(game, seed):
            for p in seats if status == RUNNING else ():
                cells = {a: tuple(module.cells(game, state, 1, a)) for a in game.legal_actions(state, 1, p)}
                assert all(0 <= c < count for path in cells.values() for c in path)
                for action, path in cells.items():
                    picker = Picker(cells)
                    if not path:
                        assert action in picker.buttons
                        continue
                    *before, last = path
                    assert all(picker.click(c) == [] for c in before), "an action begins like another whole one"
                    decided = picker.click(last)
                    assert action in decided
                    assert len(decided) <= 6, "too many actions share their cells"
                    texts = {game.action_to_text(state, 1, a) for a in decided}
                    assert len(texts) == len(decided), "a chooser whose choices read alike"


@pytest.mark.parametrize("id", DRAWN)
def test_the_row_that_is_asked_for_is_drawn(id: str) -> None:
    game = make_game(id)
    _, draw = drawer(id)
    *_, (state, _, _) = positions(game, 5)
    assert not np.array_equal(draw(game, state, 1), draw(game, state, 0))
