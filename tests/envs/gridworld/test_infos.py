"""What the infos say of who the agents are."""

from __future__ import annotations

from typing import Any

import coterie

WHO = ("id", "label", "mother", "father", "succeeded")


def told(env: Any) -> list[tuple[int, ...]]:
    """What the arrays hold."""
    agents = env.table.state.agents[0]
    return [tuple(int(agent[name]) for name in WHO) for agent in agents]


def said(infos: dict[str, dict[str, Any]]) -> list[tuple[int, ...]]:
    """What the infos say."""
    return [tuple(int(info[name]) for name in WHO) for info in infos.values()]


def test_infos_follow_resets_steps_and_states() -> None:
    env = coterie.make("gridworld-v0", api="parallel", preset="a5_25x25", kinship={"mode": "families", "size": 2})
    labels = set()
    for seed in range(6):
        _, infos = env.reset(seed=seed)
        assert said(infos) == told(env)
        labels.add(tuple(env.table.state.agents[0]["label"]))
        for action in (1, 7, 3):
            infos = env.step(dict.fromkeys(env.agents, action))[-1]
            assert said(infos) == told(env)
    assert len(labels) > 1
    env.reset(seed=1)
    saved = env.get_state()
    one = told(env)
    for seed in range(2, 30):
        env.reset(seed=seed)
        if told(env) != one:
            break
    assert told(env) != one
    env.step(dict.fromkeys(env.agents, 0))
    env.set_state(saved)
    infos = env.step(dict.fromkeys(env.agents, 0))[-1]
    assert [row[:4] for row in said(infos)] == [row[:4] for row in one]


def test_infos_are_the_callers_own() -> None:
    env = coterie.make("gridworld-v0", api="parallel", preset="a5_25x25")
    _, infos = env.reset(seed=0)
    before = said(infos)
    for info in infos.values():
        info["id"] = info["label"] = 99
    after = env.step(dict.fromkeys(env.agents, 0))[-1]
    assert [row[:4] for row in said(after)] == [row[:4] for row in before]
    assert all(set(info) == {*WHO, "action_mask", "illegal"} for info in after.values())
