"""Kernels of `Signatures`: Bloom filters over units, one for each bucket of each attribute's labels.

A filter is an array of 64-bit words. A unit sets three bits of one word, so that asking for it reads one word.

VLDB 2018, 5.1: leaf signatures.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import mix64
from matchwood.core.jit import kernel
from matchwood.encoding.codes import NULL_LABEL
from matchwood.engines.shared._residual_kernels import (
    LAST,
    MASKED_WIDTH,
    MOST_SINGLE,
    OTHER_START,
    RESIDUAL_BITS,
    RESIDUAL_START,
    SHIFT_BITS,
    SINGLE_BITS,
    STORED,
    is_access,
)
from matchwood.engines.shared.constraints._record_kernels import ACCEPTS_NULL, FLAG_BITS, SEVERAL, WIDTH, record_at

BUCKETS = 64
BUCKET_SHIFT = 25
"""Labels are below 2**31: their upper six bits name the bucket. Labels are spread evenly, so as long as an
attribute has few spaces each bucket holds one, and its filter is the signature of a leaf."""


@kernel
def bucket_of(label: Any) -> Any:
    """The bucket that a label falls into."""
    return np.int64(label) >> BUCKET_SHIFT


@kernel
def bits_of(hashed: Any) -> Any:
    """Three bits of a word."""
    one, low = np.uint64(1), np.uint64(63)
    return (
        one << (hashed >> np.uint64(58))
        | one << ((hashed >> np.uint64(52)) & low)
        | one << ((hashed >> np.uint64(46)) & low)
    )


@kernel
def word_of(bases: Any, sizes: Any, attribute: Any, bucket: Any, hashed: Any) -> Any:
    """Where the word of a unit lies in the filter of a bucket."""
    size = np.uint64(sizes[attribute])
    return np.uint64(bases[attribute]) + np.uint64(bucket) * size + (hashed & (size - np.uint64(1)))


@kernel
def contains(signatures: Any, attribute: Any, label: Any, unit: Any) -> Any:
    """Whether a unit may have a predicate that holds of a label: False is certain."""
    if label == NULL_LABEL or signatures.sizes[attribute] == 0:
        return False
    hashed = mix64(np.uint64(unit))
    bits = bits_of(hashed)
    word = signatures.words[word_of(signatures.bases, signatures.sizes, attribute, bucket_of(label), hashed)]
    return word & bits == bits


@kernel
def keep_signed(signatures: Any, residuals: Any, passing: Any, count: int, labels: Any) -> int:
    """Keep those residuals whose units are in the signatures that the event selects; returns how many.

    The constraints of a residual are the ones still to be tested, and each that NULL fails has signatures.
    """
    kept = 0
    for place in range(count):
        passing[kept] = passing[place]
        kept += _is_signed(signatures, residuals, np.int64(np.uint32(passing[place])), labels)
    return kept


@kernel
def _is_signed(signatures: Any, residuals: Any, residual: Any, labels: Any) -> bool:
    unit, shape, at = residuals[residual], residuals[residual + 1], residual + RESIDUAL_START
    middle = at + WIDTH * ((shape >> 1) & MOST_SINGLE)
    end = middle + MASKED_WIDTH * (shape >> (1 + SINGLE_BITS))
    while at < end:
        attribute = residuals[at] if at < middle else residuals[at] >> SHIFT_BITS
        if not contains(signatures, attribute, labels[attribute], unit):
            return False
        at += WIDTH if at < middle else MASKED_WIDTH
    code = LAST if shape & 1 == 0 else 0
    while code & LAST == 0:
        code, attribute = residuals[at], residuals[at] >> RESIDUAL_BITS
        if code & ACCEPTS_NULL == 0 and not contains(signatures, attribute, labels[attribute], unit):
            return False
        at += OTHER_START + 2 * (1 if code & STORED != 0 else residuals[at + 1])
    return True


COUNT_LOADS, ENTER, ASK = 0, 1, 2


@kernel
def _walk(
    conjunctions: Any, unit: Any, access: Any, wanted: int, task: int, loads: Any, bases: Any, sizes: Any, words: Any
) -> int:
    """Count, enter, or look for a unit in the buckets of its constraints that neither give access nor accept NULL.

    Returns in how many it was not found.
    """
    offsets, leaves = conjunctions.offsets, conjunctions.leaves
    records, intervals = conjunctions.records, conjunctions.intervals
    hashed, missing = mix64(np.uint64(unit)), 0
    bits = bits_of(hashed)
    for position in range(offsets[unit + 1] - offsets[unit]):
        at = record_at(leaves, offsets[unit] + position)
        code = records[at]
        if code & ACCEPTS_NULL != 0 or is_access(access, wanted * unit, wanted, position):
            continue
        attribute, several, last = code >> FLAG_BITS, code & SEVERAL != 0, -1
        start, stop = (records[at + 1], records[at + 2]) if several else (np.int32(0), np.int32(1))
        for interval in range(start, stop):
            low = intervals[2 * interval] if several else records[at + 1]
            high = intervals[2 * interval + 1] if several else records[at + 2]
            for bucket in range(max(last + 1, bucket_of(low)), bucket_of(high - 1) + 1):
                last = bucket
                if task == COUNT_LOADS:
                    loads[BUCKETS * attribute + bucket] += 1
                    continue
                word = word_of(bases, sizes, attribute, bucket, hashed)
                if task == ENTER:
                    words[word] |= bits
                else:
                    missing += words[word] & bits != bits
    return missing


@kernel
def count_loads(conjunctions: Any, units: Any, access: Any, wanted: int, loads: Any) -> None:
    """Count how many units each bucket gains."""
    nothing, words = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64)
    for unit in units:
        _walk(conjunctions, unit, access, wanted, COUNT_LOADS, loads, nothing, nothing, words)


@kernel
def enter_units(conjunctions: Any, units: Any, access: Any, wanted: int, bases: Any, sizes: Any, words: Any) -> None:
    """Enter units into the filters of their buckets."""
    loads = np.empty(0, dtype=np.int64)
    for unit in units:
        _walk(conjunctions, unit, access, wanted, ENTER, loads, bases, sizes, words)


@kernel
def count_missing(conjunctions: Any, units: Any, access: Any, wanted: int, signatures: Any) -> int:
    """How many of these units lack in a filter that should hold them."""
    loads, words, missing = np.empty(0, dtype=np.int64), signatures.words.copy(), 0
    bases, sizes = signatures.bases.copy(), signatures.sizes.copy()
    for unit in units:
        missing += _walk(conjunctions, unit, access, wanted, ASK, loads, bases, sizes, words) > 0
    return missing


@kernel
def count_false(signatures: Any, first: int, tries: int) -> tuple[int, int]:
    """How many of the filters asked for units that were never entered, from `first` on, say that they hold them."""
    asked, wrong = 0, 0
    for attribute in range(len(signatures.sizes)):
        if signatures.sizes[attribute] == 0:
            continue
        for bucket in range(BUCKETS):
            for unit in range(first, first + tries):
                asked += 1
                wrong += contains(signatures, attribute, bucket << BUCKET_SHIFT, unit)
    return asked, wrong
