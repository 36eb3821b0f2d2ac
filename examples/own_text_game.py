"""Your own game of words in one file: last letter. ``register`` makes it available through every face."""

import coterie
from coterie.aliases import RUNNING, TERMINATED
from coterie.envs.words import text_game

ANIMALS = ["ape", "deer", "eel", "elk", "gnat", "hen", "kite", "lark", "lion", "newt"]
ANIMALS += ["otter", "rat", "swan", "tapir", "tiger", "toad", "turkey", "yak"]


def left(game):
    """The words that are legal now."""
    return [word for word in ANIMALS if word not in game["said"] and word[0] == game["said"][-1][-1]]


def hear(game, messages):
    ((player, word),) = messages.items()
    game["said"].append(word)
    rewards = [1.0 if p == player else -1.0 for p in range(2)]  # a player who leaves the other without a word wins
    return ([0.0, 0.0], RUNNING) if left(game) else (rewards, TERMINATED)


def last_letter():
    return text_game(
        "last_letter-v0",
        players=2,
        rules=f"Say a new animal that begins with the last letter of the one before: {', '.join(ANIMALS)}.",
        begin=lambda seed: {"said": [ANIMALS[seed % len(ANIMALS)]]},
        asked=lambda game: [(len(game["said"]) + 1) % 2] if left(game) else [],
        tell=lambda game, player: f"Said so far: {', '.join(game['said'])}.",
        choices=lambda game, player: left(game),
        hear=hear,
        max_cycles=len(ANIMALS),
        max_length=12,
    )


def main(seed: int = 0) -> dict[str, float]:
    coterie.register("last_letter-v0", f"{__name__}:last_letter")
    env = coterie.make("last_letter-v0")
    env.reset(seed=seed)
    total = dict.fromkeys(env.agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        total[agent] += reward
        env.step(None if terminated or truncated else info["choices"][0])
    print(observation)
    return total


if __name__ == "__main__":
    print(main())
