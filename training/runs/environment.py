"""What a run was made with, for environment.json in its folder: versions and the machine, nothing about its user."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import Any, Final

from ...version import __version__

__all__ = ["environment"]

PACKAGES: Final = ("numpy", "numba", "torch", "transformers", "peft", "gymnasium", "pettingzoo")


def environment() -> dict[str, Any]:
    """Versions of coterie, Python and the packages that compute; system, processor, its cores, and GPUs by name."""
    import torch

    gpus = [torch.cuda.get_device_name(k) for k in range(torch.cuda.device_count())]
    return {
        "coterie": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        **({"gpus": ", ".join(gpus)} if gpus else {}),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
    }


def _processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            named = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        named = ""
    return named or platform.processor() or platform.machine()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
