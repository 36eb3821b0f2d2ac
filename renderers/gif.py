"""Write frames as an animated GIF."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..errors import MissingExtra, UsageError
from .board import Frame

__all__ = ["write_gif"]

AHEAD: Final = 64
"""The number of frames read before the first is written, to choose one palette for all."""


def write_gif(path: str | Path, frames: Iterable[Frame], seconds: float = 0.8, last: float = 2.5) -> Path:
    """Write frames [H, W, 3] uint8, all of one size, as a GIF that repeats for ever.

    Args:
        path: the file; its folder is created.
        frames: at least one; may be an iterator that renders them lazily.
        seconds: how long each frame is shown.
        last: how long the last frame is shown, seconds.

    Returns:
        The path.

    Raises:
        MissingExtra: pillow is not installed.
        UsageError: no frames, frames of different sizes, or a path that cannot be written.
    """
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise MissingExtra("Writing a GIF", "pillow", "render") from error
    coming = iter(frames)
    first = list(itertools.islice(coming, AHEAD))
    shapes = {frame.shape for frame in first}
    if len(shapes) != 1:
        came = " and ".join(f"{w}x{h}" for h, w, _ in sorted(shapes)) or "no frame"
        raise UsageError(f"A GIF needs frames, all of the same size; got {came}.")
    # One palette for all frames, since separate ones make flat colours flicker. It comes from the last frame of a short
    # film, which has most on it, or from the first, middle and last of the frames read ahead.
    telling = first[-1] if len(first) < AHEAD else np.concatenate([first[0], first[AHEAD // 2], first[-1]])
    common = Image.fromarray(telling).quantize(colors=128)

    def image(frame: Frame, time: float) -> Any:
        if frame.shape not in shapes:
            raise UsageError(f"A GIF needs frames of one size; a later one is {frame.shape[1]}x{frame.shape[0]}.")
        made = Image.fromarray(frame).quantize(palette=common, dither=Image.Dither.NONE)
        made.info["duration"] = round(time * 1000)
        return made

    pairs = itertools.pairwise(itertools.chain(first, coming, [None]))
    images = (image(frame, last if after is None else seconds) for frame, after in pairs if frame is not None)
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        next(images).save(target, format="GIF", save_all=True, append_images=images, loop=0)
    except OSError as error:
        raise UsageError(f"Cannot write the GIF to {target}: {error.strerror or error}.") from error
    return target
