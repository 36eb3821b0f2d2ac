"""Observations as texts."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.envs.foreign.shown import shown


def planes(*cells: tuple[int, int, int], shape: tuple[int, int, int]) -> np.ndarray:
    array = np.zeros(shape, np.int8)
    for cell in cells:
        array[cell] = 1
    return array


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int64(3), "3"),
        (np.float32(0.1234567), "0.123"),
        (-1e-30, "0"),
        (12345.678, "1.23e+04"),
        (np.array([0.5, -2.0]), "0.5 -2"),
        (np.array([True, False]), "1 0"),
        (np.eye(1, 40, 7, dtype=np.int8)[0], "ones at 7 of 40"),
        (np.zeros(17), "ones at none of 17"),
        (np.array([[1, 2], [3, 4]]), "1 2\n3 4"),
        (planes((0, 0, 0), (1, 2, 1), shape=(2, 3, 2)), "A..\n..B"),
        (planes((0, 0, 0), (1, 1, 0), (1, 1, 1), shape=(2, 2, 2)), "A.\nBB"),  # [C, H, W]: no cell in two planes
        (planes((0, 0, 0), (0, 0, 1), (1, 0, 0), shape=(3, 2, 2)), "plane 0: 0,0 1,0\nplane 1: 0,0"),
        (np.array([[[2, 0]], [[0, 5]]]), "2 0\n\n0 5"),
        ("a text", "a text"),
        ({"cards": np.array([1, 2]), "board": np.array([[0, 1], [1, 0]])}, "cards: 1 2\nboard:\n0 1\n1 0"),
        ((1, "two"), "0: 1\n1: two"),
    ],
)
def test_any_observation_is_a_short_text(value, text) -> None:
    assert shown(value) == text
