"""The folder of a tournament: every match is written when it has been played, and nothing is played twice."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...agents.core import Agent
from ...envs.atomic import write_atomically
from ...envs.core import Game
from ...envs.plain import told
from ...envs.reading import parsed, read_text
from ...errors import RunError, UsageError, needs
from ..evaluation.match import policy_row
from ..evaluation.table import Meeting

__all__ = ["Kept", "kept_in", "read_results"]

LOCK = ".lock"


@dataclasses.dataclass
class Kept:
    """What a tournament has so far, in ``results.json`` if it has a folder."""

    path: Path | None
    settings: dict[str, Any]
    identities: dict[str, str]
    meetings: list[Meeting] = dataclasses.field(default_factory=list)
    policies: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)

    def add(self, meeting: Meeting) -> None:
        """Keep a match."""
        self.meetings.append(meeting)
        self.write({})

    def exact(self, game: Game, name: str, agent: Agent) -> dict[str, Any]:
        """Exact figures of a player's policy, if it has one; kept."""
        if name not in self.policies:
            self.policies[name] = _figures(policy_row(game, agent) if hasattr(agent, "policy") else {})
            self.write({})
        return self.policies[name]

    def finish(self, results: dict[str, Any]) -> None:
        """Write the results, the page and the pictures."""
        self.write(results)
        if self.path is not None:
            from ..evaluation.leaderboard import write_pages

            write_pages(results, self.path.parent)

    def write(self, results: dict[str, Any]) -> None:
        """Write everything so far."""
        if self.path is not None:
            meetings = [dataclasses.asdict(m) for m in self.meetings]
            more = {"identities": self.identities, "policies": self.policies, "meetings": meetings}
            write_atomically(self.path, json.dumps({**self.settings, **results, **more}, indent=1))

    def read(self) -> None:
        """Take what an earlier process has played of this tournament.

        Raises:
            RunError: the folder holds something else.
        """
        assert self.path is not None
        folder = self.path.parent
        if not self.path.exists():
            if any(p.name != LOCK for p in folder.iterdir()):
                raise RunError(f"{folder} isn't empty and holds no tournament (no results.json). Name another folder.")
            return
        identities, self.meetings, self.policies = read_results(self.path, self.settings, self.identities)
        self.identities = identities | self.identities


def read_results(
    path: Path, settings: Mapping[str, Any], identities: Mapping[str, str]
) -> tuple[dict[str, str], list[Meeting], dict[str, dict[str, Any]]]:
    """Read what ``results.json`` keeps of a tournament with these settings.

    Args:
        path: the file.
        settings: what must be as it was.
        identities: what the players are now; those that are something else now are left out.

    Returns:
        Identities, matches, and exact figures by player.

    Raises:
        RunError: the file holds something else, or a tournament with other settings.
    """
    try:
        found = parsed(read_text(path))
        differ = [name for name, value in settings.items() if found[name] != json.loads(json.dumps(value))]
        same = {str(n): str(known) for n, known in found["identities"].items() if identities.get(n, known) == known}
        meetings = [Meeting.read(row) for row in found["meetings"] if set(row["players"]) <= set(same)]
        policies = {name: _figures(row) for name, row in found["policies"].items() if name in same}
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError, UsageError) as error:
        raise RunError(
            f"{path} holds no tournament: {str(error)[:200]}. Move it away, or name another folder."
        ) from None
    if differ:
        was = ", ".join(f"{name} {told(found[name])}, now {told(settings[name])}" for name in differ)
        raise RunError(f"{path.parent} holds a tournament with other settings ({was}). Name another folder.")
    return same, meetings, policies


def _figures(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the ratings show of a row of ``policy_row``."""
    value, why = row.get("exploitability"), row.get("why")
    return {"exploitability": None if value is None else float(value), "why": None if why is None else str(why)}


@contextlib.contextmanager
def kept_in(out: Path | None, settings: dict[str, Any], identities: dict[str, str]) -> Iterator[Kept]:
    """What is known of a tournament; locks its folder.

    Raises:
        RunError: another process plays there, or the folder holds something else.
    """
    if out is None:
        yield Kept(None, settings, identities)
        return
    with needs("Tournaments", "train"):
        from filelock import FileLock, Timeout
    if out.exists() and not out.is_dir():
        raise RunError(f"{out} is a file; --out names a folder.")
    out.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / LOCK, timeout=0):
            kept = Kept(out / "results.json", settings, identities)
            kept.read()
            yield kept
    except Timeout:
        raise RunError(f"Another process is playing in {out}. Wait until it ends, or name another folder.") from None
