"""Machine-level access in kernels: 64-bit integers in byte arrays, single bits, and contiguous arrays as flat ones.

NumPy's ``view`` costs more in a kernel than it saves, and numba compiles byte loops of fixed length one byte at a
time. The byte at the lowest address is the integer's lowest byte (little-endian machines, the only ones with numba
wheels). ``offset + 8`` (or 16, or 64) must not exceed the array's size; only NUMBA_BOUNDSCHECK=1 checks that.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.core.extending import intrinsic
from numpy.typing import NDArray

from .jit import disabled

__all__ = [
    "first_bit",
    "get",
    "load_bits",
    "load_word",
    "popcount",
    "positive_bytes",
    "put",
    "store_bits",
    "store_word",
    "zero",
]


def _within(context: Any, builder: Any, array: Any, first: Any, last: int = 0) -> Any:
    """The array's data; under NUMBA_BOUNDSCHECK=1, IndexError unless elements ``first`` to ``first + last`` exist."""
    if getattr(numba.config, "BOUNDSCHECK", False):
        size = builder.sub(array.nitems, array.nitems.type(last))
        cgutils.do_boundscheck(context, builder, first, size)
    return array.data


def _address(context: Any, builder: Any, array_type: Any, array: Any, offset: Any, *, bytes: int = 8) -> Any:
    """A pointer to that many bytes of an array, for reading 64 bits or more."""
    from llvmlite import ir

    data = _within(context, builder, context.make_array(array_type)(context, builder, array), offset, bytes - 1)
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


def _first_bit(typing_context: Any, word: Any) -> Any:
    """The index of the lowest bit that is 1; 64 if there is none."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


def _popcount(typing_context: Any, word: Any) -> Any:
    """The number of bits of a uint64 that are 1, as a uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


def _load_bits(typing_context: Any, array: Any, offset: Any) -> Any:
    """Which of the 64 bytes from byte ``offset`` on are not 0: bit k of the uint64 is byte k."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        many = ir.VectorType(ir.IntType(8), 64)
        pointer = builder.bitcast(
            _address(context, builder, signature.args[0], *arguments, bytes=64), many.as_pointer()
        )
        found = builder.icmp_signed("!=", builder.load(pointer, align=1), ir.Constant(many, [0] * 64))
        return builder.bitcast(found, ir.IntType(64))

    return types.uint64(array, types.intp), generate


def _store_bits(typing_context: Any, array: Any, offset: Any, word: Any) -> Any:
    """Write bit k of a uint64, 0 or 1, into byte ``offset + k``, for all 64 of them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        many = ir.VectorType(ir.IntType(8), 64)
        pointer = builder.bitcast(
            _address(context, builder, signature.args[0], *arguments[:2], bytes=64), many.as_pointer()
        )
        flags = builder.bitcast(arguments[2], ir.VectorType(ir.IntType(1), 64))
        builder.store(builder.zext(flags, many), pointer, align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.uint64), generate


def _positive_bytes(typing_context: Any, array: Any, offset: Any) -> Any:
    """Which of the sixteen bytes from byte ``offset`` on are 1 to 127: bit k of the uint64 is byte k."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        sixteen = ir.VectorType(ir.IntType(8), 16)
        pointer = builder.bitcast(
            _address(context, builder, signature.args[0], *arguments, bytes=16), sixteen.as_pointer()
        )
        found = builder.icmp_signed(">", builder.load(pointer, align=1), ir.Constant(sixteen, [0] * 16))
        return builder.zext(builder.bitcast(found, ir.IntType(16)), ir.IntType(64))

    return types.uint64(array, types.intp), generate


def _get(typing_context: Any, array: Any, k: Any) -> Any:
    """Element k of a contiguous array, by its flat index."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _within(
            context, builder, context.make_array(signature.args[0])(context, builder, arguments[0]), arguments[1]
        )
        return context.unpack_value(builder, signature.args[0].dtype, builder.gep(data, [arguments[1]]))

    return array.dtype(array, types.intp), generate


def _put(typing_context: Any, array: Any, k: Any, value: Any) -> Any:
    """Write element k of a contiguous array, by its flat index."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _within(
            context, builder, context.make_array(signature.args[0])(context, builder, arguments[0]), arguments[1]
        )
        context.pack_value(builder, signature.args[0].dtype, arguments[2], builder.gep(data, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), generate


def _zero(typing_context: Any, array: Any) -> Any:
    """Fill a contiguous array with zeros."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        filled = context.make_array(signature.args[0])(context, builder, arguments[0])
        cgutils.memset(builder, filled.data, builder.mul(filled.itemsize, filled.nitems), 0)
        return context.get_dummy_value()

    return types.void(array), generate


def _load_plain(array: NDArray[Any], offset: int) -> Any:
    """``load_word`` where the JIT is off."""
    return np.uint64(int.from_bytes(array.reshape(-1).view(np.uint8)[offset : offset + 8].tobytes(), "little"))


def _store_plain(array: NDArray[Any], offset: int, word: int) -> None:
    """``store_word`` where the JIT is off."""
    array.reshape(-1).view(np.uint8)[offset : offset + 8] = np.frombuffer(int(word).to_bytes(8, "little"), np.uint8)


def _first_plain(word: int) -> int:
    """``first_bit`` where the JIT is off."""
    bits = int(word)
    return (bits & -bits).bit_length() - 1 if bits else 64


def _popcount_plain(word: int) -> Any:
    """``popcount`` where the JIT is off."""
    return np.uint64(int(word).bit_count())


def _load_bits_plain(array: NDArray[Any], offset: int) -> Any:
    """``load_bits`` where the JIT is off."""
    return np.packbits(array.reshape(-1)[offset : offset + 64] != 0, bitorder="little").view(np.uint64)[0]


def _store_bits_plain(array: NDArray[Any], offset: int, word: int) -> None:
    """``store_bits`` where the JIT is off."""
    bits = np.frombuffer(int(word).to_bytes(8, "little"), np.uint8)
    array.reshape(-1)[offset : offset + 64] = np.unpackbits(bits, bitorder="little")


def _positive_plain(array: NDArray[Any], offset: int) -> Any:
    """``positive_bytes`` where the JIT is off."""
    found = array.reshape(-1).view(np.int8)[offset : offset + 16] > 0
    return np.uint64(sum(1 << k for k in range(16) if found[k]))


def _get_plain(array: NDArray[Any], k: int) -> Any:
    """``get`` where the JIT is off."""
    return array.reshape(-1)[k]


def _put_plain(array: NDArray[Any], k: int, value: Any) -> None:
    """``put`` where the JIT is off."""
    array.reshape(-1)[k] = value


def _zero_plain(array: NDArray[Any]) -> None:
    """``zero`` where the JIT is off."""
    array[...] = 0


first_bit: Any = _first_plain if disabled() else intrinsic(_first_bit)
get: Any = _get_plain if disabled() else intrinsic(_get)
put: Any = _put_plain if disabled() else intrinsic(_put)
popcount: Any = _popcount_plain if disabled() else intrinsic(_popcount)
load_bits: Any = _load_bits_plain if disabled() else intrinsic(_load_bits)
store_bits: Any = _store_bits_plain if disabled() else intrinsic(_store_bits)
zero: Any = _zero_plain if disabled() else intrinsic(_zero)
positive_bytes: Any = _positive_plain if disabled() else intrinsic(_positive_bytes)
load_word: Any = _load_plain if disabled() else intrinsic(_load_word)
store_word: Any = _store_plain if disabled() else intrinsic(_store_word)
