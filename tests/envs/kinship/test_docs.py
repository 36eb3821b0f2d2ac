"""The page on kinship runs, and its example learns what Hamilton's rule says."""

from __future__ import annotations

import importlib.util
import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def test_blocks_run():
    pytest.importorskip("pygame")
    names: dict[str, object] = {"__name__": "page"}
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "kinship.md").read_text(), re.M | re.S)
    assert len(blocks) > 10
    for block in blocks:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # PettingZoo's, of how its games are imported
            exec(compile(block, "kinship.md", "exec"), names)


def test_giving_pays_where_relatedness_times_benefit_exceeds_the_cost():
    spec = importlib.util.spec_from_file_location("kinship_altruism", ROOT / "examples" / "kinship_altruism.py")
    assert spec
    assert spec.loader
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    for pair, share in example.main(games=3000, seed=3).items():
        assert share > 0.9 if pair in ("siblings", "parent and child") else share < 0.1, pair
