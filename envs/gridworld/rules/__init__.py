"""The dynamics: how an episode begins (``reset``), a tick (``step``), and which actions would succeed (``legal``)."""

from .tick import draw, step

__all__ = ["draw", "step"]
