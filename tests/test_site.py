"""The site of the documentation: it builds without a warning, has every public name, and opens without a network."""

from __future__ import annotations

import importlib
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
BUILDER = runpy.run_path(str(ROOT / "docs" / "build.py"))

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site() -> Path:
    """Dead links and anchors end the build."""
    pytest.importorskip("zensical")
    assert BUILDER["build"]() == 0
    return ROOT / "build" / "docs" / "site"


def anchors(page: Path) -> set[str]:
    return set(re.findall(r'\bid="([^"]+)"', page.read_text(encoding="utf-8")))


def test_the_reference_has_every_public_name(site: Path) -> None:
    """Under its own module, or under another that offers the same object."""
    missing, shown = {}, {}
    for name, path in BUILDER["modules"]():
        there = anchors(site / "reference" / f"{BUILDER['page_of'](path)}.html")
        module = importlib.import_module(f"coterie.{name}".rstrip("."))
        for offered in module.__all__:
            full = f"{module.__name__}.{offered}"
            (shown if full in there else missing)[full] = getattr(module, offered)
    for full, thing in missing.items():
        assert any(thing is other and full.endswith(at.rpartition(".")[2]) for at, other in shown.items()), full


def test_every_page_is_in_the_navigation(site: Path) -> None:
    """Whoever adds a page lists it in docs/zensical.toml."""
    config = (ROOT / "docs" / "zensical.toml").read_text(encoding="utf-8")
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert not {page for page in pages if f'"{page}"' not in config}


def test_pages_are_short_enough_to_read() -> None:
    """Tables, code and pictures do not count."""
    for page in (ROOT / "docs").rglob("*.md"):
        text = re.sub(r"^```.*?^```$|^\|.*$|^    .*$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        assert len(text.split()) <= 1500, page


def test_it_opens_from_a_file_without_a_network(site: Path, browser: Any) -> None:
    asked: list[str] = []
    page = browser.new_page()
    page.set_default_timeout(120_000)  # milliseconds; a busy machine takes its time
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("/")
    page.get_by_placeholder("Search").press_sequentially("kinship", delay=50)
    page.get_by_role("option").filter(has_text="KinshipWrapper").first.wait_for()
    page.goto((site / "games" / "chess.html").as_uri())
    assert page.locator("img[alt=chess]").evaluate("image => image.naturalWidth") > 100
    page.close()
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))]
