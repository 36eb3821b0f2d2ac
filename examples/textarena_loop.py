"""A game of coterie in TextArena's loop, then an agent of TextArena's in a match of coterie.

``pip install textarena`` first.
"""

import random
import re

import textarena

from coterie.agents.baselines import make_baseline
from coterie.envs.registry import make_game
from coterie.training.bridges.textarena import TextArenaAgent, TextArenaEnv
from coterie.training.evaluation.match import play_match


class Guess(textarena.Agent):
    """Plays a random one of the actions that it is told."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def __call__(self, observation: str) -> str:
        legal = re.findall(r"Legal actions: (.*)\.", observation)[-1].split()
        return f"<think>Anything will do.</think> [{self.rng.choice(legal)}]"


def main(games: int = 20) -> tuple[float, float]:
    env, total = TextArenaEnv("tictactoe-v0"), 0.0
    agents = {0: Guess(0), 1: Guess(1)}
    for seed in range(games):
        env.reset(num_players=2, seed=seed)
        done = False
        while not done:
            player, observation = env.get_observation()
            done, _ = env.step(action=agents[player](observation))
        rewards, _ = env.close()
        total += rewards[0]
    print(f"random play in TextArena's loop: the first player's mean reward is {total / games:+.2f} over {games} games")

    game = make_game("tictactoe-v0")
    won, drawn, lost = play_match(
        game, (TextArenaAgent(Guess(2)), make_baseline("minimax", game)), games, seed=0
    ).shares
    print(f"the same agent against perfect play: won {won:.0%}, drawn {drawn:.0%}, lost {lost:.0%}")
    return total / games, won


if __name__ == "__main__":
    main()
