"""Default kernels of games: a hash of a row of one structured array, and the current player."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.extending import intrinsic
from numba.np.numpy_support import as_dtype

from ...aliases import Player, State
from .jit import disabled, kernel
from .rng import Word, mix64

__all__ = ["everybody", "row_key", "row_mover"]


@lru_cache(maxsize=64)
def _masks(dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Masks of a row's 64-bit integers: all bits of fields, none of the gaps of an aligned layout."""
    used = np.zeros(dtype.itemsize, np.uint8)
    _mark(used, dtype, 0)
    padded = np.zeros(-(-dtype.itemsize // 8) * 8, np.uint8)
    padded[: used.size] = used
    return tuple(int.from_bytes(padded[at : at + 8].tobytes(), "little") for at in range(0, padded.size, 8))


def _mark(used: Any, dtype: np.dtype[Any], at: int) -> None:
    if dtype.fields is not None:
        for kind, offset in (field[:2] for field in dtype.fields.values()):
            _mark(used, kind, at + offset)
        return
    base, shape = dtype.subdtype or (dtype, ())
    for k in range(int(np.prod(shape, dtype=np.int64))) if base.fields is not None else ():
        _mark(used, base, at + k * base.itemsize)
    if base.fields is None:
        used[at : at + dtype.itemsize] = 255


def _row_words(typing_context: Any, state: Any) -> Any:
    """The number of 64-bit integers in a row; the last may have fewer than eight bytes."""
    if not isinstance(state, types.Array) or not isinstance(state.dtype, types.Record) or state.ndim != 1:
        raise TypingError("row_key hashes rows of one structured array [N]; other states need their own key")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(types.intp, -(-signature.args[0].dtype.size // 8))

    return types.intp(state), generate


def _row_word(typing_context: Any, state: Any, i: Any, k: Any) -> Any:
    """Bytes 8 k to 8 k + 7 of row i as a number, with the bytes of gaps as 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        record = signature.args[0].dtype
        masks, word = _masks(as_dtype(record)), ir.IntType(64)
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        stride = builder.extract_value(array.strides, 0)
        row = builder.gep(builder.bitcast(array.data, ir.IntType(8).as_pointer()), [builder.mul(arguments[1], stride)])
        if record.size < 8:
            whole = ir.IntType(8 * record.size)
            loaded = builder.zext(builder.load(builder.bitcast(row, whole.as_pointer()), align=1), word)
        else:  # the upper part of the last eight bytes is the last integer
            begin, last = builder.mul(arguments[2], word(8)), word(record.size - 8)
            at = builder.select(builder.icmp_signed("<", begin, last), begin, last)
            loaded = builder.load(builder.bitcast(builder.gep(row, [at]), word.as_pointer()), align=1)
            loaded = builder.lshr(loaded, builder.mul(builder.sub(begin, at), word(8)))
        table = ir.Constant(ir.ArrayType(word, len(masks)), masks)
        used = cgutils.global_constant(builder, "row_masks", table)
        return builder.and_(loaded, builder.load(builder.gep(used, [ir.IntType(32)(0), arguments[2]])))

    return types.uint64(state, types.intp, types.intp), generate


def _row_words_plain(state: State) -> int:
    """``row_words`` with the JIT off."""
    return len(_masks(state.dtype))


def _row_word_plain(state: State, i: int, k: int) -> Any:
    """``row_word`` with the JIT off."""
    return np.uint64(int.from_bytes(state[i].tobytes()[8 * k : 8 * k + 8], "little") & _masks(state.dtype)[k])


row_words: Any = _row_words_plain if disabled() else intrinsic(_row_words)
row_word: Any = _row_word_plain if disabled() else intrinsic(_row_word)


@kernel
def row_key(state: State, i: int) -> Word:
    """A 64-bit hash of all fields of row i of one structured array [N]: equal rows have equal keys."""
    hashed = mix64(np.uint64(row_words(state)))
    for k in range(row_words(state)):
        hashed = mix64(hashed ^ row_word(state, i, k))
    return hashed


@kernel
def row_mover(state: State, i: int) -> Any:
    """The ``mover`` kernel of turn-based games whose rows have a field ``mover``."""
    return np.int64(state[i]["mover"])


@kernel
def everybody(state: State, i: int) -> Player:
    """The ``mover`` kernel of simultaneous games: -1, all move at once."""
    return -1
