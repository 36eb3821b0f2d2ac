"""The dynamics: the start of an episode (``reset``), a tick (``step``), and the mask of actions (``legal``)."""

from .tick import draw, step

__all__ = ["draw", "step"]
