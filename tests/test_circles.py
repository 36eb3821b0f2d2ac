"""No circles of imports: the graph is read from the sources, imports inside functions and for types alone included."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("agents", "benchmarks", "cli", "envs", "games", "renderers", "training")


def modules() -> dict[str, Path]:
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


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_imports_within_functions_and_for_types_count(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import b\n")
    (tmp_path / "b.py").write_text("def f():\n    from .a import x\n")
    assert circles(graph({"a": tmp_path / "a.py", "b": tmp_path / "b.py"})) == [["a", "b"]]


def test_there_is_none() -> None:
    assert len(modules()) > 200
    assert circles(graph(modules())) == []
