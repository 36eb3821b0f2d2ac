"""Digests beside weights, and numbers that are not finite."""

from __future__ import annotations

import shutil
import subprocess

import pytest

torch = pytest.importorskip("torch")

from coterie.agents.sums import check_finite, check_sums, file_sum, write_sums  # noqa: E402
from coterie.errors import ModelError  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.bin").write_bytes(bytes(range(256)))
    (tmp_path / "b.json").write_text("{}")
    write_sums(tmp_path, ["a.bin", "b.json"])
    return tmp_path


def test_whole_files_pass_and_the_list_is_that_of_sha256sum(folder):
    assert check_sums(folder) == ("a.bin", "b.json")
    # The digest of no bytes is published with the standard (FIPS 180-4's examples).
    (folder / "empty").touch()
    assert file_sum(folder / "empty") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, check=True)


@pytest.mark.parametrize("bit", [0, 1000, 2047])
def test_one_flipped_bit_is_noticed(folder, bit):
    content = bytearray((folder / "a.bin").read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    (folder / "a.bin").write_bytes(bytes(content))
    with pytest.raises(ModelError, match=r"a\.bin is truncated or was changed"):
        check_sums(folder)


def test_missing_files_and_damaged_lists_are_noticed(folder):
    (folder / "b.json").unlink()
    with pytest.raises(ModelError, match=r"b\.json is missing"):
        check_sums(folder)
    for line in ("nothing\n", f"{'0' * 64}  ../b.json\n", f"{'0' * 64}  \n"):
        (folder / "SHA256SUMS").write_text(line)
        with pytest.raises(ModelError, match="is damaged"):
            check_sums(folder)
    (folder / "SHA256SUMS").unlink()
    assert check_sums(folder) == ()


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_are_named(wrong):
    tensors = {"bank": {"main": [torch.ones(3), torch.tensor([1.0, wrong])]}, "steps": torch.tensor(3)}
    with pytest.raises(ModelError, match=r"run: bank: main holds numbers that are not finite"):
        check_finite(tensors, "run")
    check_finite({"bank": [torch.ones(2)], "text": "nan"}, "run")
