"""The blocks of the environment pages run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


PRINTED = [
    f"games/{game}.md"
    for game in ("tictactoe", "go", "gridworld", "gridworld-maps", "kuhn_poker", "leduc_poker", "matrix")
]
"""Pages that show what their blocks print."""


@pytest.mark.parametrize("page", ["environments.md", "games/highest_number.md", "games/highest_string.md", *PRINTED])
def test_blocks_run(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text()
    names: dict[str, object] = {"__name__": "page"}
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    if page in PRINTED:
        assert capsys.readouterr().out in text
