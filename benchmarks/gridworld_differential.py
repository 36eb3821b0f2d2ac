"""The gridworld's kernels against its plain-Python rules: ``python -m coterie.benchmarks.gridworld_differential``.

Scripted players play worlds of all presets, and variations that sample every option of the rules
(``gridworld_worlds``); in every second episode the agents begin with some items. After every tick it compares all
arrays that the rules define, rewards and status, and the masks and observations of two agents. A world lasts
``--ticks`` ticks, over as many episodes as that takes. Prints what was compared and how often each action succeeded and
failed; stops with an AssertionError at the first difference.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterable
from random import Random

import numpy as np

from ..envs.core import Game
from ..envs.gridworld.config import GridworldConfig
from ..envs.gridworld.game import gridworld
from ..envs.gridworld.state import World
from .gridworld_reference import Reference, close
from .gridworld_worlds import MOODS, Players, varied_config

__all__ = ["compare_agent", "compare_world", "lacking", "main", "outcomes", "run"]

NAMES = (
    *("noop", "forward", "back", "rotate up", "rotate down", "rotate left", "rotate right", "use"),
    *(f"attack {k}" for k in range(1, 10)),
    *("shield", "swap", "gift r1", "gift r2", "gift r3"),
)
USES = ("generator", "converter", "altar", "mill", "spring", "shrine", "thorn")
EXPECTED = (
    *NAMES,
    *("shield on", "shield off", "loot by use"),
    *(f"use {name}" for name in USES),
)
"""What must have succeeded and must have failed."""
SUCCEEDED = (
    *("attack: hit", "attack: hit and looted", "attack: shielded", "attack: through the shield", "attack: killed"),
    *("attack: object", "attack: object destroyed"),
)
"""What must have happened."""


def outcomes(reference: Reference) -> Counter[tuple[str, str]]:
    """Outcomes of the last tick's actions: (name, "succeeded" or why not) -> count."""
    seen: Counter[tuple[str, str]] = Counter()
    for _, action, why, met in reference.log:
        if not 0 <= action < len(NAMES):
            seen["no such action", why] += 1
            continue
        seen[NAMES[action], why or "succeeded"] += 1
        if action == 17:
            seen[f"shield {met}", why or "succeeded"] += 1
        elif action == 7 and met:
            seen[f"use {met}" if met != "loot" else "loot by use", why or "succeeded"] += 1
        elif 8 <= action <= 16 and met:
            seen[f"attack: {met}", "succeeded"] += 1
    return seen


def lacking(seen: Counter[tuple[str, str]], least: int) -> list[str]:
    """Outcomes that happened fewer than ``least`` times."""
    worked: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for (name, why), count in seen.items():
        (worked if why == "succeeded" else failed)[name] += count
    short = [f"{name} succeeded {worked[name]}" for name in (*EXPECTED, *SUCCEEDED) if worked[name] < least]
    return short + [f"{name} failed {failed[name]}" for name in EXPECTED if failed[name] < least]


def compare_agent(game: Game, config: GridworldConfig, reference: Reference, state: World, i: int, slot: int) -> None:
    """Compare the mask and observation of one agent.

    Raises:
        AssertionError: they differ.
    """
    mask = np.full(game.info.num_actions, 7, np.int8)
    game.kernels.legal(state, i, slot, mask)
    assert mask.tolist() == reference.mask(slot), ("mask", slot, mask.tolist(), reference.mask(slot))
    out = np.full(game.info.observation_shape, 77, game.info.observation_dtype)
    game.kernels.observe(state, i, slot, out)
    ours = reference.tokens(slot) if config.observation.kind == "tokens" else reference.planes(slot)
    if out.tolist() != ours:
        where = np.argwhere(out != np.array(ours))[0]
        theirs, mine = out[tuple(where)], np.array(ours)[tuple(where)]
        raise AssertionError(("observation", slot, reference.planes_of, where.tolist(), int(theirs), int(mine)))
    alive = game.kernels.alive
    assert alive is None or bool(alive(state, i, slot)) == reference.agents[slot].alive, ("alive", slot)


def give(state: World, i: int, number: int) -> None:
    """Give the founders items, so that they have something to give, take and convert from the first tick on."""
    random = Random(f"gifts {number}")
    for slot in np.flatnonzero(state.agents["alive"][i]).tolist():
        most = int(state.agents["max_items"][i, slot])
        state.items[i, slot] = [random.randint(0, min(most, 4)) for _ in range(state.items.shape[2])]


def compare_world(
    number: int, ticks: int, seen: Counter[tuple[str, str]], some: Counter[str], moods: tuple[str, ...] = MOODS
) -> None:
    """Play world number ``number`` in both programs and compare them; the players choose from ``moods``.

    Raises:
        AssertionError: they differ; names world, episode and tick.
    """
    name, config = varied_config(number)
    game = gridworld(config=config)
    state, row, slots = game.new_state(2), number % 2, game.info.players
    rewards = np.zeros(slots, np.float32)
    shared = config.kinship.mode != "none" or config.kinship.prestige_every > 0
    reference, players, status, episode = None, None, 1, 0
    for tick in range(ticks):
        if reference is None or players is None or status:
            game.kernels.reset(state, row, np.uint64(1000 * number + episode))
            reference = Reference(config, state, row)
            reference.check_start()
            if (number + episode) % 2:
                give(state, row, 1000 * number + episode)
                reference = Reference(config, state, row)
            players = Players(reference, 1000 * number + episode, moods)
            episode += 1
            reference.compare(state, row)
        actions = players.act()
        rewards[:] = 0
        status = game.kernels.step(state, row, np.array(actions, np.int32), rewards)
        expected, ending = reference.step(actions)
        try:
            equal = map(close, expected, rewards.tolist()) if shared else [expected == rewards.tolist()]
            assert all(equal), ("rewards", expected, rewards.tolist())
            assert status == ending, ("status", status, ending)
            reference.compare(state, row)
            for slot in {tick % slots, (7 * tick + number) % slots}:
                compare_agent(game, config, reference, state, row, slot)
        except AssertionError as error:
            raise AssertionError(f"world {number} ({name}), episode {episode}, tick {tick}: {error}") from error
        seen += outcomes(reference)
        some["agent-ticks"] += len(reference.log)
        some["rewards"] += sum(reward != 0 for reward in expected)
    some["worlds"] += 1
    some["ticks"] += ticks
    some["episodes"] += episode
    some[f"worlds: {name}"] += 1


def run(
    numbers: Iterable[int],
    ticks: int,
    tell: Callable[[str], None] = print,
    every: int = 50,
    moods: tuple[str, ...] = MOODS,
) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    """Compare some worlds, reporting progress every ``every`` worlds; returns outcomes of actions, and counts."""
    seen: Counter[tuple[str, str]] = Counter()
    some: Counter[str] = Counter()
    start = time.perf_counter()
    for number in numbers:
        compare_world(number, ticks, seen, some, moods)
        if some["worlds"] % every == 0:
            tell(f"{some['worlds']} worlds, {some['agent-ticks']} agent-ticks, {time.perf_counter() - start:.0f} s")
    return seen, some


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=200, help="number of worlds")
    parser.add_argument("--first", type=int, default=0, help="number of the first world; a world's number is its seed")
    parser.add_argument("--ticks", type=int, default=500, help="ticks of each world")
    arguments = parser.parse_args(argv)
    seen, some = run(range(arguments.first, arguments.first + arguments.worlds), arguments.ticks)
    print("no difference")
    for name, count in sorted(some.items()):
        print(f"{count:>12} {name}")
    for (name, why), count in sorted(seen.items()):
        print(f"{count:>12} {name}: {why}")
    short = lacking(seen, 100)
    print("fewer than 100 times: " + ", ".join(short) if short else "everything succeeded and failed 100 times or more")


if __name__ == "__main__":
    main()
