"""Kinship: who shares whose reward (``modes``), who descends from whom, and a wrapper for any environment.

``wrapper`` imports PettingZoo, so that it stands beside what is offered here.
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
