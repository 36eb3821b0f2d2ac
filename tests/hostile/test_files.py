"""Files from anyone: every reader takes them or says why not in a sentence, within seconds and 500 MB."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

HERE = Path(__file__).parent
GAMES = ("saved game", "state of", "FEN", "moves of", "SGF", "PGN", "curriculum")
RUNS = ("a run's", "an adapter's", "a model's")


@pytest.fixture(scope="session")
def corpus(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    subprocess.run([sys.executable, str(HERE / "corpus.py"), str(folder / "files")], check=True)
    return folder


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is bounded by setrlimit and /proc")
@pytest.mark.slow
@pytest.mark.parametrize("readers", [pytest.param(GAMES, id="games"), pytest.param(RUNS, id="runs")])
def test_no_reader_fails_in_another_way(corpus, readers) -> None:
    command = [sys.executable, str(HERE / "opened.py"), str(corpus), "500", "30", *readers]
    bounds = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "COTERIE_LIMITS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=bounds, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(rows) > 300
    assert [row for row in rows if row["fault"]] == []
    refused = [row["told"] for row in rows if row["told"]]
    assert all(len(told) <= 4010 for told in refused)
    assert len(refused) > len(rows) / 2
    assert not Path("/tmp/coterie-was-harmed").exists()
