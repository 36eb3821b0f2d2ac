"""A gridworld played from its text observations alone: they hold enough to play by.

The player reads its items, where the nearest object of each type is, and which actions are legal.
"""

import random
import re

import coterie

SIDES = ("up", "down", "left", "right")
NEAREST = re.compile(r"(\w+) ready((?: \d+ (?:up|down|left|right))+)")


def wish(text: str) -> str:
    """The object to go to: an altar if there is enough energy, a converter if there is an item, else a generator."""
    own = text.partition("\n")[0]
    if int(re.findall(r"energy (\d+)", own)[0]) >= 150:
        return "altar"
    return "converter" if "r1" in own else "generator"


def choose(text: str, rng: random.Random) -> str:
    """The action for one observation."""
    legal = text.rpartition("Legal: ")[2].rstrip(".").split(", ")
    if "use" in legal:
        return "use"
    looks = re.findall(r"look (\w+)", text)[0]
    where = dict(NEAREST.findall(text)).get(wish(text), "")
    goal = [side for side in SIDES if side in where]
    if not goal or rng.random() < 0.1:  # wander, sometimes even with a goal, to get round obstacles
        return "forward" if "forward" in legal and rng.random() < 0.8 else f"face {rng.choice(SIDES)}"
    if looks in goal and "forward" in legal:
        return "forward"
    return f"face {rng.choice([side for side in goal if side != looks] or SIDES)}"


def guess(text: str, rng: random.Random) -> str:
    """A random simple action, whatever the text says."""
    return rng.choice(("forward", "use", *(f"face {side}" for side in SIDES)))


def main(ticks: int = 400, seed: int = 0) -> dict[str, float]:
    env = coterie.make("gridworld-v0", api="parallel", preset="a5_25x25_simple", text=True)
    totals = {}
    for player in (guess, choose):
        rng = random.Random(seed)
        texts, _ = env.reset(seed=seed)
        total = 0.0
        for _ in range(ticks):
            texts, rewards, *_ = env.step({agent: player(text, rng) for agent, text in texts.items()})
            total += sum(rewards.values())
        totals[player.__name__] = total
    print(texts["player_0"])
    print(f"Reward of five agents in {ticks} ticks: {totals}")
    return totals


if __name__ == "__main__":
    main()
