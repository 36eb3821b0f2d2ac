"""Write frames as an animated GIF."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingExtra, UsageError
from .board import Frame

__all__ = ["write_gif"]

COLORS: Final = 256
EXACT: Final = 128
"""So many of the palette's colours are those with the most pixels in some frame; the others cover the rest."""

WEIGHTS: Final = np.array([2, 4, 3], np.int32)
"""How much a difference in red, green and blue counts."""


def write_gif(path: str | Path, frames: Iterable[Frame], seconds: float = 0.8, last: float = 2.5) -> Path:
    """Write frames [H, W, 3] uint8, all of one size, as a GIF that repeats for ever.

    All frames share one palette, since separate ones make flat colours flicker; it is chosen from all of them.

    Args:
        path: the file; its folder is created.
        frames: at least one; may be an iterator that renders them lazily. They are kept compressed until the last.
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
    kept: list[bytes] = []
    shapes: set[tuple[int, ...]] = set()
    colors, peaks = np.zeros(0, np.uint32), np.zeros(0, np.int64)
    for frame in frames:
        shapes.add(frame.shape)
        kept.append(zlib.compress(frame.tobytes(), 1))
        colors, peaks = _counted(colors, peaks, _packed(frame))
    if len(shapes) != 1:
        came = " and ".join(f"{w}x{h}" for h, w, _ in sorted(shapes)) or "no frame"
        raise UsageError(f"A GIF needs frames, all of the same size; got {came}.")
    palette = _palette(Image, colors[np.argsort(-peaks, kind="stable")])
    nearest = np.zeros(1 << 24, np.uint8)
    for some in np.array_split(colors, 1 + len(colors) // 4096):
        far = (_unpacked(some).astype(np.int32)[:, None] - palette.astype(np.int32)) ** 2 @ WEIGHTS
        nearest[some] = far.argmin(1)
    shape = shapes.pop()

    def image(k: int) -> Any:
        frame = np.frombuffer(zlib.decompress(kept[k]), np.uint8).reshape(shape)
        made = Image.fromarray(nearest[_packed(frame)])
        made.putpalette(palette.tobytes())
        made.info["duration"] = round((seconds if k < len(kept) - 1 else last) * 1000)
        return made

    target = Path(path)
    images = (image(k) for k in range(1, len(kept)))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        image(0).save(target, format="GIF", save_all=True, append_images=images, loop=0)
    except OSError as error:
        raise UsageError(f"Cannot write the GIF to {target}: {error.strerror or error}.") from error
    return target


def _packed(frame: Frame) -> NDArray[np.uint32]:
    """[H, W] each pixel's colour as one number."""
    wide = frame.astype(np.uint32)
    packed: NDArray[np.uint32] = wide[..., 0] << np.uint32(16) | wide[..., 1] << np.uint32(8) | wide[..., 2]
    return packed


def _unpacked(colors: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """[K, 3] uint8."""
    return np.stack([colors >> 16, colors >> 8 & 255, colors & 255], 1).astype(np.uint8)


def _counted(
    colors: NDArray[np.uint32], peaks: NDArray[np.int64], frame: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """[K] colours so far and the most pixels that each had in one frame, with one more frame."""
    new, counts = np.unique(frame, return_counts=True)
    both, place = np.unique(np.concatenate([colors, new]), return_inverse=True)
    most = np.zeros(len(both), np.int64)
    np.maximum.at(most, place, np.concatenate([peaks, counts]))
    return both, most


def _palette(Image: Any, colors: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """[COLORS or fewer, 3] uint8: the first ``EXACT`` colours, and more that are near all others."""
    exact, rest = _unpacked(colors[:EXACT]), _unpacked(colors[EXACT:])
    if not len(rest):
        return exact
    cut = Image.fromarray(rest[None]).quantize(colors=COLORS - EXACT)
    return np.concatenate([exact, np.array(cut.getpalette(), np.uint8).reshape(-1, 3)[: COLORS - EXACT]])
