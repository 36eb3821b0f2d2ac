"""Kinship: agents that share rewards (``modes``), pedigrees, and a wrapper for any PettingZoo environment.

This module does not import ``wrapper``, which needs PettingZoo; import it separately.
"""

from __future__ import annotations

from . import modes
from .modes import *  # noqa: F403

__all__ = modes.__all__
