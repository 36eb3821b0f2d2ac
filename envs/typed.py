"""Reads plain data as frozen dataclasses whose annotations say what is allowed; pydantic does the reading.

A field's annotation holds its bounds: ``hp: Annotated[Whole, Interval(ge=0, le=30)]``. This file turns pydantic's first
finding into one sentence: the field by its full path, what came, what is allowed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, cast, get_args, get_origin, get_type_hints

from annotated_types import Interval
from pydantic import BeforeValidator, Strict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from ..errors import UnknownName, UsageError
from .plain import short, told

__all__ = ["STRICT", "Flag", "Number", "Whole", "bounds", "check", "overlaid", "read"]

_T = TypeVar("_T")


def _no_flag(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("pydantic would read it as 0 or 1")
    return value


Flag: TypeAlias = Annotated[bool, Strict()]
"""true or false; 1 and "yes" are neither."""
Whole: TypeAlias = Annotated[int, Strict()]
"""A whole number; True is none, nor is 2.0."""
Number: TypeAlias = Annotated[float, BeforeValidator(_no_flag)]
"""A finite number; strings such as 1e-3, which YAML 1.1 does not read as a number, are taken."""

STRICT: Any = {"extra": "forbid", "allow_inf_nan": False, "revalidate_instances": "always"}
"""``__pydantic_config__`` of the outermost dataclass: holds for those inside it too."""

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}
_EXAMPLES = {int: "5", float: "0.5", str: "'...'"}


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


@cache
def _field_adapter(kind: type, name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_hints(kind)[name], config={"allow_inf_nan": False})


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {f.name: hints[f.name] for f in dataclasses.fields(kind)}


def read(kind: type[_T], data: Any, what: str) -> _T:
    """A dataclass from plain data; missing fields take their defaults, instances of dataclasses are checked again.

    Args:
        kind: the dataclass.
        data: what to read.
        what: what messages call it: ``"a gridworld"``.

    Raises:
        UnknownName: a field or choice that doesn't exist.
        UsageError: a value of the wrong type, or out of bounds.
    """
    try:
        return cast(_T, _adapter(cast(Any, kind)).validate_python(data))
    except ValidationError as error:
        found = cast("dict[str, Any]", error.errors(include_url=False)[0])
        raise _fault(kind, found, what) from None


def check(config: Any, path: str = "") -> None:
    """Check an instance of a dataclass and the dataclasses inside it, for constructors.

    Raises:
        UnknownName: a choice that doesn't exist.
        UsageError: a value of the wrong type, or out of bounds.
    """
    kind: Any = type(config)
    for name, hint in _hints(kind).items():
        value = getattr(config, name)
        if dataclasses.is_dataclass(value):
            check(value, f"{path}{name}.")
            continue
        try:
            _field_adapter(kind, name).validate_python(value)
        except ValidationError as error:
            raise _fault(hint, cast("dict[str, Any]", error.errors(include_url=False)[0]), "", path + name) from None


def bounds(kind: type, field: str) -> tuple[float, float]:
    """Lowest and highest value of a number."""
    (found,) = (mark for mark in _bare(_hints(kind)[field])[1] if isinstance(mark, Interval))
    return cast("tuple[float, float]", (found.ge, found.le))


def overlaid(base: Any, changes: Any, path: str = "") -> Any:
    """Data for ``read``: a dataclass or mapping with nested changes; None removes an entry of a mapping.

    Raises:
        UnknownName: an entry to remove that doesn't exist.
    """
    if not isinstance(changes, Mapping):
        return changes
    if dataclasses.is_dataclass(base):
        now = {f.name: getattr(base, f.name) for f in dataclasses.fields(base)}
    elif isinstance(base, Mapping):
        now = dict(base)
        for name in [name for name, change in changes.items() if change is None]:
            if name not in now:
                raise UnknownName(f"entry of {path}", str(name), map(str, now))
            del now[name]
        changes = {name: change for name, change in changes.items() if change is not None}
    else:
        return changes
    return now | {
        name: overlaid(now.get(name), change, f"{path}.{name}" if path else str(name))
        for name, change in changes.items()
    }


# -- messages ----------------------------------------------------------------------------------------------------------


def _fault(hint: Any, found: Mapping[str, Any], what: str, path: str = "") -> UsageError:
    """The error for one of pydantic's findings."""
    raised = found.get("ctx", {}).get("error")
    if isinstance(raised, UsageError):  # by __post_init__
        return raised
    loc: list[str | int] = list(found["loc"])
    value = found["input"]
    of_key = bool(loc) and loc[-1] == "[key]"
    of_name = of_key or found["type"] in ("unexpected_keyword_argument", "invalid_key", "missing")
    if of_key:
        loc.pop()
    name = loc.pop() if of_name else ""
    for part in loc:
        path += f"[{part}]" if isinstance(part, int) else f"{path and '.'}{short(part)}"
        hint = _inside(hint, part)
    bare = _bare(hint)[0]
    if of_key:
        hint = get_args(bare)[0]
        if choices := _choices(hint):
            return UnknownName(f"key in {path}", short(value), choices)
        wanted = _wanted(hint) if isinstance(value, str) else "a string; write it in quotes"
        return UsageError(f"{path} has the key {told(value)}; it must be {wanted}.")
    if of_name and dataclasses.is_dataclass(bare):
        if found["type"] == "missing":
            return UsageError(f"{path} has no {name}; add `{name}: ...` to it.")
        return UnknownName(f"field of {path or what}", short(name), _hints(cast(type, bare)))
    if choices := _choices(hint):
        return UnknownName(path, short(value), choices)
    if found["type"] in ("too_long", "too_short"):
        return UsageError(f"{path} has {len(value):,} entries; it must be {_wanted(hint)}.")
    wanted = _wanted(hint)
    if wanted == _wanted(str) and isinstance(value, (bool, int, float)):
        wanted += f'; write "{told(value)}" in quotes'
    return UsageError(f"{path or 'The configuration'} is {told(value)}; it must be {wanted}.")


def _bare(hint: Any) -> tuple[Any, list[Any]]:
    """The annotated type and its marks."""
    kind, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    return kind, marks


def _inside(hint: Any, part: str | int) -> Any:
    """The annotation of a field, an entry or an item."""
    kind = _bare(hint)[0]
    if dataclasses.is_dataclass(kind):
        return _hints(cast(type, kind))[str(part)]
    inside = get_args(kind)
    if get_origin(kind) is tuple:
        return inside[0 if inside[-1] is Ellipsis else int(part)]
    return inside[1]


def _choices(hint: Any) -> list[str]:
    kind = _bare(hint)[0]
    return [str(choice) for choice in get_args(kind)] if get_origin(kind) is Literal else []


def _wanted(hint: Any) -> str:
    """What an annotation allows, after "it must be"."""
    kind, marks = _bare(hint)
    for mark in marks:
        if isinstance(mark, FieldInfo) and mark.description:
            return mark.description
    if dataclasses.is_dataclass(kind):
        return f"a section with fields: {', '.join(_hints(cast(type, kind)))}"
    if get_origin(kind) is tuple:
        inside = get_args(kind)
        return "a list, such as [a, b]" if inside[-1] is Ellipsis else f"a list of {len(inside)} numbers"
    if kind not in _WORDS:
        return "a mapping from names to values, such as {name: value}"
    ranges = [_range(mark) for mark in marks if isinstance(mark, Interval)]
    return " ".join([_WORDS[kind], *ranges]) if ranges or kind is bool else f"{_WORDS[kind]}, such as {_EXAMPLES[kind]}"


def _range(interval: Interval) -> str:
    if interval.ge is not None and interval.le is not None:
        return f"from {interval.ge:,} to {interval.le:,}"
    ends = (("of at least", interval.ge), ("above", interval.gt), ("of at most", interval.le), ("below", interval.lt))
    return " and ".join(f"{word} {end:,}" for word, end in ends if end is not None)
