"""Frames come back out of films as they went in."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from coterie.errors import UsageError
from coterie.renderers.film import film


def frames(n: int, height: int = 40, width: int = 60) -> Iterator[np.ndarray]:
    for k in range(n):
        frame = np.full((height, width, 3), (24, 28, 38), np.uint8)
        frame[10:20, 5 + k % 40 : 15 + k % 40] = (255, 122, 97)
        yield frame


def read(path: Path) -> tuple[list[np.ndarray], float]:
    imageio = pytest.importorskip("imageio.v2")
    with imageio.get_reader(path, format="FFMPEG") as reader:
        return list(iter(reader)), reader.get_meta_data()["fps"]


@pytest.mark.parametrize(("height", "width"), [(40, 60), (41, 61)])
def test_an_mp4_holds_every_frame(tmp_path: Path, height: int, width: int) -> None:
    path = film(frames(20, height, width), tmp_path / "new" / "a.mp4", seconds=0.05, last=0.25)
    shown, rate = read(path)
    assert rate == 20
    assert len(shown) == 24, "20 frames, the last of them five times"
    for frame, was in zip(shown, frames(20, height, width), strict=False):
        assert frame.shape == (height + height % 2, width + width % 2, 3)
        assert np.abs(frame[:height, :width].astype(int) - was).mean() < 6


def test_slow_films_repeat_their_frames(tmp_path: Path) -> None:
    shown, rate = read(film(frames(3), tmp_path / "a.MP4", seconds=0.5, last=0.5))
    assert (len(shown), rate) == (15, 10)


def test_a_long_gif_asks_for_each_frame_once(tmp_path: Path) -> None:
    asked: list[int] = []

    def drawn() -> Iterator[np.ndarray]:
        for k, frame in enumerate(frames(94)):
            asked.append(k)
            yield frame

    with Image.open(film(drawn(), tmp_path / "a.gif", seconds=0.1, last=1.0)) as image:
        assert image.n_frames == 94
        for k, was in enumerate(frames(94)):
            image.seek(k)
            assert image.info["duration"] == (1000 if k == 93 else 100)
            assert np.abs(np.asarray(image.convert("RGB")).astype(int) - was).max() <= 8
    assert asked == list(range(94))


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_what_is_refused(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(UsageError, match="needs frames"):
        film([], tmp_path / f"a{suffix}")
    other = np.zeros((10, 10, 3), np.uint8)
    with pytest.raises(UsageError, match="60x40"):
        film([*frames(1), other], tmp_path / f"a{suffix}")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="Cannot write"):
        film(frames(1), tmp_path / "file" / f"a{suffix}")


def test_frames_that_are_not_shown_are_refused(tmp_path: Path) -> None:
    for seconds in (0.0, -1.0):
        with pytest.raises(UsageError, match="time per frame"):
            film(frames(2), tmp_path / "a.mp4", seconds)


def test_another_suffix(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"ends in .gif or .mp4. Did you mean '.mp4'\?"):
        film(frames(1), tmp_path / "a.mp")


def test_a_missing_plugin_is_named() -> None:
    code = (
        "import sys, numpy; sys.modules['imageio_ffmpeg'] = None\n"
        "from coterie.renderers.film import write_mp4\n"
        "write_mp4('/nowhere/a.mp4', [numpy.zeros((4, 4, 3), 'uint8')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "needs the package 'imageio-ffmpeg'. Type: pip install 'coterie[render]'" in done.stderr
