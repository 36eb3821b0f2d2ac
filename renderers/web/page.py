"""One self-contained HTML file: the scripts and styles of ``static``, and a show as data."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

from ...envs.atomic import write_atomically
from ...errors import UsageError

__all__ = [
    "SCRIPTS",
    "STYLES",
    "as_data",
    "finite",
    "need_writable",
    "page",
    "scripts_of",
    "served",
    "static",
    "write_page",
]

WORLDS: Final = ("world_data.js", "world_sprites.js", "world_pointer.js", "world_map.js", "world_side.js")

SCRIPTS: Final = ("shell.js", "board.js", "words.js", "thought.js", *WORLDS, "world.js")
"""The scripts of a page, in the order in which they run."""

WHOLE: Final = {"play": ("table.js", "play.js"), "live": ("table.js", "live.js"), "run": ("run.js",)}
"""Kinds of pages that have no timeline: the scripts that show them."""

STYLES: Final = ("base.css", "world.css")


@cache
def static(name: str) -> str:
    """A file of ``static`` as text."""
    return (resources.files(__package__) / "static" / name).read_text("utf-8")


def as_data(data: Any) -> str:
    """JSON that can stand in a ``<script>`` element: ASCII, with every ``<``, ``>`` and ``&`` escaped.

    Numbers that JSON doesn't have (infinite, not a number) become null.
    """
    try:
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(finite(data), separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def finite(data: Any) -> Any:
    """The same data, with None for infinite numbers and those that are not a number."""
    if isinstance(data, Mapping):
        return {name: finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def page(show: Mapping[str, Any], title: str = "") -> str:
    """A whole HTML document that loads nothing: no script, style, font or picture from anywhere.

    Its content security policy allows its own scripts and styles by their hashes and nothing else, so that no text in
    the data can become a script.

    Args:
        show: what it shows, plain JSON data (``shows``).
        title: of the window; by default the show's.
    """
    scripts, styles = [static(name) for name in scripts_of(show)], [static(name) for name in STYLES]
    policy = (
        f"default-src 'none'; img-src data:; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = [
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        *(f"<style>{one}</style>" for one in styles),
    ]
    return _document(show, title, head, [f"<script>{one}</script>" for one in scripts])


def served(show: Mapping[str, Any], title: str = "") -> str:
    """The same document for a server, whose answers bring the policy: it loads ``/static/NAME`` for each file."""
    head = [f'<link rel="stylesheet" href="/static/{name}">' for name in STYLES]
    return _document(show, title, head, [f'<script src="/static/{name}"></script>' for name in scripts_of(show)])


def scripts_of(show: Mapping[str, Any]) -> list[str]:
    """The scripts that show it, in the order in which they run."""
    return [*SCRIPTS, *WHOLE.get(str(show.get("kind")), ())]


def _document(show: Mapping[str, Any], title: str, head: list[str], scripts: list[str]) -> str:
    named = html.escape(title or str(show.get("title", "coterie")))
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="dark light">',
        '<link rel="icon" href="data:,">',
        f"<title>{named.encode('ascii', 'xmlcharrefreplace').decode()}</title>",  # folders may have any name
        *head,
        "</head>",
        "<body>",
        '<div id="app"><noscript>This page needs JavaScript; it loads nothing from the network.</noscript></div>',
        f'<script type="application/json" id="coterie-show">{as_data(show)}</script>',
        *scripts,
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def write_page(show: Mapping[str, Any], path: Path) -> Path:
    """Write a page; an existing file is replaced in one step.

    Returns:
        The path.

    Raises:
        UsageError: the file cannot be written.
    """
    need_writable(path)
    text = page(show)
    try:
        write_atomically(path, text)
    except OSError as error:
        raise _unwritable(path, error) from None
    return path


def need_writable(path: Path) -> None:
    """Check that a page can be written, before a game is played for it; creates its folder.

    Raises:
        UsageError: it cannot.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"Cannot write the page to {path}: {error.strerror or error}. Name another file with --html.")


def _hashes(texts: list[str]) -> str:
    """The texts' hashes as sources of a content security policy."""
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
