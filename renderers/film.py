"""Write frames as a film, GIF or MP4, depending on the file's suffix."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np

from ..errors import MissingExtra, UsageError, did_you_mean
from .board import Frame
from .gif import write_gif

__all__ = ["film", "need_mp4", "write_mp4"]

SUFFIXES: Final = (".gif", ".mp4")
SLOWEST: Final = 10
"""Fewest frames per second of an MP4; frames shown for longer are repeated, since players handle lower rates badly."""


def film(frames: Iterable[Frame], path: str | Path, seconds: float = 0.1, last: float = 1.0) -> Path:
    """Write frames [H, W, 3] uint8, all of one size, as a film.

    Args:
        frames: at least one; may be an iterator that renders them lazily.
        path: ends in ``.gif`` or ``.mp4``; its folder is created.
        seconds: how long each frame is shown.
        last: how long the last frame is shown, seconds.

    Returns:
        The path.

    Raises:
        MissingExtra: pillow (GIF) or imageio-ffmpeg (MP4) is not installed.
        UsageError: another suffix, no frames, frames of different sizes, ``seconds`` of an MP4 not positive, or a path
            that cannot be written.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix == ".gif":
        return write_gif(target, frames, seconds, last)
    if suffix == ".mp4":
        return write_mp4(target, frames, seconds, last)
    hint = did_you_mean(suffix, SUFFIXES)
    raise UsageError(f"{target} cannot be written: a film's file name ends in .gif or .mp4.{hint}")


def write_mp4(path: str | Path, frames: Iterable[Frame], seconds: float = 0.1, last: float = 1.0) -> Path:
    """Write frames as an MP4 (H.264); arguments and errors as in ``film``. Odd sizes grow by a row or column."""
    need_mp4()
    import imageio.v2

    if seconds <= 0:
        raise UsageError(f"The time per frame of a film must be positive, not {seconds} seconds.")
    target, coming = Path(path), iter(frames)
    first = next(coming, None)
    if first is None:
        raise UsageError("A film needs frames; there are none.")
    repeat = max(1, round(seconds * SLOWEST)) if seconds > 1 / SLOWEST else 1
    rate = repeat / seconds
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.open("wb").close()  # fails here with a short message instead of with ffmpeg's twenty lines
    except OSError as error:
        raise UsageError(f"Cannot write the film to {target}: {error.strerror or error}.") from error
    writer = imageio.v2.get_writer(
        target, format="FFMPEG", fps=rate, codec="libx264", quality=8, macro_block_size=1, ffmpeg_log_level="error"
    )
    shown = first
    try:
        for shown in itertools.chain([first], coming):
            if shown.shape != first.shape:
                came = " and ".join(f"{w}x{h}" for h, w, _ in (first.shape, shown.shape))
                raise UsageError(f"All frames of a film must have the same size, not {came}.")
            for _ in range(repeat):
                writer.append_data(_even(shown))
        for _ in range(max(0, round(last * rate) - repeat)):
            writer.append_data(_even(shown))
        writer.close()
    except OSError as error:
        raise UsageError(f"Cannot write the film to {target}: {str(error).splitlines()[0]}.") from error
    finally:
        writer.close()
    return target


def need_mp4() -> None:
    """Check that MP4s can be written.

    Raises:
        MissingExtra: imageio or imageio-ffmpeg is not installed.
    """
    for module, package in (("imageio", "imageio"), ("imageio_ffmpeg", "imageio-ffmpeg")):
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise MissingExtra("Writing an MP4", package, "render") from error


def _even(frame: Frame) -> Frame:
    """Repeat the last row or column of odd sizes, which H.264 does not allow."""
    height, width = frame.shape[:2]
    return np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
