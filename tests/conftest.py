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
def close():
    """``close(got, expected)``: equal but for rounding, on any processor.

    Two programs that compute the same numbers add in another order: other widths of registers, other products, one row
    or many. A sum of n terms then differs by about eps sqrt(n) of its size, since roundings fall to both sides, and d
    such sums one after another by sqrt(d) times that. The largest of thousands of such differences lies 4 to 5
    deviations out, and layers magnify what reaches them: hence eight times as much is allowed.

    ``terms`` is the longest sum (the model's width, or the entries of a batch that a gradient adds up), ``depth`` how
    many follow one another (products of a forward pass; twice as many for gradients), ``size`` of the numbers that are
    added, where it isn't that of the largest one expected.
    """
    torch = pytest.importorskip("torch")

    def check(got, expected, *, terms=64, depth=16, size=None):
        got, expected = (torch.as_tensor(x).detach() for x in (got, expected))
        coarser = max((got.dtype, expected.dtype), key=lambda dtype: torch.finfo(dtype).eps)
        size = float(expected.abs().max()) if size is None else size
        allowed = 8 * torch.finfo(coarser).eps * (terms * depth) ** 0.5 * size
        torch.testing.assert_close(got, expected, atol=allowed, rtol=0, check_dtype=False)

    return check


@pytest.fixture(scope="session")
def mini(tmp_path_factory):
    """A folder with an untrained Llama on bytes, made by the recipe of the built-in models."""
    pytest.importorskip("torch")
    from coterie.agents.llm.tiny import Recipe, build, save

    folder = tmp_path_factory.mktemp("mini")
    recipe = Recipe(width=32, layers=2, heads=2, inner=48)
    save(build(recipe), recipe, folder)
    return folder
