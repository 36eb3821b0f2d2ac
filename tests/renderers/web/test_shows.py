"""Pages' data: every registered game becomes a show whose frames tell the game from its start to its end."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest

from coterie.aliases import RUNNING, State
from coterie.envs import list_envs, make_game
from coterie.envs.core import Game, GameRecord
from coterie.envs.registry import spec
from coterie.envs.state import take
from coterie.envs.words import TextGame
from coterie.renderers.web.shows import show

GAMES = [id for id in list_envs() if id != "gridworld-v0"]


def played(game: Game, seed: int = 3, most: int = 60) -> GameRecord:
    """A random game, at most so many turns of it."""
    rng = np.random.default_rng(seed)
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(seed))
    start, actions, status = take(state), [], RUNNING
    returns = np.zeros(game.info.players)
    while status == RUNNING and len(actions) < most:
        one = [_choice(game, state, p, rng) for p in range(game.info.players)]
        rewards = np.zeros(game.info.players, np.float32)
        told: Any = one if isinstance(game, TextGame) else np.array(one, np.int32)
        status = game.kernels.step(state, 0, told, rewards)
        actions.append(one)
        returns += rewards
    return GameRecord(start, actions, ("random",) * game.info.players, tuple(returns.tolist()), status)


def _choice(game: Game, state: State, player: int, rng: np.random.Generator) -> Any:
    if isinstance(game, TextGame):
        return game.sample(state[0], player, rng) if player in game.asked(state[0]) else None
    legal = game.legal_actions(state, 0, player)
    return int(rng.choice(legal)) if legal else 0


@pytest.mark.parametrize("id", GAMES)
def test_a_show_tells_the_game(id: str) -> None:
    game = make_game(id)
    record = played(game)
    found = show(game, record)
    assert found == json.loads(json.dumps(found, allow_nan=False))
    assert len(found["frames"]) == len(record.actions) + 1
    assert [seat["name"] for seat in found["seats"]] == game.info.agents
    assert (found["goal"], found["rules"]) == (game.goal, game.rules)
    paid = np.sum([frame["rewards"] for frame in found["frames"]], 0)
    np.testing.assert_allclose(paid, record.returns, atol=1e-5)
    assert all(frame["text"].strip() for frame in found["frames"])
    assert [bool(frame["status"]) for frame in found["frames"]] == [False] * len(record.actions) + [True]
    for frame in found["frames"][1:]:
        assert frame["move"] or frame.get("said")
        assert all(0 <= cell < len(found["boxes"]) for cell in frame.get("cells", ()))
    drawn = bool(spec(id).draw)
    assert all((frame["picture"] is not None) == drawn for frame in found["frames"])
    if drawn:
        pictures = [frame["picture"] for frame in found["frames"]]
        assert all(before != after for before, after in itertools.pairwise(pictures))
        assert {n for picture in pictures for n in picture} == set(range(len(found["shapes"])))
        assert all(math.isfinite(v) for box in found["boxes"] for v in box)
