"""Eight bytes at a time: how kernels hash, compare and read texts without looking at each byte."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from matchwood.core.intrinsics import instruction


def _load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.PointerType(ir.IntType(64)))
    return builder.load(address, align=1)


def _word_at(_typing: Any, data: Any, _index: Any) -> Any:
    return types.uint64(data, types.intp), _load


def _plain_word_at(data: Any, index: Any) -> Any:
    return np.uint64(int.from_bytes(data[index : index + 8].tobytes(), "little"))


word_at: Any = instruction(_plain_word_at)(_word_at)
"""word_at(data, index): the bytes data[index : index + 8] as one number, the first one lowest. All must be there:
nobody checks."""
