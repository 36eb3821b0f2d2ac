"""Kinship: who shares whose reward."""

from __future__ import annotations

from .sharing import partition, prestige, related_child, share_labels, share_matrix, share_relatives, shuffle_labels

__all__ = [
    "partition",
    "prestige",
    "related_child",
    "share_labels",
    "share_matrix",
    "share_relatives",
    "shuffle_labels",
]
