"""Eight bytes at once: read, write or look through a word of a C-contiguous array of bytes inside a kernel.

NumPy's ``view`` costs more in a kernel than what it saves, and numba compiles byte loops of fixed length one byte at a
time. The byte at the lowest address is the word's lowest (little-endian machines, the only ones numba's wheels are
made for). No bounds are
checked: ``offset + 8`` must not exceed the array's size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.core.extending import intrinsic
from numpy.typing import NDArray

from .jit import disabled

__all__ = ["first_byte", "load_word", "store_word"]


def _address(context: Any, builder: Any, array_type: Any, array: Any, offset: Any) -> Any:
    from llvmlite import ir

    data = context.make_array(array_type)(context, builder, array).data
    byte = builder.gep(builder.bitcast(data, ir.IntType(8).as_pointer()), [offset])
    return builder.bitcast(byte, ir.IntType(64).as_pointer())


def _load_word(typing_context: Any, array: Any, offset: Any) -> Any:
    """The eight bytes from byte ``offset`` on, as a uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _address(context, builder, signature.args[0], *arguments)
        return builder.load(pointer, align=1)

    return types.uint64(array, types.intp), generate


def _store_word(typing_context: Any, array: Any, offset: Any, word: Any) -> Any:
    """Write a uint64 over the eight bytes from byte ``offset`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _address(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], pointer, align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.uint64), generate


def _first_byte(typing_context: Any, word: Any) -> Any:
    """The number of the lowest byte that isn't 0; 8 of an empty word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        bits = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))
        return builder.lshr(bits, ir.Constant(ir.IntType(64), 3))

    return types.int64(types.uint64), generate


def _load_plain(array: NDArray[Any], offset: int) -> Any:
    """``load_word`` where the JIT is off."""
    return np.uint64(int.from_bytes(array.reshape(-1).view(np.uint8)[offset : offset + 8].tobytes(), "little"))


def _store_plain(array: NDArray[Any], offset: int, word: int) -> None:
    """``store_word`` where the JIT is off."""
    array.reshape(-1).view(np.uint8)[offset : offset + 8] = np.frombuffer(int(word).to_bytes(8, "little"), np.uint8)


def _first_plain(word: int) -> int:
    """``first_byte`` where the JIT is off."""
    bits = int(word)
    return ((bits & -bits).bit_length() - 1) // 8 if bits else 8


first_byte: Any = _first_plain if disabled() else intrinsic(_first_byte)
load_word: Any = _load_plain if disabled() else intrinsic(_load_word)
store_word: Any = _store_plain if disabled() else intrinsic(_store_word)
