"""Frames come back out of the file as they went in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from coterie.errors import UsageError
from coterie.renderers.gif import write_gif


def frames(n: int):
    made = []
    for k in range(n):
        frame = np.full((40, 60, 3), (24, 28, 38), np.uint8)
        frame[10:20, 5 + 5 * k : 15 + 5 * k] = (255, 122, 97)
        made.append(frame)
    return made


def test_frames_times_and_colours(tmp_path: Path) -> None:
    made = frames(4)
    path = write_gif(tmp_path / "new" / "a.gif", made, seconds=0.5, last=2.0)
    with Image.open(path) as image:
        assert (image.n_frames, image.size, image.info["loop"]) == (4, (60, 40), 0)
        times = []
        for k, frame in enumerate(made):
            image.seek(k)
            times.append(image.info["duration"])
            shown = np.asarray(image.convert("RGB")).astype(int)
            assert np.abs(shown - frame).max() <= 8
    assert times == [500, 500, 500, 2000]


def test_one_frame(tmp_path: Path) -> None:
    with Image.open(write_gif(tmp_path / "a.gif", frames(1))) as image:
        assert image.size == (60, 40)


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="got no frame"):
        write_gif(tmp_path / "a.gif", [])
    with pytest.raises(UsageError, match="got 9x9 and 60x40"):
        write_gif(tmp_path / "a.gif", [*frames(1), np.zeros((9, 9, 3), np.uint8)])
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="Cannot write"):
        write_gif(tmp_path / "file" / "a.gif", frames(1))


def test_colours_that_come_late_are_kept(tmp_path: Path) -> None:
    """A small patch of a new colour in two frames of many, and a ground of many shades."""
    made = frames(1) * 130
    for k, frame in enumerate(made):
        frame = made[k] = frame.copy()
        frame[::2] = (np.arange(60)[:, None] * 2 + [30, 20, 40]).astype(np.uint8)
        frame[39, 59] = k
        if k in (90, 91):
            frame[31:34, 30:34] = (255, 20, 240)
    with Image.open(write_gif(tmp_path / "a.gif", made)) as image:
        assert image.n_frames == 130
        image.seek(90)
        shown = np.asarray(image.convert("RGB")).astype(int)
    assert np.abs(shown[32, 32] - [255, 20, 240]).max() <= 8
    assert np.abs(shown - made[90]).max() <= 24
    assert shown[1, 50].tolist() == [24, 28, 38], "the ground exactly"
