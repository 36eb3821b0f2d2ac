"""Rewards of the gridworld's scripted players, compared with an upper bound for any player.

    python -m coterie.benchmarks.gridworld_baselines --worlds 8 --presets a5_25x25_simple a20_40x40

The bound holds for one world and all its agents together: every reward is bought with energy at an altar; agents start
with energy and get more from converters for items; items come from generators. So

    rewards <= (start + gain * items) / cost,    items <= sum over generators of min(stock, uses within the episode),
    rewards <= sum over altars of the uses within the episode,

where an object with cooldown c can be used once in c + 1 ticks. Walking, turning, crowding and unseen parts of the map
cost nothing in the bound, so no player reaches it.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agents.baselines import make_baseline
from ..envs.faces.vec import VecEnv
from ..envs.registry import make_game
from ..training.evaluation.intervals import mean_interval
from ..training.evaluation.worlds import HELD_OUT, play_worlds

__all__ = ["bounds", "main"]


def _uses(world: Any, i: int, types: NDArray[np.bool_], ticks: int) -> int:
    """How often all objects of some types together can be used in ``ticks`` ticks."""
    total = 0
    for t in np.flatnonzero(types):
        there = world.objects[i][world.objects[i]["type"] == t]
        most = -(-ticks // (int(world.types[i, t]["cooldown"]) + 1))
        total += sum(most if stock < 0 else min(most, int(stock)) for stock in there["stock"])
    return total


def bounds(world: Any, ticks: int) -> NDArray[np.float64]:
    """[N] upper bound of the mean reward of an agent in each world, for worlds that were just reset.

    Args:
        world: classic worlds: one kind of item becomes energy, energy becomes reward.
        ticks: of the episode.
    """
    found = []
    for i in range(len(world.rules)):
        kinds, alive = world.types[i], world.agents[i]["alive"]
        pays = kinds["reward"] > 0
        converts = kinds["energy_gain"] > 0
        takes = world.recipes[i, converts, 0].sum(0) > 0
        gives = (world.recipes[i, :, 1][:, takes] > 0).any(1)
        items = _uses(world, i, gives & ~converts, ticks)
        gain = int(kinds["energy_gain"][converts].max(initial=0))
        energy = int(world.agents[i]["energy"][alive].sum()) + gain * min(items, _uses(world, i, converts, ticks))
        best = float((kinds["reward"][pays] / kinds["energy_cost"][pays]).max())
        through = _uses(world, i, pays, ticks) * float(kinds["reward"][pays].max())
        found.append(min(energy * best, through) / alive.sum())
    return np.array(found)


def main(words: list[str] | None = None) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m coterie.benchmarks.gridworld_baselines", description=__doc__)
    parser.add_argument("--presets", nargs="+", default=["a5_25x25_simple"])
    parser.add_argument("--players", nargs="+", default=["random", "forager", "raider", "altruist"])
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--ticks", type=int, default=0, help="ticks of each episode; 0: the preset's")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(words)
    print("| world | bound | " + " | ".join(asked.players) + " |")
    print("|---|---:|" + "---:|" * len(asked.players), flush=True)
    for preset in asked.presets:
        game = make_game("gridworld", preset=preset)
        vec = VecEnv(game, asked.worlds)
        vec.reset(seed=HELD_OUT + asked.seed)
        most = bounds(vec.state, asked.ticks or game.info.max_cycles)
        cells = []
        for name in asked.players:
            print(f"{preset}: {name}", end="\r", file=sys.stderr, flush=True)
            score = play_worlds(
                game, make_baseline(name, game), asked.worlds, asked.seed, max_steps=asked.ticks or None
            )
            own = score.per_world
            held = mean_interval(own)
            told = f" ({held[0]:.1f} to {held[1]:.1f})" if held else ""
            cells.append(f"{own.mean():.1f}{told}, {own.mean() / most.mean():.0%}")
        print(f"| {preset} | {most.mean():.1f} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
