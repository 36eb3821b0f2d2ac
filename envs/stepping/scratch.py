"""Scratch space on the stack, for kernels whose signature has no room for an argument. Kernels cannot allocate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.extending import intrinsic
from numba.np.arrayobj import populate_array
from numpy.typing import NDArray

from .jit import disabled

__all__ = ["scratch"]


def _scratch(typing_context: Any, count: Any) -> Any:
    """[count] uint16 with any content, until the kernel returns; ``count`` is a constant of the module."""
    if not isinstance(count, types.IntegerLiteral):
        return None
    array = types.Array(types.uint16, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        item, length = (context.get_constant(types.intp, n) for n in (2, count.literal_value))
        data = cgutils.alloca_once(builder, context.get_data_type(types.uint16), size=count.literal_value)
        made = context.make_array(array)(context, builder)
        populate_array(made, data=data, shape=[length], strides=[item], itemsize=item, meminfo=None)
        return made._getvalue()

    return array(count), generate


def _scratch_plain(count: int) -> NDArray[np.uint16]:
    """``scratch`` where the JIT is off."""
    return np.empty(count, np.uint16)


scratch: Any = _scratch_plain if disabled() else intrinsic(prefer_literal=True)(_scratch)
