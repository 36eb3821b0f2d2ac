"""The canvas and the captions."""

from __future__ import annotations

import numpy as np

from coterie.renderers.board import PALETTE, Canvas, captioned

RED = (255, 0, 0)


def test_shapes_cover_what_they_should() -> None:
    canvas = Canvas(100, 60, background=(0, 0, 0))
    canvas.rectangle(10, 20, 30, 10, RED)
    canvas.disc(80, 30, 10, RED)
    picture = canvas.frame()
    assert picture.shape == (60, 100, 3)
    red = picture[..., 0] > 127
    assert red[20:30, 10:40].all()
    assert not red[:20].any() or not red[:19, :50].any()
    assert abs(int(red[:, 60:].sum()) - np.pi * 100) < 12


def test_a_ring_is_hollow_and_a_stroke_has_round_ends() -> None:
    canvas = Canvas(100, background=(0, 0, 0))
    canvas.ring(30, 50, 20, 6, RED, (0, 0, 0))
    canvas.stroke((70, 20), (70, 80), 8, RED)
    red = canvas.frame()[..., 0] > 127
    assert not red[50, 30]
    assert red[50, 10]
    assert red[50, 50]
    assert red[20:80, 68:72].all()
    assert red[17, 70]
    assert not red[17, 74]


def test_edges_are_smooth() -> None:
    canvas = Canvas(50, background=(0, 0, 0))
    canvas.disc(25, 25, 12.5, RED)
    shades = np.unique(canvas.frame()[..., 0])
    assert len(shades) > 4


def test_text_is_as_wide_as_it_says() -> None:
    canvas = Canvas(300, 40, background=(0, 0, 0))
    width = canvas.text_width("a caption", 20)
    canvas.text(150, 20, "a caption", 20, (255, 255, 255))
    columns = np.flatnonzero(canvas.frame()[..., 0].any(0))
    assert abs((columns[-1] - columns[0]) - width) < 6
    assert abs((columns[-1] + columns[0]) / 2 - 150) < 4


def test_captions_stay_in_the_picture() -> None:
    frame = np.zeros((200, 200, 3), np.uint8)
    for name in ("minimax", "a/very/long/path/to/some/run-20260101-000000:main@120"):
        picture = captioned(frame, [(name, PALETTE.first), (" against ", PALETTE.text), ("random", PALETTE.second)])
        assert picture.shape[1:] == (200, 3)
        bar = picture[200:].astype(int)
        ink = np.flatnonzero((np.abs(bar - PALETTE.background).sum(-1) > 60).any(0))
        assert ink.size
        assert ink[0] >= 2
        assert ink[-1] <= 197
        assert np.array_equal(picture[:200], frame)
