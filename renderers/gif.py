"""Frames to an animated GIF."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..errors import MissingExtra, UsageError
from .board import Frame

__all__ = ["write_gif"]

AHEAD: Final = 64
"""So many frames are looked at before the first is written, for a palette that serves all."""


def write_gif(path: str | Path, frames: Iterable[Frame], seconds: float = 0.8, last: float = 2.5) -> Path:
    """Write frames [H, W, 3] uint8, all of one size, as a GIF that repeats for ever.

    Args:
        path: where to; its folder is made.
        frames: at least one; they may be drawn as they are asked for.
        seconds: how long each is shown.
        last: how long the last one is shown, seconds.

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
        raise UsageError(f"A GIF needs frames, and all of one size; {came} came.")
    # One palette for all, taken from the frame with the most on it (the last of a short film): palettes of their own
    # make flat colours flicker.
    telling = first[-1] if len(first) < AHEAD else np.concatenate([first[0], first[AHEAD // 2], first[-1]])
    common = Image.fromarray(telling).quantize(colors=128)

    def image(frame: Frame, time: float) -> Any:
        if frame.shape not in shapes:
            raise UsageError(f"A GIF needs frames of one size; one of {frame.shape[1]}x{frame.shape[0]} came later.")
        made = Image.fromarray(frame).quantize(palette=common, dither=Image.Dither.NONE)
        made.info["duration"] = round(time * 1000)
        return made

    images = (image(frame, last if ends else seconds) for frame, ends in _ends(itertools.chain(first, coming)))
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        next(images).save(target, format="GIF", save_all=True, append_images=images, loop=0)
    except OSError as error:
        raise UsageError(f"Cannot write the GIF to {target}: {error.strerror or error}.") from error
    return target


def _ends(frames: Iterator[Frame]) -> Iterator[tuple[Frame, bool]]:
    """Each frame, and whether it is the last."""
    held = next(frames)
    for frame in frames:
        yield held, False
        held = frame
    yield held, True
