"""What was said in a run, kept to be read: one file per update, one tree of episodes per line.

``RUN/transcripts/000012.jsonl.gz`` holds JSON lines::

    {"update": 12, "path": [0], "episode_type": "propose", "artifact": ..., "extras": {...}, "error": "",
     "is_trainable": true, "rewards": {"Proposer": 0.5},
     "steps": [{"role": "Proposer", "prompt": [{"role": "user", "content": "..."}], "text": "level 3",
                "choices": [...], "chosen": 2, "probabilities": [...], "reward": 0.0, "advantage": 0.2, "keep": true}],
     "oracles": [the same for what judges said],
     "children": [the same for each episode that this one started]}

What is not plain data in artifacts and extras is kept as text.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ...envs.atomic import write_atomically
from ...envs.plain import told as shown
from ...envs.reading import FILE, parsed, unzipped
from ...errors import RunError, UsageError
from .records import GenerateResult, Step

__all__ = ["Told", "examples", "find", "read_transcript", "told", "transcript_updates", "walk", "write_transcript"]

Told: TypeAlias = dict[str, Any]
"""A tree of episodes as plain data, see above."""

_NUMBER = re.compile(r"([0-9]{6,15})\.jsonl\.gz")


def told(result: GenerateResult) -> Told:
    """A tree of episodes as plain data."""
    plain = {
        "path": list(result.path),
        "episode_type": result.episode_type,
        "artifact": result.rollout.artifact,
        "extras": result.rollout.extras,
        "error": result.error,
        "is_trainable": result.is_trainable,
        "rewards": result.rewards,
        "steps": [_step(step) for step in result.rollout.steps],
        "oracles": [_step(step) for step in result.rollout.oracles],
    }
    plain = dict(json.loads(json.dumps(plain, default=str, skipkeys=True)))
    return plain | {"children": [told(child) for child in result.children]}


def _step(step: Step) -> dict[str, Any]:
    return {
        "role": step.role_id,
        "prompt": step.prompt,
        "text": step.text,
        "choices": step.choices,
        "chosen": step.chosen,
        "probabilities": [round(p, 6) for p in step.probabilities],
        "reward": step.reward,
        "advantage": step.advantage,
        "keep": step.keep,
    }


def write_transcript(run: Path, update: int, results: Sequence[GenerateResult], most: int) -> None:
    """Keep what was said in an update.

    Args:
        run: the run's folder.
        update: its number, from 1 as in the lines that training prints.
        results: the trees.
        most: how many trees to keep, the first ones; 0: none.

    Raises:
        RunError: the file can't be written.
    """
    if not most:
        return
    lines = [json.dumps({"update": update, **told(result)}) + "\n" for result in results[:most]]
    path = run / "transcripts" / f"{update:06d}.jsonl.gz"
    try:
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, gzip.compress("".join(lines).encode("utf-8", "replace"), mtime=0))
    except OSError as error:
        raise RunError(f"{path} can't be written: {error.strerror}. Free some space, then --resume.") from None


def transcript_updates(run: Path) -> list[int]:
    """The updates whose words are kept, ascending."""
    folder = run / "transcripts"
    names = [_NUMBER.fullmatch(path.name) for path in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(name[1]) for name in names if name)


def read_transcript(run: Path, update: int | None = None) -> list[Told]:
    """The trees of an update; None: of the newest that is kept.

    Raises:
        RunError: nothing is kept of it, or the file is damaged or unpacks to more than ``limit(FILE)`` bytes.
    """
    kept = transcript_updates(run)
    if not kept or (update is not None and update not in kept):
        if not run.is_dir():
            raise RunError(f"There is no folder {run}. Name a run on a task; coterie train --help lists tasks.")
        if not kept:
            raise RunError(f"{run} has no transcripts; runs on tasks write them (coterie train --help lists tasks).")
        raise RunError(f"{run} has no transcript of update {update}. It has those of updates {kept[0]} to {kept[-1]}.")
    path = run / "transcripts" / f"{kept[-1] if update is None else update:06d}.jsonl.gz"
    try:
        found = []
        for line in unzipped(path, FILE).decode().splitlines():
            found.append(tree := parsed(line))
            _check([tree])
            _are([tree["update"]], int)
    except (OSError, EOFError, ValueError, zlib.error, LookupError, TypeError, AttributeError) as error:
        raise RunError(f"{path} is damaged: {str(error)[:200]}. Remove it.") from None
    except UsageError as error:
        raise RunError(f"{error}.") from None
    return found


NUMBER = (int, float)
_EPISODE = {"episode_type": str, "error": str, "is_trainable": bool, "extras": dict}
_STEP = {"role": str, "text": str, "chosen": int, "reward": NUMBER, "advantage": NUMBER, "keep": bool}
_MESSAGE = {"role": str, "content": str}


def _check(trees: Any) -> None:
    """Raise ValueError or LookupError unless these are trees with what their readers need."""
    for tree in trees:
        _have([tree], _EPISODE)
        _are(tree["path"], int)
        _are(tree["rewards"].values(), NUMBER)
        _ = tree["artifact"]
        steps = [*tree["steps"], *tree["oracles"]]
        _have(steps, _STEP)
        for step in steps:
            _have(step["prompt"], _MESSAGE)
            _are(step["choices"], str)
            _are(step["probabilities"], NUMBER)
        _check(tree["children"])


def _have(entries: Any, kinds: dict[str, Any]) -> None:
    for entry in entries:
        for name, kind in kinds.items():
            _are([entry[name]], kind)


def _are(values: Any, kind: Any) -> None:
    for value in values:
        if not isinstance(value, kind) or (isinstance(value, int) and value.bit_length() > 63):
            raise ValueError(f"{shown(value)} is no part of a transcript")


def walk(tree: Told) -> Iterator[Told]:
    """A tree and all below it, parents before children."""
    yield tree
    for child in tree["children"]:
        yield from walk(child)


def find(trees: Sequence[Told], path: str) -> Told:
    """The episode at a place such as ``3`` or ``3.0``.

    Raises:
        UsageError: there is none.
    """
    for tree in trees:
        for node in walk(tree):
            if ".".join(map(str, node["path"])) == path:
                return node
    there = [".".join(map(str, tree["path"])) for tree in trees[:20]]
    if not there:
        raise UsageError(f"No episode {path} is kept; the transcript is empty.")
    raise UsageError(
        f"No episode {path} is kept; there are {', '.join(there)}, and their children, such as {there[0]}.0."
    )


def examples(trees: Sequence[Told], form: Literal["chat", "trl"]) -> Iterator[dict[str, Any]]:
    """Every answer as an example to train on.

    Args:
        trees: of episodes.
        form: ``chat``: ``messages``; ``trl``: ``prompt`` and ``completion``, as TRL's trainers take them. Both also
            have ``role``, ``reward`` (of the role in its episode), ``advantage`` and ``episode``.
    """
    for tree in trees:
        for node in walk(tree):
            for step in node["steps"]:
                answer = [{"role": "assistant", "content": step["text"]}]
                words = (
                    {"messages": [*step["prompt"], *answer]}
                    if form == "chat"
                    else {"prompt": step["prompt"], "completion": answer}
                )
                yield words | {
                    "role": step["role"],
                    "reward": node["rewards"].get(step["role"], 0.0),
                    "advantage": step["advantage"],
                    "episode": ".".join(map(str, node["path"])),
                }
