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


@pytest.mark.parametrize(
    ("game", "scheme"),
    [("kuhn_poker", "fictitious"), ("tictactoe", "psro"), ("dark_hex_3x2", "league"), ("liars_dice_2", "mmd")],
)
def test_averages_and_mixtures_are_measured_in_every_game(
    game: str, scheme: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([game, *SHORT, "--updates", "2", "--schemes", scheme, "--results", str(tmp_path / "results.jsonl")])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["scheme"], row["games"]) for row in rows] == [(scheme, 0), (scheme, 16), (scheme, 32)]
    assert all(0 < row[name] <= 2 for row in rows for name in ("exploitability", "newest"))
    assert [row["decisions"] // 16 > row["update"] for row in rows] == [False, True, True]  # both players' count


@pytest.mark.slow
def test_larger_games_with_hidden_information_are_measured_exactly(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    for game in ("dark_hex", "liars_dice"):
        main([game, *SHORT, "--schemes", "psro", "--results", str(results.with_suffix(f".{game}"))])
    (hex_first, *_), (dice_first, *_) = (
        [json.loads(line) for line in results.with_suffix(f".{game}").read_text().splitlines()]
        for game in ("dark_hex", "liars_dice")
    )
    assert hex_first["exploitability"] == pytest.approx(1)  # the untrained player: O wins against its X, too
    assert 0.7 < dice_first["exploitability"] < 1  # the uniform choice: 0.781


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--every", "0"], "--every is 0"),
        (["--updates", "0"], "--updates is 0"),
        (["--threads", "-1"], "--threads is -1"),
        (["--games", "24"], "--games is 24: it must be a multiple of 16"),
        (["--games", "0"], "--games is 0"),
        (["--seeds", "-1"], "seed"),
        (["--seeds", "x"], "'x'"),
        (["--schemes", "oracle"], "'oracle'"),
        (["--model", "tinny"], "tinny"),
        (["--results", "."], "cannot be written"),
        (["--results", "no/such/folder.jsonl"], "cannot be written"),
        (["--picture", "no/such/folder.png"], "cannot be written"),
        (["--results", "damaged.jsonl"], "does not hold results"),
        (["--results", "list.jsonl"], "does not hold results"),
        (["--results", "kuhn.jsonl"], "holds other results (game: kuhn_poker)"),
        (["--results", "long.jsonl"], "holds other results (run: 9 updates of 512 games)"),
        (["tictactoo"], "'tictactoo'"),
    ],
)
def test_what_is_refused_is_told_in_one_sentence(
    words: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("damaged.jsonl").write_text('{"scheme": "psro", "se')
    Path("list.jsonl").write_text("[1]")
    Path("kuhn.jsonl").write_text('{"game": "kuhn_poker", "scheme": "psro", "seed": 0}')
    Path("long.jsonl").write_text('{"scheme": "psro", "seed": 0, "run": "9 updates of 512 games"}')
    with pytest.raises(SystemExit) as left:
        main(words if words[0] == "tictactoo" else [*SHORT, *words])
    said = capsys.readouterr().err
    assert left.value.code == 2
    assert told in said
    assert said.count("\n") == 1
