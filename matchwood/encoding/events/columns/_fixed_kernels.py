"""Compiled reading of fixed columns: values of fixed width, their NULLs as bits, all columns of a chunk in one call.

A fixed column lies where `FixedLayout` says. Its values are looked up among the boundaries of its attribute as they are
read: no array is made of them, and 64 NULLs in a row cost one test. Keys are those of `spaces/keys.py`, look-ups
those of `spaces/_lookup_kernels.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.bits import bit_count, lowest_bit
from matchwood.core.jit import kernel
from matchwood.encoding.events.columns._address_kernels import (
    bits_of,
    double_of,
    fetch_at,
    float32_at,
    float64_at,
    int8_at,
    int16_at,
    int32_at,
    int64_at,
)
from matchwood.encoding.spaces.keys import DOUBLE, NAN_KEY, PLACE_BITS

UNREAD, BIT, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, FLOAT32, FLOAT64 = range(11)
"""What stands in a column; of one that is UNREAD only NULL matters."""

SPACES = 8
"""Addresses and sizes of an attribute's boundaries: how many, keys, rests or 0, labels; the same of the tail."""

_TOGETHER = 64
"""So many values are looked up at the same time."""

_INFINITY_KEY = 0x7FF0_0000_0000_0000
_LEAST = np.int64(-(2**63))
_EXACT = 2**53
_ONE = np.uint64(1)


class FixedLayout(NamedTuple):
    """Fixed columns, each at one position of all arrays.

    `kinds`     what stands in them
    `values`    the address of the values
    `validity`  the address of the bits that tell which values are not NULL, 0 if all are
    `starts`    the position of the chunk's first row
    `spaces`    a line of SPACES numbers; how many is -1 where rules only ask for NULL
    """

    kinds: NDArray[np.int64]
    values: NDArray[np.int64]
    validity: NDArray[np.int64]
    starts: NDArray[np.int64]
    spaces: NDArray[np.int64]


@kernel
def read_children(address: int, values: Any, validity: Any, starts: Any) -> Any:
    """Where the columns of an exported record batch lie (an ArrowArray of Arrow's C data interface)."""
    children = int64_at(address + 48)
    for column in range(len(values)):
        child = int64_at(children + 8 * column)
        buffers = int64_at(child + 40)
        validity[column] = int64_at(buffers)
        values[column] = int64_at(buffers + 8)
        starts[column] = int64_at(child + 16) + int64_at(address + 16)


@kernel
def _valid_word(validity: Any, place: Any, left: Any) -> Any:
    """Which of the next rows are not NULL, as bits: at most `left` rows, and at most up to the end of eight bytes."""
    address, shift = validity + (place >> 3), place & 7
    if shift + left >= 64:
        return np.uint64(int64_at(address)) >> np.uint64(shift)
    word = np.uint64(0)
    for byte in range((shift + left + 7) >> 3):
        word |= np.uint64(np.uint8(int8_at(address + byte))) << np.uint64(8 * byte)
    return (word >> np.uint64(shift)) & ((_ONE << np.uint64(left)) - _ONE)


@kernel
def count_valid(fixed: Any, rows: int) -> Any:
    """How many values there are that are not NULL."""
    total = 0
    for column in range(len(fixed.kinds)):
        validity, place = fixed.validity[column], fixed.starts[column]
        if validity == 0:
            total += rows
            continue
        row = 0
        while row < rows:
            total += bit_count(_valid_word(validity, place + row, rows - row))
            row += 64 - ((place + row) & 7)
    return total


@kernel
def _width(kind: Any) -> Any:
    """How many bits a value takes."""
    if kind in (INT64, FLOAT64):
        return 64
    if kind in (INT32, UINT32, FLOAT32):
        return 32
    if kind in (INT16, UINT16):
        return 16
    return 1 if kind == BIT else 8


@kernel
def _integer_at(kind: Any, values: Any, place: Any) -> Any:
    if kind == INT64:
        return int64_at(values + 8 * place)
    if kind == INT32:
        return np.int64(int32_at(values + 4 * place))
    if kind == UINT32:
        return np.int64(np.uint32(int32_at(values + 4 * place)))
    if kind == BIT:
        return (np.int64(int8_at(values + (place >> 3))) >> (place & 7)) & 1
    if kind == INT16:
        return np.int64(int16_at(values + 2 * place))
    if kind == UINT16:
        return np.int64(np.uint16(int16_at(values + 2 * place)))
    if kind == INT8:
        return np.int64(int8_at(values + place))
    return np.int64(np.uint8(int8_at(values + place)))


@kernel
def double_key(value: Any) -> Any:
    bits = bits_of(value)
    key = _LEAST - bits if bits < 0 else bits
    return np.int64(NAN_KEY) if key > _INFINITY_KEY or key < -_INFINITY_KEY else key


@kernel
def number_key(value: Any) -> Any:
    """Primary and rest of an integer."""
    nearest = np.float64(value)
    primary = double_key(nearest)
    if -_EXACT <= value <= _EXACT:
        return primary, np.int64(0)
    if nearest >= 2.0**63 or np.int64(nearest) > value:
        primary -= 1
    below = double_of(_LEAST - primary if primary < 0 else primary)
    return primary, (value - np.int64(below)) << PLACE_BITS


@kernel
def count_up_to(count: Any, keys: Any, rests: Any, key: Any, rest: Any) -> Any:
    """How many of the sorted keys at an address are not above (key, rest)."""
    found = np.int64(0)
    while count > 0:
        half = (count + 1) >> 1
        found = found + half if int64_at(keys + 8 * (found + half - 1)) <= key else found
        count -= half
    if rests:
        while found > 0 and int64_at(keys + 8 * (found - 1)) == key and int16_at(rests + 2 * (found - 1)) > rest:
            found -= 1
    return found


@kernel
def _label_at(fixed: Any, column: Any, place: Any) -> Any:
    """The label of the value at a place of a column."""
    kind, values, spaces = fixed.kinds[column], fixed.values[column], fixed.spaces[column]
    if kind == UNREAD or spaces[0] < 0:
        return np.int32(0)
    rest = np.int64(DOUBLE)
    if kind == FLOAT64:
        key = double_key(float64_at(values + 8 * place))
    elif kind == FLOAT32:
        key = double_key(np.float64(float32_at(values + 4 * place)))
    elif spaces[2] or spaces[6]:
        key, rest = number_key(_integer_at(kind, values, place))
    else:
        key = _integer_at(kind, values, place)
    found = count_up_to(spaces[0], spaces[1], spaces[2], key, rest)
    label = int32_at(spaces[3] + 4 * (found - 1)) if found else np.int32(0)
    if spaces[4]:
        found = count_up_to(spaces[4], spaces[5], spaces[6], key, rest)
        if found:
            label = max(label, int32_at(spaces[7] + 4 * (found - 1)))
    return label


class Searches(NamedTuple):
    """Values that are looked up at the same time: their keys, the rests of these, and how many boundaries are below."""

    keys: NDArray[np.int64]
    rests: NDArray[np.int64]
    below: NDArray[np.int64]


@kernel
def _begin_searches(fixed: Any, column: Any, rows: Any, begin: Any, count: Any, searches: Any) -> Any:
    """Read the values of some rows of a column as keys."""
    kind, values, place = fixed.kinds[column], fixed.values[column], fixed.starts[column]
    keys, rests, below = searches
    for i in range(count):
        at = place + rows[begin + i]
        key, rest = np.int64(0), np.int64(DOUBLE)
        if kind == FLOAT64:
            key = double_key(float64_at(values + 8 * at))
        elif kind == FLOAT32:
            key = double_key(np.float64(float32_at(values + 4 * at)))
        elif fixed.spaces[column, 2]:
            key, rest = number_key(_integer_at(kind, values, at))
        else:
            key = _integer_at(kind, values, at)
        keys[i], rests[i], below[i] = key, rest, 0


@kernel
def _locate_together(fixed: Any, column: Any, count: Any, searches: Any) -> None:
    """Search for all keys among the boundaries of a column at once: each takes one step, then each takes the next.

    A step waits for memory, or for one before it; those of several searches wait at the same time.
    """
    size, boundaries, own_rests = fixed.spaces[column, 0], fixed.spaces[column, 1], fixed.spaces[column, 2]
    keys, rests, below = searches
    while size > 0:
        half = (size + 1) >> 1
        if own_rests:
            for i in range(count):
                further = below[i] + half
                key, rest = int64_at(boundaries + 8 * (further - 1)), np.int64(int16_at(own_rests + 2 * (further - 1)))
                passed = (key < keys[i]) | ((key == keys[i]) & (rest <= rests[i]))
                below[i] = further if passed else below[i]
        else:
            for i in range(count):
                further = below[i] + half
                below[i] = further if int64_at(boundaries + 8 * (further - 1)) <= keys[i] else below[i]
        size -= half


@kernel
def _locate_column(fixed: Any, column: Any, rows: Any, labels: Any, begin: Any, end: Any, searches: Any) -> None:
    """Write the labels of a column's values in rows[begin:end]."""
    if fixed.kinds[column] == UNREAD or fixed.spaces[column, 0] < 0 or fixed.spaces[column, 4]:
        for i in range(begin, end):
            labels[i] = _label_at(fixed, column, fixed.starts[column] + rows[i])
        return
    own_labels = fixed.spaces[column, 3]
    while begin < end:
        count = min(end - begin, _TOGETHER)
        _begin_searches(fixed, column, rows, begin, count, searches)
        _locate_together(fixed, column, count, searches)
        for i in range(count):
            found = searches.below[i]
            labels[begin + i] = int32_at(own_labels + 4 * (found - 1)) if found else np.int32(0)
        begin += count


@kernel
def located(fixed: Any, numbers: Any, rows: int, total: int) -> Any:
    """Row, attribute and label of each of the `total` values that are not NULL, column by column.

    Before them, where the values of each column begin, and where all end.
    """
    bounds = np.zeros(len(fixed.kinds) + 1, np.int64)
    found_rows, attributes = np.empty(total, np.int64), np.empty(total, np.int32)
    labels = np.empty(total, np.int32)
    searches = Searches(np.empty(_TOGETHER, np.int64), np.empty(_TOGETHER, np.int64), np.empty(_TOGETHER, np.int64))
    end = 0
    for column in range(len(fixed.kinds)):
        validity, place = fixed.validity[column], fixed.starts[column]
        values, width, row = fixed.values[column], _width(fixed.kinds[column]), 0
        while row < rows and end < total:
            step = 64 - ((place + row) & 7)
            if validity == 0:
                word = ~np.uint64(0) >> np.uint64(64 - min(step, rows - row))
            else:
                word = _valid_word(validity, place + row, rows - row)
            while word != 0 and end < total:
                at = row + lowest_bit(word)
                # Few values stand side by side: each is a miss of its own, and all are waited for at once.
                fetch_at(values + ((width * (place + at)) >> 3))
                found_rows[end] = at
                attributes[end] = numbers[column]
                word &= word - _ONE
                end += 1
            row += step
        _locate_column(fixed, column, found_rows, labels, bounds[column], end, searches)
        bounds[column + 1] = end
    return bounds, found_rows, attributes, labels


@kernel
def fill_lines(fixed: Any, lines: Any, rows: int, matrix: Any) -> None:
    """Write the labels of each column to a line of the matrix, -1 for NULL."""
    held, labels = np.empty(_TOGETHER + 1, np.int64), np.empty(_TOGETHER, np.int32)
    searches = Searches(np.empty(_TOGETHER, np.int64), np.empty(_TOGETHER, np.int64), np.empty(_TOGETHER, np.int64))
    for column in range(len(fixed.kinds)):
        validity, place, line = fixed.validity[column], fixed.starts[column], matrix[lines[column]]
        for first in range(0, rows, _TOGETHER):
            count = 0
            for row in range(first, min(rows, first + _TOGETHER)):
                # Each row is written where the next one goes, and stays if it has a value.
                held[count] = row
                line[row] = -1
                at = place + row
                count += 1 if validity == 0 else (int8_at(validity + (at >> 3)) >> (at & 7)) & 1
            _locate_column(fixed, column, held, labels, 0, count, searches)
            for i in range(count):
                line[held[i]] = labels[i]
