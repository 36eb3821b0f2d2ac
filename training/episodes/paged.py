"""Transcripts as a *show*, which ``coterie view RUN --html`` writes as a page; ``renderers.web.shows`` defines it.

Every answer is a frame. Its thought holds the probabilities of the choices, if there were any; what the role was shown
is folded. Each episode begins with a note.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from ...renderers.web.recording import css
from ...renderers.web.shows import COLORS, spoken
from .transcripts import Told, walk

__all__ = ["as_show"]

ORACLE = "oracle"
"""The seat of judges, which have no role."""


def as_show(trees: Sequence[Told], title: str, command: str = "") -> dict[str, Any]:
    """The show of some trees of episodes.

    Args:
        trees: as ``read_transcript`` gives them.
        title: above the page.
        command: what makes the page again.
    """
    nodes = [node for tree in trees for node in walk(tree)]
    roles = list(dict.fromkeys(step["role"] or ORACLE for node in nodes for step in _steps(node)))
    seats = [{"name": role, "player": role, "color": css(COLORS[p % len(COLORS)])} for p, role in enumerate(roles)]
    frames: list[dict[str, Any]] = []
    sections = []
    for node in nodes:
        sections.append([_head(node), len(frames)])
        frames += _frames(node, roles)
    return {
        "format": 1,
        "kind": "words",
        "game": nodes[0]["episode_type"] if nodes else "",
        "title": title,
        "goal": "",
        "rules": "",
        "seats": seats,
        "command": command,
        "sections": sections,
        "frames": frames or [{"text": "No episode is kept.", "rewards": [], "status": "No episode is kept."}],
    }


def _steps(node: Told) -> list[dict[str, Any]]:
    return [*node["steps"], *node["oracles"]]


def _head(node: Told) -> str:
    return f"{'.'.join(map(str, node['path']))} {node['episode_type']}"


def _frames(node: Told, roles: list[str]) -> Iterator[dict[str, Any]]:
    """A frame for the start of an episode and one for each answer in it."""
    facts = [f"{role} {reward:+.3g}" for role, reward in node["rewards"].items()]
    note = f"Episode {_head(node)}" + (f": {', '.join(facts)}" if facts else "")
    if not node["is_trainable"]:
        note += " (not learned from)"
    about = node["artifact"] if isinstance(node["artifact"], str) else json.dumps(node["artifact"], ensure_ascii=False)
    about = "" if node["artifact"] in (None, "", {}, []) else f"About: {about}"
    failed = f"Failed: {node['error']}" if node["error"] else ""
    text = "\n".join(filter(None, (note, about, failed)))
    nothing = [0.0] * len(roles)
    yield {"title": _head(node), "note": text, "text": text, "rewards": nothing, "said": []}
    for step in _steps(node):
        yield _answer(step, roles)


def _answer(step: dict[str, Any], roles: list[str]) -> dict[str, Any]:
    """The frame of one answer."""
    role = step["role"] or ORACLE
    seat = roles.index(role)
    shown = "\n\n".join(f"{message['role']}: {message['content']}" for message in step["prompt"])
    facts = {"prompt": shown, "reward": step["reward"]} | ({"advantage": step["advantage"]} if step["role"] else {})
    frame: dict[str, Any] = {
        "title": f"{role} answers",
        "text": shown,
        "by": seat,
        "move": step["text"][:80],
        "rewards": [step["reward"] * (p == seat) for p in range(len(roles))],
        "said": [spoken(seat, step["text"], facts)],
    }
    if step["probabilities"]:
        pairs = sorted(zip(step["choices"], step["probabilities"], strict=False), key=lambda pair: -pair[1])
        entropy = -sum(p * math.log(p) for _, p in pairs if p > 0)
        thought = {
            "seat": seat,
            "actions": [[text, p, []] for text, p in pairs],
            "entropy": entropy,
            "legal": len(pairs),
        }
        frame["thoughts"] = [thought | {"chosen": step["text"]}]
    return frame
