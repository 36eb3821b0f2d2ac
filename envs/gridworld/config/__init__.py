"""Gridworld configurations: the dataclasses (``sections``), reading (``fields``, ``files``, ``presets``), checks."""

from ..maps.table import Numbers as Terrain
from . import sections
from .sections import *  # noqa: F403

__all__ = [*sections.__all__, "Terrain"]
