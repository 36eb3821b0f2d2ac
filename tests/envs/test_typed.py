"""Dataclasses from plain data: every fault is one sentence with the field's path, what came and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import pytest
from annotated_types import Interval, Len, Predicate
from pydantic import Field

from coterie.envs.typed import STRICT, Flag, Number, Whole, bounds, overlaid, read
from coterie.errors import UnknownName, UsageError


@dataclass(frozen=True)
class Wheel:
    size: Annotated[Whole, Interval(ge=10, le=29)]
    tyre: Literal["slick", "knobbly"] = "slick"


@dataclass(frozen=True)
class Bike:
    __pydantic_config__: ClassVar[Any] = STRICT

    wheels: tuple[Wheel, ...] = ()
    bags: Mapping[Annotated[str, Predicate(str.isalpha), Field(description="a word")], Wheel] = field(
        default_factory=dict
    )
    gears: Annotated[Whole, Interval(ge=1)] = 3
    slope: Annotated[Number, Interval(ge=0, lt=1)] = 0.5
    weight: Annotated[Number, Interval(gt=0)] = 9.5
    bell: Flag = True
    name: str = ""
    axles: tuple[Number, Number] = (1.0, 1.0)
    riders: Annotated[tuple[str, ...], Len(0, 2), Field(description="a list of at most 2 names")] = ()

    def __post_init__(self) -> None:
        if self.gears == 13:
            raise UsageError("Thirteen gears are bad luck; take 12.")


def test_a_whole_one_is_read() -> None:
    data = {"wheels": [{"size": 28}], "bags": {"left": {"size": 10, "tyre": "knobbly"}}, "slope": "1e-3", "weight": 8}
    bike = read(Bike, data, "a bike")
    assert bike == Bike((Wheel(28),), {"left": Wheel(10, "knobbly")}, slope=0.001, weight=8.0)
    assert type(bike.weight) is float
    assert read(Bike, bike, "a bike") == bike


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (5, "The configuration is 5; it must be a section with fields: wheels, bags, gears, "),
        (
            {"geers": 1},
            "Unknown field of a bike 'geers'. Did you mean 'gears'? Known: axles, bags, bell, gears, name, ",
        ),
        ({7: 1}, "Unknown field of a bike '7'. Known: "),
        ({"wheels": [{"size": 9}]}, "wheels[0].size is 9; it must be a whole number from 10 to 29."),
        ({"wheels": [{"size": 20}, {}]}, "wheels[1] has no size; add `size: ...` to it."),
        ({"wheels": [{"size": 20, "tire": 1}]}, "Unknown field of wheels[0] 'tire'. Did you mean 'tyre'?"),
        ({"wheels": [Wheel(99)]}, "wheels[0].size is 99; it must be a whole number from 10 to 29."),
        ({"wheels": {"size": 20}}, "wheels is {'size': 20}; it must be a list, such as [a, b]."),
        ({"wheels": "two"}, "wheels is 'two'; it must be a list, such as [a, b]."),
        (
            {"bags": {"left": {"size": 20, "tyre": "slik"}}},
            "Unknown bags.left.tyre 'slik'. Did you mean 'slick'? Known",
        ),
        ({"bags": {"left": {"size": 20, "tyre": ["slick"]}}}, "Unknown bags.left.tyre "),
        ({"bags": {"l1": {"size": 20}}}, "bags has the key 'l1'; it must be a word."),
        ({"bags": {True: {"size": 20}}}, "bags has the key True; it must be a string; write it in quotes."),
        ({"bags": [1]}, "bags is [1]; it must be a mapping from names to values, such as {name: value}."),
        ({"gears": 0}, "gears is 0; it must be a whole number of at least 1."),
        ({"gears": True}, "gears is True; it must be a whole number of at least 1."),
        ({"gears": 2.0}, "gears is 2.0; it must be a whole number of at least 1."),
        ({"gears": -(10**5000)}, "gears is a number of about 5,001 digits; it must be a whole number of at least 1."),
        ({"gears": [10**5000]}, "gears is a list too large to show; it must be a whole number of at least 1."),
        ({"gears": 13}, "Thirteen gears are bad luck; take 12."),
        ({"slope": 1}, "slope is 1; it must be a number of at least 0 and below 1."),
        ({"slope": False}, "slope is False; it must be a number of at least 0 and below 1."),
        ({"weight": 0}, "weight is 0; it must be a number above 0."),
        ({"weight": 10**5000}, "weight is a number of about 5,001 digits; it must be a number above 0."),
        ({"weight": float("nan")}, "weight is nan; it must be a number above 0."),
        ({"weight": "inf"}, "weight is 'inf'; it must be a number above 0."),
        ({"weight": "heavy"}, "weight is 'heavy'; it must be a number above 0."),
        ({"weight": None}, "weight is None; it must be a number above 0."),
        ({"bell": 1}, "bell is 1; it must be true or false."),
        ({"name": 12}, "name is 12; it must be a string, such as '...'; write \"12\" in quotes."),
        (
            {"name": ["a"] * 99},
            "name is ['a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', '...; it must be a str",
        ),
        ({"axles": [1]}, "axles is [1]; it must be a list of 2 numbers."),
        ({"axles": [1, 2, 3]}, "axles has 3 entries; it must be a list of 2 numbers."),
        ({"axles": [1, "x"]}, "axles[1] is 'x'; it must be a number, such as 0.5."),
        ({"riders": ["a", "b", "c"]}, "riders has 3 entries; it must be a list of at most 2 names."),
    ],
    ids=[f"{k}" for k in range(35)],
)
def test_faults_are_told(data: Any, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(Bike, data, "a bike")
    assert str(caught.value).startswith(told)


def test_changes_lie_on_top_and_none_removes() -> None:
    bike = Bike((Wheel(20),), {"left": Wheel(20), "right": Wheel(21)})
    changes = {"bags": {"left": None, "right": {"tyre": "knobbly"}, "top": {"size": 12}}, "wheels": [], "gears": 5}
    after = read(Bike, overlaid(bike, changes), "a bike")
    assert after == Bike((), {"right": Wheel(21, "knobbly"), "top": Wheel(12)}, gears=5)
    assert len(bike.bags) == 2
    with pytest.raises(UnknownName, match=r"entry of bags 'lefd'\. Did you mean 'left'"):
        overlaid(bike, {"bags": {"lefd": None}})


def test_bounds_are_those_of_the_annotation() -> None:
    assert bounds(Wheel, "size") == (10, 29)
