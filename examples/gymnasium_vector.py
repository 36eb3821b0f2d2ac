"""A plain single-agent learner on the Gymnasium vector view: a table of values, learned against a random opponent.

Any trainer for ``gymnasium.vector`` environments sees the same: one row per game; the opponent moves inside ``step``.
"""

import numpy as np

from coterie.envs.faces.gym_vector import make_gym_vec

PLACES = 3 ** np.arange(9)


def boards(obs: dict[str, np.ndarray]) -> np.ndarray:
    """[N] a base-3 number for each board, one digit per cell: 0 empty, 1 own, 2 the opponent's."""
    planes = obs["observation"].reshape(-1, 9, 2).astype(np.int64)
    return (planes[..., 0] + 2 * planes[..., 1]) @ PLACES


def main(num_envs: int = 256, steps: int = 6000, explore: float = 0.2) -> float:
    rng = np.random.default_rng(0)
    env = make_gym_vec("tictactoe", num_envs=num_envs, opponent="random")
    values = np.full((3**9, 9), 0.5)
    obs, info = env.reset(seed=0)
    ended, won = 0, 0
    for step in range(steps):
        learning = step < 0.8 * steps
        state, legal = boards(obs), obs["action_mask"] != 0
        best = np.where(legal, values[state], -2.0).argmax(1)
        tried = np.where(legal, rng.random(legal.shape), -1.0).argmax(1)
        action = np.where(learning & (rng.random(num_envs) < explore), tried, best)

        obs, reward, terminated, truncated, info = env.step(action)

        over = terminated | truncated
        if learning:
            ahead = np.where(obs["action_mask"] != 0, values[boards(obs)], -2.0).max(1)
            target = np.where(over, reward, ahead)
            values[state, action] += 0.2 * (target - values[state, action])
        else:
            ended += int(over.sum())
            won += int((reward[over] > 0).sum())
    print(f"greedy, against random, both seats: {won / ended:.1%} of {ended} games won")
    return won / ended


if __name__ == "__main__":
    main()
