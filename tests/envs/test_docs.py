"""The blocks of the environment pages run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["environments.md", "games/tictactoe.md", "games/highest_number.md"])
def test_blocks_run(page, capsys):
    text = (DOCS / page).read_text()
    names: dict[str, object] = {"__name__": "page"}
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    if page == "games/tictactoe.md":
        assert capsys.readouterr().out in text
