"""One test of many numbers at once: a few vector instructions whose answer is a word of bits.

A loop over the same numbers would have to write its answers somewhere; here they stay in registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from matchwood.core.intrinsics import instruction

LANES = 32
"""Numbers that are tested together at least; or twice as many."""

PIECES = 8
"""Pieces that one number is looked for in at once."""

_WORD, _PLACE = ir.IntType(64), ir.IntType(32)


def _vector(bits: int, lanes: int) -> Any:
    return ir.VectorType(ir.IntType(bits), lanes)


def _loaded(context: Any, builder: Any, kind: Any, array: Any, at: Any, vector: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    start = builder.bitcast(builder.gep(data, [at]), vector.as_pointer())
    return builder.load(start, align=vector.element.width // 8)


def _everywhere(builder: Any, word: Any, vector: Any) -> Any:
    """A vector with one value in all places."""
    value = builder.trunc(word, vector.element)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, _PLACE(0))
    places = ir.Constant(ir.VectorType(_PLACE, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), places)


def _held(builder: Any, numbers: Any, low: Any, count: Any) -> Any:
    """A bit for each number that is one of `count` from `low` on."""
    steps = builder.sub(numbers, _everywhere(builder, low, numbers.type))
    found = builder.icmp_unsigned("<", steps, _everywhere(builder, count, numbers.type))
    bits = builder.bitcast(found, ir.IntType(numbers.type.count))
    return bits if numbers.type.count == _WORD.width else builder.zext(bits, _WORD)


def _within(vector: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, at, low, count = arguments
        numbers = _loaded(context, builder, signature.args[0], array, at, vector)
        return _held(builder, numbers, low, count)

    def typed(_typing: Any, numbers: Any, _at: Any, _low: Any, _count: Any) -> Any:
        return types.uint64(numbers, types.intp, types.uint64, types.uint64), generate

    return typed


def _in_pieces(vector: Any) -> Any:
    """The numbers stay in registers while one piece after the other is tried."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, at, pieces, first, count, left = arguments
        numbers = _loaded(context, builder, signature.args[0], array, at, vector)
        data = context.make_array(signature.args[2])(context, builder, pieces).data
        mask = builder.sub(builder.shl(_WORD(1), left), _WORD(1))
        found = cgutils.alloca_once_value(builder, _WORD(0))
        with cgutils.for_range(builder, count) as loop:
            piece = builder.zext(builder.load(builder.gep(data, [builder.add(first, loop.index)])), _WORD)
            more = builder.and_(piece, mask)
            low, some = builder.sub(piece, more), builder.shl(builder.add(more, _WORD(1)), left)
            # The last of all numbers is in no piece.
            whole = builder.icmp_unsigned("==", builder.add(low, some), _WORD(1 << 16))
            some = builder.sub(some, builder.zext(whole, _WORD))
            builder.store(builder.or_(builder.load(found), _held(builder, numbers, low, some)), found)
        return builder.load(found)

    def typed(_typing: Any, numbers: Any, _at: Any, pieces: Any, _first: Any, _count: Any, _left: Any) -> Any:
        integers = (types.intp, types.intp, types.uint64)
        return types.uint64(numbers, types.intp, pieces, *integers), generate

    return typed


def _pieces_around(vector: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pieces, at, number, left = arguments
        found = _loaded(context, builder, signature.args[0], pieces, at, vector)
        mask = builder.sub(builder.shl(_WORD(1), left), _WORD(1))
        steps = builder.sub(
            _everywhere(builder, number, vector), builder.lshr(found, _everywhere(builder, left, vector))
        )
        held = builder.icmp_unsigned("<=", steps, builder.and_(found, _everywhere(builder, mask, vector)))
        return builder.zext(builder.bitcast(held, ir.IntType(vector.count)), _WORD)

    def typed(_typing: Any, pieces: Any, _at: Any, _number: Any, _left: Any) -> Any:
        return types.uint64(pieces, types.intp, types.uint64, types.uint64), generate

    return typed


def _plainly_around(pieces: Any, at: Any, number: Any, left: Any) -> Any:
    mask, found = (1 << int(left)) - 1, 0
    for place, piece in enumerate(pieces[int(at) : int(at) + PIECES].tolist()):
        found |= (((int(number) - (piece >> int(left))) & 2**16 - 1) <= piece & mask) << place
    return np.uint64(found)


def _plainly(bits: int, lanes: int) -> Any:
    def plain(numbers: Any, at: Any, low: Any, count: Any) -> Any:
        mask = (1 << bits) - 1
        steps = (numbers[int(at) : int(at) + lanes].astype(np.int64) - int(low)) & mask
        return np.uint64(sum(1 << lane for lane in range(lanes) if steps[lane] < int(count) & mask))

    return plain


def _plainly_in_pieces(lanes: int) -> Any:
    within = _plainly(16, lanes)

    def plain(numbers: Any, at: Any, pieces: Any, first: Any, count: Any, left: Any) -> Any:
        found, mask = np.uint64(0), (1 << int(left)) - 1
        for piece in pieces[int(first) : int(first) + int(count)].tolist():
            low, some = piece & ~mask, ((piece & mask) + 1) << int(left)
            found |= within(numbers, at, low, some - (low + some == 1 << 16))
        return found

    return plain


lanes_within: Any = instruction(_plainly(16, LANES))(_within(_vector(16, LANES)))
"""lanes_within(numbers, at, low, count): for each of the LANES numbers of 16 bits from `at` on a bit, whether it is one
of the `count` from `low` on, counted in 16 bits. The array must have them all: nobody checks."""

both_within: Any = instruction(_plainly(16, 2 * LANES))(_within(_vector(16, 2 * LANES)))
"""The same of twice as many."""

long_lanes_within: Any = instruction(_plainly(32, LANES))(_within(_vector(32, LANES)))
"""As `lanes_within`, of numbers of 32 bits."""

lanes_in_pieces: Any = instruction(_plainly_in_pieces(LANES))(_in_pieces(_vector(16, LANES)))
"""lanes_in_pieces(numbers, at, pieces, first, count, left): as `lanes_within`, whether each number lies in one of the
`count` pieces from pieces[first] on. Of the 16 bits of a piece all but the lower `left` are its first number, and one
more than these is how many times two to the power of `left` it has. The last of all numbers, 2**16 - 1, is in none."""

both_in_pieces: Any = instruction(_plainly_in_pieces(2 * LANES))(_in_pieces(_vector(16, 2 * LANES)))
"""The same of twice as many."""

pieces_around: Any = instruction(_plainly_around)(_pieces_around(_vector(16, PIECES)))
"""pieces_around(pieces, at, number, left): for each of the PIECES pieces from `at` on a bit, whether a number lies in
it: the upper bits of a piece, all but `left`, are its first number, and the others how many more it has. The array must
have them all: nobody checks."""
