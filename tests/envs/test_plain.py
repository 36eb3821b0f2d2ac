"""Plain data from YAML and from callers: what it becomes, and the limits that keep a small file small."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie.envs import plain
from coterie.envs.plain import parse_yaml, plain_data, read_yaml
from coterie.errors import UsageError


def test_mappings_lists_and_numbers_of_numpy_become_plain() -> None:
    data = {"a": (1, np.int64(2)), "b": np.eye(2), "c": {"d": np.float32(0.5)}}
    assert plain_data(data, "it") == {"a": [1, 2], "b": [[1.0, 0.0], [0.0, 1.0]], "c": {"d": 0.5}}
    assert type(plain_data(data, "it")["a"][1]) is int


def test_aliases_are_read_and_counted_as_what_they_stand_for(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, z: 3}\nc: [*a, *a]\n"
    assert parse_yaml(text, "it") == {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 2, "z": 3}, "c": [{"x": 1, "y": 2}] * 2}
    assert parse_yaml("a: [1, 2, 3]", "it")
    monkeypatch.setattr(plain, "MAX_VALUES", 29)  # 1 and a 1 + 5, b 1 + 1 + 1 + 5 + 2, c 1 + 1 + 2 * 5
    assert parse_yaml(text, "it")
    monkeypatch.setattr(plain, "MAX_VALUES", 28)
    with pytest.raises(UsageError, match="it has more than 28 values"):
        parse_yaml(text, "it")


def nested(levels: int) -> Any:
    return [nested(levels - 1)] if levels else 1


def test_limits_are_raised_by_a_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    for read in (plain_data, lambda data, what: parse_yaml(str(data), what)):
        monkeypatch.delenv("COTERIE_LIMITS", raising=False)
        assert read(nested(plain.MAX_DEPTH), "it") == nested(plain.MAX_DEPTH)
        with pytest.raises(UsageError, match=r"it has lists or mappings more than 30 levels deep.*COTERIE_LIMITS=2 or"):
            read(nested(plain.MAX_DEPTH + 1), "it")
        monkeypatch.setenv("COTERIE_LIMITS", "2")
        assert read(nested(plain.MAX_DEPTH + 1), "it") == nested(plain.MAX_DEPTH + 1)
    monkeypatch.setattr(plain, "MAX_VALUES", 5)
    assert plain_data([0] * 9, "it") == [0] * 9
    with pytest.raises(UsageError, match=r"it has more than 10 values.*COTERIE_LIMITS=3"):
        plain_data([0] * 10, "it")


@pytest.mark.parametrize("factor", ["", "0", "-1", "1.5", "many", "²", "1000", "9" * 50])
def test_a_factor_that_is_none(factor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_LIMITS", factor)
    with pytest.raises(UsageError, match=r"COTERIE_LIMITS is '.*; it must be a whole number from 1 to 999"):
        plain_data([], "it")


def test_data_that_holds_itself() -> None:
    data: list[Any] = []
    data.append(data)
    with pytest.raises(UsageError, match="levels deep"):
        plain_data(data, "it")


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("a: 1\n")
    assert read_yaml(path) == read_yaml(str(path)) == {"a": 1}
    path.write_text("# nothing\n")
    assert read_yaml(path) == {}
    with pytest.raises(UsageError, match=r"There is no file '.*none\.yaml'"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        read_yaml(tmp_path)
    with pytest.raises(UsageError, match=r"cannot be read: .*null"):
        read_yaml("my\0.yaml")
    monkeypatch.setattr(plain, "MAX_BYTES", 10)
    path.write_text("a: 1234567")
    assert read_yaml(path) == {"a": 1234567}
    path.write_text("a: 12345678")
    with pytest.raises(UsageError, match=r"my\.yaml is larger than 10 bytes\..*COTERIE_LIMITS=2"):
        read_yaml(path)
