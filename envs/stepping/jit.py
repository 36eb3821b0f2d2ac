"""The interface to numba: ``kernel`` compiles a function, ``bind`` makes a driver for a game.

A compiled kernel contains the code of the kernels that it calls and the arrays that it reads, but numba's disk cache
checks only the kernel's own file. So ``kernel`` adds its dependencies to the stamp by which the cache identifies a
source: the files of all kernels that its module imports, directly or not, and the arrays and numbers among its globals.

A driver (a loop that calls a game's kernels) is one template for all games. A closure over the kernels, or kernels
passed as arguments, would never hit numba's disk cache: their pickles differ from process to process. ``bind`` instead
makes a new function from the template's code, with the kernels as *globals* and a unique ``__qualname__``. Globals
are not part of the cache key, so the name includes a hash of the kernels' source files: a second process hits the
cache, and an edited kernel misses it.

With ``NUMBA_DISABLE_JIT=1`` everything here stays a plain Python function; coverage is measured that way.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numba
import numpy as np

from .stored import OwnFiles, compile_once

__all__ = ["bind", "checked", "compiled", "disabled", "entry", "inner", "kernel", "part", "source_hash"]

Function = TypeVar("Function", bound=Callable[..., Any])


def disabled() -> bool:
    """Whether ``NUMBA_DISABLE_JIT=1`` keeps kernels plain Python."""
    return bool(getattr(numba.config, "DISABLE_JIT", False))


_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
"""No reference counts: kernels allocate nothing, and counting the arrays that they pass on takes five times as long as
their work. No entry point for C either: none is used.
"""


def part(function: Function) -> Function:
    """A kernel that is always inlined into the kernels that call it, and that Python cannot call.

    For small kernels that take a state of many arrays: passing the arrays would cost more than the work itself.
    """
    return inner(function, forceinline=True)


def entry(function: Function) -> Function:
    """As ``part``, but Python can call it too."""
    return kernel(function, forceinline=True)


def inner(function: Function, **options: Any) -> Function:
    """A kernel that only kernels can call.

    An entry point for Python, which unpacks every array of a state, would take as long to compile as a small kernel.
    """
    return _refusing(kernel(function, no_cpython_wrapper=True, **options))  # type: ignore[no-any-return]


def _refusing(made: Any) -> Any:
    """A kernel without an entry point for Python, which now says so when Python calls it."""
    if not disabled():

        def refuse(*_: Any, **__: Any) -> Any:
            raise TypeError(f"{made.__name__} is called by kernels alone; @kernel and @entry can be called by Python.")

        made._insert, made._compile_for_args = (lambda *_: None), refuse  # else a call would jump to address 0
    return made


def kernel(function: Function, **options: Any) -> Function:
    """``@njit`` as coterie uses it: lazy, cached on disk, without the GIL, division by zero as in NumPy.

    A kernel cannot allocate (numba refuses ``np.zeros`` in it); scratch space is passed as an argument.
    """
    try:
        compiled = numba.njit(cache=True, **_OPTIONS, **options)(function)
    except RuntimeError:  # no folder for compiled code can be written: every process compiles
        return numba.njit(**_OPTIONS, **options)(function)  # type: ignore[no-any-return]
    if not disabled():
        if Path(function.__code__.co_filename).exists():
            _file_digest(function.__code__.co_filename)  # the file as imported, not as it is when a driver is made
        cache = compiled._cache
        stored = getattr(cache, "_cache_file", None)
        if stored is not None:
            # Compiled code refers to its module by name: the same file run as a script is another module.
            stamp = f"{stored._source_stamp}-{_depends_on(function.__globals__)}-{function.__module__}"
            stamp += "-checked" * bool(options.get("boundscheck"))
            files: Any = OwnFiles
            compile_once(compiled, files(cache.cache_path, cache._impl.filename_base, stamp))
    return compiled  # type: ignore[no-any-return]


def checked(function: Function) -> Function:
    """``kernel`` for games of one's own: an index out of bounds raises IndexError, where others would touch any memory.

    The games here state instead what rows from outside must fulfil (``Game.ranges``, ``Kernels.sound``).
    """
    return kernel(function, boundscheck=True)


def compiled(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """A kernel's code for arguments of these types; call it only with such arguments, their types are not checked.

    At each call of a kernel numba looks up the types of all arguments, which takes 4.5 µs for two tuples of 17 arrays:
    ten times as long as the call. This function looks them up once.
    """
    if disabled():
        return function
    return function.compile(tuple(map(numba.typeof, arguments)))  # type: ignore[attr-defined, no-any-return]


_MODULES: dict[str, set[str]] = {}
"""A file -> the files of the kernels that it imports, directly or not, and digests of the values they read."""

_VALUES = "values:"
"""Prefix of the entries among files that are digests of arrays and numbers that kernels read."""


def _file_of(value: Any) -> str | None:
    """The file of a kernel or intrinsic; None for anything else."""
    function = getattr(value, "py_func", None) or getattr(value, "_defn", None)
    return getattr(getattr(function, "__code__", None), "co_filename", None)


def _each(value: Any) -> tuple[Any, ...]:
    """The items of a tuple; of any other value, the value itself."""
    return value if type(value) is tuple else (value,)


def _depends_on(names: dict[str, Any]) -> str:
    """A digest of everything that kernels with these globals are compiled from, except their own file."""
    own = names.get("__file__")
    files: set[str] = set()
    tables = 0
    for name, value in [(name, one) for name, each in names.items() for one in _each(each)]:
        if isinstance(value, np.ndarray):
            tables = zlib.crc32(value.tobytes(), tables)
            continue
        if isinstance(value, int | float):
            tables = zlib.crc32(f"{name}={value!r}".encode(), tables)
            continue
        file = _file_of(value) if hasattr(value, "py_func") or hasattr(value, "_defn") else None
        if file is not None and file != own:
            files |= {file} | _MODULES.get(file, set())
    module = sys.modules.get(str(names.get("__name__")))
    if own is not None and getattr(module, "__dict__", None) is names:  # not the globals of a copy that ``bind`` makes
        _MODULES.setdefault(own, set()).update(files, {f"{_VALUES}{tables:08x}"})
    digests = sorted(_file_digest(file) for file in files if file.startswith(_VALUES) or Path(file).exists())
    return hashlib.sha256(f"{digests}{tables}".encode()).hexdigest()[:12]


@cache
def _file_digest(path: str) -> str:
    if path.startswith(_VALUES):
        return path
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def source_hash(functions: Iterable[Callable[..., Any] | None], *constants: int) -> str:
    """12 hex digits: a hash of kernels' names, modules and files, of the files that all may use, and of constants."""
    functions = tuple(functions)
    names = [f"{getattr(f, '__module__', '')}.{getattr(f, '__name__', '')}" for f in functions]
    files = {str(Path(__file__).with_name(name)) for name in ("rng.py", "machine.py")}
    for function in filter(None, functions):
        file = inspect.getsourcefile(inspect.unwrap(getattr(function, "py_func", function))) or ""
        files |= {file} | _MODULES.get(file, set())
    digests = sorted(_file_digest(path) for path in files if path)
    return hashlib.sha256(f"{digests}{names}{constants}".encode()).hexdigest()[:12]


def bind(
    template: Callable[..., Any],
    links: dict[str, Any],
    tag: str,
    inline: bool = False,
    within: bool = False,
    spliced: bool = False,
) -> Callable[..., Any]:
    """Compile a copy of ``template`` with ``links``, such as a game's kernels, among its globals.

    Args:
        template: a plain function with free names.
        links: the values of those names in this copy: kernels, and numbers that become constants.
        tag: makes the copy's name unique; holds ``source_hash`` so that the disk cache notices edits.
        inline: only other templates call the copy, and LLVM inlines its compiled code into them.
        within: only other templates call the copy, and it is compiled once for all of them.
        spliced: numba compiles the copy as a part of its caller, and again for each further one. Where it has several,
            ``inline`` is quicker; but with ``inline``, code at the end of a chain is optimised again for every link.
    """
    assert isinstance(template, FunctionType)
    copy = FunctionType(template.__code__, template.__globals__ | links, template.__name__)
    copy.__qualname__ = f"{template.__name__}__{tag}"
    copy.__module__ = template.__module__
    copy.__doc__ = template.__doc__
    if spliced:
        return numba.njit(inline="always", **_OPTIONS)(copy)  # type: ignore[no-any-return]
    if inline:  # not stored: its callers are
        options = {**_OPTIONS, "forceinline": True, "no_cpython_wrapper": True}
        return _refusing(numba.njit(**options)(copy))  # type: ignore[no-any-return]
    return inner(copy) if within else kernel(copy)
