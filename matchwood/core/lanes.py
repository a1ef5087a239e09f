"""One test of many numbers at once: a vector instruction whose answer is a word of bits.

A loop over the same numbers would have to write its answers somewhere; here they stay in one register.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from matchwood.core.intrinsics import instruction

LANES = 32
"""Numbers of 16 bits that are tested together."""


def _within(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    number, vector = ir.IntType(16), ir.VectorType(ir.IntType(16), LANES)
    start = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
    found = builder.load(start, align=2)
    low, count = (_everywhere(builder, builder.trunc(each, number), vector) for each in arguments[2:])
    held = builder.icmp_unsigned("<", builder.sub(found, low), count)
    return builder.zext(builder.bitcast(held, ir.IntType(LANES)), ir.IntType(64))


def _everywhere(builder: Any, value: Any, vector: Any) -> Any:
    """A vector with one value in all places."""
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), places)


def _lanes_within(_typing: Any, codes: Any, _at: Any, _low: Any, _count: Any) -> Any:
    return types.uint64(codes, types.intp, types.uint64, types.uint64), _within


def _plain(codes: Any, at: Any, low: Any, count: Any) -> Any:
    steps = (codes[int(at) : int(at) + LANES].astype(np.int64) - int(low)) & 0xFFFF
    return np.uint64(sum(1 << lane for lane in range(LANES) if steps[lane] < int(count)))


lanes_within: Any = instruction(_plain)(_lanes_within)
"""lanes_within(codes, at, low, count): for each of the LANES numbers from `at` on a bit, whether it is one of the
`count` from `low` on, counted in 16 bits. The array must have them all: nobody checks."""
