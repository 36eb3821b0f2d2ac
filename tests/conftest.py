"""Settings that every test shares: no window, no network, one thread of torch."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("COTERIE_QUIET", "1")  # commands print the same whether kernels are compiled or loaded

import pytest

with contextlib.suppress(ImportError):
    from hypothesis import settings

    # An example takes as long as it takes: the first may compile or import, and the machine may be busy.
    settings.register_profile("patient", settings.get_profile(settings.get_current_profile_name()), deadline=None)
    settings.load_profile("patient")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, then those with many tests, so that no worker is left with a long one."""
    slow: Counter[Path] = Counter(item.path for item in items if item.get_closest_marker("slow"))
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: (-slow[item.path], -tests[item.path]))


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
def stand_in():
    """``with stand_in():`` a device ``meta`` that computes: its tensors may not meet those of the host.

    It stands in for a GPU. Inside, tensors on torch's device of that name hold numbers, and what would fail on a GPU
    (operations on tensors of both devices, ``numpy()``) fails here. As there, a copy may cross over, a host tensor
    without dimensions may take part, and host indices may pick from the device's tensors.
    """
    torch = pytest.importorskip("torch")
    from contextlib import ExitStack, contextmanager

    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves, tree_map

    aten = torch.ops.aten
    picking = {aten.index.Tensor, aten.index_put_.default, aten.index_put.default}

    class There(torch.Tensor):
        @staticmethod
        def __new__(cls, held):
            how = {"strides": held.stride(), "storage_offset": held.storage_offset(), "dtype": held.dtype}
            return torch.Tensor._make_wrapper_subclass(cls, held.shape, device="meta", **how)

        def __init__(self, held):
            self.held = held

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is torch.Tensor.numpy:
                raise TypeError("can't convert a tensor of another device to numpy; .cpu() first")
            if func is torch.Tensor.tolist:
                return args[0].detach().cpu().tolist()
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return run(func, args, kwargs or {})

    def run(func, args, kwargs):
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        theirs = {id(x.held): x for x in tensors if isinstance(x, There)}
        there = bool(theirs)
        if kwargs.get("device") is not None:
            there = torch.device(kwargs["device"]).type == "meta"
            kwargs = {**kwargs, "device": torch.device("cpu")}
        elif func is aten.copy_.default:
            there = isinstance(args[0], There)
        elif there:
            sized = [x for x in tensors if x.dim() and not isinstance(x, There)]
            picked = func in picking and isinstance(args[0], There) and not any(x is y for x in sized for y in args[2:])
            if sized and not picked:
                raise RuntimeError(f"{func} met a tensor of the host: {[tuple(x.shape) for x in sized]}")
        args, kwargs = tree_map(lambda x: x.held if isinstance(x, There) else x, (args, kwargs))
        out = func(*args, **kwargs)
        wrap = there and (lambda x: theirs[id(x)] if id(x) in theirs else There(x))
        return tree_map(lambda x: wrap(x) if there and isinstance(x, torch.Tensor) else x, out)

    class Dispatched(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return run(func, args, kwargs or {})

    class Made(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if func in (torch.tensor, torch.as_tensor) and kwargs.get("device") is not None:
                device = kwargs.pop("device")
                return func(*args, **kwargs).to(device)
            return func(*args, **kwargs)

    @contextmanager
    def inside():
        with ExitStack() as stack:
            stack.enter_context(Made())
            stack.enter_context(Dispatched())
            yield

    return inside


@pytest.fixture
def elsewhere(stand_in, monkeypatch):
    """``with elsewhere():``, see ``stand_in``."""
    import torch

    from coterie.agents.llm import models

    monkeypatch.setattr(models, "devices", lambda: ["cpu", "meta"])
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda *device: False)  # torch knows of none on meta
    return stand_in


@pytest.fixture(scope="session")
def mini(tmp_path_factory):
    """A folder with an untrained Llama on bytes, made by the recipe of the built-in models."""
    pytest.importorskip("torch")
    from coterie.agents.llm.tiny import Recipe, build, save

    folder = tmp_path_factory.mktemp("mini")
    recipe = Recipe(width=32, layers=2, heads=2, inner=48)
    save(build(recipe), recipe, folder)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium, for a module and no longer: meanwhile its thread can run no event loop of its own.

    ``wait_for_function`` takes a function, ``() => ...``: pages forbid that a string is evaluated a second time.
    """
    playwright = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as running:
        one = running.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=120_000)
        yield one
        one.close()


@pytest.fixture
def own_games(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Games that a test registers are forgotten after it."""
    import gymnasium
    from pettingzoo.env_registry import registration

    from coterie.envs import registry

    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    others = gymnasium.registry, registration.aec_registry, registration.parallel_registry
    known = [dict(other) for other in others]
    yield
    for other, before in zip(others, known, strict=True):
        other.clear()
        other.update(before)
