"""Token observations: the planes without their zeros, from the observer outward."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.envs import make_game
from coterie.envs.gridworld.config.world import plane_names
from coterie.envs.gridworld.seen.tokens import UNUSED, observe_tokens

from .conftest import EVERYTHING, config_of, scrambled

HIDEABLE = ("agent.hp", "agent.frozen", "agent.energy", "agent.orientation", "agent.shield", "agent.r2")
HIDEABLE += ("wall.hp", "generator.stock", "generator.ready", "converter.input", "altar.ready")
MORE = {
    "mill": {"glyph": "m", "inputs": {"r2": 1, "r3": 2}, "outputs": {"r1": 1}, "energy_cost": 7, "stock": 9, "hp": 2},
    "spring": {"glyph": "s", "energy_gain": 40, "cooldown": 3, "hp": 0},
}

odd = st.sampled_from(range(1, 16, 2))
observations = st.fixed_dictionaries(
    {
        "height": odd,
        "width": odd,
        "rotate": st.booleans(),
        "hidden": st.lists(st.sampled_from(HIDEABLE), max_size=4, unique=True),
        "kinship": st.booleans(),
        "last_action": st.booleans(),
        "last_reward": st.booleans(),
    }
)
kinships = st.sampled_from(({"mode": "none"}, {"mode": "teams", "size": 2}, {"mode": "relatedness", "size": 3}))


def tokens(state, player, rows):
    out = np.full((rows, 3), 77, np.uint8)
    observe_tokens(state, 0, player, out)
    return out


def expected(seen, whole):
    """The rows as the rules page has them, one thing after the other: from planes [C, h, w] and names [C]."""
    high, wide = seen.shape[1] // 2, seen.shape[2] // 2
    cells = sorted(
        ((r, c) for r in range(seen.shape[1]) for c in range(seen.shape[2])),
        key=lambda cell: (max(abs(cell[0] - high), abs(cell[1] - wide)), cell),
    )
    rows = [(16 * high + wide, p, seen[p, high, wide]) for p in whole if seen[p, high, wide]]
    for r, c in cells:
        rows += [(16 * r + c, p, seen[p, r, c]) for p in np.flatnonzero(seen[:, r, c]) if p not in whole]
    return np.array(rows, np.uint8).reshape(-1, 3)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), observation=observations, kinship=kinships, more=st.booleans())
def test_tokens_are_the_planes_without_their_zeros(seed, observation, kinship, more):
    fields = {"observation": observation, "kinship": kinship}
    if more:
        counts = {"wall": 9, "mill": 9, "spring": 9}
        fields |= {"objects": MORE, "map": {"height": 14, "width": 13, "agents": 8, "objects": counts}}
    game, state = scrambled(seed, **fields)
    names = plane_names(config_of(game))
    whole = [names.index(name) for name in ("last_action", "last_reward") if observation[name]]
    for player in range(game.info.players):
        seen = np.empty(game.info.observation_shape, np.uint8)
        game.kernels.observe(state, 0, player, seen)
        rows, wanted = tokens(state, player, 2000), expected(seen, whole)
        assert np.array_equal(rows[: len(wanted)], wanted)
        assert (rows[len(wanted) :] == UNUSED).all()
        short = int(np.random.default_rng(seed).integers(1, len(wanted) + 3))
        assert np.array_equal(tokens(state, player, short), rows[:short]), "a small budget drops the far end alone"


def test_the_dead_see_nothing():
    game, state = scrambled(1, observation={"kind": "tokens", **EVERYTHING})
    state.agents["alive"][0, 0] = False
    out = np.zeros(game.info.observation_shape, np.uint8)
    game.kernels.observe(state, 0, 0, out)
    assert (out == UNUSED).all()


def test_a_row_names_place_plane_and_value():
    """An agent that looks down at a generator with 30 uses left."""
    text = "...\n.@.\n.n."
    game = make_game("gridworld", config={"map": {"terrain": "ascii", "text": text}, "observation": {"kind": "tokens"}})
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    game.kernels.step(state, 0, np.array([4], np.int32), np.zeros(1, np.float32))
    out = np.zeros((200, 3), np.uint8)
    game.kernels.observe(state, 0, 0, out)
    names = plane_names(config_of(game))
    told = [(int(place), names[plane], int(value)) for place, plane, value in out if place != UNUSED]
    here, below = 16 * 5 + 5, 16 * 6 + 5
    assert told == [
        (here, "agent", 1),
        (here, "agent.hp", 1),
        (here, "agent.energy", 250),
        (here, "agent.orientation", 1),
        (below, "generator", 1),
        (below, "generator.hp", 30),
        (below, "generator.stock", 30),
        (below, "generator.ready", 1),
    ]


@pytest.mark.parametrize("space", ["flat", "verbs"])
def test_tokens_through_the_faces(space):
    import coterie

    seen = {"kind": "tokens", "tokens": 90}
    env = coterie.make("gridworld-v0", preset="a5_25x25", observation=seen, actions={"space": space})
    env.reset(seed=4)
    seen = env.observe("player_0")["observation"]
    assert seen.shape == (90, 3)
    assert env.observation_space("player_0")["observation"].contains(seen)
