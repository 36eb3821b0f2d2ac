"""The benchmark that asks what a setting does to learning."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("torch")

from coterie.benchmarks.learning import main, settings


def test_words_are_settings() -> None:
    assert settings(["credit.lam=0.5", "credit.memory=0", "policy.model=tiny-v0"]) == {
        "credit": {"lam": 0.5, "memory": 0},
        "policy": {"model": "tiny-v0"},
    }


@pytest.mark.slow
def test_a_look_is_exact_and_follows_from_the_seed(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--updates", "2", "--every", "1", "rollout.games=64", "credit.lam=1"]
    main(words)
    first = [line.rpartition("  ")[0] for line in capsys.readouterr().out.splitlines()]
    main(words)
    assert [line.rpartition("  ")[0] for line in capsys.readouterr().out.splitlines()] == first
    assert len(first) == 2
    assert all(re.fullmatch(r"update +\d+  drawn .*% / .*%  won .*% / .*%  corner 0\.\d{3}", line) for line in first)


def test_what_is_no_setting_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "isn't of the form SECTION.FIELD=VALUE" in capsys.readouterr().err
