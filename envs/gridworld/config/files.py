"""A gridworld's configuration as a YAML file: ``dump`` writes one, ``load`` reads it."""

from __future__ import annotations

from pathlib import Path

from ....errors import UsageError
from .fields import from_dict, merge, read_yaml, to_dict, to_yaml
from .presets import configure
from .sections import GridworldConfig

__all__ = ["dump", "from_dict", "load", "merge", "read_yaml", "to_dict", "to_yaml"]


def dump(config: GridworldConfig, path: str | Path) -> None:
    """Write a configuration to a YAML file.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        Path(path).write_text(to_yaml(config), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"Cannot write the configuration to {path}: {error.strerror or error}.") from None


def load(path: str | Path) -> GridworldConfig:
    """Read a configuration from a YAML file; ``fields.py`` describes its two forms.

    Raises:
        UsageError: there is no such file, it is not YAML, or it does not describe a valid world.
    """
    return configure(config=path)
