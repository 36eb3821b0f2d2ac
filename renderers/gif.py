"""Frames to an animated GIF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import MissingExtra, UsageError
from .board import Frame

__all__ = ["write_gif"]


def write_gif(path: str | Path, frames: Sequence[Frame], seconds: float = 0.8, last: float = 2.5) -> Path:
    """Write frames [H, W, 3] uint8, all of one size, as a GIF that repeats for ever.

    Args:
        path: where to; its folder is made.
        frames: at least one.
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
    shapes = {frame.shape for frame in frames}
    if len(shapes) != 1:
        came = " and ".join(f"{w}x{h}" for h, w, _ in sorted(shapes)) or "no frame"
        raise UsageError(f"A GIF needs frames, and all of one size; {came} came.")
    images = [Image.fromarray(frame) for frame in frames]
    # One palette for all, taken from the frame with the most on it: palettes of their own make flat colours flicker.
    common = images[-1].quantize(colors=128)
    images = [image.quantize(palette=common, dither=Image.Dither.NONE) for image in images]
    times = [round(seconds * 1000)] * (len(images) - 1) + [round(last * 1000)]
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        images[0].save(target, format="GIF", save_all=True, append_images=images[1:], duration=times, loop=0)
    except OSError as error:
        raise UsageError(f"Cannot write the GIF to {target}: {error.strerror or error}.") from error
    return target
