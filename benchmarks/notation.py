"""How well an untrained language model knows a game's notation, and whether it prefers any actions.

    python -m coterie.benchmarks.notation tiny-v2 --games gridworld:a3_9x9 gridworld:a5_25x25 chess

Prompts come from uniformly random play, with a seed that no training recipe uses. For each, the model's distribution
over the legal actions is compared with the uniform one; then it answers freely, by sampling, and illegal answers are
counted.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agents.core import Turn, seeded
from ..agents.llm.models import load_model
from ..agents.llm.policy import LLMAgent, LoraPolicy
from ..envs.core import Game
from ..envs.faces.vec import VecEnv
from ..envs.registry import make_game

__all__ = ["indifference", "questions"]

SEED = 54_321


def questions(game: Game, count: int, within: int = 40, seed: int = SEED) -> list[Turn]:
    """``count`` turns with a choice, each from a different game after 0 to ``within`` - 1 random turns (ticks)."""
    vec = VecEnv(game, count, autoreset_mode="Disabled", illegal="noop" if game.info.is_world else "raise")
    vec.reset(seed=seed)
    rng = np.random.default_rng(seed)
    left: NDArray[np.int64] = rng.integers(0, within, count)
    found: list[Turn] = []
    while len(found) < count:
        mask = vec.action_mask.reshape(count, -1, game.info.num_actions)
        ended = np.logical_not(mask.reshape(count, -1).any(1))
        for i in np.flatnonzero((left == 0) & ~ended).tolist():
            seats = np.flatnonzero(mask[i].sum(1) > 1)
            if seats.size:
                seat = int(rng.choice(seats))
                player = seat if game.info.simultaneous else int(vec.player[i])
                state = vec.get_state([i]).state
                found.append(Turn(game, state, 0, player, mask[i, seat].copy(), game.key(state, 0)))
                left[i] = -1
            else:
                left[i] = 1  # no choice here: try the next turn
        if ended.any():
            vec.reset(mask=ended)
            left[ended & (left >= 0)] = rng.integers(0, within, int((ended & (left >= 0)).sum()))
            continue
        vec.step(vec.sample_actions())
        left[left > 0] -= 1
    return found


def indifference(name: str, game: Game, turns: Sequence[Turn], seed: int = SEED) -> dict[str, float]:
    """``near_uniform`` (entropy over a uniform choice's), ``kl`` (nats to uniform), ``illegal`` (of free answers)."""
    model = load_model(name)
    near, away = [], []
    for turn, policy in zip(turns, LLMAgent(LoraPolicy(model)).policy(turns), strict=True):
        p = policy[turn.legal_actions]
        entropy = -float((p * np.log(p + 1e-30)).sum())
        near.append(entropy / np.log(len(p)))
        away.append(np.log(len(p)) - entropy)
    longest = max(
        len(model.tokenizer.encode(turn.action_to_text(a), add_special_tokens=False))
        for turn in turns
        for a in turn.legal_actions
    )
    free = LLMAgent(LoraPolicy(model, decode="free", max_new_tokens=longest + 2))
    said = free.act(seeded(turns, seed))
    wrong = [decision.action is None for decision in said]
    return {"near_uniform": float(np.mean(near)), "kl": float(np.mean(away)), "illegal": float(np.mean(wrong))}


def main(argv: list[str] | None = None) -> None:
    """Command line; prints one JSON object per model and game."""
    parser = argparse.ArgumentParser(prog="python -m coterie.benchmarks.notation", description=(__doc__ or "")[:200])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--games", nargs="+", required=True, help="names, such as chess or gridworld:PRESET")
    parser.add_argument("--positions", type=int, default=150, help="prompts per game")
    options = parser.parse_args(argv)
    for word in options.games:
        name, _, preset = word.partition(":")
        arguments: dict[str, Any] = {"preset": preset} if preset else {}
        game = make_game(name, **arguments)
        turns = questions(game, options.positions)
        for model in options.models:
            row = {"model": model, "game": word, "questions": len(turns), **indifference(model, game, turns)}
            print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}), flush=True)


if __name__ == "__main__":
    main()
