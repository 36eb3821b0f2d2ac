"""PettingZoo's documented loop, with random legal moves."""

import coterie


def main(seed: int = 0) -> dict[str, float]:
    env = coterie.make("tictactoe-v0", render_mode="ansi")
    env.reset(seed=seed)
    env.action_space("player_0").seed(seed)
    total = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        total[agent] += reward
        if termination or truncation:
            env.step(None)
        else:
            env.step(env.action_space("player_0").sample(observation["action_mask"]))
    print(env.render())
    print(total)
    env.close()
    return total


if __name__ == "__main__":
    main()
