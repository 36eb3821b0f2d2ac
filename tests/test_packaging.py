"""What the wheel holds and what it doesn't, and that the layout stays importable."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = PROJECT["tool"]["setuptools"]["packages"]
OURS = ("agents", "benchmarks", "cli", "envs", "games", "renderers", "training")


def folder(package: str) -> Path:
    return ROOT.joinpath(*package.split(".")[1:])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built from a copy: what an earlier build left in the checkout must not slip in."""
    copy = tmp_path_factory.mktemp("source") / "somewhere-else"  # no folder has to be called coterie
    shutil.copytree(
        ROOT,
        copy,
        ignore=lambda where, names: [
            n
            for n in names
            if n.startswith(".")
            or n in ("build", "dist", "__pycache__")
            or ".egg-info" in n
            or (n == "runs" and Path(where) == ROOT)  # training/runs is code
        ],
    )
    out = copy / "dist"
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    done = subprocess.run(
        [*command, "--no-build-isolation", "-w", out, copy], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("coterie-*.whl")
    return zipfile.ZipFile(built)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_every_package_of_the_tree_is_listed() -> None:
    found = {"coterie"}
    for room in OURS:
        for init in (ROOT / room).rglob("__init__.py"):
            found.add(".".join(["coterie", *init.parent.relative_to(ROOT).parts]))
    assert sorted(found) == sorted(PACKAGES)


def test_every_module_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    expected = {
        str(Path("coterie", file.relative_to(ROOT))) for package in PACKAGES for file in folder(package).glob("*.py")
    }
    held = {name for name in wheel.namelist() if name.endswith(".py")}
    assert held == expected


def test_every_data_file_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert "coterie/py.typed" in names
    weights = {
        str(Path("coterie", f.relative_to(ROOT))) for f in (ROOT / "agents" / "weights").rglob("*") if f.is_file()
    }
    earlier = {name for name in weights if "/older/" in name}
    assert {Path(name).parent.name for name in earlier} == {"tiny-v0", "tiny-v1"}  # they stay behind
    assert {name for name in names if name.startswith("coterie/agents/weights/")} == weights - earlier
    positions = list((ROOT / "envs" / "chess" / "data").iterdir())
    assert len(positions) == 8
    assert {f"coterie/{f.relative_to(ROOT)}" for f in positions} <= names
    worlds = list((ROOT / "envs" / "gridworld" / "data").iterdir())
    assert len(worlds) >= 10
    assert {f"coterie/{f.relative_to(ROOT)}" for f in worlds} <= names
    assert {f"coterie/envs/words/debate/data/{name}" for name in ("topics.csv", "judged.yaml")} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert wheel.getinfo("coterie/py.typed").file_size == 0
    assert sum(wheel.getinfo(name).file_size for name in weights - earlier) <= 2e6


def test_nothing_else_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    roots = {p.name for p in folder("coterie").glob("*.py")} | {"py.typed", *OURS}
    for name in wheel.namelist():
        parts = Path(name).parts
        assert parts[0] == "coterie" or parts[0].endswith(".dist-info"), name
        if parts[0] == "coterie":
            assert parts[1] in roots, name
            assert (
                name.endswith((".py", "py.typed"))
                or parts[1:3] == ("agents", "weights")
                or parts[1:4] in (("envs", "chess", "data"), ("envs", "gridworld", "data"))
                or parts[1:5] == ("envs", "words", "debate", "data")
                or parts[1:4] == ("renderers", "web", "static")
            ), name


def test_extras_and_command(wheel: zipfile.ZipFile, metadata: Message) -> None:
    assert metadata["Version"] == PROJECT["project"]["version"]
    assert {"render", "train", "all", "dev"} <= set(metadata.get_all("Provides-Extra"))
    core = [r for r in metadata.get_all("Requires-Dist") if "extra ==" not in r]
    assert {r.split(">")[0] for r in core} == {
        *("annotated-types", "gymnasium", "numba", "numpy", "pettingzoo", "pydantic", "pyyaml")
    }
    (name,) = (n for n in wheel.namelist() if n.endswith("entry_points.txt"))
    assert "coterie = coterie.cli:main" in wheel.read(name).decode()


def test_the_farama_extras_are_never_asked_for() -> None:
    wanted = " ".join(r for extra in PROJECT["project"]["optional-dependencies"].values() for r in extra)
    assert "pettingzoo[" not in wanted
    assert "pygame-ce" not in wanted


def test_versions_agree() -> None:
    import coterie

    assert coterie.__version__ == PROJECT["project"]["version"]
    assert f"## [{coterie.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {coterie.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_tested_versions_are_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    pins = {name.lower().replace("_", "-"): version for name, version in pins.items()}
    assert pins["torch"] == "2.13.0"
    assert pins["trl"].startswith("1.16.")
    for group in (PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"].values()):
        for requirement in group:
            name = requirement.split(">")[0].split("[")[0].lower()
            assert name == "coterie" or name in pins, name


def locked(name: str) -> dict[str, tuple[str, list[str]]]:
    """Name -> (version, hashes) of a lock file."""
    text = "\n" + (ROOT / name).read_text()
    blocks = [block.split() for block in re.split(r"\n(?=[a-zA-Z])", text)[1:]]
    return {
        block[0].split("==")[0]: (block[0].split("==")[1], [w[7:] for w in block if w.startswith("--hash=")])
        for block in blocks
    }


def test_the_lock_files_have_the_tested_versions_with_hashes() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    pins = {re.sub(r"[-_.]+", "-", name.lower()): version for name, version in pins.items()}
    held = locked("requirements.lock")
    for name, (version, hashes) in held.items():
        assert pins.get(name, version) == version, f"{name}: type scripts/lock"
        assert hashes, name
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in hashes), name
    groups = PROJECT["project"]["optional-dependencies"]
    for group in (PROJECT["project"]["dependencies"], groups["render"], groups["train"], groups["dev"]):
        for requirement in group:
            name = re.sub(r"[-_.]+", "-", re.split(r"[>\[]", requirement)[0].lower())
            assert name == "coterie" or name in held, f"{name}: type scripts/lock"
    assert all(hashes for _, hashes in locked("requirements-cuda.lock").values())


def test_no_root_name_hides_the_standard_library() -> None:
    names = [p.stem for p in ROOT.glob("*.py")]
    names += [p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith(".")]
    assert {"cli", "envs", "tests"} <= set(names)
    assert not set(names) & set(sys.stdlib_module_names)


def test_no_conftest_at_the_root() -> None:
    assert not (ROOT / "conftest.py").exists()
    assert (ROOT / "tests" / "conftest.py").exists()


@pytest.mark.parametrize("name", ["demo", "test", "check", "docs", "lock", "_setup", "../.ci/run"])
def test_scripts_can_be_run(name: str) -> None:
    script = ROOT / "scripts" / name
    assert script.stat().st_mode & 0o111, f"{script} is not executable"
    subprocess.run(["bash", "-n", script], check=True)
