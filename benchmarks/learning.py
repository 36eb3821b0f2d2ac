"""The effect of settings on learning: trains on tic-tac-toe in memory and evaluates exactly, without matches.

    python -m coterie.benchmarks.learning --model tiny-v2 --updates 300 credit.lam=0.5 credit.memory=0

Settings come from the game's preset unless named: SECTION.FIELD=VALUE, as in a run's config.yaml. Every twenty updates
it prints the share drawn against perfect play and won against random, greedy and sampled, and the probability of
answering a centre opening with a corner, which is learned last (docs/training/tictactoe.md).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from ..agents.llm.policy import LLMAgent
from ..agents.search.solver import explore, solve
from ..errors import UsageError
from ..training.evaluation.exact import exact_match, policy_table
from ..training.loop import Trainer
from ..training.runs.config import from_dict

__all__ = ["main", "settings"]

CENTRE = 4


def settings(words: Sequence[str]) -> dict[str, Any]:
    """``["credit.lam=0.5"]`` as nested data.

    Raises:
        UsageError: an argument that isn't of the form SECTION.FIELD=VALUE.
    """
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        section, dot, field = name.partition(".")
        if not (equals and dot and section and field):
            raise UsageError(f"{word!r} isn't of the form SECTION.FIELD=VALUE, such as credit.lam=0.5.")
        found.setdefault(section, {})[field] = yaml.safe_load(value)
    return found


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m coterie.benchmarks.learning", description="The effect of settings on learning tic-tac-toe."
    )
    parser.add_argument(
        "words", nargs="*", metavar="SECTION.FIELD=VALUE", help="settings that differ from the preset's"
    )
    parser.add_argument("--model", default="", help="the base model; by default the preset's")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--every", type=int, default=20, help="updates between two lines")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args(argv)
    try:
        named = settings(asked.words)
    except UsageError as error:
        parser.error(str(error))
    data = named | {"game": "tictactoe", "seed": asked.seed, "threads": asked.threads}
    if asked.model:
        data.setdefault("policy", {})["model"] = asked.model
    trainer, started = Trainer(from_dict(data)), time.monotonic()
    graph = explore(trainer.game)
    optimal = solve(trainer.game).optimal
    perfect, random = (moves / moves.sum(1, keepdims=True) for moves in (optimal, graph.legal))
    corners = optimal[graph.children[0, CENTRE]]
    while trainer.updates < asked.updates:
        trainer.step()
        if trainer.updates % asked.every == 0:
            tables = [_table(graph, trainer, greedy=greedy) for greedy in (True, False)]
            drawn = " / ".join(f"{exact_match(graph, table, perfect)[1]:.1%}" for table in tables)
            won = " / ".join(f"{exact_match(graph, table, random)[0]:.1%}" for table in tables)
            corner = tables[1][graph.children[0, CENTRE]][corners].sum()
            print(
                f"update {trainer.updates:4d}  drawn {drawn}  won {won}  corner {corner:.3f}  "
                f"{time.monotonic() - started:.0f} s",
                flush=True,
            )


def _table(graph: Any, trainer: Trainer, *, greedy: bool) -> NDArray[np.float64]:
    return policy_table(graph, LLMAgent(trainer.policy, trainer.scheme.learners[0], greedy=greedy))


if __name__ == "__main__":
    main()
