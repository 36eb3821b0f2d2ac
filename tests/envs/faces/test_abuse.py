"""After abuse a game plays on: what is refused leaves the state as it was, and the next legal action works."""

from __future__ import annotations

import numpy as np
import pytest

import coterie
from coterie.envs.state import to_bytes
from coterie.errors import CoterieError

GAMES = {
    "tictactoe": {},
    "highest_number": {"rounds": 50, "players": 3},
    "hex": {"size": 4},
    "gridworld": {"preset": "a3_9x9"},
    "gridworld pairs": {"preset": "a3_9x9", "actions": {"space": "verbs"}},
}
NONSENSE = [
    *("x", b"\x00", 1.5, float("nan"), float("inf"), 10**30, -(10**30), -7, 2**31, True, object(), {}, [], [0], [[0]]),
    *(
        (1, 2, 3),
        np.array(np.nan),
        np.zeros((2, 2, 2)),
        np.array("y"),
        np.array([None]),
        np.int64(99),
        np.uint64(2**63),
    ),
]
"""No action of any of these games; some are numbers that a policy may count as illegal."""


def made(name, api=None, **more):
    make = coterie.make_vec if api is None else coterie.make
    return make(name.split()[0], **({} if api is None else {"api": api}), **more, **GAMES[name])


def refused(act, env):
    """Whether a call raised one of our errors; then nothing may have changed. What was played is taken back."""
    before = to_bytes(env.game, env.get_state())
    try:
        act()
    except CoterieError:
        assert to_bytes(env.game, env.get_state()) == before, "a refusal changed the state"
        return True
    env.set_state(before)
    return False


@pytest.mark.parametrize("name", GAMES)
def test_turn_by_turn(name):
    env, count = made(name, "aec"), 0
    env.reset(seed=0)
    for k, action in enumerate([*NONSENSE * 2, None]):
        count += refused(lambda action=action: env.step(action), env)
        env.step(_legal(env, env.agent_selection, env.observe(env.agent_selection), k))
        if any(env.terminations.values()) or any(env.truncations.values()):
            env.reset(seed=k)
    assert count > len(NONSENSE)


@pytest.mark.parametrize("name", GAMES)
def test_together(name):
    env, count = made(name, "parallel"), 0
    seen, _ = env.reset(seed=0)
    for k, action in enumerate(NONSENSE * 2):
        fine = {agent: _legal(env, agent, seen[agent], k) for agent in env.agents}
        first, *_, last = env.agents
        bad = [action, dict.fromkeys(fine, action), fine | {last: action}, fine | {"nobody": 0}, {}]
        for actions in [*bad, {agent: one for agent, one in fine.items() if agent != first}]:
            count += refused(lambda actions=actions: env.step(actions), env)
        seen, _, ended, cut, _ = env.step(fine)
        if any(ended.values()) or any(cut.values()):
            seen, _ = env.reset(seed=k)
    assert count > len(NONSENSE)


@pytest.mark.parametrize("name", GAMES)
def test_batches(name):
    vec, count = made(name, num_envs=3), 0
    vec.reset(seed=0)
    for k, action in enumerate(NONSENSE * 2):
        numbers = vec.sample_actions().copy()
        for actions in (
            action,
            [action] * 3,
            np.full(numbers.shape, np.nan),
            numbers[:-1],
            numbers[..., None],
            None,
            "abc",
        ):
            count += refused(lambda actions=actions: vec.step(actions), vec)
        count += refused(lambda k=k: vec.step(_shaped(vec), rows=[k + 3]), vec)
        vec.step(_shaped(vec))
    assert count > 4 * len(NONSENSE)


def _legal(env, agent, observation, k):
    """A legal action of an agent."""
    env.action_space(agent).seed(k)
    mask = observation["action_mask"]
    return env.action_space(agent).sample(mask if isinstance(mask, tuple) else np.asarray(mask))


def _shaped(vec):
    """Legal actions for all rows, as pairs where the game takes pairs."""
    numbers = vec.sample_actions()
    if not vec.game.verbs:
        return numbers
    pairs = {number: (v, j) for v, (_, all_of) in enumerate(vec.game.verbs) for j, number in enumerate(all_of)}
    return np.array([[pairs[int(n)] for n in row] for row in numbers])
