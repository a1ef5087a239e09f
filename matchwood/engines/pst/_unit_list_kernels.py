"""Kernels of lists that hold units alone, as PSTBloom's and PSTHash's do: each is verified from the store.

VLDB 2018, Algorithm 5, lines 8 to 13, and the verification of Algorithm 7.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel, kernel
from matchwood.encoding.codes import NULL_LABEL
from matchwood.engines.pst._signature_kernels import bits_of, bucket_of, word_of
from matchwood.engines.shared._residual_kernels import LIVE, is_access
from matchwood.engines.shared._verification_kernels import passes
from matchwood.engines.shared.constraints._record_kernels import ACCEPTS_NULL, FLAG_BITS, record_at


@kernel
def name_units(units: Any, touched: Any, starts: Any, counts: Any, added: Any, first_tests: Any) -> None:
    """Turn the places that were put at the end of lists into units; leaves the gains zero."""
    for found in touched:
        stop = starts[found] + counts[found]
        for at in range(stop - added[found], stop):
            first_tests[at] = units[first_tests[at]]
        added[found] = 0


@kernel
def check_units(first_tests: Any, starts: Any, counts: Any, units: int) -> bool:
    """Whether lists name units that there are."""
    for found in range(len(starts)):
        for at in range(starts[found], starts[found] + counts[found]):
            if not 0 <= first_tests[at] < units:
                return False
    return True


@bare_kernel
def _is_signed(
    offsets: Any,
    leaves: Any,
    records: Any,
    access: Any,
    wanted: int,
    signatures: Any,
    unit: Any,
    hashed: Any,
    labels: Any,
) -> bool:
    """Alg. 5, lines 8 to 13: whether a unit is in the signatures of all spaces that its other predicates need."""
    bases, sizes, words, bits = signatures.bases, signatures.sizes, signatures.words, bits_of(hashed)
    first, count = offsets[unit], offsets[unit + 1] - offsets[unit]
    for position in range(count):
        code = records[record_at(leaves, first + position)]
        if code & ACCEPTS_NULL != 0 or is_access(access, wanted * unit, wanted, position):
            continue
        attribute = code >> FLAG_BITS
        label = labels[attribute]
        if label == NULL_LABEL or sizes[attribute] == 0:
            return False
        if words[word_of(bases, sizes, attribute, bucket_of(label), hashed)] & bits != bits:
            return False
    return True


@bare_kernel
def _holds(
    offsets: Any, leaves: Any, records: Any, intervals: Any, access: Any, wanted: int, unit: Any, labels: Any
) -> bool:
    """Whether all constraints of a unit hold but those that gave access to it, which do."""
    first, count = offsets[unit], offsets[unit + 1] - offsets[unit]
    for position in range(count):
        if is_access(access, wanted * unit, wanted, position):
            continue
        at = record_at(leaves, first + position)
        label = labels[records[at] >> FLAG_BITS]
        if not passes(records[at], records[at + 1], records[at + 2], label, intervals):
            return False
    return True


@bare_kernel
def examine_units(
    conjunctions: Any, lists: Any, signatures: Any, access: Any, wanted: int, states: Any, count: int, scratch: Any,
    used: Any, output: Any,
) -> Any:  # fmt: skip
    """All hits in the lists found; returns their end.

    Arrays are taken out of their tuples once an event: doing so for each candidate counts references up and down.
    """
    offsets, leaves = conjunctions.offsets, conjunctions.leaves
    records, intervals = conjunctions.records, conjunctions.intervals
    found, labels, units, work = scratch.found, scratch.labels, output.units, output.work
    first_tests, starts, counts, signed = lists.first_tests, lists.starts, lists.counts, len(signatures.words) > 0
    for place in range(count):
        start = starts[found[place]]
        stop = start + counts[found[place]]
        work[1] += stop - start
        for at in range(start, stop):
            unit = np.int64(first_tests[at])
            if states[unit] != LIVE or used >= len(units):
                continue
            if signed and not _is_signed(
                offsets, leaves, records, access, wanted, signatures, unit, mix64(np.uint64(unit)), labels
            ):
                continue
            work[2] += 1
            if _holds(offsets, leaves, records, intervals, access, wanted, unit, labels):
                units[used] = unit
                used += 1
    return used
