"""Compiled reading of Arrow's decimals: which are integers, which stand where a double does, which need a closer look.

A decimal lies in memory as one integer in two's complement, here in pieces of 32 bits from the lowest on, to be divided
by a power of ten. One of at most 15 digits stands at the place of the double nearest to it (`spaces/decimals.py`), and
that is the quotient of two doubles that are exact: it is rounded once, and so to the nearest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel

WHOLE, SHORT, LONG = 0, 1, 2
"""An integer of 64 bits, one of at most 15 digits, any other."""

EXACT_POWER = 22
"""The greatest power of ten that a double holds."""

_MOST = np.uint64(10**15)
_MASK = np.uint64(0xFFFF_FFFF)
_HALF = np.uint64(32)
_TEN = np.uint64(10)
_SIGN = np.uint64(2**63)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@kernel
def _magnitude(row: Any, pieces: Any) -> Any:
    """Write the pieces of a number without its sign; returns how many are not zero at the end."""
    negative = row[len(row) - 1] >> np.uint32(31) != 0
    carry, used = _ONE, 0
    for place in range(len(row)):
        piece = np.uint64(row[place])
        if negative:
            piece = (piece ^ _MASK) + carry
            carry = piece >> _HALF
            piece &= _MASK
        pieces[place] = piece
        if piece != _ZERO:
            used = place + 1
    return used


@kernel
def _without_zeros(pieces: Any, quotient: Any, used: Any, scale: Any) -> Any:
    """Divide by ten as often as that leaves no rest; returns the pieces in use and the scale that is left."""
    while scale > 0 and used > 0:
        rest = _ZERO
        for place in range(used - 1, -1, -1):
            part = (rest << _HALF) | pieces[place]
            quotient[place] = part // _TEN
            rest = part - quotient[place] * _TEN
        if rest != _ZERO:
            break
        for place in range(used):
            pieces[place] = quotient[place]
        if pieces[used - 1] == _ZERO:
            used -= 1
        scale -= 1
    return used, scale


@kernel
def read_decimals(rows: Any, scale: Any, powers: Any) -> Any:
    """What each decimal is, the integer if it is WHOLE, and the nearest double, of a LONG one only about."""
    kinds, integers = np.empty(len(rows), np.int8), np.zeros(len(rows), np.int64)
    nearest = np.empty(len(rows), np.float64)
    pieces, quotient = np.empty(rows.shape[1], np.uint64), np.empty(rows.shape[1], np.uint64)
    for position in range(len(rows)):
        row = rows[position]
        negative = row[len(row) - 1] >> np.uint32(31) != 0
        used, left = _without_zeros(pieces, quotient, _magnitude(row, pieces), scale)
        if used == 0:
            left = 0
        value = 0.0
        for place in range(used - 1, -1, -1):
            value = value * 4294967296.0 + np.float64(pieces[place])
        lowest = (pieces[0] if used > 0 else _ZERO) | ((pieces[1] if used > 1 else _ZERO) << _HALF)
        if left == 0 and used <= 2 and lowest < _SIGN:
            kinds[position] = WHOLE
            integers[position] = -np.int64(lowest) if negative else np.int64(lowest)
        elif left == 0 and used == 2 and lowest == _SIGN and negative:
            kinds[position] = WHOLE
            integers[position] = np.int64(-(2**63))
        else:
            short = 0 < left <= EXACT_POWER and used <= 2 and lowest <= _MOST
            kinds[position] = SHORT if short else LONG
        value = value / powers[left] if left > 0 else value * powers[-left]
        nearest[position] = -value if negative else value
    return kinds, integers, nearest
