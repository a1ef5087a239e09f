"""Kernels of candidates' residuals: what is left to test of a unit, written, and verified (docs/protocols.md).

A *residual* holds the constraints that neither the way to a candidate's leaf nor its first test has decided:

- the unit, and its *shape*: how many single and masked constraints there are, and whether others follow;
- single ones, each an attribute, a low label and a width: constraints of one interval that NULL fails;
- masked ones, each an attribute with a shift, a low label, and 64 bits: constraints of several intervals that NULL
  fails, where the labels from the first to the last interval make at most 64 steps of two to the power of the shift;
- the others, each a code, a number of intervals, and their low labels and widths; or a code with STORED, and where its
  set begins in the store. The last one is marked.

TODS 2013, ours, in the place of the columns of its leaf blocks (6.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.bits import lowest_bit
from matchwood.core.jit import bare_kernel
from matchwood.core.prefetch import prefetch
from matchwood.encoding.codes import NULL_LABEL
from matchwood.encoding.spaces.dyadic import block_end
from matchwood.engines.shared._verification_kernels import set_holds
from matchwood.engines.shared.constraints._set_kernels import piece, set_hull
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    FLAG_BITS,
    SEVERAL,
    constraint_at,
    piece_at,
    pieces_of,
)

LINE = 16
"""Integers in a cache line."""

RESIDUAL_START = 2
SINGLE_WIDTH, MASKED_WIDTH = 3, 4
OTHER_START = 2

SINGLE_BITS, MASKED_BITS = 20, 10
MOST_SINGLE, MOST_MASKED = 2**SINGLE_BITS - 1, 2**MASKED_BITS - 1
"""A shape holds, from the lowest bit on, whether others follow, the number of single constraints, and that of masked
ones; what is beyond these counts is written as other."""

MASK_STEPS = 64
SHIFT_BITS = 5
STORED = 2
LAST = 4
RESIDUAL_BITS = 3
"""The code of another constraint is its attribute, and below it ACCEPTS_NULL, STORED and LAST."""

MOST_INLINE = 8
"""Of a constraint with more intervals a residual only tells where its set begins (STORED)."""

SINGLE, MASKED, OTHER, DECIDED = 0, 1, 2, 3


@bare_kernel
def _step_shift(sets: Any, at: Any, count: Any) -> Any:
    """The largest shift such that the pieces of a set begin and end whole steps behind the first label."""
    base, steps = piece(sets, at, 0)[0], np.int64(0)
    for number in range(count):
        low, high = piece(sets, at, number)
        steps |= (low - base) | (block_end(high) - base)
    return lowest_bit(np.uint64(steps))


@bare_kernel
def _mask_shift(sets: Any, at: Any, count: Any) -> Any:
    """The shift by which the pieces of a set fit into 64 bits; -1 if they do not."""
    if count == 0 or count > MASK_STEPS:
        return np.int64(-1)
    shift = _step_shift(sets, at, count)
    low, high = set_hull(sets, at)
    return shift if (block_end(high) - low) >> shift <= MASK_STEPS else np.int64(-1)


@bare_kernel
def _step_bits(sets: Any, at: Any, count: Any, shift: Any) -> Any:
    """A bit for each step that lies in one of the pieces of a set."""
    base, bits = piece(sets, at, 0)[0], np.uint64(0)
    for number in range(count):
        low, high = piece(sets, at, number)
        start = (low - base) >> shift
        steps = ((block_end(high) - base) >> shift) - start
        if steps > 0:
            bits |= (~np.uint64(0) >> np.uint64(MASK_STEPS - steps)) << np.uint64(start)
    return bits


@bare_kernel
def _kind_of(sets: Any, code: Any, low: Any, high: Any) -> Any:
    """How a constraint is written in a residual."""
    if code & ACCEPTS_NULL != 0:
        return OTHER
    if code & SEVERAL == 0:
        return SINGLE
    return MASKED if _mask_shift(sets, low, high) >= 0 else OTHER


@bare_kernel
def residual_size(code: Any, high: Any) -> Any:
    """How many integers a constraint takes in a residual at most."""
    count = pieces_of(code, high)
    return OTHER_START + 2 * (count if 1 < count <= MOST_INLINE else 1)


@bare_kernel
def residual_sizes(words: Any, sets: Any, bits: Any) -> Any:
    """How many all constraints of a store take at most."""
    total = np.int64(0)
    for position in range(len(words)):
        code, _, high = constraint_at(words, sets, bits, position)
        total += residual_size(code, high)
    return total


@bare_kernel
def _write_mask(sets: Any, code: Any, at: Any, count: Any, residuals: Any, end: Any) -> Any:
    shift = _mask_shift(sets, at, count)
    mask = _step_bits(sets, at, count, shift)
    residuals[end], residuals[end + 1] = (code >> FLAG_BITS) << SHIFT_BITS | shift, piece(sets, at, 0)[0]
    residuals[end + 2] = np.int32(np.uint32(mask & np.uint64(2**32 - 1)))
    residuals[end + 3] = np.int32(np.uint32(mask >> np.uint64(32)))
    return end + MASKED_WIDTH


@bare_kernel
def _write_other(sets: Any, code: Any, low: Any, high: Any, residuals: Any, end: Any) -> Any:
    own, count = (code >> FLAG_BITS) << RESIDUAL_BITS | (code & ACCEPTS_NULL), pieces_of(code, high)
    if count > MOST_INLINE:
        residuals[end], residuals[end + 1] = own | STORED, low
        return end + OTHER_START
    residuals[end], residuals[end + 1] = own, count
    end += OTHER_START
    for number in range(count):
        start, stop = piece_at(sets, code, low, high, number)
        residuals[end], residuals[end + 1] = start, stop - start
        end += 2
    return end


@bare_kernel
def write_residual(
    conjunctions: Any, unit: Any, order: Any, count: int, test: Any, kinds: Any, residuals: Any, begin: Any
) -> Any:
    """Append a unit's residual, of each kind of constraints the most selective first; returns the new end.

    Its constraints are those at the first `count` of `order`, positions within the unit, but for `test`, where that
    decides all.
    """
    places, words, sets, bits = conjunctions
    first = np.int64(places[unit])
    end, last, shape = np.int64(begin) + RESIDUAL_START, np.int64(-1), 0
    for rank in range(count):
        code, low, high = constraint_at(words, sets, bits, first + order[rank])
        decided = order[rank] == test and code & SEVERAL == 0
        kinds[rank] = DECIDED if decided else _kind_of(sets, code, low, high)
    for kind in range(3):
        single, masked = 0, 0
        for rank in range(count):
            own = kinds[rank]
            if own == DECIDED:
                continue
            single, masked = single + (own == SINGLE), masked + (own == MASKED)
            if single > MOST_SINGLE or masked > MOST_MASKED:
                own = OTHER
            if own != kind:
                continue
            code, low, high = constraint_at(words, sets, bits, first + order[rank])
            if kind == SINGLE:
                residuals[end], residuals[end + 1], residuals[end + 2] = code >> FLAG_BITS, low, high - low
                end += SINGLE_WIDTH
            elif kind == MASKED:
                end = _write_mask(sets, code, low, high, residuals, end)
            else:
                last, end = end, _write_other(sets, code, low, high, residuals, end)
        if kind == OTHER:
            shape = min(single, MOST_SINGLE) << 1 | min(masked, MOST_MASKED) << (1 + SINGLE_BITS) | (last >= 0)
    if last >= 0:
        residuals[last] |= LAST
    residuals[begin], residuals[begin + 1] = unit, shape
    return end


@bare_kernel
def verify_residuals(residuals: Any, sets: Any, passing: Any, count: int, labels: Any, units: Any, used: int) -> Any:
    """Write the units behind `used` whose residuals hold of the scattered labels; returns the new end.

    As in `verify`, one unsigned comparison does for both ends of an interval and for NULL. All in one function: a call
    for each residual, with the arrays handed over, takes 30 ns. What is past the end of `units`, should damaged leaves
    hold more than there are, is left out.
    """
    one, two, room = np.uint64(1), np.uint64(2), np.uint64(len(units))
    written = np.uint64(used)
    for place in range(np.uint64(count)):
        start = np.uint64(np.uint32(passing[place]))
        shape = np.uint32(residuals[start + one])
        at = start + np.uint64(RESIDUAL_START)
        end = at + np.uint64(SINGLE_WIDTH) * np.uint64((shape >> np.uint32(1)) & np.uint32(MOST_SINGLE))
        held = True
        while at < end:
            if np.uint32(labels[np.uint32(residuals[at])] - residuals[at + one]) >= np.uint32(residuals[at + two]):
                held = False
                break
            at += np.uint64(SINGLE_WIDTH)
        if not held:
            continue
        end = at + np.uint64(MASKED_WIDTH) * np.uint64(shape >> np.uint32(1 + SINGLE_BITS))
        while at < end:
            code = np.uint32(residuals[at])
            step = np.uint32(labels[code >> np.uint32(SHIFT_BITS)] - residuals[at + one]) >> (code & np.uint32(31))
            bits = np.uint32(residuals[at + two + np.uint64((step >> np.uint32(5)) & np.uint32(1))])
            if step >= np.uint32(64) or (bits >> (step & np.uint32(31))) & np.uint32(1) == 0:
                held = False
                break
            at += np.uint64(MASKED_WIDTH)
        left = held and shape & np.uint32(1) != 0
        while left:
            code, pieces = np.uint32(residuals[at]), np.uint64(residuals[at + one])
            at += np.uint64(OTHER_START)
            if code & np.uint32(STORED) != 0:
                held = set_holds(sets, np.int64(pieces), labels)
            else:
                label = labels[code >> np.uint32(RESIDUAL_BITS)]
                held = (label == NULL_LABEL) & (code & np.uint32(ACCEPTS_NULL) != 0)
                for place_of_piece in range(at, at + two * pieces, two):
                    held |= np.uint32(label - residuals[place_of_piece]) < np.uint32(residuals[place_of_piece + one])
                at += two * pieces
            left = held and code & np.uint32(LAST) == 0
        if held and written < room:
            units[written] = np.uint32(residuals[start])
            written += one
    return np.int64(written)


@bare_kernel
def fetch_residuals(residuals: Any, passing: Any, count: Any) -> None:
    """Ask for the first two cache lines of each residual, so that their misses overlap."""
    for place in range(np.uint64(count)):
        residual = np.int64(np.uint32(passing[place]))
        prefetch(residuals, residual)
        prefetch(residuals, residual + LINE)
