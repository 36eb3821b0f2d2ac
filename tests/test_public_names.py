"""The public surface is a list; a name that comes or goes changes this file on purpose."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import coterie

TRAINERS = [
    *("SelfPlayConfig", "SelfPlayTrainer", "LeagueConfig", "LeagueTrainer"),
    *("FictitiousGANConfig", "FictitiousGANTrainer"),
]
SURFACE = ["__version__", "list_envs", "make", "make_vec", "register", *TRAINERS]
ROOMS = ("cli", "envs", "agents", "training", "renderers", "games", "benchmarks")
ERRORS = [
    "ActionError",
    "AmbiguousAction",
    "CollapseError",
    "CoterieError",
    "EngineError",
    "IllegalAction",
    "InvalidAction",
    "MissingExtra",
    "ModelError",
    "NotationError",
    "PlayerLeft",
    "RunError",
    "StateError",
    "UnknownArgument",
    "UnknownName",
    "UsageError",
    "did_you_mean",
    "needs",
]


def test_the_package() -> None:
    assert sorted(coterie.__all__) == sorted(SURFACE)
    for name in SURFACE:
        assert getattr(coterie, name)


def test_the_errors() -> None:
    from coterie import errors

    assert sorted(errors.__all__) == ERRORS
    drawn = errors.__doc__ or ""
    for name in set(ERRORS) - {"CoterieError", "did_you_mean", "needs"}:
        assert name in drawn, f"{name} is missing in the tree of errors.py"
        assert issubclass(getattr(errors, name), errors.CoterieError)


def modules() -> list[str]:
    found = []
    for room in ROOMS:
        package = importlib.import_module(f"coterie.{room}")
        found += [m.name for m in pkgutil.walk_packages(package.__path__, f"coterie.{room}.")]
    return found


@pytest.mark.parametrize("name", modules())
def test_every_module_says_what_it_offers(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    for public in getattr(module, "__all__", []):
        thing = getattr(module, public)
        if getattr(thing, "__module__", None) == name and callable(thing):
            assert thing.__doc__, f"{name}.{public} has no docstring"
