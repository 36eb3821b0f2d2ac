"""Configurations of all sorts: fields within their bounds, worlds possible or not."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from annotated_types import Interval, Predicate
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
PART = st.floats(0, 1)
COUNTS = st.dictionaries(NAMES, st.integers(0, 30_000), max_size=3)
AMOUNTS = st.dictionaries(NAMES, st.integers(1, 30_000), max_size=3)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=9)
GLYPHS = st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters=".@")


def allowed(hint: Any) -> st.SearchStrategy[Any]:
    """Any value that an annotation allows."""
    kind, *marks = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    low, high = next(((mark.ge, mark.le) for mark in marks if isinstance(mark, Interval)), (-99, 99))
    usual = {int: st.integers(low, high), bool: st.booleans(), float: st.floats(low, high), str: TEXTS}
    tests = [mark.func for mark in marks if isinstance(mark, Predicate)]
    return usual[kind].filter(lambda value: all(test(value) for test in tests))


def built(kind: type, **special: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Any instance of a dataclass: fields without a strategy of their own by their annotation."""
    hints = get_type_hints(kind, include_extras=True)
    plain = {f.name: allowed(hints[f.name]) for f in fields(kind) if f.name not in special}
    return st.builds(kind, **special, **plain)


ANCESTOR = st.integers(-1, 30_000)
REGIONS = built(Region, objects=COUNTS)
LINES = st.lists(st.text("#.@ can", min_size=1, max_size=6).map(str), min_size=1, max_size=4)
CONFIGS = built(
    GridworldConfig,
    items=st.lists(NAMES.filter(lambda name: name != "hp"), min_size=1, max_size=4, unique=True).map(tuple),
    objects=st.dictionaries(
        NAMES.filter(lambda name: name != "agent"),
        built(ObjectType, glyph=GLYPHS, inputs=AMOUNTS, outputs=AMOUNTS),
        min_size=1,
        max_size=4,
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
        normalise=st.sampled_from([None, False, True]),
        pct=st.lists(PART, max_size=3).map(tuple),
        labels=st.lists(st.integers(-1, 9), max_size=3).map(tuple),
        matrix=st.lists(st.lists(PART, max_size=3).map(tuple), max_size=3).map(tuple),
        pedigree=st.lists(st.tuples(ANCESTOR, ANCESTOR, ANCESTOR), max_size=3).map(tuple),
    ),
    randomize=st.dictionaries(NAMES, st.tuples(PART, PART), max_size=3),
)
