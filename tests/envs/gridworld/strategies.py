"""Configurations of all sorts, possible or not."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hypothesis import strategies as st

from coterie.envs.gridworld.config import (
    ActionRules,
    AgentRules,
    DeathRules,
    GridworldConfig,
    KinshipRules,
    MapRules,
    ObjectType,
    ObservationRules,
    Region,
)

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,9}", fullmatch=True)
WHOLE = st.integers(0, 30_000)
PART = st.floats(0, 1)
COUNTS = st.dictionaries(NAMES, WHOLE, max_size=3)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=9)


def built(kind: type, **special: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Any instance of a dataclass: fields without a strategy of their own by the type of their default."""
    usual = {int: WHOLE, bool: st.booleans(), float: PART, str: TEXTS}
    plain = {f.name: usual[type(f.default)] for f in fields(kind) if f.name not in special}
    return st.builds(kind, **special, **plain)


REGIONS = built(Region, objects=COUNTS)
LINES = st.lists(st.text("#.@ can", min_size=1, max_size=6).map(str), min_size=1, max_size=4)
CONFIGS = built(
    GridworldConfig,
    items=st.lists(NAMES, max_size=4).map(tuple),
    objects=st.dictionaries(
        NAMES, built(ObjectType, glyph=TEXTS, inputs=COUNTS, outputs=COUNTS, stock=st.integers(-1, 99)), max_size=4
    ),
    agent=built(AgentRules),
    actions=built(ActionRules, costs=COUNTS),
    death=built(DeathRules),
    observation=built(ObservationRules, hidden=st.lists(TEXTS, max_size=3).map(tuple)),
    map=built(
        MapRules,
        objects=COUNTS,
        terrain_options=COUNTS,
        regions=st.lists(REGIONS, max_size=3).map(tuple),
        text=st.one_of(st.just(""), TEXTS, LINES.map("\n".join), LINES.map(lambda lines: "\n".join(lines) + "\n")),
    ),
    kinship=built(
        KinshipRules,
        pct=st.lists(PART, max_size=3).map(tuple),
        labels=st.lists(st.integers(-1, 9), max_size=3).map(tuple),
        matrix=st.lists(st.lists(PART, max_size=3).map(tuple), max_size=3).map(tuple),
        pedigree=st.lists(st.tuples(WHOLE, WHOLE, WHOLE), max_size=3).map(tuple),
    ),
    randomize=st.dictionaries(NAMES, st.tuples(PART, PART), max_size=3),
)
