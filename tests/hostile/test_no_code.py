"""Files are data: nothing in the package runs what a file holds."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import coterie

ROOT = Path(coterie.__file__).resolve().parent
ROOMS = ("agents", "benchmarks", "cli", "envs", "games", "renderers", "training")
FILES = sorted(
    path for path in [*ROOT.glob("*.py"), *(p for room in ROOMS for p in (ROOT / room).rglob("*.py"))] if path.is_file()
)

ALLOWED = {
    "agents/search/rows.py": {"exec", "compile"},  # source text that it wrote itself, from no file
    "agents/search/uci_process.py": {"subprocess"},
    "benchmarks/__init__.py": {"subprocess", "runpy"},
    "training/episodes/data/functions.py": {"eval"},  # forms that it wrote itself, with numbers, from no file
    "training/episodes/sandbox.py": {"subprocess"},  # what it starts is shut in
    "envs/testing/play.py": {"pickle"},  # check_game pickles environments and reads its own bytes
    "envs/testing/games.py": {"pickle"},
    "envs/testing/words.py": {"pickle"},
}
CALLS = {
    *("eval", "exec", "compile", "__import__", "os.system", "os.popen", "builtins.eval", "builtins.exec"),
    *("yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load"),
}
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "subprocess", "runpy", "pty"}


def called(node: ast.Call) -> str:
    """``torch.load`` of ``torch.load(path)``."""
    return ast.unparse(node.func)


def dangers(source: str) -> set[str]:
    """What a source does that can run code from a file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom):
            found |= {(node.module or "").partition(".")[0]} & MODULES
        elif isinstance(node, ast.keyword) and node.arg in ("trust_remote_code", "allow_pickle", "shell"):
            if not (isinstance(node.value, ast.Constant) and node.value.value is False):
                found.add(node.arg)
        elif isinstance(node, ast.Constant) and node.value == "trust_remote_code":
            found.add("trust_remote_code")
        elif isinstance(node, ast.Call):
            name = called(node)
            given = {k.arg: ast.unparse(k.value) for k in node.keywords}
            unsafe = name == "torch.load" and given.get("weights_only") != "True"
            if unsafe or name in CALLS or name.startswith(("os.exec", "os.spawn")):
                found.add(name)
    return found


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import subprocess as s",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "yaml.load(text, Loader=yaml.Loader)",
        "eval(text)",
        "np.load(path, allow_pickle=True)",
        "AutoModel.from_pretrained(name, trust_remote_code=True)",
        "where['trust_remote_code'] = True",
        "os.system(text)",
    ],
)
def test_each_danger_is_found(source) -> None:
    assert dangers(source)


def test_no_other_file_does_any_of_it() -> None:
    assert len(FILES) > 200
    found = {str(path.relative_to(ROOT)): dangers(path.read_text(encoding="utf-8")) for path in FILES}
    wrong = {name: what - ALLOWED.get(name, set()) for name, what in found.items()}
    assert {name: what for name, what in wrong.items() if what} == {}
