"""Records a world during play, replays it from the file, makes a film, and shows it in its window.

Needs ``pip install 'coterie[render]'``. Usage: ``python examples/gridworld_watching.py [FOLDER]``.
"""

import os
import sys
from pathlib import Path

from PIL import Image

import coterie
from coterie.agents.human.world_window import Replayed, WorldSession
from coterie.envs.replay.file import read_games, replay
from coterie.envs.replay.recorder import Recorded
from coterie.renderers.film import film
from coterie.renderers.gridworld import draw

WINDOW = "coterie.renderers.gridworld_window:GridworldWindow"


def record(path: Path, ticks: int = 200) -> None:
    """Play two worlds at random and record row 0 in the file."""
    env = Recorded(coterie.make_vec("gridworld", 2, preset="a5_25x25", max_steps=ticks), path, rows=[0])
    env.reset(seed=0)
    for _ in range(ticks):
        env.step(env.sample_actions())
    env.close()


def screenshot(path: Path, seconds: float = 0.3) -> None:
    """Save a picture of the window of a replay, with one agent selected."""
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    saved = read_games(path)[-1]
    session = WorldSession(Replayed(saved.game, saved.record), [], WINDOW, look=1)
    session.replay.seek(120)
    session.paused = True
    session.step(wait=seconds)
    Image.fromarray(session.window.picture()).save(path.with_suffix(".png"))
    session.close()


def main(folder: str = "pictures") -> None:
    """Record, replay, make a film, take a screenshot."""
    path = Path(folder) / "world.jsonl"
    record(path)
    saved = read_games(path)[-1]  # replayed and checked: every tick leads to the recorded state
    print(f"{len(saved.record.actions)} ticks in {path.stat().st_size} bytes, replayed exactly")
    states = (state for state, _, _ in replay(saved.game, saved.record))
    print(film((draw(saved.game, state, 0, size=300) for state in states), path.with_suffix(".gif"), seconds=0.1))
    screenshot(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
