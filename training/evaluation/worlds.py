"""Measures players in simultaneous worlds: mean reward on held-out maps, compared with other players.

One player fills every seat of a world, so its score is for play among copies of itself. All players get the same
worlds; intervals are over worlds, since the agents of one world are not independent.

Letters: N worlds, P seats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agents.core import Agent, Turn, ask
from ...agents.deadline import breathe
from ...agents.seeds import Seed, stream
from ...envs.core import Game
from ...envs.faces.vec import VecEnv
from ...envs.replay.recorder import Recorded
from ...errors import UsageError
from .intervals import FEWEST, mean_interval, ratio_interval

__all__ = ["HELD_OUT", "WorldScore", "compare_worlds", "compared", "play_worlds"]

HELD_OUT = 1 << 40
"""Added to the seed of every evaluated world: training never samples its maps there."""


@dataclass(frozen=True)
class WorldScore:
    """A player's rewards.

    Attributes:
        rewards: [N, P] float64 each seat's sum over its episode; NaN for slots that were empty from the beginning.
        ticks: of the longest episode.
        illegal: share of answers that were not legal actions.
    """

    rewards: NDArray[np.float64]
    ticks: int
    illegal: float

    @property
    def per_world(self) -> NDArray[np.float64]:
        """[N] mean reward of an agent in each world."""
        means: NDArray[np.float64] = np.nanmean(self.rewards, axis=1)
        return means

    @property
    def mean(self) -> float:
        """Mean reward of an agent in an episode."""
        return float(self.per_world.mean())


def play_worlds(
    game: Game,
    agent: Agent,
    worlds: int,
    seed: int,
    *,
    max_steps: int | None = None,
    progress: Callable[[int], None] | None = None,
    save: Path | None = None,
) -> WorldScore:
    """Play one episode in each of N worlds; one agent plays all seats and decides for all living ones at once.

    Args:
        game: simultaneous.
        agent: plays every seat.
        worlds: N.
        seed: of the worlds (added to ``HELD_OUT``) and of the agent's choices.
        max_steps: stop after this many ticks.
        progress: called with the number of ticks played.
        save: file to append a record of every world to, for `coterie play --replay`.

    Raises:
        UsageError: no worlds, or a turn-based game.
    """
    if worlds < 1:
        raise UsageError(f"worlds is {worlds}: play at least one.")
    if not game.info.simultaneous:
        raise UsageError(f"{game.info.id} is turn-based; measure it with matches.")
    vec: Any = VecEnv(game, worlds, autoreset_mode="Disabled", max_cycles=max_steps)
    if save is not None:
        vec = Recorded(vec, save, rows=range(worlds), players=(agent.name,) * game.info.players)
    _, info = vec.reset(seed=HELD_OUT + seed)
    streams = [stream(seed, world) for world in range(worlds)]
    there = info["alive"].copy()
    total = np.zeros((worlds, game.info.players))
    asked = wrong = ticks = 0
    while True:
        may = vec.action_mask.any(-1)
        rows = may.any(1)
        if not rows.any():
            break
        breathe()
        turns = [
            Turn(game, vec.state, i, p, vec.action_mask[i, p], 0, Seed(streams[i], ticks * game.info.players + p))
            for i, p in np.argwhere(may).tolist()
        ]
        actions = np.zeros((worlds, game.info.players), np.int32)
        for turn, decision in zip(turns, ask(turns, [agent] * len(turns)), strict=True):
            actions[turn.row, turn.player] = -1 if decision.action is None else decision.action
        _, rewards, _, _, info = vec.step(actions, rows=rows)
        total[rows] += rewards[rows]
        asked += len(turns)
        wrong += int((info["illegal"] & may).sum())
        ticks += 1
        if progress is not None:
            progress(ticks)
    vec.close()
    total[~there] = np.nan
    return WorldScore(total, ticks, wrong / max(1, asked))


def compare_worlds(
    game: Game,
    agents: Mapping[str, Agent],
    worlds: int,
    seed: int,
    *,
    max_steps: int | None = None,
    progress: Callable[[str, int], None] | None = None,
    save: Path | None = None,
) -> list[dict[str, Any]]:
    """Rows for ``coterie eval``: every player in the same worlds; see ``play_worlds``.

    ``agents`` are by the names in the rows; ``progress`` is called with a name and the ticks played.

    Returns:
        ``player``, ``worlds``, ``ticks``, ``reward`` (mean of an agent in an episode), ``reward_interval`` (95 %; None
        for fewer than ``FEWEST`` worlds), ``least`` and ``most`` (the poorest and richest agent, mean over worlds),
        ``illegal`` and ``share``: other player -> [ratio of rewards, low, high], for others whose mean reward is surely
        above 0 and more than a tenth of the player's; for fewer than ``FEWEST`` worlds [ratio, None, None].

    Raises:
        UsageError: no players, no worlds, or a turn-based game.
    """
    if not agents:
        raise UsageError("There are no players to compare; name at least one.")
    scores = {
        name: play_worlds(
            game,
            agent,
            worlds,
            seed,
            max_steps=max_steps,
            progress=None if progress is None else lambda t, n=name: progress(n, t),  # type: ignore[misc]
            save=save,
        )
        for name, agent in agents.items()
    }
    return compared(scores)


def compared(scores: Mapping[str, WorldScore]) -> list[dict[str, Any]]:
    """The rows of ``compare_worlds`` for scores in the same worlds, by the players' names."""
    rows = []
    for name, score in scores.items():
        held, worlds = mean_interval(score.per_world), len(score.rewards)
        shares = {other: _share(score, theirs, worlds) for other, theirs in scores.items() if other != name}
        rows.append(
            {
                "player": name,
                "worlds": worlds,
                "ticks": score.ticks,
                "reward": score.mean,
                "reward_interval": None if held is None else list(held),
                "least": float(np.nanmin(score.rewards, 1).mean()),
                "most": float(np.nanmax(score.rewards, 1).mean()),
                "illegal": score.illegal,
                "share": {other: share for other, share in shares.items() if share},
            }
        )
    return rows


def _share(score: WorldScore, theirs: WorldScore, worlds: int) -> list[float | None]:
    """The ratio of two players' rewards and its interval; empty if the second may earn next to nothing."""
    own, base = score.per_world, theirs.per_world
    if base.mean() <= max(0.0, 0.1 * own.mean()):
        return []
    interval = ratio_interval(own, base) if worlds >= FEWEST else (None, None)
    return [] if interval is None else [score.mean / theirs.mean, *interval]
