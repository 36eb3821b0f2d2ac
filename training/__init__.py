"""Rollouts -> records -> credit -> loss -> adapters; schemes say who plays whom and who learns."""

from .. import moved as _moved  # noqa: F401  # old module names still import
