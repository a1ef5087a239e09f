"""Kernels of *sets*: constraints that are more than one interval of few bits, each distinct one once in a store.

A set is a stretch of 16-bit numbers, found by where it begins. Its *head* holds, from the lowest bit on, how many
pieces it has (eight bits), whether NULL passes, which form it has (two), and in the first form the bits of a rank:

- NARROW: the attribute, and a number for each piece: the first *rank*, the upper bits of its labels, and in the bits
  that are left how many more ranks there are. Labels are round, so lists of values are nearly always narrow;
- PAIRED: the attribute, and two numbers for each piece: the upper 16 bits of its first label, and how many more of
  these it has;
- WIDE: the attribute, the number of pieces, and for each its low and its high label, of two numbers each, the lower one
  first. What fits nowhere else does here.

Each has the first form that it fits, so equal sets are equal number by number. Pieces are disjoint and increase.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.bits import lowest_bit
from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel
from matchwood.core.lanes import PIECES, pieces_around
from matchwood.encoding.codes import TOP_LABEL
from matchwood.encoding.spaces.dyadic import block_end

LABEL_BITS = 31
PAIR_BITS = 16

NARROW, PAIRED, WIDE = 0, 1, 2
NULL_PASSES = 1 << 8
_FORM_SHIFT, _RANK_SHIFT = 9, 11
MOST_PIECES = (1 << 8) - 1
"""Of sets that are not wide."""

_MOST_RANK_BITS = 15
_LOW = 2**16 - 1

NARROW_START, WIDE_START = 2, 5
"""Numbers before the pieces, of narrow and paired sets, and of wide ones."""

WIDE_PIECE = 4
_FEW = 8


@bare_kernel
def _long(sets: Any, at: Any) -> Any:
    """The number of 32 bits at two places."""
    return np.int64(sets[at]) | (np.int64(sets[at + 1]) << np.int64(16))


@bare_kernel
def _write_long(sets: Any, at: Any, number: Any) -> None:
    sets[at], sets[at + 1] = np.int64(number) & _LOW, np.int64(number) >> 16


@bare_kernel
def form_of(head: Any) -> Any:
    """The form of a set, by its head."""
    return (np.int64(head) >> _FORM_SHIFT) & 3


@bare_kernel
def is_plain(head: Any) -> Any:
    """Whether a set is narrow, and NULL is not in it, by its head."""
    return head & np.uint16(NULL_PASSES | 3 << _FORM_SHIFT) == 0


@bare_kernel
def is_wide(head: Any) -> Any:
    """Whether a set is wide, by its head."""
    return form_of(head) == WIDE


@bare_kernel
def rank_bits_of(head: Any) -> Any:
    """How many bits a rank of a narrow set has, by its head."""
    return np.int64(head) >> _RANK_SHIFT


@bare_kernel
def null_passes(sets: Any, at: Any) -> Any:
    """Whether NULL is in a set."""
    return sets[at] & np.uint16(NULL_PASSES) != 0


@bare_kernel
def set_attribute(sets: Any, at: Any) -> Any:
    """The attribute that a set is of."""
    return _long(sets, at + 1) if form_of(sets[at]) == WIDE else np.int64(sets[at + 1])


@bare_kernel
def piece_count(sets: Any, at: Any) -> Any:
    """How many pieces a set has."""
    return _long(sets, at + 3) if form_of(sets[at]) == WIDE else np.int64(sets[at]) & MOST_PIECES


@bare_kernel
def set_end(sets: Any, at: Any) -> Any:
    """Where a set ends."""
    form, count = form_of(sets[at]), piece_count(sets, at)
    if form == WIDE:
        return np.int64(at) + WIDE_START + WIDE_PIECE * count
    return np.int64(at) + NARROW_START + (count if form == NARROW else 2 * count)


@bare_kernel
def label_end(end: Any) -> Any:
    """The label that ends an interval: the end of the domain is TOP_LABEL."""
    return min(np.int64(end), np.int64(TOP_LABEL))


@bare_kernel
def piece(sets: Any, at: Any, number: Any) -> Any:
    """The low and the high label of a piece of a set."""
    form = form_of(sets[at])
    if form == NARROW:
        bits = rank_bits_of(sets[at])
        packed, left = np.int64(sets[at + NARROW_START + number]), PAIR_BITS - bits
        first, more = packed >> left, packed & ((np.int64(1) << left) - 1)
    elif form == PAIRED:
        bits, place = np.int64(PAIR_BITS), at + NARROW_START + 2 * number
        first, more = np.int64(sets[place]), np.int64(sets[place + 1])
    else:
        place = at + WIDE_START + WIDE_PIECE * number
        return _long(sets, place), _long(sets, place + 2)
    shift = LABEL_BITS - bits
    return first << shift, label_end((first + more + 1) << shift)


@bare_kernel
def set_hull(sets: Any, at: Any) -> Any:
    """The interval from the first label of a set to its last, whatever lies between; (0, 0) if it has no piece."""
    count = piece_count(sets, at)
    if count == 0:
        return np.int64(0), np.int64(0)
    low, high = piece(sets, at, 0)
    if count > 1:
        _, high = piece(sets, at, count - 1)
    return low, high


@bare_kernel
def has_few(sets: Any, at: Any) -> Any:
    """Whether a set is narrow and of up to PIECES, NULL is not in it, and the array has room to look at all at once."""
    return is_plain(sets[at]) and sets[at] & np.uint16(MOST_PIECES) <= PIECES and len(sets) >= PIECES


@bare_kernel
def in_few(sets: Any, at: Any, label: Any) -> Any:
    """The same of a narrow set of up to PIECES, all of which are looked at together: of a loop over two or three, a
    processor would guess wrong where it ends.

    What is read must lie within the array, so the last ones are read with those before them.
    """
    head, start = np.uint32(sets[at]), np.int64(at) + NARROW_START
    bits, count = head >> np.uint32(_RANK_SHIFT), np.uint64(head & np.uint32(MOST_PIECES))
    rank = np.uint32(label) >> np.uint32(np.uint32(LABEL_BITS) - bits)
    first = min(start, np.int64(len(sets) - PIECES))
    found = pieces_around(sets, first, np.uint64(rank), np.uint64(np.uint32(PAIR_BITS) - bits))
    wanted = ((np.uint64(1) << count) - np.uint64(1)) << np.uint64(start - first)
    return found & wanted != 0


@bare_kernel
def _in_narrow(sets: Any, at: Any, label: Any) -> Any:
    """The same where there are fewer in the whole array."""
    head = np.uint32(sets[at])
    bits, start = head >> np.uint32(_RANK_SHIFT), np.uint64(at) + np.uint64(NARROW_START)
    left, held = np.uint32(np.uint32(PAIR_BITS) - bits), np.uint32(0)
    rank, mask = np.uint32(label) >> np.uint32(np.uint32(LABEL_BITS) - bits), (np.uint32(1) << left) - np.uint32(1)
    for place in range(start, start + np.uint64(head & np.uint32(MOST_PIECES))):
        packed = np.uint32(sets[place])
        held |= np.uint32(np.uint32(rank - (packed >> left)) <= packed & mask)
    return held != 0


@bare_kernel
def in_set(sets: Any, at: Any, label: Any) -> Any:
    """Whether a label, not NULL's, lies in one of the pieces."""
    first, last = np.int64(0), piece_count(sets, at)
    if last <= PIECES and form_of(sets[at]) == NARROW:
        return in_few(sets, at, label) if len(sets) >= PIECES else _in_narrow(sets, at, label)
    while last - first > _FEW:
        middle = (first + last) >> 1
        if label < piece(sets, at, middle)[0]:
            last = middle
        else:
            first = middle
    while first < last:
        low, high = piece(sets, at, first)
        if label < high:
            return label >= low
        first += 1
    return False


@bare_kernel
def _narrow_bits(low: Any, high: Any, start: Any, stop: Any) -> Any:
    """With how many bits ranks tell all ends of these intervals apart; more than PAIR_BITS if a pair cannot."""
    ends = np.int64(1) << LABEL_BITS - 1
    for number in range(start, stop):
        if low[number] < 0 or low[number] >= high[number]:
            return LABEL_BITS
        ends |= np.int64(low[number]) | block_end(high[number])
    return LABEL_BITS - lowest_bit(np.uint64(ends))


@bare_kernel
def _fits_narrow(low: Any, high: Any, start: Any, stop: Any, bits: Any) -> bool:
    """Whether what is left of 16 bits tells how many ranks each interval has."""
    if bits > _MOST_RANK_BITS:
        return False
    longest, shift = np.int64(0), LABEL_BITS - bits
    for number in range(start, stop):
        longest = max(longest, block_end(high[number]) - low[number])
    return bool(longest >> shift <= np.int64(1) << (PAIR_BITS - bits))


@bare_kernel
def write_set(attribute: Any, null: Any, low: Any, high: Any, start: Any, stop: Any, sets: Any, at: Any) -> Any:
    """Write the set of the intervals start : stop at a place; returns where it ends."""
    count, bits = stop - start, _narrow_bits(low, high, start, stop)
    small = count <= MOST_PIECES and attribute <= _LOW
    head = NULL_PASSES if null else 0
    if not small or bits > PAIR_BITS:
        sets[at] = head | WIDE << _FORM_SHIFT
        _write_long(sets, at + 1, attribute)
        _write_long(sets, at + 3, count)
        place = at + WIDE_START
        for number in range(start, stop):
            _write_long(sets, place, low[number])
            _write_long(sets, place + 2, high[number])
            place += WIDE_PIECE
        return place
    narrow = _fits_narrow(low, high, start, stop, bits)
    shift, place = LABEL_BITS - (bits if narrow else PAIR_BITS), at + NARROW_START
    sets[at] = head | count | (bits << _RANK_SHIFT if narrow else PAIRED << _FORM_SHIFT)
    sets[at + 1] = attribute
    for number in range(start, stop):
        first = np.int64(low[number]) >> shift
        more = (block_end(high[number]) >> shift) - first - 1
        if narrow:
            sets[place] = first << (PAIR_BITS - bits) | more
            place += 1
        else:
            sets[place], sets[place + 1] = first, more
            place += 2
    return place


@bare_kernel
def hash_set(sets: Any, at: Any, end: Any) -> Any:
    """A hash of what a set says."""
    accumulated = np.uint64(end - at)
    for place in range(at, end):
        accumulated = (accumulated ^ np.uint64(sets[place])) * np.uint64(0x9E3779B97F4A7C15)
        accumulated ^= accumulated >> np.uint64(32)
    return mix64(accumulated)


@bare_kernel
def same_set(sets: Any, one: Any, other: Any, size: Any) -> bool:
    """Whether two sets say the same, one of which has so many numbers: heads tell how many the other has."""
    step = 0
    while step < size and sets[one + step] == sets[other + step]:
        step += 1
    return bool(step == size)


@bare_kernel
def count_wide(sets: Any) -> int:
    """How many sets are wide."""
    at, count = np.int64(0), 0
    while at < len(sets):
        count += is_wide(sets[at])
        at = set_end(sets, at)
    return count


@bare_kernel
def _wide_is_safe(sets: Any, at: Any) -> bool:
    """Whether the labels of a wide set, which lies within the array, are those of intervals."""
    for place in range(at + WIDE_START, set_end(sets, at), WIDE_PIECE):
        if not _long(sets, place) < _long(sets, place + 2) <= TOP_LABEL:
            return False
    return True


@bare_kernel
def sets_are_safe(sets: Any, attributes: Any, begins: Any) -> bool:
    """Whether each set ends within the array and is of an attribute that there is; marks where they begin."""
    at, total = np.int64(0), len(sets)
    while at < total:
        form = form_of(sets[at])
        if form > WIDE or at + (WIDE_START if form == WIDE else NARROW_START) > total:
            return False
        if set_attribute(sets, at) >= attributes:
            return False
        if form == NARROW and not 0 < rank_bits_of(sets[at]) <= _MOST_RANK_BITS:
            return False
        if set_end(sets, at) > total or (form == WIDE and not _wide_is_safe(sets, at)):
            return False
        begins[at] = True
        at = set_end(sets, at)
    return True
