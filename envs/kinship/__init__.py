"""Kinship: agents that share rewards (``modes``), pedigrees, and a wrapper for any PettingZoo environment.

This module does not import ``wrapper``, which needs PettingZoo; import it separately.
"""

from __future__ import annotations

from .modes import (
    Families,
    Groups,
    Kinship,
    Matrix,
    Pedigree,
    Prestige,
    Relatedness,
    Teams,
    partition,
    prestige,
    related_child,
    share,
    share_labels,
    share_matrix,
    share_relatives,
    shares,
    shuffle_labels,
)

__all__ = [
    "Families",
    "Groups",
    "Kinship",
    "Matrix",
    "Pedigree",
    "Prestige",
    "Relatedness",
    "Teams",
    "partition",
    "prestige",
    "related_child",
    "share",
    "share_labels",
    "share_matrix",
    "share_relatives",
    "shares",
    "shuffle_labels",
]
