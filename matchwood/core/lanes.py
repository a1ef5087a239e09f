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


_WORD = ir.IntType(64)
_NARROW, _WIDE = (ir.VectorType(ir.IntType(bits), LANES) for bits in (16, 32))


def _steps(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """How far each number is from `low`, and whether that is below `count`; of the first four arguments."""
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    start = builder.bitcast(builder.gep(data, [arguments[1]]), _NARROW.as_pointer())
    found = builder.load(start, align=2)
    low, count = (_everywhere(builder, each, _NARROW) for each in arguments[2:4])
    steps = builder.sub(found, low)
    return steps, builder.icmp_unsigned("<", steps, count)


def _within(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _word(builder, _steps(context, builder, signature, arguments)[1])


def _masked(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Processors shift numbers of 32 bits by as many places each, but none of 64 bits so fast, nor of 16."""
    steps, within = _steps(context, builder, signature, arguments)
    places = builder.lshr(builder.zext(steps, _WIDE), _everywhere(builder, arguments[4], _WIDE))
    low = _everywhere(builder, arguments[5], _WIDE)
    high = _everywhere(builder, builder.lshr(arguments[5], _WORD(32)), _WIDE)
    upper = builder.icmp_unsigned("!=", builder.and_(places, _all(32)), _all(0))
    held = builder.lshr(builder.select(upper, high, low), builder.and_(places, _all(31)))
    return _word(builder, builder.and_(within, builder.trunc(held, within.type)))


def _word(builder: Any, held: Any) -> Any:
    """A bit for each lane."""
    return builder.zext(builder.bitcast(held, ir.IntType(LANES)), _WORD)


def _all(value: int) -> Any:
    return ir.Constant(_WIDE, [value] * LANES)


def _everywhere(builder: Any, word: Any, vector: Any) -> Any:
    """A vector with one value in all places."""
    value = builder.trunc(word, vector.element)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), places)


def _lanes_within(_typing: Any, codes: Any, _at: Any, _low: Any, _count: Any) -> Any:
    return types.uint64(codes, types.intp, types.uint64, types.uint64), _within


def _lanes_masked(_typing: Any, codes: Any, _at: Any, _low: Any, _count: Any, _shift: Any, _bits: Any) -> Any:
    return types.uint64(codes, types.intp, *[types.uint64] * 4), _masked


def _plain(codes: Any, at: Any, low: Any, count: Any) -> Any:
    steps = (codes[int(at) : int(at) + LANES].astype(np.int64) - int(low)) & 0xFFFF
    return np.uint64(sum(1 << lane for lane in range(LANES) if steps[lane] < int(count)))


def _plain_masked(codes: Any, at: Any, low: Any, count: Any, shift: Any, bits: Any) -> Any:
    steps = (codes[int(at) : int(at) + LANES].astype(np.int64) - int(low)) & 0xFFFF
    held = (
        lane for lane in range(LANES) if steps[lane] < int(count) and int(bits) >> (int(steps[lane]) >> int(shift)) & 1
    )
    return np.uint64(sum(1 << lane for lane in held))


lanes_within: Any = instruction(_plain)(_lanes_within)
"""lanes_within(codes, at, low, count): for each of the LANES numbers from `at` on a bit, whether it is one of the
`count` from `low` on, counted in 16 bits. The array must have them all: nobody checks."""

lanes_masked: Any = instruction(_plain_masked)(_lanes_masked)
"""lanes_masked(codes, at, low, count, shift, bits): the same for those whose step from `low`, shifted, is the number of
a bit that is set; `count` must not be more than 64 such steps have."""
