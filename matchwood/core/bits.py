"""Bits of 64-bit words by the processor's own instructions: compiled Python has no words for them."""

from __future__ import annotations

from typing import Any

import numpy as np
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
