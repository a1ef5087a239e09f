"""Leaves of a BE-Tree that an event has reached: which candidates pass their first test, and which of these match.

The first test takes no branch that could be mispredicted, and reads the rows of a leaf in order; what passes is
collected from many leaves, its residuals are touched so that their cache misses overlap, and then it is verified.

TODS 2013, 7.1, Algorithm 1, at a leaf; 6.1 for lazy and bitmap evaluation, 6.2 for Bloom filters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.core.prefetch import prefetch
from matchwood.engines.betree._residual_kernels import LINE, RESIDUAL_START
from matchwood.engines.betree._row_kernels import BARE, BIT, TEST
from matchwood.engines.betree.layout import DescentScratch
from matchwood.engines.shared._verification_kernels import constraint_holds, verify
from matchwood.engines.shared.constraints._word_kernels import stretch

EVALUATED, REUSED, NOTED, TALLY = range(4)
"""Predicates evaluated lazily, and found evaluated; nodes that the ranking is told of; how many numbers there are."""

PASSING = 4096
"""Candidates that are verified together, after their residuals have been touched."""


@bare_kernel
def fetch_rows(pool: Any, start: Any, stop: Any) -> None:
    """Ask for every cache line of some rows, so that their misses overlap."""
    for at in range(np.int64(start), np.int64(stop), LINE):
        prefetch(pool, at)


@bare_kernel
def pass_tests(pool: Any, start: Any, stop: Any, labels: Any, passing: Any, end: Any) -> Any:
    """Collect the residuals of rows whose first test holds; returns the new end."""
    found = np.uint64(end)
    for at in range(np.uint64(start), np.uint64(stop), np.uint64(TEST)):
        label = labels[np.uint32(pool[at])]
        passing[found] = pool[at + np.uint64(3)]
        found += np.uint64(np.uint32(label - pool[at + np.uint64(1)]) < np.uint32(pool[at + np.uint64(2)]))
    return np.int64(found)


@bare_kernel
def pass_bits(pool: Any, start: Any, stop: Any, result: Any, passing: Any, end: Any) -> Any:
    """The same for rows whose first test is a bit of the bitmap's result."""
    found = np.uint64(end)
    for at in range(np.uint64(start), np.uint64(stop), np.uint64(BIT)):
        bit = np.uint32(pool[at])
        passing[found] = pool[at + np.uint64(1)]
        found += (result[bit >> np.uint32(6)] >> np.uint64(bit & np.uint32(63))) & np.uint64(1)
    return np.int64(found)


@bare_kernel
def pass_all(pool: Any, start: Any, stop: Any, passing: Any, end: Any) -> Any:
    """The same for rows that are bare units."""
    found = np.uint64(end)
    for at in range(np.uint64(start), np.uint64(stop), np.uint64(BARE)):
        passing[found] = pool[at]
        found += np.uint64(1)
    return np.int64(found)


@bare_kernel
def pass_filtered(
    pool: Any, start: Any, stop: Any, form: Any, bloom: Any, scratch: DescentScratch, end: Any, work: Any
) -> Any:
    """The same for rows of any kind behind a Bloom filter."""
    words, kind, blocks = (form.bloom_bits + 31) // 32, form.kind, form.blocks
    labels, result, passing = scratch.labels, scratch.result, scratch.passing
    found, one, high = np.uint64(end), np.uint64(1), np.uint64(words - 1)
    width = np.uint64(words + ((TEST if kind == 0 else BIT) if blocks else BARE))
    for row in range(np.uint64(start), np.uint64(stop), width):
        wanted = np.uint64(np.uint32(pool[row])) | np.uint64(np.uint32(pool[row + high])) << (np.uint64(32) * high)
        if bloom & wanted != wanted:
            continue
        work[2] += 1
        at, holds = row + np.uint64(words), one
        if blocks and kind == 0:
            label = labels[np.uint32(pool[at])]
            holds = np.uint64(np.uint32(label - pool[at + one]) < np.uint32(pool[at + np.uint64(2)]))
        elif blocks:
            bit = np.uint32(pool[at])
            holds = (result[bit >> np.uint32(6)] >> np.uint64(bit & np.uint32(63))) & one
        passing[found] = pool[row + width - one]
        found += holds
    return np.int64(found)


@bare_kernel
def _lazily(
    predicates: Any, sets: Any, rank_bits: Any, predicate: Any, labels: Any, passed: Any, failed: Any, done: Any,
    tally: Any,
) -> Any:  # fmt: skip
    """Whether a predicate holds: as it was found for this event before, else it is evaluated and remembered."""
    part, bit = predicate >> 6, np.uint64(1) << np.uint64(predicate & 63)
    if passed[part] & bit != 0:
        tally[REUSED] += 1
        return True
    if failed[part] & bit != 0:
        tally[REUSED] += 1
        return False
    holds = constraint_holds(predicates[predicate], sets, rank_bits, labels)
    done[tally[EVALUATED]] = part
    tally[EVALUATED] += 1
    if holds:
        passed[part] |= bit
    else:
        failed[part] |= bit
    return holds


@bare_kernel
def verify_references(
    conjunctions: Any, predicates: Any, pool: Any, count: Any, scratch: DescentScratch, units: Any, used: Any
) -> Any:
    """Write the units behind `used` of whose residuals all references hold; returns the new end."""
    sets, rank_bits = conjunctions.sets, conjunctions.bits
    labels, result, passing, tally = scratch.labels, scratch.result, scratch.passing, scratch.tally
    passed, failed, done, one = scratch.passed, scratch.failed, scratch.done, np.uint64(1)
    for place in range(np.uint64(count)):
        residual = np.uint64(np.uint32(passing[place]))
        at = residual + np.uint64(RESIDUAL_START)
        end, holds = at + np.uint64(np.uint32(pool[residual + one])), True
        while holds and at < end:
            reference = pool[at]
            if reference >= 0:
                bit = np.uint32(reference)
                holds = (result[bit >> np.uint32(6)] >> np.uint64(bit & np.uint32(63))) & one != 0
            else:
                predicate = -1 - np.int64(reference)
                holds = _lazily(predicates, sets, rank_bits, predicate, labels, passed, failed, done, tally)
            at += one
        if holds and used < len(units):
            units[used] = pool[residual]
            used += 1
    return used


@bare_kernel
def verify_stored(conjunctions: Any, passing: Any, count: Any, labels: Any, units: Any, used: int) -> Any:
    """The same for units whose constraints are read from the store."""
    places, words, sets, bits = conjunctions
    for place in range(count):
        unit = np.int64(passing[place])
        if verify(places, words, sets, bits, unit, labels) and used < len(units):
            units[used] = unit
            used += 1
    return used


@bare_kernel
def verify_known(conjunctions: Any, known: Any, count: Any, scratch: DescentScratch, units: Any, used: Any) -> Any:
    """The same by the numbers of their predicates."""
    places, words, sets, rank_bits = conjunctions
    ids, bits, predicates = known.ids, known.bits, known.predicates
    labels, result, passing, tally = scratch.labels, scratch.result, scratch.passing, scratch.tally
    passed, failed, done = scratch.passed, scratch.failed, scratch.done
    for place in range(count):
        unit, holds = np.int64(passing[place]), True
        at, end = stretch(places, words, unit)
        while holds and at < end:
            predicate = np.int64(ids[at])
            bit = bits[predicate]
            if bit >= 0:
                holds = (result[bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1) != 0
            else:
                holds = _lazily(predicates, sets, rank_bits, predicate, labels, passed, failed, done, tally)
            at += 1
        if holds and used < len(units):
            units[used] = unit
            used += 1
    return used
