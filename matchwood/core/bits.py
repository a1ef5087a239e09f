"""Bits of 64-bit words by the processor's own instructions: compiled Python has no words for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from matchwood.core.intrinsics import instruction


def _plain_lowest_bit(word: Any) -> Any:
    held = int(word)
    return np.int64((held & -held).bit_length() - 1 if held else 64)


@instruction(_plain_lowest_bit)
def lowest_bit(typing: Any, word: Any) -> Any:
    """The number of the lowest bit that is set, from 0; of 0 it is 64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, False))

    return types.int64(types.uint64), generate


def _plain_bit_count(word: Any) -> Any:
    return np.int64(int(word).bit_count())


@instruction(_plain_bit_count)
def bit_count(typing: Any, word: Any) -> Any:
    """How many bits are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


def _plain_highest_bit(word: Any) -> Any:
    return np.int64(int(word).bit_length() - 1)


@instruction(_plain_highest_bit)
def highest_bit(typing: Any, word: Any) -> Any:
    """The number of the highest bit that is set, from 0; of 0 it is -1."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], context.get_constant(types.boolean, False))
        return builder.sub(context.get_constant(types.int64, 63), zeros)

    return types.int64(types.uint64), generate


_SIDE, _WIDTH = 64, 4
_WORD, _PLACE = ir.IntType(64), ir.IntType(32)
_VECTOR = ir.VectorType(_WORD, _WIDTH)
_MASKS = {width: sum(((1 << width) - 1) << at for at in range(0, _SIDE, 2 * width)) for width in (32, 16, 8, 4, 2, 1)}
_PARTNERS = {2: ((0, 1, 4, 5), (2, 3, 6, 7)), 1: ((0, 4, 2, 6), (1, 5, 3, 7))}
"""Words of two neighbouring vectors that are swapped with each other, where those are nearer than a vector is wide. The
same choice from the outcome brings them back."""


def _transposed(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Swap two corners of every square of 64, 32, ... 2 bits."""
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    start = builder.gep(data, [arguments[1]])
    places = [builder.gep(start, [_WORD(at)]) for at in range(0, _SIDE, _WIDTH)]
    places = [builder.bitcast(place, _VECTOR.as_pointer()) for place in places]
    rows = [builder.load(place, align=8) for place in places]
    for width in (32, 16, 8, 4):
        far = width // _WIDTH
        for row in (row for row in range(len(rows)) if not row & far):
            rows[row], rows[row + far] = _swapped(builder, rows[row], rows[row + far], width)
    for width, (lower, upper) in _PARTNERS.items():
        for row in range(0, len(rows), 2):
            pair = rows[row : row + 2]
            pair = _swapped(builder, _chosen(builder, pair, lower), _chosen(builder, pair, upper), width)
            rows[row : row + 2] = _chosen(builder, pair, lower), _chosen(builder, pair, upper)
    for row, place in zip(rows, places, strict=True):
        builder.store(row, place, align=8)
    return context.get_dummy_value()


def _swapped(builder: Any, lower: Any, upper: Any, width: int) -> Any:
    """Swap the upper bits of one vector with the lower bits of another."""
    far, mask = (ir.Constant(_VECTOR, [value] * _WIDTH) for value in (width, _MASKS[width]))
    changed = builder.and_(builder.xor(builder.lshr(lower, far), upper), mask)
    return [builder.xor(lower, builder.shl(changed, far)), builder.xor(upper, changed)]


def _chosen(builder: Any, pair: Any, places: tuple[int, ...]) -> Any:
    return builder.shuffle_vector(*pair, ir.Constant(ir.VectorType(_PLACE, _WIDTH), list(places)))


def _transpose(_typing: Any, words: Any, _at: Any) -> Any:
    return types.void(words, types.intp), _transposed


def _plain_transpose(words: Any, at: Any) -> None:
    square, places = words[int(at) : int(at) + _SIDE], np.arange(_SIDE, dtype=np.uint64)
    bits = (square[:, None] >> places) & np.uint64(1)
    square[:] = np.bitwise_or.reduce(bits << places[:, None], axis=0)


transpose: Any = instruction(_plain_transpose)(_transpose)
"""transpose(words, at): bit b of word w of the 64 from `at` on becomes bit w of word b. The array of 64-bit words must
have them all: nobody checks. All in registers: loops that store what they swap between two steps take four times as
long."""
