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
from matchwood.engines.pst._candidate_kernels import given_of
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    FLAG_BITS,
    code_at,
    constraint_at,
    end_of,
    piece_at,
    pieces_of,
)

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
def is_signed(conjunctions: Any, signatures: Any, states: Any, unit: Any, labels: Any) -> bool:
    """Alg. 5, lines 8 to 13: whether a unit is in the signatures of all spaces that its other predicates need.

    Each of those that NULL fails has signatures.
    """
    places, words, sets, bits = conjunctions
    first = np.int64(places[unit])
    for position in range(first + given_of(states[unit]), end_of(words, first)):
        code = code_at(words, sets, bits, position)
        attribute = code >> FLAG_BITS
        if code & ACCEPTS_NULL == 0 and not contains(signatures, attribute, labels[attribute], unit):
            return False
    return True


@kernel
def keep_signed(
    conjunctions: Any, signatures: Any, states: Any, passing: Any, decided: Any, count: int, labels: Any
) -> int:
    """Keep those units, with what their tests decide, that are in the signatures which the event selects; returns how
    many."""
    kept = 0
    for place in range(count):
        passing[kept], decided[kept] = passing[place], decided[place]
        kept += is_signed(conjunctions, signatures, states, np.int64(np.uint32(passing[place])), labels)
    return kept


COUNT_LOADS, ENTER, ASK = 0, 1, 2


@kernel
def _walk(
    conjunctions: Any, unit: Any, states: Any, task: int, loads: Any, bases: Any, sizes: Any, filters: Any
) -> int:
    """Count, enter, or look for a unit in the buckets of its constraints that neither give access nor accept NULL.

    Returns in how many it was not found.
    """
    places, words, sets, bits = conjunctions
    hashed, missing, first = mix64(np.uint64(unit)), 0, np.int64(places[unit])
    own = bits_of(hashed)
    for position in range(first + given_of(states[unit]), end_of(words, first)):
        code, least, most = constraint_at(words, sets, bits, position)
        if code & ACCEPTS_NULL != 0:
            continue
        attribute, last = code >> FLAG_BITS, -1
        for number in range(pieces_of(code, most)):
            low, high = piece_at(sets, code, least, most, number)
            for bucket in range(max(last + 1, bucket_of(low)), bucket_of(high - 1) + 1):
                last = bucket
                if task == COUNT_LOADS:
                    loads[BUCKETS * attribute + bucket] += 1
                    continue
                word = word_of(bases, sizes, attribute, bucket, hashed)
                if task == ENTER:
                    filters[word] |= own
                else:
                    missing += filters[word] & own != own
    return missing


@kernel
def count_loads(conjunctions: Any, units: Any, states: Any, loads: Any) -> None:
    """Count how many units each bucket gains."""
    nothing, filters = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64)
    for unit in units:
        _walk(conjunctions, unit, states, COUNT_LOADS, loads, nothing, nothing, filters)


@kernel
def enter_units(conjunctions: Any, units: Any, states: Any, bases: Any, sizes: Any, filters: Any) -> None:
    """Enter units into the filters of their buckets."""
    loads = np.empty(0, dtype=np.int64)
    for unit in units:
        _walk(conjunctions, unit, states, ENTER, loads, bases, sizes, filters)


@kernel
def count_missing(conjunctions: Any, units: Any, states: Any, signatures: Any) -> int:
    """How many of these units lack in a filter that should hold them."""
    loads, filters, missing = np.empty(0, dtype=np.int64), signatures.words.copy(), 0
    bases, sizes = signatures.bases.copy(), signatures.sizes.copy()
    for unit in units:
        missing += _walk(conjunctions, unit, states, ASK, loads, bases, sizes, filters) > 0
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
