"""What an import brings along: modules are looked at, not seconds."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = ("torch", "pygame", "transformers", "numba", "peft", "trl", "matplotlib", "rich", "PIL", "scipy")
ROOMS = ("agents", "benchmarks", "cli", "envs", "games", "renderers", "training")

BLOCKER = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
"""


def python(code: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )


def loaded_after(code: str, cwd: Path) -> set[str]:
    done = python(f"import sys\n{code}\nprint('MODULES', *sorted({{m.split('.')[0] for m in sys.modules}}))", cwd)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("MODULES")[2].split())


def test_import_coterie_is_light(tmp_path: Path) -> None:
    assert not loaded_after("import coterie", tmp_path) & set(HEAVY)


def test_a_trainer_is_imported_when_it_is_asked_for(tmp_path: Path) -> None:
    """Without the extra, the sentence says what to install."""
    blocked = set(HEAVY) - {"numba"}
    asked = "import coterie\ntry: coterie.SelfPlayTrainer\nexcept ImportError as error: print(error)"
    done = python(BLOCKER.format(blocked=blocked) + asked, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pip install 'coterie[train]'" in done.stdout


EACH = """
import importlib, pathlib, sys
import coterie.envs.gridworld as room
top = pathlib.Path(room.__file__).parent
for path in sorted(top.rglob("*.py")):
    for name in [name for name in sys.modules if name.startswith(room.__name__)]:
        del sys.modules[name]
    name = ".".join((room.__name__, *path.relative_to(top).with_suffix("").parts)).removesuffix(".__init__")
    print(importlib.import_module(name).__name__)
"""


def test_every_module_of_the_gridworld_may_be_the_first_to_be_imported(tmp_path: Path) -> None:
    done = python(EACH, tmp_path)
    assert done.returncode == 0, done.stderr[-1500:]
    assert len(done.stdout.split()) > 40


def test_import_coterie_says_and_changes_nothing(tmp_path: Path) -> None:
    """PettingZoo, whose registry learns our ids, sets two variables of pygame's itself when it is imported."""
    code = "import os, pettingzoo; before = dict(os.environ); import coterie; assert dict(os.environ) == before"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYGAME_", "SDL_"))}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=clean, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_import_coterie_registers_with_pettingzoo(tmp_path: Path) -> None:
    code = "import coterie, pettingzoo; env = pettingzoo.make('aec', 'coterie/tictactoe-v0'); env.reset(); print(env)"
    done = python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "tictactoe" in done.stdout


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["envs"], ["train", "--help"], ["eval", "--help"]])
def test_light_commands_stay_light(words: list[str], tmp_path: Path) -> None:
    heavy = set(HEAVY) - {"numba", "scipy"}  # the games' kernels
    heavy |= {"numba"} if words[0].startswith("--") else set()
    assert not loaded_after(f"from coterie.cli import main\nassert main({words}) == 0", tmp_path) & heavy


def test_core_install_plays(tmp_path: Path) -> None:
    """Without any extra: random, minimax and the human, in the terminal."""
    blocked = set(HEAVY) - {"numba"} | {"accelerate", "datasets", "imageio", "safetensors", "tokenizers"}
    code = BLOCKER.format(blocked=blocked) + "from coterie.cli import main\nsys.exit(main(sys.argv[1:]))"
    run = [sys.executable, "-c", code]
    for players in (["random", "minimax"], ["human", "random"]):
        done = subprocess.run(
            [*run, "play", "tictactoe", "--players", *players],
            cwd=tmp_path,
            input="4\n0\n1\n2\n3\n5\n6\n7\n8\n4\n0\n1\n2\n3\n5\n6\n7\n8\n",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "wins." in done.stdout or "A draw." in done.stdout


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["train", "tictactoe"], "train"),
        (["play", "tictactoe", "--players", "tiny", "random"], "train"),
        (["play", "tictactoe", "--players", "random", "random", "--gif", "x.gif"], "render"),
    ],
)
def test_a_missing_extra_is_one_sentence(words: list[str], extra: str, tmp_path: Path) -> None:
    blocked = set(HEAVY) - {"numba"}
    done = python(BLOCKER.format(blocked=blocked) + f"from coterie.cli import main\nsys.exit(main({words}))", tmp_path)
    assert done.returncode == 2, done.stderr
    assert f"pip install 'coterie[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def imports(file: Path) -> Iterator[tuple[str, int]]:
    """(top-level name, level) of every import statement, wherever it stands."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0], node.level


def sources() -> list[Path]:
    return [*ROOT.glob("*.py"), *(file for room in ROOMS for file in (ROOT / room).rglob("*.py"))]


@pytest.mark.parametrize(
    ("module", "allowed"),
    [
        ("trl", ["training/bridges/trl.py", "benchmarks"]),
        ("torch", ["agents", "training", "benchmarks"]),
        ("transformers", ["agents", "training", "benchmarks"]),
        ("peft", ["agents", "training", "benchmarks"]),
        ("pygame", ["renderers"]),
        (
            "pettingzoo",
            ["envs/faces", "envs/foreign", "envs/kinship/wrapper.py", "envs/registry.py", "envs/testing", "benchmarks"],
        ),
        (
            "gymnasium",
            ["envs/faces", "envs/foreign", "envs/kinship/wrapper.py", "envs/registry.py", "envs/words/table.py"],
        ),
        ("chess", []),
        ("coterie", []),  # inside the package, imports are relative: the root folder may bear any name
    ],
)
def test_who_imports_what(module: str, allowed: list[str]) -> None:
    users = {str(f.relative_to(ROOT)) for f in sources() if (module, 0) in set(imports(f))}
    strangers = {user for user in users if not any(user == a or user.startswith(f"{a}/") for a in allowed)}
    assert not strangers
