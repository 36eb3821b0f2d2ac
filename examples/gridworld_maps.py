"""A picture of every terrain: the gallery's page names each picture, followed by the configuration that it shows.

Needs ``pip install 'coterie[render]'``. Usage: ``python examples/gridworld_maps.py [FOLDER] [PAGE]``; the page is
docs/games/gridworld-maps.md.
"""

import re
import sys
from pathlib import Path
from typing import Any

import yaml
from PIL import Image

import coterie

PAGE = Path(__file__).parents[1] / "docs" / "games" / "gridworld-maps.md"
SHOWN = re.compile(r"^!\[.*?\]\(.*?([\w-]+\.png)\)\n\n```yaml\n(.*?)^```$", re.M | re.S)


def gallery(page: Path = PAGE) -> dict[str, dict[str, Any]]:
    """Name of each picture on the page -> the configuration below it."""
    return {name: yaml.safe_load(text) for name, text in SHOWN.findall(page.read_text(encoding="utf-8"))}


def picture(config: dict[str, Any], seed: int = 1) -> Image.Image:
    """The beginning of an episode."""
    env = coterie.make("gridworld-v0", config=config, api="parallel", render_mode="rgb_array")
    env.reset(seed=seed)
    return Image.fromarray(env.render())


def main(folder: str = "pictures", page: str = str(PAGE)) -> list[Path]:
    """Render the page's pictures; returns the files."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    files = []
    for name, config in gallery(Path(page)).items():
        files.append(Path(folder) / name)
        picture(config).quantize(64).save(files[-1], optimize=True)
        print(files[-1])
    return files


if __name__ == "__main__":
    main(*sys.argv[1:])
