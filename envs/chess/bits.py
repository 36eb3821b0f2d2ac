"""Sets of squares as 64-bit integers, and scratch space on the stack, by machine instructions that numba lacks.

Square s is bit s: a1 = 0, b1 = 1, ... h8 = 63. All arithmetic is on np.uint64: numba turns a mix of uint64 and
int64 into a float. Every function has a plain Python version for ``NUMBA_DISABLE_JIT=1``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.extending import intrinsic
from numba.np.arrayobj import populate_array

from ..stepping.jit import disabled
from ..stepping.machine import popcount

__all__ = ["as_array", "clear", "first", "flip", "popcount", "put_byte", "rays", "scratch_moves", "scratch_words"]

_64 = (1 << 64) - 1


def _first(typing_context: Any, word: Any) -> Any:
    """The lowest square of a set; 64 if it is empty."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.false_bit)

    return types.uint64(types.uint64), generate


def _flip(typing_context: Any, word: Any) -> Any:
    """The set seen from the other side of the board: rank 1 becomes rank 8."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate


def _rays(typing_context: Any, line: Any, above: Any, occupied: Any) -> Any:
    """Squares a slider reaches along one line: up to and including the nearest pieces on both sides.

    ``line`` holds the squares of the line without the slider's own, ``above`` those of them above it. In
    ``upper - lower's highest bit`` the borrow runs from the nearest piece above down to the nearest below.

    Source: "obstruction difference", M. Hartmann and G. Isenberg, chessprogramming.org/Obstruction_Difference.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        line, above, occupied = arguments
        one = context.get_constant(types.uint64, 1)
        high = context.get_constant(types.uint64, 1 << 63)
        on_line = builder.and_(line, occupied)
        upper = builder.and_(on_line, above)
        lower = builder.and_(on_line, builder.not_(above))
        zeros = builder.ctlz(builder.or_(lower, one), cgutils.false_bit)
        below = builder.lshr(high, zeros)
        difference = builder.xor(upper, builder.sub(upper, below))
        return builder.and_(line, difference)

    return types.uint64(types.uint64, types.uint64, types.uint64), generate


def _stack(count: int, kind: Any) -> Any:
    """An array [count] on the stack of the calling kernel: gone when that kernel returns, not zeroed."""

    def define(typing_context: Any) -> Any:
        array_type = types.Array(kind, 1, "C")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            item = context.get_data_type(kind)
            memory = cgutils.alloca_once(builder, item, size=count)
            array = context.make_array(array_type)(context, builder)
            size = context.get_constant(types.intp, context.get_abi_sizeof(item))
            length = context.get_constant(types.intp, count)
            populate_array(array, data=memory, shape=[length], strides=[size], itemsize=size, meminfo=None)
            return array._getvalue()

        return array_type(), generate

    define.__doc__ = f"[{count}] {kind} on the stack of the calling kernel, until it returns; not zeroed."
    return define


def _put_byte(typing_context: Any, out: Any, offset: Any) -> Any:
    """Set byte ``offset`` of a C-contiguous array of bytes of any shape to 1."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte = builder.gep(builder.bitcast(data, cgutils.voidptr_t), [arguments[1]])
        builder.store(cgutils.int8_t(1), byte)
        return context.get_dummy_value()

    return types.void(out, types.intp), generate


def _clear(typing_context: Any, out: Any, count: Any) -> Any:
    """Set the first ``count`` bytes of a C-contiguous array of bytes of any shape to 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        cgutils.memset(builder, builder.bitcast(data, cgutils.voidptr_t), arguments[1], 0)
        return context.get_dummy_value()

    return types.void(out, types.intp), generate


def _clear_plain(out: Any, count: int) -> None:
    out.reshape(-1).view(np.uint8)[:count] = 0


def _put_plain(out: Any, offset: int) -> None:
    out.reshape(-1)[offset] = 1


def _as_array(typing_context: Any, field: Any) -> Any:
    """An array field of a row, typed as an ordinary array: otherwise kernels would be compiled for both types."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return arguments[0]

    return types.Array(field.dtype, field.ndim, "C")(field), generate


def _first_plain(word: Any) -> Any:
    return np.uint64((int(word) & -int(word)).bit_length() - 1 if word else 64)


def _flip_plain(word: Any) -> Any:
    return np.uint64(int.from_bytes(int(word).to_bytes(8, "little"), "big"))


def _rays_plain(line: Any, above: Any, occupied: Any) -> Any:
    upper = int(line) & int(occupied) & int(above)
    lower = int(line) & int(occupied) & ~int(above)
    below = 1 << max(lower.bit_length() - 1, 0)
    return np.uint64(int(line) & (upper ^ (upper - below)) & _64)


first: Any
flip: Any
rays: Any
put_byte: Any
as_array: Any
clear: Any
if disabled():
    first, flip, rays = _first_plain, _flip_plain, _rays_plain
    put_byte, clear = _put_plain, _clear_plain

    def as_array(field: Any) -> Any:
        """The field itself."""
        return field

    def scratch_words() -> Any:
        """[80] uint64 on the stack."""
        return np.zeros(80, np.uint64)

    def scratch_moves() -> Any:
        """[256] int32 on the stack."""
        return np.zeros(256, np.int32)

else:
    first, flip, rays = (intrinsic(define) for define in (_first, _flip, _rays))
    scratch_words = intrinsic(_stack(80, types.uint64))
    put_byte = intrinsic(_put_byte)
    clear = intrinsic(_clear)
    as_array = intrinsic(_as_array)
    scratch_moves = intrinsic(_stack(256, types.int32))
