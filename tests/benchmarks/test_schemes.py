"""The benchmark that compares schemes where self-play runs in circles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from coterie.benchmarks.schemes import SCHEMES, main

SHORT = ["--updates", "1", "--every", "1", "--games", "16"]


def test_runs_are_added_and_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results, picture = tmp_path / "schemes.jsonl", tmp_path / "schemes.png"
    main([*SHORT, "--schemes", "psro", "--results", str(results)])  # rock, paper and scissors
    first = results.read_text()
    capsys.readouterr()
    main([*SHORT, "--results", str(results), "--picture", str(picture)])
    assert results.read_text().startswith(first)
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert {(row["scheme"], row["update"]) for row in rows} == {
        (name, update) for name in SCHEMES[:-1] for update in (0, 1)
    }
    assert len(capsys.readouterr().out.splitlines()) == len(rows) - 2  # the first run was only read
    assert picture.read_bytes().startswith(b"\x89PNG")
    (league,) = (row for row in rows if (row["scheme"], row["update"]) == ("league", 1))
    assert set(league["population"]) == {"nash", "alike"}
    assert all(0 < value <= 2 for value in league["population"].values())
    assert sum(league["mixed"].values()) == pytest.approx(1, abs=1e-2)
    assert len({row["exploitability"] for row in rows if row["update"] == 0}) == 1  # all begin with the same player


@pytest.mark.parametrize(("game", "scheme"), [("kuhn_poker", "fictitious"), ("tictactoe", "psro")])
def test_averages_and_mixtures_are_measured_in_every_game(
    game: str, scheme: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([game, *SHORT, "--updates", "2", "--schemes", scheme, "--results", str(tmp_path / "results.jsonl")])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["scheme"], row["games"]) for row in rows] == [(scheme, 0), (scheme, 16), (scheme, 32)]
    assert all(0 < row[name] <= 2 for row in rows for name in ("exploitability", "newest"))
    assert [row["decisions"] // 16 > row["update"] for row in rows] == [False, True, True]  # both players' count


def test_no_measurement_at_all_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--every", "0"])
    assert "at least 1" in capsys.readouterr().err
