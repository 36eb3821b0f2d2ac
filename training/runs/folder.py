"""A run is a folder, and can be killed at any time.

::

    RUN/config.yaml               its configuration
    RUN/environment.json          the versions and the machine that it began with
    RUN/metrics.jsonl             one JSON object per update
    RUN/checkpoints/000120/       *.pt state.json SHA256SUMS: exact, the newest two
    RUN/players/main/v000120/     players, one folder per version: adapters in peft's format, or net.safetensors
    RUN/tensorboard/  RUN/curves.png

A checkpoint is written under a temporary name and renamed when complete; digests reveal a damaged one, and the one
before it is used. Only one process at a time trains in a folder; however it ends, the system frees its lock.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from ...agents.sums import check_finite, check_sums, file_sum, write_sums
from ...envs.atomic import write_atomically
from ...envs.reading import parsed, read_text
from ...errors import CoterieError, RunError
from .config import AnyConfig, from_tagged, read_config, save_config, to_dict
from .environment import environment
from .metrics import Metrics

LOCK = ".lock"
_NUMBER = re.compile(r"[0-9]{1,15}")

__all__ = ["Run", "check_same", "fitting", "same_game", "saved_version", "saved_versions"]


class Run:
    """The folder of one run, of a language model or of a net; ``create`` makes it, ``reopen`` reads it."""

    def __init__(self, folder: Path, config: AnyConfig) -> None:
        self.folder, self.config = folder, config
        self._metrics = Metrics(folder / "metrics.jsonl")

    @classmethod
    def create(cls, folder: Path, config: AnyConfig) -> Run:
        """Make a new run.

        Raises:
            RunError: the folder holds something already, or can't be written.
        """
        run = cls(folder, config)
        if folder.exists() and (not folder.is_dir() or run._used()):
            raise run._not_empty()
        with run.alone():
            if run._used():  # by another process, a moment ago
                raise run._not_empty()
            run.write_config()
            with run._unwritable_told():
                write_atomically(folder / "environment.json", json.dumps(environment(), indent=1) + "\n")
        return run

    def _used(self) -> bool:
        return any(path.name != LOCK for path in self.folder.iterdir())

    def _not_empty(self) -> RunError:
        hint = "Add --resume to continue it, or" if (self.folder / "config.yaml").exists() else "Please"
        return RunError(f"{self.folder} isn't empty. {hint} name another folder with --run.")

    @classmethod
    def reopen(cls, folder: Path, config: AnyConfig | None = None) -> Run:
        """Open an existing run with ``config``, by default with the run's own. Writes nothing.

        Raises:
            RunError: no run there, a run of another game, or a different setting that the weights depend on.
        """
        path = folder / "config.yaml"
        if not path.exists():
            raise RunError(
                f"There is no run in {folder} (no config.yaml). Start one with: coterie train GAME --run {folder}"
            )
        saved = read_config(path)
        if config is None:
            return cls(folder, saved)
        if not same_game(saved.game, config.game):
            raise RunError(f"{folder} is a run of {saved.game}, not of {config.game}. Name another folder with --run.")
        check_same(saved, config, f"{folder}")
        return cls(folder, config)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder, so that no other process trains in it; makes it if it doesn't exist.

        Raises:
            RunError: another process trains there, or the folder can't be written.
        """
        lock = FileLock(self.folder / LOCK)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout:
            raise RunError(
                f"Another process is training in {self.folder}. Wait until it ends, stop it, or name another folder "
                "with --run."
            ) from None
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            yield
        finally:
            lock.release()

    def _unwritable(self, error: OSError) -> RunError:
        where = f"{self.folder} can't be written: {error.strerror}"
        return RunError(f"{where}. {_mended(error)}, or name another folder with --run.")

    def write_config(self) -> None:
        """Write config.yaml; makes the folder if it doesn't exist.

        Raises:
            RunError: it can't be written.
        """
        with self._unwritable_told():
            self.folder.mkdir(parents=True, exist_ok=True)
            save_config(self.config, self.folder / "config.yaml")

    @contextlib.contextmanager
    def _unwritable_told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._unwritable(error) from None

    # -- metrics

    def log(self, row: Mapping[str, Any]) -> None:
        """Append one line to metrics.jsonl; raises RunError if the disk is full or the folder is gone."""
        self._metrics.append(row)

    def metrics(self) -> list[dict[str, Any]]:
        """All complete lines of metrics.jsonl; raises RunError if it can't be read or holds something else."""
        return self._metrics.rows()

    def looked(self) -> list[dict[str, Any]]:
        """The rows of the last evaluation, from metrics.jsonl; empty without one."""
        return self._metrics.looked()

    def elapsed(self) -> float:
        """Seconds spent on the run, from metrics.jsonl."""
        return max((float(row["elapsed"]) for row in self.metrics()), default=0.0)

    def cut_metrics(self, update: int) -> None:
        """Remove the lines from ``update`` on, which the run will write again; raises RunError if it can't."""
        self._metrics.cut(update)

    # -- checkpoints

    def save(self, update: int, tensors: Mapping[str, Any], state: Mapping[str, Any], keep: int = 2) -> Path:
        """Write a checkpoint; all but the newest ``keep`` are deleted once it is complete.

        Args:
            update: number of finished updates.
            tensors: file stem -> nested data for ``torch.save``.
            state: plain data.
            keep: number of checkpoints to keep.

        Raises:
            RunError: it could not be written; earlier checkpoints are untouched.
        """
        final = self._checkpoint(update)
        partial = final.with_name(final.name + ".partial")
        try:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            for stem, data in tensors.items():
                torch.save(data, partial / f"{stem}.pt")
            whole = {"update": update, "config": to_dict(self.config), "metrics": self._metrics.sum(update), **state}
            write_atomically(partial / "state.json", json.dumps(whole, indent=1))
            write_sums(partial, [path.name for path in partial.iterdir()])
            shutil.rmtree(final, ignore_errors=True)
            os.replace(partial, final)
        except (OSError, RuntimeError) as error:
            shutil.rmtree(partial, ignore_errors=True)
            raise self.unwritten(f"Checkpoint {final}", error) from None
        for old in self.checkpoints()[:-keep]:
            shutil.rmtree(self._checkpoint(old), ignore_errors=True)
        return final

    def unwritten(self, what: str, error: Exception) -> RunError:
        """The error for something that could not be saved."""
        kept = self.checkpoints()
        rest = f"The checkpoint of update {kept[-1]} is kept." if kept else "There is no earlier checkpoint."
        return RunError(f"{what} could not be written: {error}. {rest} {_mended(error)}, then --resume.")

    def checkpoints(self) -> list[int]:
        """Updates of the existing checkpoints, ascending."""
        folder = self.folder / "checkpoints"
        names = [p.name for p in folder.iterdir()] if folder.is_dir() else []
        return sorted(int(name) for name in names if _NUMBER.fullmatch(name))

    def load(self) -> tuple[dict[str, Any], dict[str, Any], list[str]] | None:
        """The newest undamaged checkpoint.

        Returns:
            (tensors by file stem, state, errors of newer ones), or None if there is no checkpoint at all.

        Raises:
            RunError: all checkpoints are damaged or from an earlier version; or settings were changed since.
        """
        wrong: list[str] = []
        if not self.checkpoints() and list((self.folder / "checkpoints").glob("[0-9]*.pt")):
            raise RunError(
                f"{self.folder} was made by an earlier version, whose checkpoints cannot be resumed. "
                f"Begin a new run with its weights: --init {self.folder}"
            )
        for update in reversed(self.checkpoints()):
            folder = self._checkpoint(update)
            try:
                names = check_sums(folder)
                state = parsed(read_text(folder / "state.json"))
                if not names:  # an earlier version kept the digests in state.json
                    for name, digest in state["digests"].items():
                        if file_sum(folder / name) != digest:
                            raise ValueError(f"{name} is truncated or was changed")
                    names = tuple(state["digests"])
                files = [folder / name for name in names if name.endswith(".pt")]
                tensors = {path.stem: _tensors(path) for path in files}
                check_finite(tensors, f"{folder}")
                config = from_tagged(state["config"])
            except Exception as error:  # torch, zip and JSON each have their own ways to fail
                told = (str(error).strip() or type(error).__name__).splitlines()[0][:300].rstrip(".")
                wrong.append(told if told.startswith(f"{folder} ") else f"{folder}: {told}")
                continue
            # Fields added after the checkpoint was written have their presets' values.
            check_same(config, self.config, f"checkpoint {folder}")
            if state.get("metrics") not in (None, self._metrics.sum(update)):  # None: of an earlier release
                wrong.append(f"{self.folder / 'metrics.jsonl'}: lines before update {update} were changed or removed")
            return tensors, state, wrong
        if wrong:
            raise RunError(f"All checkpoints of {self.folder} are damaged: {'; '.join(wrong)}. Start a new run.")
        return None

    def model(self) -> dict[str, str]:
        """``id`` and ``hash`` of the base model, from the newest readable checkpoint; empty without one."""
        for update in reversed(self.checkpoints()):
            try:
                state = parsed(read_text(self._checkpoint(update) / "state.json"))
                return {str(k): str(v) for k, v in state["model"].items()}
            except (OSError, ValueError, LookupError, TypeError, AttributeError):
                continue
        return {}

    def _checkpoint(self, update: int) -> Path:
        return self.folder / "checkpoints" / f"{update:06d}"

    def player_folder(self, name: str, update: int) -> Path:
        """The folder of a version of a player."""
        return self.folder / "players" / name / f"v{update:06d}"

    def past_folder(self, name: str) -> Path:
        """The folder of a past self, ``main@25``."""
        player, _, update = name.rpartition("@")
        return self.player_folder(player, int(update))


def _mended(error: Exception) -> str:
    """What to do about a file that can't be written, as the beginning of a sentence."""
    ways = {
        errno.EROFS: "Make its file system writable",
        errno.EACCES: "Allow writing there",
        errno.EPERM: "Allow writing there",
        errno.ENOSPC: "Free some space",
        errno.EDQUOT: "Free some space",
    }
    number = getattr(error, "errno", None)  # torch and safetensors don't say
    return "Free some space" if number is None else ways.get(number, "Mend that")


@contextlib.contextmanager
def fitting(what: str) -> Iterator[None]:
    """Turn what goes wrong while a checkpoint is put in place into a RunError: it is sound but of another making."""
    try:
        yield
    except CoterieError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError) as error:
        told = " ".join(str(error).split())[:300]
        raise RunError(f"{what} doesn't fit this run ({type(error).__name__}: {told}). Start a new run.") from None


def _tensors(path: Path) -> Any:
    """The data in a file of ``torch.save``, which packs nothing: what is packed could be of any size."""
    with zipfile.ZipFile(path) as file:
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in file.infolist()):
            raise ValueError(f"{path.name} was not written by a run")
    return torch.load(path, weights_only=True)


def same_game(one: str, other: str) -> bool:
    """Whether two ids mean the same game; a name without version means any of its versions."""
    a, b = one.rpartition("-v"), other.rpartition("-v")
    return (a[0] or one) == (b[0] or other) and (a[2] == b[2] or not a[0] or not b[0])


def saved_versions(folder: Path, player: str) -> dict[int, Path]:
    """Update -> folder of every saved version of a player of a run."""
    saved = (folder / "players" / player).glob("v[0-9]*")
    return {int(p.name[1:]): p for p in sorted(saved) if _NUMBER.fullmatch(p.name[1:])}


def saved_version(folder: Path, player: str, version: str | None) -> Path:
    """The folder of a player's ``version``: 120 or v120; None or empty: the newest.

    Raises:
        RunError: the run has no such player, or no such version of it.
    """
    versions = saved_versions(folder, player)
    if not versions:
        there = ", ".join(sorted(p.name for p in (folder / "players").glob("*"))) or "none yet"
        raise RunError(f"{folder} has no saved player {player!r}; it has: {there}.")
    number = (version or str(max(versions))).removeprefix("v")
    if not _NUMBER.fullmatch(number) or int(number) not in versions:
        there = ", ".join(map(str, sorted(versions)))
        raise RunError(f"{folder} has no version {version} of {player!r}; it has: {there}.")
    return versions[int(number)]


def check_same(saved: AnyConfig, now: AnyConfig, where: str) -> None:
    """Raise RunError if a setting that the weights depend on differs between ``saved``, from ``where``, and ``now``.

    The model's name may differ, since its hash is compared elsewhere.
    """
    before, after = to_dict(saved), to_dict(now)
    for section, value in after.items():
        old = before.get(section)
        if section == "policy" and isinstance(old, dict) and isinstance(value, dict):
            old = {**old, **{name: value[name] for name in ("model", "device", "gradient_checkpointing")}}
        if section in now.free or section == "game" or old == value:
            continue
        if isinstance(value, dict) and isinstance(old, dict):
            names = [n for n in value if old.get(n) != value[n]]
            changed = ", ".join(f"{n} was {old.get(n)!r}, now {value[n]!r}" for n in names)
        else:
            changed = f"{section} was {old!r}, now {value!r}"
        raise RunError(
            f"{where} was made with other settings ({changed}): continuing would mix two experiments. "
            "Restore the setting, or start a new run with --run."
        )
