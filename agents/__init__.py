"""Who chooses an action: baselines, searching and scripted players, people, language models with adapters."""

from .. import moved as _moved  # noqa: F401  # old module names still import
