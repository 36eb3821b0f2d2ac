"""``coterie view`` as it is typed: what it prints, how it ends, and what it refuses."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from coterie.cli import main
from coterie.training.runs.config import TaskConfig, save_config

pytest.importorskip("uvicorn")
pytestmark = pytest.mark.timeout(240)


def started(*words: str) -> tuple[subprocess.Popen[str], str]:
    """The command, and the address that it prints."""
    command = [sys.executable, "-m", "coterie", "view", *words]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    found = re.search(r"http://\S+", running.stdout.readline())
    if found is None:
        running.kill()
    assert found is not None, running.communicate()[1]
    return running, found[0]


def test_it_serves_until_ctrl_c() -> None:
    running, address = started("tictactoe")
    try:
        assert address.startswith("http://127.0.0.1:")
        assert b'"kind":"play"' in urllib.request.urlopen(address, timeout=60).read()
    finally:
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=120)
    assert running.returncode == 0
    assert "Traceback" not in told


def test_other_addresses_need_the_token_that_is_printed(tmp_path: Path) -> None:
    save_config(TaskConfig(task="proposer_solver"), tmp_path / "config.yaml")
    running, address = started(str(tmp_path), "--host", "0.0.0.0")
    try:
        assert f"//{socket.gethostname()}:" in address, "others cannot use 0.0.0.0"
        plain, token = re.sub("//[^:/]+:", "//127.0.0.1:", address).split("?token=")
        assert len(token) >= 32
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(plain, timeout=60)
        assert refused.value.code == 403
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert b'"kind":"run"' in opener.open(f"{plain}?token={token}", timeout=60).read()
        assert opener.open(f"{plain}run/0", timeout=60).status == 200
    finally:
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=120)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["gridworld", "--players", "human", "nobody"], "nobody"),
        (["tictactoe", "--players", "human", "alphabeta"], "chess"),
        (["tictactoe", "--players", "human"], "has 2 players, but --players names 1"),
        (["tictactoe", "--hints", "nobody"], "nobody"),
        (["tictactoe", "--port", "70000"], "Cannot listen on 127.0.0.1, port 70000"),
        (["tictactoe", "--host", "192.0.2.1"], "Cannot listen on 192.0.2.1"),
        (["tictactoe", "--host", ".x"], "Cannot listen on .x"),
        (["tictactoe", "chess"], "only the pages of runs stand side by side"),
    ],
)
def test_what_cannot_be_served_is_told_in_a_sentence(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", *words]) == 2
    assert told in capsys.readouterr().err


def test_a_run_is_written_as_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_config(TaskConfig(task="proposer_solver"), tmp_path / "config.yaml")
    file = tmp_path / "run.html"
    assert main(["view", str(tmp_path), "--html", str(file)]) == 0
    assert "Wrote" in capsys.readouterr().out
    assert '"kind":"run"' in file.read_text()


def test_a_folder_without_a_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"coterie: The folder {tmp_path} holds no run: no config.yaml, results.json or transcripts.\n"
    )
