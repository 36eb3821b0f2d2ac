"""The most that a first seat can win of a trade against a model without adapter: can it beat its untrained self?

    python -m coterie.benchmarks.bargain --items 10          # 20 minutes on one thread; --items 2 takes a second

The built-in model answers an offer with Accept or Deny: its counter-offers have no probability that counts (the largest
of some positions is printed), so it never makes an offer to the first seat, and its answer depends on the turns left,
on what is held and on the offer alone. Backward induction over these is exact. docs/games/negotiation.md has figures.

Letters: O offers.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agents.core import Turn
from ..agents.llm.policy import LLMAgent
from ..agents.llm.scoring.forest import Question
from ..envs.core import Game
from ..envs.negotiation.game import words_of
from ..envs.registry import make_game
from ..training.runs.players import make_player

__all__ = ["main", "most"]


def most(game: Game, other: LLMAgent) -> tuple[float, float, float]:
    """The first seat's best response to a model that accepts or denies.

    Returns:
        Wins minus losses of who maximises them; wins of who maximises these; the largest counter-offer's probability in
        the answers to every offer at the start.
    """
    words, state = words_of(game), game.new_state(game.info.num_actions - 2)
    offers = len(state.held)
    options = np.array([words.options(offer) for offer in range(offers)])
    worth = sum(state.values[0, :, k, options[:, k]].astype(float) for k in range(options.shape[1]))  # [O, 2]
    start = words.number(state.initial[0].tolist())
    end = np.sign((worth - worth[start]) @ [1.0, -1.0])
    ends = {"score": end, "wins": (end > 0).astype(float)}
    counter = 0.0
    for ply in reversed(range(0, game.info.max_cycles - 1, 2)):
        after = {how: values.copy() for how, values in ends.items()}
        for held in range(offers) if ply else [start]:
            state.held[:], state.last[:, 0], state.last[:, 1] = options[held], np.arange(offers), -1
            state.now[:] = [ply + 1, 1, ply // 2 + 1, 0, 0, 0]
            yes = _accepted(game, state, other)
            for how, values in after.items():
                gained = yes * values + (1 - yes) * values[held]
                gained[held] = -np.inf  # would change nothing
                ends[how][held] = gained.max()
        if not ply:
            some = [_turn(game, state, i) for i in range(0, offers, max(1, offers // 8))]
            counter = max(float(p[:-2].max()) for p in other.policy(some))
    return float(ends["score"][start]), float(ends["wins"][start]), counter


def _turn(game: Game, state: Any, i: int) -> Turn:
    return Turn(game, state, i, 1, game.legal_mask(state, i, 1), 0)


def _accepted(game: Game, state: Any, other: LLMAgent) -> NDArray[np.float64]:
    """[O] the probability of Accept in every row."""
    turns, backend = [_turn(game, state, i) for i in range(len(state.held))], other.backend
    answers = backend.question(turns[0], -1).answers[-2:]
    prompts = backend.template.encode_all(turns, [turn.compact() for turn in turns])
    table, _ = backend.local.distributions([Question(-1, ids, answers) for ids in prompts], "choice")
    return np.exp(table[:, 0])


def main(words: list[str] | None = None) -> None:
    """Print the figures of one game."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="tiny-v2", help="the model that answers, without adapter")
    parser.add_argument("--items", type=int, default=1, help="Wood and Gold of each player")
    parser.add_argument("--turns", type=int, default=10, help="of a negotiation")
    parser.add_argument("--threads", type=int, default=1, help="torch threads")
    asked = parser.parse_args(words)
    torch.set_num_threads(asked.threads)
    items = {"Wood": asked.items, "Gold": asked.items}
    game = make_game("negotiation", items=items, values=[[5, 15], [15, 5]], turns=asked.turns)
    other = make_player(f"{asked.model}?sample", game)
    assert isinstance(other, LLMAgent)
    score, wins, counter = most(game, other)
    print(f"first seat against {asked.model}, {asked.items} of each, {asked.turns} turns:")
    print(f"wins minus losses at most {score:.3f}; wins at most {wins:.3f}; counter-offers up to {counter:.0e}")


if __name__ == "__main__":
    main()
