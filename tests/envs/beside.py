"""A game of ours beside PettingZoo's own, turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def play_beside(
    ours: Any,
    theirs: Any,
    rng: np.random.Generator,
    names: Mapping[str, str] | None = None,
    mended: Callable[[Any, int], Any] = lambda observation, ply: observation,
) -> None:
    """One random game in both: observations, masks, rewards, ends and turns are equal at every ply.

    ``names`` are theirs by ours; ``mended`` is what theirs should show after so many plies.
    """
    names = names or {agent: agent for agent in ours.possible_agents}
    theirs.reset()
    ours.reset()
    for ply in range(100_000):
        over = any(ours.terminations.values())
        for mine, other in names.items():
            a, b = ours.observe(mine), theirs.observe(other)
            assert a["observation"].dtype == b["observation"].dtype
            assert np.array_equal(a["observation"], mended(b["observation"], ply)), (ply, mine)
            assert a["action_mask"].dtype == b["action_mask"].dtype
            if not over:  # ours has nothing legal in a finished game; theirs may still list actions
                assert np.array_equal(a["action_mask"], b["action_mask"])
            assert ours.rewards[mine] == theirs.rewards[other]
            assert ours.terminations[mine] == theirs.terminations[other]
            assert ours.truncations[mine] == theirs.truncations[other]
        assert names[ours.agent_selection] == theirs.agent_selection
        assert ours.last()[1] == theirs.last()[1]
        if over:
            break
        action = int(rng.choice(np.flatnonzero(ours.last()[0]["action_mask"])))
        ours.step(action)
        theirs.step(action)
    first = ours.possible_agents[0]
    assert ours.action_space(first) == theirs.action_space(names[first])
    assert ours.observation_space(first) == theirs.observation_space(names[first])
