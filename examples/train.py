"""Training from Python: the configuration is data, the run is a folder, and the result is an ordinary player."""

import dataclasses
import sys
from pathlib import Path

from coterie.agents.baselines import make_baseline
from coterie.envs.registry import make_game
from coterie.training.evaluation.match import play_match
from coterie.training.loop import train
from coterie.training.runs.config import preset
from coterie.training.runs.players import make_player


def main(run: str = "runs/example", updates: int = 20, games: int = 256) -> tuple[float, float, float]:
    start = preset("tictactoe")
    config = dataclasses.replace(
        start,
        rollout=dataclasses.replace(start.rollout, games=games),
        budget=dataclasses.replace(start.budget, updates=updates, eval_every=updates, eval_games=100),
    )
    outcome = train(config, Path(run))
    print(outcome.message)

    game = make_game("tictactoe")
    player = make_player(run, game)
    result = play_match(game, (player, make_baseline("random", game)), games=200, seed=0)
    won, drawn, lost = result.shares
    print(f"{player.name} against random: won {won:.1%}, drawn {drawn:.1%}, lost {lost:.1%}")
    return result.shares


if __name__ == "__main__":
    main(*sys.argv[1:2])
