"""A picture of every gridworld preset, for the gridworld's page: docs/images/gridworld-*.png.

Needs ``pip install 'coterie[render]'``. Usage: ``python examples/gridworld_pictures.py [FOLDER] [PRESET ...]``.
"""

import sys
from pathlib import Path

from PIL import Image

import coterie
from coterie.envs.gridworld.config.presets import list_presets


def picture(preset: str, ticks: int = 60, seed: int = 2) -> Image.Image:
    """The world after some ticks of agents that sample from the actions that can succeed."""
    env = coterie.make("gridworld-v0", preset=preset, max_steps=ticks + 1, api="parallel", render_mode="rgb_array")
    observations, _ = env.reset(seed=seed)
    for agent in env.agents:
        env.action_space(agent).seed(seed)
    for _ in range(ticks):
        actions = {agent: env.action_space(agent).sample(seen["action_mask"]) for agent, seen in observations.items()}
        observations, *_ = env.step(actions)
    return Image.fromarray(env.render())


def main(folder: str = "pictures", *presets: str) -> list[Path]:
    """Render the presets, all of them by default; returns the files."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    files = []
    for preset in presets or list_presets():
        files.append(Path(folder) / f"gridworld-{preset}.png")
        picture(preset).quantize(128).save(files[-1], optimize=True)
        print(files[-1])
    return files


if __name__ == "__main__":
    main(*sys.argv[1:])
