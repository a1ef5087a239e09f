"""Asking the processor for memory ahead of its use: what a kernel reads at random comes while it does other things."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from matchwood.core.intrinsics import instruction


def _fetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The instruction of LLVM, for reading, to be kept in all caches."""
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.PointerType(ir.IntType(8)))
    number = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
    function = builder.module.declare_intrinsic("llvm.prefetch", (address.type,), kind)
    builder.call(function, [address, number(0), number(3), number(1)])
    return context.get_dummy_value()


def _prefetch(_typing: Any, array: Any, _index: Any) -> Any:
    return types.void(array, types.intp), _fetch


def _ignore(array: Any, index: Any) -> None:
    """Without compilation there is nothing to ask for."""


prefetch: Any = instruction(_ignore)(_prefetch)
"""prefetch(array, index): array[index] of a one-dimensional array is going to be read. Any index will do, also one that
the array does not have: nothing is read."""
