"""No module stands outside the layers of setup.cfg; ``lint-imports`` holds the layers themselves."""

from __future__ import annotations

import configparser
from pathlib import Path

import pytest

from coterie.envs import list_envs
from coterie.envs.registry import spec

ROOT = Path(__file__).resolve().parent.parent
CONTRACTS = configparser.ConfigParser()
CONTRACTS.read(ROOT / "setup.cfg")
LAYERS = [section for section in CONTRACTS.values() if section.get("type") == "layers"]


def named(section: configparser.SectionProxy) -> set[str]:
    """Every module or room that a contract's layers name."""
    return {name for line in section["layers"].split() for name in line.split("|") if name}


def modules(container: str) -> set[str]:
    """Dotted names of all modules within a package, packages that say nothing but their docstring left out."""
    top = ROOT.joinpath(*container.split(".")[1:])
    found = set()
    for path in [
        *top.glob("*.py"),
        *(p for room in top.iterdir() if (room / "__init__.py").exists() for p in room.rglob("*.py")),
    ]:
        parts = path.relative_to(top).with_suffix("").parts
        if parts[-1] != "__init__":
            found.add(".".join(parts))
        elif len(parts) > 1 and "import" in path.read_text():
            found.add(".".join(parts[:-1]))
    return found


@pytest.mark.parametrize("section", LAYERS, ids=lambda section: section["containers"])
def test_every_module_stands_in_a_layer(section):
    names = named(section)
    all_modules = modules(section["containers"])
    outside = {m for m in all_modules if not any(m == name or m.startswith(f"{name}.") for name in names)}
    assert not outside
    assert {"coterie", "coterie.envs"} <= {section["containers"] for section in LAYERS}


def test_no_import_is_ignored():
    assert "ignore" not in "".join(key for section in CONTRACTS.values() for key in section)


@pytest.mark.parametrize("id", list_envs())
def test_no_face_may_import_any_game(id):
    module = spec(id).entry_point.partition(":")[0]
    forbidden = CONTRACTS["importlinter:contract:games"]["forbidden_modules"].split()
    assert any(module == name or module.startswith(f"{name}.") for name in forbidden)
