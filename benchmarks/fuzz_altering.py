"""Alters real inputs for ``benchmarks.fuzz``: bytes and texts, nested plain data, and data within data."""

from __future__ import annotations

import base64
import contextlib
import gzip
import itertools
import json
import random
import re
import zlib
from collections.abc import Iterator
from copy import deepcopy
from math import inf, nan
from typing import Any

import yaml

from ..envs.replay.packing import checksum

__all__ = ["EXTREMES", "HOSTILE", "altered", "altered_bytes", "altered_tree"]

EXTREMES = (-1, 0, 1, 2, 127, 255, 256, 2**15, 2**31 - 1, -(2**31), 2**32, 2**63 - 1, 2**63, -(2**63) - 1, 10**30)
TEXTS = ("", "0", "nan", "\0", "é☃\ud800", "x" * 10_000)
OTHERS: tuple[Any, ...] = (
    None,
    True,
    False,
    0.5,
    -0.0,
    1e308,
    inf,
    -inf,
    nan,
    [],
    {},
    [[]],
    [0] * 1000,
    [None],
    {"a": {}},
)
STANDING_IN: tuple[Any, ...] = (
    {"!array": [0, 1]},
    {"!array": [[nan]]},
    {"!array": []},
    {"!bytes": "ab"},
    {"!object": 0},
)
HOSTILE: tuple[Any, ...] = (*EXTREMES, *TEXTS, *OTHERS)
MARKS = (b"\0", b"\xff", b"\n", b'"', b"\\", b"[", b"(", b"{", b"-", b"\xed\xa0\x80")


def altered_bytes(rng: random.Random, data: bytes, other: bytes = b"") -> bytes:
    """Bytes with a few changes: cut, removed, repeated, spliced with ``other``, flipped, or other numbers in a text."""
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 1, 2, 8, 64, 1000)))
        kind = rng.randrange(8)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[:at] + data[end:]
        elif kind == 2:
            data = data[:end] + data[at:end] * rng.choice((1, 1, 2, 100)) + data[end:]
        elif kind == 3 and other:
            data = data[:at] + other[rng.randrange(len(other)) :]
        elif kind == 4 and at < len(data):
            data = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
        elif kind == 5:
            data = data[:at] + rng.choice(MARKS) + data[at:]
        elif kind == 6 and (numbers := list(re.finditer(rb"-?\d+", data[:100_000]))):
            found = rng.choice(numbers)
            data = data[: found.start()] + str(rng.choice(EXTREMES)).encode() + data[found.end() :]
        elif kind == 7:
            data = data[:at] + rng.randbytes(end - at) + data[end:]
    return data


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """(container, key) of everything in nested plain data."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(pairs):
        yield tree, key
        yield from _places(value)


def altered_tree(rng: random.Random, tree: Any, more: tuple[Any, ...] = ()) -> Any:
    """A copy of nested plain data with a few values replaced (also by ``more``), altered, swapped or removed."""
    whole = [deepcopy(tree)]
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        places = list(itertools.islice(_places(whole), 5000))
        # Half of them among the first: otherwise nearly all changes would be in the longest list.
        box, key = rng.choice(places if rng.random() < 0.5 else places[:40])
        kind, value = rng.randrange(6), box[key]
        if kind == 0 and box is not whole:
            del box[key]
        elif kind == 1 and isinstance(value, str):
            box[key] = altered_bytes(rng, value.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
        elif kind == 1 and isinstance(value, int | float):
            box[key] = value + rng.choice((-1, 1, 0.5))
        elif kind == 2:
            there, place = rng.choice(places)
            box[key], there[place] = deepcopy(there[place]), deepcopy(value)
        elif kind == 3 and isinstance(box, list):
            box.insert(key, deepcopy(value))
        elif kind == 4 and isinstance(box, dict):
            box[rng.choice((f"{key}x", "", "game", "config"))] = deepcopy(value)
        else:
            box[key] = deepcopy(rng.choice(HOSTILE + more))
    return whole[0]


def altered(rng: random.Random, data: bytes, suffix: str, other: bytes = b"") -> bytes:
    """The content of a file, altered as bytes or as what its kind holds; half the time with right checksums."""
    if rng.random() < 0.3:
        return altered_bytes(rng, data, other)
    with contextlib.suppress(ValueError, yaml.YAMLError, OverflowError, RecursionError):
        if suffix.endswith(".gz"):
            text = gzip.decompress(data)
            with contextlib.suppress(ValueError):
                return gzip.compress(json.dumps(altered_tree(rng, json.loads(text))).encode(), mtime=0)
            return gzip.compress(altered_bytes(rng, text), mtime=0)
        if suffix == ".state":
            return _state(rng, data)
        if suffix == ".safetensors":  # 8 bytes with the length of a JSON header, the header, the numbers
            end = 8 + int.from_bytes(data[:8], "little")
            head = json.dumps(altered_tree(rng, json.loads(data[8:end]))).encode()
            return len(head).to_bytes(8, "little") + head + data[end:]
        if suffix in (".json", ".jsonl"):
            return json.dumps(_packed(rng, json.loads(data))).encode()
        if suffix == ".yaml":
            return yaml.safe_dump(altered_tree(rng, yaml.safe_load(data)), sort_keys=False).encode()
    return altered_bytes(rng, data, other)


def _packed(rng: random.Random, fields: Any) -> Any:
    """A JSON document, or what the packed fields of a saved game hold."""
    packed = [
        name for name in ("start", "actions", "keys") if isinstance(fields, dict) and _is_packed(fields.get(name))
    ]
    if packed and rng.random() < 0.5:
        name = rng.choice(packed)
        inner = zlib.decompress(base64.b64decode(fields[name]))
        inner = _state(rng, inner) if name == "start" else altered_bytes(rng, inner, inner)
        fields[name] = base64.b64encode(zlib.compress(inner)).decode()
    else:
        fields = altered_tree(rng, fields)
    if isinstance(fields, dict) and "checksum" in fields and rng.random() < 0.5:
        fields["checksum"] = checksum(fields)
    return fields


def _is_packed(text: Any) -> bool:
    return isinstance(text, str) and len(text) > 8


def _state(rng: random.Random, blob: bytes) -> bytes:
    """The bytes of a state with another header or other rows."""
    magic, line, rows = blob.split(b"\n", 2)
    header = json.loads(line)
    if rng.random() < 0.3:
        header = altered_tree(rng, header)
    else:
        rows = altered_bytes(rng, rows, rows)[: len(rows)].ljust(len(rows), b"\0")
    if isinstance(header, dict) and rng.random() < 0.8:
        header["crc"] = zlib.crc32(rows)
    return b"\n".join((magic, json.dumps(header).encode(), rows))
