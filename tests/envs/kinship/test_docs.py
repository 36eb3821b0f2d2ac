"""The example on kinship learns what Hamilton's rule says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_giving_pays_where_relatedness_times_benefit_exceeds_the_cost():
    spec = importlib.util.spec_from_file_location("kinship_altruism", ROOT / "examples" / "kinship_altruism.py")
    assert spec
    assert spec.loader
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    for pair, share in example.main(games=3000, seed=3).items():
        assert share > 0.9 if pair in ("siblings", "parent and child") else share < 0.1, pair
