"""Loading memory into the cache before a compiled loop needs it; imports numba."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LINE_BYTES = 64  # of the cache


def _prefetch(_context: Any, array: Any, _index: Any) -> Any:
    """Ask for the cache line of an array's element, numbered in C order, without waiting for it.

    The processor loads consecutive lines by itself, but not while a loop works on a few of them.
    The element may lie outside of the array.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        )
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        read, keep_in_all_levels, is_data = (ir.Constant(word, value) for value in (0, 3, 1))
        builder.call(function, [address, read, keep_in_all_levels, is_data])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


prefetch: Any = intrinsic(_prefetch)
