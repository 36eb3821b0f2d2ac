"""Checks of saved weights before use: digests in ``SHA256SUMS`` next to the files, and only finite numbers.

``sha256sum --check SHA256SUMS`` reads the file too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from ..envs.atomic import write_atomically
from ..envs.reading import read_bytes
from ..errors import ModelError

__all__ = ["check_finite", "check_sums", "file_sum", "write_sums"]

NAME = "SHA256SUMS"


def file_sum(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sums(folder: Path, names: Iterable[str]) -> None:
    """Write the digests of some files of a folder to ``SHA256SUMS``."""
    write_atomically(folder / NAME, "".join(f"{file_sum(folder / name)}  {name}\n" for name in sorted(names)))


def check_sums(folder: Path) -> tuple[str, ...]:
    """Check the files that ``SHA256SUMS`` lists and return their names; none if there is no such file.

    Raises:
        ModelError: one of the files is missing or was changed, or the list cannot be read.
    """
    if not (folder / NAME).is_file():
        return ()
    names = []
    for line in read_bytes(folder / NAME, 1 << 16).decode(errors="replace").splitlines():
        digest, _, name = line.partition("  ")
        if not name or Path(name).name != name:
            raise ModelError(f"{folder / NAME} is damaged: it contains the line {line[:80]!r}.")
        if not (folder / name).is_file():
            raise ModelError(f"{folder} is incomplete: {name} is missing.")
        if file_sum(folder / name) != digest:
            raise ModelError(f"{folder} is damaged: {name} is truncated or was changed since it was saved.")
        names.append(name)
    return tuple(names)


def check_finite(tensors: Any, where: str) -> None:
    """Check that all floating-point tensors in nested data are finite.

    Raises:
        ModelError: a tensor is not; the message names it.
    """
    if isinstance(tensors, torch.Tensor):
        if tensors.numel() * tensors.element_size() > tensors.untyped_storage().nbytes():
            raise ModelError(f"{where} has a tensor of more numbers than the file holds. Use an earlier version of it.")
        if tensors.is_floating_point() and not bool(torch.isfinite(tensors).all()):
            raise ModelError(f"{where} holds numbers that are not finite. Use an earlier version of it.")
    elif isinstance(tensors, Mapping):
        for name, part in tensors.items():
            check_finite(part, f"{where}: {name}")
    elif isinstance(tensors, list | tuple):
        for part in tensors:
            check_finite(part, where)
