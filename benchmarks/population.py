"""Many players in one run: memory a player, time of decisions, and learning together compared with learning apart.

Times are seconds of the processor in one thread, so other programs disturb them little. ``coterie bench population``
takes the built-in model; ``python -m coterie.benchmarks.population smollm2`` asks that one, in fewer positions, and
``python -m coterie.benchmarks.population strength`` compares what 16 learners of Kuhn poker reach together and apart.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from . import Measurement

__all__ = ["decisions", "learning", "measurements", "strength"]

GAMES = 64
"""Games a step of one learner."""


def measurements(quick: bool = False) -> Iterator[Measurement]:
    """1 to 256 players of the built-in model, and steps of 8 and 16 learners."""
    yield from decisions("tiny", (1, 2) if quick else (1, 8, 64, 256), 16 if quick else 512)
    for learners in (2,) if quick else (8, 16):
        yield learning(learners, games=8 if quick else GAMES, steps=1 if quick else 5)


def decisions(model: str, players: Sequence[int], positions: int) -> Iterator[Measurement]:
    """Choices in distinct positions of tic-tac-toe, shared out evenly among 1 to n players, and memory a player."""
    import torch
    from peft import LoraConfig

    from ..agents.bank.bank import LoraBank
    from ..agents.core import seeded
    from ..agents.llm.policy import LoraPolicy
    from ..training.runs.players import load_base

    turns = seeded(_positions(positions))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        works, more = [], []
        for count in players:
            loaded = load_base(model)
            names = [f"player {k}" for k in range(count)]
            policy = LoraPolicy(loaded, LoraBank(loaded.model, LoraConfig(r=16, target_modules="all-linear"), names))
            asked = [names[k % count] for k in range(len(turns))]
            engine: Any = policy.engine
            before = engine.forward_tokens
            policy.act(turns, asked)
            fed = engine.forward_tokens - before  # prompts share prefixes within a player, not between players
            assert policy.bank is not None
            held = sum(p.numel() * p.element_size() for p in policy.bank.parameters()) / count
            base = sum(p.numel() * p.element_size() for p in loaded.model.parameters())
            works.append(partial(policy.act, turns, asked))
            more.append({"tokens": fed, "adapter KiB": round(held / 1024), "base MiB": round(base / 2**20, 1)})
        rates = [len(turns) / seconds for seconds in _processor_seconds(works, 9)]
    finally:
        torch.set_num_threads(threads)
    for count, rate, columns in zip(players, rates, more, strict=True):
        name = f"{loaded.id}, {count} players"
        yield Measurement(name, rate, "decisions/s", 1, "one player", rates[0], {"positions": len(turns), **columns})


def learning(learners: int, games: int = GAMES, steps: int = 5) -> Measurement:
    """Steps of n learners in one run, ``games`` each, over n runs of one learner: both as games a second."""
    from ..training.loop import Trainer
    from ..training.runs.config import TrainConfig

    works = []
    for count in (learners, 1):
        start = TrainConfig(game="tictactoe", threads=1)
        config = replace(
            start,
            rollout=replace(start.rollout, games=games * count),
            scheme=replace(start.scheme, scheme="fixed", opponents="random=1", learners=count),
        )
        works.append(Trainer(config).step)
    together, alone = _processor_seconds(works, steps)
    rates = [games * learners / together, games / alone]
    return Measurement(
        f"{learners} learners in one run", rates[0], "games/s", 1, f"{learners} runs of one", rates[1], {"games": games}
    )


def strength(learners: int = 16, games: int = 256, updates: int = 60) -> Iterator[Measurement]:
    """Self-play on Kuhn poker, ``games`` an update for each learner: exploitability after learning together and apart.

    Yields the speed of both, then the mean exploitability of the learners of each, with 95 % intervals.
    """
    from ..training.loop import Trainer
    from ..training.runs.config import preset

    start, reached, seconds = preset("kuhn_poker"), [], []
    for count in (learners, 1):
        began, found = time.process_time(), []
        for seed in range(learners // count):
            trainer = Trainer(
                replace(
                    start,
                    seed=seed,
                    rollout=replace(start.rollout, games=games * count),
                    scheme=replace(start.scheme, scheme="mixed", opponents="self=1", learners=count),
                    optimizer=replace(start.optimizer, learning_rate=1e-3, decay_updates=updates),
                )
            )
            for _ in range(updates):
                trainer.step()
            found += [_exploitability(trainer, name) for name in trainer.pool.live]
        seconds.append(time.process_time() - began)
        reached.append(found)
    apart, sizes = f"{learners} runs of one", {"games": games, "updates": updates}
    together = f"{learners} learners in one run"
    rates = [games * updates * learners / taken for taken in seconds]
    yield Measurement(together, rates[0], "games/s", 1, apart, rates[1], sizes)
    (mean, width), (other, wide) = (_mean(found) for found in reached)
    widths = {"+-": round(width, 3), f"{apart} +-": round(wide, 3)}
    yield Measurement(together, mean, "exploitable", 1, apart, other, widths)


def _exploitability(trainer: Any, name: str) -> float:
    from ..agents.llm.policy import LLMAgent
    from ..training.evaluation.exact import exploitability

    return exploitability(trainer.game, LLMAgent(trainer.policy, name)).value


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and half the width of its 95 % interval."""
    from ..training.evaluation.intervals import student

    return statistics.mean(values), student(len(values) - 1) * statistics.stdev(values) / len(values) ** 0.5


def _positions(count: int) -> list[Any]:
    """Turns in different positions of random games of tic-tac-toe."""
    from .. import make_vec
    from ..agents.core import Turn

    vec = make_vec("tictactoe-v0", num_envs=16 * count, seed=0)
    vec.reset(seed=0)
    for _ in range(40):
        vec.step(vec.sample_actions())
    found: dict[int, Any] = {}
    for k in range(vec.num_envs):
        key = vec.game.key(vec.state, k)
        found.setdefault(key, Turn(vec.game, vec.state, k, int(vec.player[k]), vec.action_mask[k], key))
    return list(found.values())[:count]


def _processor_seconds(works: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """The median of several calls of each, in turns, after one to warm up."""
    for work in works:
        work()
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, times in zip(works, taken, strict=True):
            began = time.process_time()
            work()
            times.append(time.process_time() - began)
    return [statistics.median(times) for times in taken]


if __name__ == "__main__":
    asked = sys.argv[1] if sys.argv[1:] else "tiny"
    for measured in strength() if asked == "strength" else decisions(asked, (1, 8, 32), 64):
        print(measured, flush=True)
