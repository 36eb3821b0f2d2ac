"""Plain data (dicts, lists, numbers, strings) from YAML and from callers, within limits that keep a small file small.

The limits are the constants below. ``COTERIE_LIMITS=4`` in the environment multiplies all of them by 4, for files that
you trust and worlds that need more.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ..errors import UsageError

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_VALUES",
    "limit",
    "parse_yaml",
    "plain_data",
    "read_yaml",
    "refuse",
    "short",
    "told",
]

MAX_BYTES = 4 * 2**20
"""Size of a file."""

MAX_VALUES = 1_000_000
"""Values in a file, names included; what an alias stands for counts each time."""

MAX_DEPTH = 30
"""Lists and mappings inside each other."""


def limit(usual: int) -> int:
    """A limit times ``COTERIE_LIMITS``.

    Raises:
        UsageError: ``COTERIE_LIMITS`` is not a whole number from 1 to 999.
    """
    factor = os.environ.get("COTERIE_LIMITS", "1")
    if not (factor.isascii() and factor.isdigit() and 0 < len(factor) < 4 and int(factor)):
        raise UsageError(f"COTERIE_LIMITS is {told(factor)}; it must be a whole number from 1 to 999.")
    return usual * int(factor)


def refuse(message: str, needed: int, usual: int) -> UsageError:
    """The error for something beyond a limit: the message, and the ``COTERIE_LIMITS`` that it needs at least."""
    return UsageError(
        f"{message} If you mean it, set the environment variable COTERIE_LIMITS={-(-needed // usual)} or higher, which "
        "multiplies all such limits."
    )


def told(value: Any) -> str:
    """A value as messages show it, in at most 60 characters."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"a number of about {int(value.bit_length() * 0.30103) + 1:,} digits"
    try:
        text = f"{value:,}" if type(value) is int else repr(value[:61] if isinstance(value, (str, bytes)) else value)
    except (ValueError, RecursionError):  # it holds a number too long to print, or is nested too deeply
        return f"a {type(value).__name__} too large to show"
    return short(text)


def short(name: Any) -> str:
    """A name as it stands, if it can be printed, in at most 60 characters."""
    text = name if isinstance(name, str) and name.isprintable() else told(name)
    return text if len(text) <= 60 else f"{text[:57]}..."


def plain_data(value: Any, what: str) -> Any:
    """A copy in which mappings are dicts, tuples are lists, and NumPy arrays and numbers are lists and numbers.

    Dataclasses stay dataclasses, with such fields.

    Args:
        value: what a caller or a file gave; other objects are kept.
        what: names it in messages.

    Raises:
        UsageError: more values than ``MAX_VALUES``, or nested deeper than ``MAX_DEPTH``.
    """
    values, depth, count = limit(MAX_VALUES), limit(MAX_DEPTH), 0

    def copied(one: Any, level: int) -> Any:
        nonlocal count
        count += 1
        if count > values:
            raise _many(what, values, count)
        if level > depth:
            raise _deep(what, depth)
        if isinstance(one, Mapping):
            return {name: copied(inner, level + 1) for name, inner in one.items()}
        if isinstance(one, (tuple, list)):
            return [copied(inner, level + 1) for inner in one]
        if dataclasses.is_dataclass(one) and not isinstance(one, type):
            return dataclasses.replace(one, **{name: copied(inner, level + 1) for name, inner in vars(one).items()})
        return one.tolist() if hasattr(one, "tolist") else one

    return copied(value, 0)


def _many(what: str, most: int, count: int) -> UsageError:
    return refuse(f"{what} has more than {most:,} values, counting an alias as what it stands for.", count, MAX_VALUES)


def _deep(what: str, deepest: int) -> UsageError:
    return refuse(f"{what} has lists or mappings more than {deepest} levels deep.", deepest + 1, MAX_DEPTH)


class _Loader(yaml.SafeLoader):
    """Counts values and levels while it composes, before anything that an alias stands for is copied."""

    def __init__(self, text: str, what: str) -> None:
        super().__init__(text)
        self.what, self.count, self.depth = what, 0, 0
        self.most, self.deepest = limit(MAX_VALUES), limit(MAX_DEPTH)
        self.sizes: dict[yaml.Node, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose a value and what is in it."""
        alias, before = self.check_event(yaml.AliasEvent), self.count
        self.depth += 1
        if self.depth > self.deepest + 1:
            raise _deep(self.what, self.deepest)
        node = super().compose_node(parent, index)
        self.depth -= 1
        if node is None:
            return None
        if alias and node not in self.sizes:
            raise UsageError(f"{self.what} has an alias inside what it stands for; write the values out.")
        self.count += self.sizes[node] if alias else 1
        self.sizes.setdefault(node, self.count - before)
        if self.count > self.most:
            raise _many(self.what, self.most, self.count)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Construct a value; a scalar that its tag does not fit is told by line."""
        try:
            return super().construct_object(node, deep)
        except (UsageError, yaml.YAMLError):
            raise
        except Exception:  # whatever int(), dates and the like stumble over
            kind = node.tag.rpartition(":")[2]
            raise UsageError(
                f"{self.what}, line {node.start_mark.line + 1}: {told(node.value)} cannot be read as {kind}."
            ) from None


def parse_yaml(text: str, what: str) -> Any:
    """The data in a YAML text.

    Args:
        text: one YAML document.
        what: names it in messages.

    Raises:
        UsageError: it is not YAML, or beyond the limits.
    """
    loader = None
    try:
        loader = _Loader(text, what)
        return loader.get_single_data()
    except UsageError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{what} cannot be read as YAML: {' '.join(str(error).split())[:300]}.") from None
    finally:
        if loader is not None:
            loader.dispose()


def read_yaml(path: str | Path) -> dict[str, Any]:
    """The mapping in a YAML file; an empty file has an empty one.

    Raises:
        UsageError: there is no such file, it is too large, or it does not hold YAML or a mapping.
    """
    size = limit(MAX_BYTES)
    try:
        with open(path, "rb") as file:
            data = file.read(size + 1)
        text = data.decode("utf-8")
    except FileNotFoundError:
        raise UsageError(f"There is no file {str(path)!r}.") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not a text in UTF-8: {error}.") from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        raise UsageError(f"{short(str(path))} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if len(data) > size:
        raise refuse(f"{path} is larger than {size:,} bytes.", size + 1, MAX_BYTES)
    found = parse_yaml(text, str(path))
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise UsageError(f"{path} holds {told(found)}, not a mapping of fields such as `name: value`.")
    return found
