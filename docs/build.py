"""Builds the site of these pages: ``scripts/docs``, or ``python docs/build.py`` where everything is installed.

It lies in build/docs/site, opens from a file and needs no network. The pages are copied to build/docs/pages first, and
three things are made there: the pages of the root folder (CONTRIBUTING.md, SECURITY.md, CHANGELOG.md); the reference, a
page for each package with every name in the ``__all__`` of its modules; and a page with the examples. A link to a file
of the source becomes a link to its reference. Warnings are errors: a dead link or anchor ends the build.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
OUT = ROOT / "build" / "docs"
PAGES = OUT / "pages"
ROOMS = ("envs", "agents", "training", "renderers", "games", "cli", "benchmarks")
HALL = ("__init__", "aliases", "errors")
MOVED = {"README.md": "index.md", **{f"{n}.md": f"{n.lower()}.md" for n in ("CONTRIBUTING", "SECURITY", "CHANGELOG")}}


def public(path: Path) -> bool:
    """Whether a module has an ``__all__``."""
    lines = ast.parse(path.read_text(encoding="utf-8")).body
    return any(isinstance(line, ast.Assign) and getattr(line.targets[0], "id", "") == "__all__" for line in lines)


def modules() -> Iterator[tuple[str, Path]]:
    """(dotted name without the package's, file) of every module that offers names."""
    files = [ROOT / f"{name}.py" for name in HALL]
    for room in ROOMS:
        files += sorted((ROOT / room).rglob("*.py"))
    for path in files:
        if public(path):
            yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix("__init__").rstrip("."), path


def constants(path: Path) -> list[str]:
    """Public names that are set several at once, ``A, B = 0, 1``: the reader of modules doesn't see these."""
    lines = ast.parse(path.read_text(encoding="utf-8")).body
    assigned = [target for line in lines if isinstance(line, ast.Assign) for target in line.targets]
    offered = next(
        line.value for line in lines if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "__all__"
    )
    names = {
        part.id
        for target in assigned
        if isinstance(target, ast.Tuple)
        for part in target.elts
        if isinstance(part, ast.Name)
    }
    return sorted(names & {part.value for part in ast.walk(offered) if isinstance(part, ast.Constant)})


def page_of(path: Path) -> str:
    """The reference page that a file of the source is on: its room's, or that of the package in the room."""
    return ".".join(path.relative_to(ROOT).parent.parts[:2]) or "coterie"


def reference() -> dict[str, list[str]]:
    """Page -> the text of its modules."""
    pages: dict[str, list[str]] = {}
    for name, path in modules():
        module = f"coterie.{name}".rstrip(".")
        parts = pages.setdefault(page_of(path), [])
        parts.append(f"::: {module}")
        if found := constants(path):
            listed = ", ".join(f'<code id="{module}.{constant}">{constant}</code>' for constant in found)
            parts.append(f"Constants of `{module}`: {listed}.")
    return pages


def examples() -> str:
    """Every example with what it says of itself."""
    parts = ["# Examples\n\nShort programs; a test runs each. They lie in `examples/`: `python examples/own_game.py`."]
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        parts.append(f"## {path.stem}\n\n{ast.get_docstring(ast.parse(text))}\n\n```python\n{text}```")
    return "\n\n".join(parts) + "\n"


def relink(text: str, source: Path, page: Path) -> str:
    """The links of a page, as they must be where the site has it; ``source`` is where it was written."""

    def new(found: re.Match[str]) -> str:
        target, anchor = found.group(1), found.group(2) or ""
        if target.startswith(("http:", "https:", "mailto:")):
            return found.group(0)
        goal = (source.parent / target).resolve()
        inside = goal.relative_to(ROOT) if goal.is_relative_to(ROOT) else Path(target)
        if inside.parts[0] == "docs":
            there = inside.relative_to("docs")
        elif str(inside) in MOVED:
            there = Path(MOVED[str(inside)])
        elif inside.parts[0] == "examples":
            there, anchor = Path("examples.md"), f"#{goal.stem}" if goal.suffix else ""
        elif goal.suffix == ".py" and public(goal):
            there, anchor = (
                Path("reference", f"{page_of(goal)}.md"),
                f"#coterie.{'.'.join(inside.with_suffix('').parts)}",
            )
        else:  # a table, a licence: the file itself
            there = Path("files", *inside.parts)
            (PAGES / there).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(goal, PAGES / there)
        return f"]({Path(os.path.relpath(PAGES / there, page.parent)).as_posix()}{anchor})"

    return re.sub(r"\]\(([^)#\s]+)(#[^)\s]*)?\)", new, text)


def stage() -> None:
    """Lay out build/docs: the configuration, and all pages."""
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree(DOCS, PAGES, ignore=shutil.ignore_patterns("*.py", "*.toml", "__pycache__"))
    sources = {PAGES / p.relative_to(DOCS): p for p in DOCS.rglob("*.md")}
    sources |= {PAGES / staged: ROOT / name for name, staged in MOVED.items() if name != "README.md"}
    for page, source in sources.items():
        page.write_text(relink(source.read_text(encoding="utf-8"), source, page), encoding="utf-8")
    (PAGES / "examples.md").write_text(examples(), encoding="utf-8")

    (PAGES / "reference").mkdir()
    listed = []
    for name, found in reference().items():
        title = "coterie" if name == "coterie" else f"coterie.{name}"
        (PAGES / "reference" / f"{name}.md").write_text("\n\n".join([f"# {title}", *found]) + "\n", encoding="utf-8")
        listed.append(f'{{ "{title}" = "reference/{name}.md" }}')
    config = (DOCS / "zensical.toml").read_text(encoding="utf-8")
    assert "# REFERENCE" in config
    (OUT / "zensical.toml").write_text(config.replace("# REFERENCE", ", ".join(listed)), encoding="utf-8")


def build() -> int:
    """Stage, then let zensical make the site; its exit status."""
    stage()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "coterie").symlink_to(ROOT)  # the root folder is the package, whatever it is called
        command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", str(OUT / "zensical.toml")]
        return subprocess.run(command, env={**os.environ, "PYTHONPATH": folder}, cwd=OUT).returncode


if __name__ == "__main__":
    status = build()
    print(f"Open {OUT / 'site' / 'index.html'}" if status == 0 else "The site was not built.")
    sys.exit(status)
