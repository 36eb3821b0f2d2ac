"""The release, for the package and for the files it writes."""

from __future__ import annotations

__version__ = "0.1.0"
