"""Settings that every test shares: no window, no network, one thread of torch."""

from __future__ import annotations

import os

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest


@pytest.fixture(scope="session")
def mini(tmp_path_factory):
    """A folder with an untrained Llama on bytes, made by the recipe of the built-in models."""
    pytest.importorskip("torch")
    from coterie.agents.llm.tiny import Recipe, build, save

    folder = tmp_path_factory.mktemp("mini")
    recipe = Recipe(width=32, layers=2, heads=2, inner=48)
    save(build(recipe), recipe, folder)
    return folder
