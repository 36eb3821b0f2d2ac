"""The page of a run as plain data: what its folder holds, read without running, loading or changing anything.

Files are read by name and never by what a request or another file says; a link that leads out of the folder is not
followed. What is damaged is left out, and ``faults`` says so.
"""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ...envs.plain import read_yaml
from ...envs.reading import parsed, read_text
from ...errors import CoterieError, UsageError
from ...renderers.web.page import finite
from ..episodes.tasks import task_defaults
from ..episodes.transcripts import read_transcript, transcript_updates, walk
from ..runs.card import command, usual
from ..runs.config import NetConfig, TaskConfig, from_tagged, to_dict
from .series import Series

__all__ = ["RunPage", "is_run", "show"]

MATRIX: Final = 24
"""Most players of a payoff matrix, the newest."""

SAMPLES: Final = 12
"""Most episodes that are shown."""

TEXT: Final = 4000
"""Most characters of an answer or a prompt that is shown."""

_NUMBER = re.compile(r"[0-9]{1,15}")


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run or a tournament."""
    return folder.is_dir() and any((folder / name).is_file() for name in ("config.yaml", "results.json"))


def show(pages: list[RunPage], *, live: bool, command: str = "") -> dict[str, Any]:
    """The data of a page of one run or of several side by side; without ``live`` it holds all of them itself.

    Raises:
        RunError: see ``RunPage.changes``.
    """
    title = " and ".join(page.folder.name for page in pages)
    whole = [{"name": page.folder.name} if live else page.changes() for page in pages]
    return {"format": 1, "kind": "run", "title": title, "live": live, "runs": whole, "command": command}


class RunPage:
    """A run, or a tournament, followed while it grows.

    Args:
        folder: the run's folder.

    Raises:
        UsageError: there is neither a run nor a tournament.
    """

    def __init__(self, folder: Path) -> None:
        if not is_run(folder):
            raise UsageError(f"{folder} holds no run (no config.yaml) and no tournament (no results.json).")
        self.folder = folder.resolve()
        self._series = Series(self.folder / "metrics.jsonl")
        self._facts: dict[str, Any] = {}
        self._stamp = 0
        self._reading = threading.Lock()  # several pages may ask at once

    # -- what a page asks for

    def changes(self, rows: int = 0, stride: int = 0, stamp: int = 0) -> dict[str, Any]:
        """What is new since a page had ``rows`` rows at this ``stride``, and the facts of this ``stamp``.

        Returns:
            ``points`` from point ``first`` on, which replace those that the page has from there; ``facts`` and
            ``evaluations`` if they have changed.
        """
        with self._reading:
            return self._changes(rows, stride, stamp)

    def _changes(self, rows: int, stride: int, stamp: int) -> dict[str, Any]:
        series = self._series
        if self._file("metrics.jsonl") is not None or not (self.folder / "metrics.jsonl").is_symlink():
            series.catch_up()
        looked = self._look()
        if looked != self._stamp:
            self._facts, self._stamp = self._read(), looked
        now = series.stride()
        same = stride == now and rows <= series.rows  # else the page begins anew
        first = rows // now if same else 0
        found: dict[str, Any] = {
            "name": self.folder.name,
            "rows": series.rows,
            "stride": now,
            "first": first,
            "stamp": self._stamp,
            "points": series.points(first) if rows != series.rows or not same else {},
            "skipped": {"count": series.damaged, "lines": series.skipped, "full": series.full},
        }
        if rows != series.rows or not same:
            found |= {"evaluations": series.evaluations(), "last": finite(series.last)}
        if stamp != self._stamp:
            found["facts"] = self._facts
        return found

    def leaderboard(self) -> str | None:
        """The page of a tournament, in this folder or in that of its league; None without one."""
        for name in ("leaderboard.html", "leaderboard/leaderboard.html"):
            path = self._file(name)
            if path is not None:
                try:
                    return read_text(path, 2**24)
                except (OSError, ValueError, CoterieError):
                    return None
        return None

    # -- what the folder holds

    def _file(self, name: str) -> Path | None:
        """A file of the folder, if it is a regular one that lies in it."""
        path = self.folder / name
        try:
            return path if path.is_file() and path.resolve().is_relative_to(self.folder) else None
        except OSError:
            return None

    def _names(self, name: str) -> list[str]:
        """The names in a folder of the run, sorted."""
        path = self.folder / name
        try:
            inside = path.is_dir() and path.resolve().is_relative_to(self.folder)
            return sorted(p.name for p in path.iterdir()) if inside else []
        except OSError:
            return []

    def _look(self) -> int:
        """A number that changes when the facts may have."""
        seen: list[Any] = [self._series.why]
        for name in ("config.yaml", "environment.json", "results.json", "checkpoints", "players", "transcripts"):
            try:
                found = (self.folder / name).stat()
                seen.append((name, found.st_mtime_ns, found.st_size))
            except OSError:
                continue
        return zlib.crc32(repr(seen).encode()) or 1

    def _read(self) -> dict[str, Any]:
        faults = [f"metrics.jsonl: {self._series.why}"] if self._series.why else []

        def tried(what: str, read: Callable[[], Any]) -> Any:
            try:
                return read()
            except Exception as error:  # files of strangers: each reader fails in its own way
                faults.append(f"{what}: {str(error).splitlines()[0][:300] if str(error) else type(error).__name__}")
                return None

        state = tried("checkpoint", self._state) or {}
        facts = {
            "folder": str(self.folder),
            **(tried("config.yaml", self._config) or {}),
            "environment": tried("environment.json", self._environment),
            "model": state.get("model"),
            "checkpoints": [int(name) for name in self._names("checkpoints") if _NUMBER.fullmatch(name)],
            "players": tried("players", self._players),
            "lineage": tried("lineage", lambda: _lineage(state)),
            "payoff": tried("payoff", lambda: _payoff(state)),
            "samples": tried("transcripts", self._samples),
            "results": tried("results.json", self._results),
            "leaderboard": any(self._file(name) for name in ("leaderboard.html", "leaderboard/leaderboard.html")),
            "faults": faults,
        }
        return {name: finite(value) for name, value in facts.items() if value not in (None, [], {})}

    def _json(self, name: str) -> Any:
        path = self._file(name)
        return None if path is None else parsed(read_text(path))

    def _state(self) -> Any:
        """The plain data of the newest readable checkpoint."""
        for name in reversed(self._names("checkpoints")):
            if _NUMBER.fullmatch(name):
                try:
                    found = self._json(f"checkpoints/{name}/state.json")
                except (OSError, ValueError, CoterieError):
                    continue  # half written, or damaged: the one before it
                if isinstance(found, dict):
                    return found
        return None

    def _config(self) -> dict[str, Any]:
        path = self._file("config.yaml")
        if path is None:
            return {}
        data = read_yaml(path)
        try:
            config = from_tagged(data)
        except CoterieError as error:  # of a game that is not registered, or of another version: as it stands
            rows = [{"name": name, "value": _worded(value)} for name, value in _flat(data)]
            return {"game": str(data.get("game", data.get("task", "")))[:80], "config": rows, "unread": str(error)}
        defaults = task_defaults(config.task) if isinstance(config, TaskConfig) else None
        start = dict(_flat(to_dict(usual(config, defaults))))
        rows = []
        for name, value in _flat(to_dict(config)):
            row = {"name": name, "value": _worded(value)}
            if name in start and start[name] != value and name not in ("game", "task"):
                row["usual"] = _worded(start[name])
            rows.append(row)
        kind = "net" if isinstance(config, NetConfig) else "task" if isinstance(config, TaskConfig) else "model"
        return {"game": config.game, "kind": kind, "config": rows, "command": command(config, defaults)}

    def _environment(self) -> Any:
        found = self._json("environment.json")
        return [[str(k)[:80], _worded(v)] for k, v in _flat(found)] if isinstance(found, dict) else None

    def _players(self) -> list[dict[str, Any]]:
        found = []
        for name in self._names("players"):
            versions = [int(v[1:]) for v in self._names(f"players/{name}") if v[:1] == "v" and _NUMBER.fullmatch(v[1:])]
            if versions:
                found.append({"name": name, "versions": sorted(versions)})
        return found

    def _samples(self) -> dict[str, Any] | None:
        updates = transcript_updates(self.folder)
        if not updates or self._file(f"transcripts/{updates[-1]:06d}.jsonl.gz") is None:
            return None
        trees = read_transcript(self.folder, updates[-1])
        told = [_episode(tree) for whole in trees[:SAMPLES] for tree in walk(whole)]
        return {"update": updates[-1], "kept": len(updates), "episodes": told[: 3 * SAMPLES]}

    def _results(self) -> Any:
        """Ratings and payoffs of a tournament."""
        for name in ("results.json", "leaderboard/results.json"):
            found = self._json(name)
            if isinstance(found, dict) and isinstance(found.get("players"), list) and "payoff" in found:
                keys = ("player", "elo", "elo_interval", "games", "score")
                rows = [{key: row[key] for key in keys if key in row} for row in found["players"]]
                return {"players": rows, "payoff": found["payoff"], "game": str(found.get("game", ""))}
        return None


def _lineage(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    events = state.get("pool", {}).get("lineage", [])
    return [
        {
            "player": str(e["player"]),
            "how": str(e["how"]),
            "update": int(e["update"]),
            "parents": [[str(name), float(share)] for name, share in e["parents"].items()],
        }
        for e in events
    ]


def _payoff(state: Mapping[str, Any]) -> dict[str, Any] | None:
    """Win rates of a run's players against each other: learners first, then past selves, the newest first."""
    scheme = state.get("scheme")
    pairs = scheme.get("payoff") if isinstance(scheme, dict) else None
    if not pairs:
        return None
    live = [name for name in state.get("pool", {}).get("live", []) if name in pairs]
    past = sorted((n for n in pairs if n not in live), key=lambda n: int(n.rpartition("@")[2] or 0) if "@" in n else 0)
    names = [*live, *past[::-1]][:MATRIX]
    rates, games = [], []
    for a in names:
        known = [pairs.get(a, {}).get(b, {}) for b in names]
        games.append([round(float(pair.get("games", 0.0)), 1) for pair in known])
        rates.append([_share(pair) for pair in known])
    return {"names": names, "rates": rates, "games": games, "left": len(pairs) - len(names)}


def _share(pair: Mapping[str, Any]) -> float | None:
    games = float(pair.get("games", 0.0))
    return round(float(pair["points"]) / games, 4) if games > 0 else None


def _episode(tree: Mapping[str, Any]) -> dict[str, Any]:
    """An episode of a transcript, with what was said in it."""
    steps = []
    for step in tree["steps"]:
        prompt = step.get("prompt")
        asked = prompt[-1].get("content", "") if isinstance(prompt, list) and prompt else prompt or ""
        odds = step.get("probabilities")
        chosen = step.get("chosen")
        sure = odds[chosen] if isinstance(odds, list) and isinstance(chosen, int) and 0 <= chosen < len(odds) else None
        steps.append(
            {
                "role": str(step.get("role", "")),
                "asked": str(asked)[:TEXT],
                "text": str(step.get("text", ""))[:TEXT],
                "probability": sure if isinstance(sure, int | float) else None,
                "reward": step.get("reward") if isinstance(step.get("reward"), int | float) else None,
            }
        )
    rewards = {str(k): float(v) for k, v in tree.get("rewards", {}).items()}
    path = ".".join(map(str, tree["path"]))
    return {
        "path": path,
        "type": str(tree["episode_type"]),
        "rewards": rewards,
        "error": str(tree["error"]),
        "steps": steps,
    }


def _flat(data: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested mappings as dotted names with values."""
    for name, value in data.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", list(value) if isinstance(value, tuple) else value


def _worded(value: Any) -> str:
    """A setting as it would be written."""
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)[:500] if value != "" else "none"
