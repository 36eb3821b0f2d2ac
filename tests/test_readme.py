"""Every block of README.md runs, and what it points at exists; so do the Python blocks of the other pages."""

from __future__ import annotations

import itertools
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from coterie.cli import main

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> Iterator[tuple[str, str]]:
    """(id, text) of every fenced block of a language."""
    text = page.read_text()
    for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        if found.group(1) == language:
            yield f"{page.relative_to(ROOT)}:{text[: found.start()].count(chr(10)) + 1}", found.group(2)


PRINTED = (
    *(
        "dark_hex",
        "go",
        "gridworld",
        "gridworld-fields",
        "gridworld-maps",
        "kuhn_poker",
        "leduc_poker",
        "matrix",
        "negotiation",
    ),
    *("phantom_tictactoe", "tictactoe"),
)
"""Pages of games that show what their blocks print."""

SHELL_PAGES = [README, *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]
"""Pages whose commands run; those of other pages are for reading."""


def commands(page: Path) -> list[str]:
    lines = [line.split("#")[0].strip() for _, text in blocks(page, "bash") for line in text.splitlines()]
    return [line for line in lines if line]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def small_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``train`` do one small update whatever is asked for."""
    import dataclasses

    from coterie.training import loop

    full = loop.train

    def small(config, *args, **kwargs):
        rollout = dataclasses.replace(config.rollout, games=64)
        budget = dataclasses.replace(config.budget, updates=1, eval_games=20)
        return full(dataclasses.replace(config, rollout=rollout, budget=budget, threads=1), *args, **kwargs)

    monkeypatch.setattr(loop, "train", small)

    from coterie.training.episodes import run

    whole = run.train_task

    def few(config, *args, **kwargs):
        budget = dataclasses.replace(config.budget, updates=1)
        return whole(dataclasses.replace(config, budget=budget, threads=1), *args, **kwargs)

    monkeypatch.setattr(run, "train_task", few)


@pytest.mark.slow
@pytest.mark.usefixtures("own_games")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_run(
    page: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order given, each with the names of those before it; some pages show what their blocks print."""
    small_training(monkeypatch)
    module = ModuleType("blocks")
    monkeypatch.setitem(sys.modules, "blocks", module)  # dataclasses look themselves up
    for name, text in blocks(page, "python"):
        file = elsewhere / f"{name.replace('/', '-').replace(':', '-line-')}.py"  # kernels need a file to cache beside
        file.write_text(text, encoding="utf-8")
        exec(compile(text, str(file), "exec"), module.__dict__)
    if page.stem in PRINTED:
        assert capsys.readouterr().out in page.read_text()


@pytest.mark.parametrize("page", SHELL_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_shell_blocks_are_all_known(page: Path) -> None:
    for line in commands(page):
        assert line.split()[0] in ("coterie", "pip") or (ROOT / line.split()[0]).exists(), line


@pytest.mark.slow
@pytest.mark.parametrize("page", SHELL_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_run_in_the_order_given(
    page: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import io

    small_training(monkeypatch)
    for command in commands(page):
        words = shlex.split(command)
        if words[0] != "coterie" or "--window" in words:  # windows wait for a person; tests/renderers clicks in them
            continue
        monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
        games = ["--games", "20"] if words[1] in ("eval", "tournament") and "--games" not in words else []
        assert main([*words[1:], *games]) == 0, (words, capsys.readouterr().err)
        for option, name in itertools.pairwise(words):
            assert option not in ("--gif", "--html", "--save", "--out") or (elsewhere / name).exists(), words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), f"{page.name} points at {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    for name in re.findall(r"`((?:\w+/)+\w+\.py)`", page.read_text()):
        if name.endswith("name.py"):  # of a game to be added
            continue
        places = (ROOT, page.parent, ROOT / "tests" / "agents")
        assert any((place / name).exists() for place in places), f"{page.name} names {name}"


def test_the_tree_is_true() -> None:
    (tree,) = (text for _, text in blocks(README, "") if "envs/" in text)
    named = {line.split()[0] for line in tree.splitlines()}
    for name in named:
        assert (ROOT / name).exists(), name
    folders = {f"{p.name}/" for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith((".", "_"))}
    leftovers = {"build/", "dist/", "runs/", "coterie.egg-info/"}
    assert folders - leftovers <= named
