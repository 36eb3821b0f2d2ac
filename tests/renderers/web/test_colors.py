"""Colours of pages: readable text in both themes, and seats that colour-blind people tell apart.

Colour blindness is simulated (Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color
Vision Deficiency", 2009, severity 1, in linear RGB); differences are CIEDE2000 (Sharma, Wu and Dalal, 2005).
"""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from numpy.typing import NDArray

from coterie.renderers.board import PALETTE
from coterie.renderers.web.page import static

Vector = NDArray[np.float64]

SEEN = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = TO_XYZ @ np.ones(3)
SEATS = ("first", "second", "accent", "third", "fourth", "fifth", "sixth")


def linear(color: str) -> Vector:
    """#rrggbb as linear RGB from 0 to 1."""
    value = np.array([int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def luminance(color: str) -> float:
    return float(linear(color) @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def lab(rgb: Vector) -> Vector:
    ratio = TO_XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def difference(one: Vector, other: Vector) -> float:
    """CIEDE2000 of two Lab colours."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 0.5 * (1 - math.sqrt(mean**7 / (mean**7 + 25**7)))
    a1, a2 = (1 + g) * a1, (1 + g) * a2
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    dl, dc, dh = l2 - l1, c2 - c1, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    lm, cm = (l1 + l2) / 2, (c1 + c2) / 2
    hm = h1 + h2 if c1 * c2 == 0 else (h1 + turn / 2) % 360
    t = (
        1
        - 0.17 * math.cos(math.radians(hm - 30))
        + 0.24 * math.cos(math.radians(2 * hm))
        + 0.32 * math.cos(math.radians(3 * hm + 6))
        - 0.20 * math.cos(math.radians(4 * hm - 63))
    )
    sl = 1 + 0.015 * (lm - 50) ** 2 / math.sqrt(20 + (lm - 50) ** 2)
    sc, sh = 1 + 0.045 * cm, 1 + 0.015 * cm * t
    twist = -math.sin(math.radians(60 * math.exp(-(((hm - 275) / 25) ** 2)))) * 2 * math.sqrt(cm**7 / (cm**7 + 25**7))
    return math.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + twist * (dc / sc) * (dh / sh))


def themes() -> dict[str, dict[str, str]]:
    """The variables of the two themes."""
    blocks = re.findall(r"(:root[^{]*)\{([^}]*)\}", static("base.css"))
    found = {}
    for head, body in blocks:
        found["light" if "light" in head else "dark"] = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", body))
    return found


THEMES = themes()


def test_the_difference_is_that_of_the_published_pairs() -> None:
    # Sharma, Wu and Dalal (2005), table 1, pairs 1, 4, 17, 25.
    for one, other, known in (
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, -1.3802, -84.2814), (50, 0, -82.7485), 1.0000),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ):
        assert difference(np.array(one), np.array(other)) == pytest.approx(known, abs=1e-4)


def test_both_themes_have_every_colour_of_the_palette() -> None:
    assert set(THEMES) == {"dark", "light"}
    for colors in THEMES.values():
        assert set(PALETTE._fields) <= set(colors)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("ground", ["background", "cell", "page", "raised"])
@pytest.mark.parametrize("ink", ["text", "faint", "quiet", "focus", *SEATS])
def test_text_is_readable(theme: str, ground: str, ink: str) -> None:
    assert contrast(THEMES[theme][ink], THEMES[theme][ground]) >= 4.5


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_text_on_the_table_and_on_marks_is_readable(theme: str) -> None:
    colors = THEMES[theme]
    for ink in ("text", "first", "second", "accent"):
        assert contrast(colors[ink], colors["felt"]) >= 4.5, ink
        assert contrast(colors[ink], colors["highlight"]) >= 3, ink  # large text
    assert contrast(colors["thought-text"], colors["thought"]) >= 4.5


@pytest.mark.parametrize("seen", list(SEEN))
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_colour_blind_people_tell_seats_and_thoughts_apart(theme: str, seen: str) -> None:
    colors = {name: lab(SEEN[seen] @ linear(THEMES[theme][name])) for name in (*SEATS, "thought")}
    for one, other in itertools.combinations(("first", "second", "accent", "thought"), 2):
        assert difference(colors[one], colors[other]) >= 12, (one, other)
    for one, other in itertools.combinations(SEATS, 2):  # seats of large negotiations, which are named too
        assert difference(colors[one], colors[other]) >= 7.5, (one, other)
