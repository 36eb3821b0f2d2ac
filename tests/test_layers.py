"""No module stands outside the layers of setup.cfg (``lint-imports`` holds the layers themselves), and no circles.

The graph of imports is read from the sources, imports inside functions and for types included.
"""

from __future__ import annotations

import ast
import configparser
from pathlib import Path

import pytest

from coterie.envs import list_envs
from coterie.envs.registry import spec

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("agents", "benchmarks", "cli", "envs", "games", "renderers", "training")
CONTRACTS = configparser.ConfigParser()
CONTRACTS.read(ROOT / "setup.cfg")
GAMES = {
    # A game of many files is a room, and game.py its door.
    spec(id).entry_point.partition(":")[0].removeprefix("coterie.").removesuffix(".game")
    for id in list_envs()
}
BELOW = (
    *(
        "aliases",
        "errors",
        "version",
        "envs.answers",
        "envs.core",
        "envs.state",
        "envs.kinship",
        "envs.phantom",
        "envs.plain",
        "envs.reading",
        "envs.registry",
        "envs.stepping",
        "envs.typed",
    ),
    *("envs.replay.packing", "envs.replay.sgf", "envs.words.core", "envs.words.leaks", "envs.words.talk"),
    "envs.words.vocabulary",
)
"""What games may import, beside themselves."""

LAYERS = [section for section in CONTRACTS.values() if section.get("type") == "layers"]


def sources() -> dict[str, Path]:
    """Dotted name without ``coterie.`` -> file; a package is its ``__init__``."""
    files = [*ROOT.glob("*.py"), *(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))]
    return {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in files}


def graph(files: dict[str, Path]) -> dict[str, set[str]]:
    """Module -> modules it imports. A package counts where it itself is meant, not where a submodule is."""
    found: dict[str, set[str]] = {}
    for name, path in files.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        targets = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                targets |= {alias.name.removeprefix("coterie.") for alias in node.names}
            if not isinstance(node, ast.ImportFrom):
                continue
            if node.level:
                parts = [] if package in ("", "__init__") else package.split(".")
                base = parts[: len(parts) - node.level + 1]
                start = ".".join([*base, *([node.module] if node.module else [])])
            else:
                start = (node.module or "").removeprefix("coterie.")
            for alias in node.names:
                whole = f"{start}.{alias.name}".removeprefix(".")
                targets.add(whole if whole in files else start or "__init__")
        found[name] = {target for target in targets if target in files} - {name}
    return found


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one module (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            component = stack[at:]
            del stack[at:]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def named(section: configparser.SectionProxy) -> set[str]:
    """Every module or room that a contract's layers name."""
    return {name for line in section["layers"].split() for name in line.split("|") if name}


def modules(container: str) -> set[str]:
    """Dotted names of all modules within a package, packages that say nothing but their docstring left out."""
    top = ROOT.joinpath(*container.split(".")[1:])
    found = set()
    for path in [
        *top.glob("*.py"),
        *(p for room in top.iterdir() if (room / "__init__.py").exists() for p in room.rglob("*.py")),
    ]:
        parts = path.relative_to(top).with_suffix("").parts
        if parts[-1] != "__init__":
            found.add(".".join(parts))
        elif len(parts) > 1 and "import" in path.read_text():
            found.add(".".join(parts[:-1]))
    return found


@pytest.mark.parametrize("section", LAYERS, ids=lambda section: section["containers"])
def test_every_module_stands_in_a_layer(section):
    names = named(section)
    all_modules = modules(section["containers"])
    outside = {m for m in all_modules if not any(m == name or m.startswith(f"{name}.") for name in names)}
    if section["containers"] == "coterie.envs":
        outside = {m for m in outside if not game_of(f"envs.{m}")}
    assert not outside
    assert {"coterie", "coterie.envs"} <= {section["containers"] for section in LAYERS}


def test_no_import_is_ignored():
    assert "ignore" not in "".join(key for section in CONTRACTS.values() for key in section)


def game_of(module: str) -> str | None:
    """The game that a module belongs to, as the registry has them; a room belongs to its game as a whole."""
    return next((game for game in GAMES if module == game or module.startswith(f"{game}.")), None)


def test_games_stand_on_the_engine_and_only_entry_points_know_them():
    edges = {m: e for m, e in graph(sources()).items() if m.startswith("envs.")}
    upward = {(m, to) for m, e in edges.items() for to in e if game_of(to) and game_of(m) != game_of(to)}
    assert not upward
    found = {(m, to) for m, e in edges.items() if game_of(m) for to in e if game_of(to) != game_of(m)}
    assert len(found) > 20
    assert not {(m, to) for m, to in found if not to.startswith(BELOW)}


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_imports_within_functions_and_for_types_count(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import b\n")
    (tmp_path / "b.py").write_text("def f():\n    from .a import x\n")
    assert circles(graph({"a": tmp_path / "a.py", "b": tmp_path / "b.py"})) == [["a", "b"]]


def test_there_is_none() -> None:
    assert len(sources()) > 200
    assert circles(graph(sources())) == []
