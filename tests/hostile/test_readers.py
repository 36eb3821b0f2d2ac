"""Every reader takes its own sample: what the others refuse, they refuse for what is wrong with it."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from coterie.benchmarks.fuzz_readers import READERS


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_sound_file_is_read(reader, tmp_path) -> None:
    path = tmp_path / f"file{reader.suffix}"
    path.write_bytes(reader.sample())
    reader.read(path)
