"""The benchmark that compares kinds of credit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from coterie.benchmarks.credit import CREDITS, main

SHORT = ["--updates", "1", "--every", "1", "--games", "8"]


def test_runs_are_added_and_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results, picture = tmp_path / "credit.jsonl", tmp_path / "credit.png"
    main([*SHORT, "--seeds", "0", "--credits", "rae", "--results", str(results)])
    first = results.read_text()
    capsys.readouterr()
    main([*SHORT, "--seeds", "0", "1", "--results", str(results), "--picture", str(picture)])
    assert results.read_text().startswith(first)
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert sorted((row["credit"], row["seed"], row["update"]) for row in rows) == sorted(
        (credit, seed, update) for credit in CREDITS for seed in (0, 1) for update in (0, 1)
    )
    assert len(capsys.readouterr().out.splitlines()) == len(rows) - 2  # the first run was only read
    assert picture.read_bytes().startswith(b"\x89PNG")
    start = {row["seed"]: {r: row[r] for r in ("Attacker", "Defender")} for row in rows[:2] if row["update"] == 0}
    for row in rows:
        if row["update"] == 0 and row["seed"] in start:  # the kinds begin with the same player and the same games
            assert {role: row[role] for role in start[row["seed"]]} == start[row["seed"]]
        else:
            assert 2 <= row.get("length", 2) <= 4


def test_games_come_in_whole_groups(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--games", "12"])
    assert "a multiple of 8" in capsys.readouterr().err
