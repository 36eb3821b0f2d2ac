"""Observations of any space as short texts that a person and a language model can read."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["shown"]

_MARKS = "." + string.ascii_uppercase

_LISTED = 16
"""A vector of zeros and ones that is longer than this is shown as the numbers of its ones."""


def shown(value: Any) -> str:
    """An observation in a few lines.

    Numbers have three significant digits, and at most four behind the point; the entries of dictionaries and tuples
    have a line each. Planes of zeros and ones, ``[H, W, C]`` or ``[C, H, W]``, become one board if no cell is in two of
    them (``A`` for the first plane, ``.`` for none), else a list of cells for each plane of ``[H, W, C]``.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | tuple):
        parts = value.items() if isinstance(value, Mapping) else enumerate(value)
        told = ((str(name), shown(part)) for name, part in parts)
        return "\n".join(f"{name}:\n{text}" if "\n" in text else f"{name}: {text}" for name, text in told)
    array = np.asarray(value)
    return _numbers(array) if array.dtype.kind in "biuf" else str(value)


def _numbers(array: NDArray[Any]) -> str:
    flags = array.size > 0 and bool(np.isin(array, (0, 1)).all())
    if array.ndim == 0:
        return _number(array.item())
    if array.ndim == 1 and flags and len(array) > _LISTED:
        return f"ones at {' '.join(map(str, np.flatnonzero(array).tolist())) or 'none'} of {len(array)}"
    if array.ndim == 1:
        return " ".join(map(_number, array.tolist()))
    if array.ndim == 2:
        return "\n".join(map(_numbers, array))
    if array.ndim == 3 and flags:
        for axis in (2, 0):
            if array.shape[axis] <= len(string.ascii_uppercase) and array.sum(axis).max() <= 1:
                marks = np.moveaxis(array, axis, 2) @ np.arange(1, array.shape[axis] + 1)
                return "\n".join("".join(_MARKS[int(mark)] for mark in row) for row in marks.tolist())
        cells = ((k, np.argwhere(array[:, :, k]).tolist()) for k in range(array.shape[2]))
        full = array.shape[0] * array.shape[1]
        return "\n".join(
            f"plane {k}: {'all' if len(found) == full else ' '.join(f'{row},{column}' for row, column in found)}"
            for k, found in cells
            if found
        )
    return "\n\n".join(map(_numbers, array))


def _number(value: float) -> str:
    return f"{round(value, 4) + 0.0:.3g}" if isinstance(value, float) else str(int(value))
