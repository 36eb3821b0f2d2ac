"""Hamilton's rule, learned: a gift costs 1 and gives the other player 3, so giving to kin pays if r > 1/3.

Two players meet repeatedly and learn from their rewards alone: the wrapper adds the rewards of kin, weighted by their
relatedness.
"""

import numpy as np

import coterie
from coterie.envs.kinship import Pedigree, Relatedness
from coterie.envs.kinship.wrapper import KinshipWrapper

COST, BENEFIT = 1, 3
PAYOFFS = [
    [[BENEFIT - COST, BENEFIT - COST], [-COST, BENEFIT]],
    [[BENEFIT, -COST], [0, 0]],
]
PAIRS = {
    "strangers": "[[player_0, null, null], [player_1, null, null]]",
    "cousins": """
        [[gran, null, null], [grandpa, null, null], [ann, gran, grandpa], [bob, gran, grandpa],
         [player_0, ann, null], [player_1, null, bob]]""",
    "half siblings": "[[ann, null, null], [player_0, ann, null], [player_1, ann, null]]",
    "siblings": "[[ann, null, null], [bob, null, null], [player_0, ann, bob], [player_1, ann, bob]]",
    "parent and child": "[[player_0, null, null], [player_1, player_0, null]]",
}


def learn(pedigree: Pedigree, games: int, seed: int) -> float:
    """The share of gifts in the second half of the games, learned by policy gradient (REINFORCE)."""
    game = coterie.make("matrix", payoffs=PAYOFFS, actions=["give", "keep"], rounds=1, api="parallel")
    env = KinshipWrapper(game, Relatedness(pedigree))
    draw = np.random.default_rng(seed)
    wish = dict.fromkeys(env.possible_agents, 0.0)  # log-odds of giving
    usual = dict.fromkeys(env.possible_agents, 0.0)  # running mean of the rewards
    gifts = []
    for k in range(games):
        env.reset()
        odds = {agent: 1 / (1 + np.exp(-logit)) for agent, logit in wish.items()}
        gives = {agent: bool(draw.random() < p) for agent, p in odds.items()}
        rewards = env.step({agent: 0 if give else 1 for agent, give in gives.items()})[1]
        for agent, give in gives.items():
            wish[agent] += 0.1 * (rewards[agent] - usual[agent]) * (give - odds[agent])
            usual[agent] += 0.05 * (rewards[agent] - usual[agent])
        if k >= games // 2:
            gifts += gives.values()
    return float(np.mean(gifts))


def main(games: int = 3000, seed: int = 0) -> dict[str, float]:
    shares = {}
    for pair, rows in PAIRS.items():
        pedigree = Pedigree.from_yaml(rows)
        shares[pair] = learn(pedigree, games, seed)
        print(f"{pair:16}  r = {pedigree.r('player_0', 'player_1'):<5}  gifts {shares[pair]:.0%}")
    return shares


if __name__ == "__main__":
    main()
