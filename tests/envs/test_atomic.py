"""Files are replaced whole, or stay as they were."""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor

import pytest

from coterie.envs.atomic import write_atomically


def test_a_file_is_replaced_or_left_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    write_atomically(path, "old é")
    write_atomically(path, "new é")
    assert path.read_bytes() == "new é".encode()

    def full(*_):
        assert path.read_text("utf-8") == "new é"
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("coterie.envs.atomic.os.replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"newer")
    assert path.read_text("utf-8") == "new é"
    assert list(tmp_path.iterdir()) == [path]


def test_several_writers_and_a_reader_of_one_path(tmp_path):
    path = tmp_path / "page.html"
    pages = [str(k) * 20_000 for k in range(4)]
    write_atomically(path, pages[0])

    def write(page):
        for _ in range(50):
            write_atomically(path, page)
            assert path.read_text() in pages

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, pages))
    assert list(tmp_path.iterdir()) == [path]
