"""The benchmark that compares schemes where self-play runs in circles."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from coterie.benchmarks.schemes import SCHEMES, distance, main

SHORT = ["--updates", "1", "--every", "1", "--games", "16"]


@pytest.mark.parametrize(
    ("chances", "wins"),
    [
        ((1 / 4, 1 / 2, 1 / 4), 0.0),
        ((1 / 3, 1 / 3, 1 / 3), 1 / 3),
        ((0, 0, 1), 2.0),
        ((1, 0, 0), 1.0),
        ((0, 1, 0), 1.0),
    ],
)
def test_the_distance_is_what_a_best_response_wins(chances: tuple[float, ...], wins: float) -> None:
    assert distance(np.array(chances)) == pytest.approx(wins)


def test_runs_are_added_and_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results, picture = tmp_path / "schemes.jsonl", tmp_path / "schemes.png"
    main([*SHORT, "--schemes", "psro", "--results", str(results)])
    first = results.read_text()
    capsys.readouterr()
    main([*SHORT, "--results", str(results), "--picture", str(picture)])
    assert results.read_text().startswith(first)
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert {(row["scheme"], row["update"]) for row in rows} == {(name, update) for name in SCHEMES for update in (0, 1)}
    assert len(capsys.readouterr().out.splitlines()) == len(rows) - 2  # the first run was only read
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len({row["distance"] for row in rows if row["update"] == 0}) == 1  # all begin with the same player
    assert all(sum(row["chances"]) == pytest.approx(1.0, abs=1e-3) for row in rows)


def test_no_measurement_at_all_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--every", "0"])
    assert "at least 1" in capsys.readouterr().err
