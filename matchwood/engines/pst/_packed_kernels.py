"""Kernels of packed candidates: those of long lists, in words of 16 bits (docs/protocols.md).

Labels are round numbers: as long as an attribute has few spaces their upper 16 bits, their *rank*, say all, and a test
takes 6 bytes where a record takes 12. A list is a stretch of *packed tests*, five words each:

- a first test: an attribute, the first rank, and how many more there are;
- where the candidate's *packed residual* begins, the lower word first.

A unit has one packed residual, whatever lists it is in. It lies beside those of the first list that leads to it, in the
order of that list, so that most of what is read lies in sequence:

- the unit, the lower word first;
- how many single entries it has, and above those how many of them decide a constraint alone, and come first;
- how many masked entries it has, and above those how many constraints these and the other single ones decide together;
- single entries, three words: an attribute, the first rank, and how many more there are;
- masked entries, seven: an attribute, the first rank, a shift, and 64 bits, the lower word first.

A constraint of several intervals has one entry for each, or for as many as lie within 64 steps. An event satisfies at
most one of them, so it is enough to count.

No branch depends on the answer of a single entry that decides alone: the processor would guess wrong once or twice at
each candidate, where most of them match.

VLDB 2018, ours, in the place of the verification of Algorithms 5 and 7.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.core.prefetch import prefetch
from matchwood.engines.shared._residual_kernels import LIVE

RANK_SHIFT = 15
PACKED_TEST_WIDTH, PACKED_START, SINGLE_WIDTH, MASK_WIDTH = 5, 4, 3, 7
"""Words of a packed test, and of a packed residual before its entries; of a single and of a masked entry."""

COUNT_BITS = 8
PACKED_LINE = 32
"""Words in a cache line."""

_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@bare_kernel
def long_word(words: Any, at: Any) -> Any:
    """The number of 32 bits that two words hold."""
    return np.uint32(words[at]) | (np.uint32(words[at + _ONE]) << np.uint32(16))


@bare_kernel
def mask_of(residuals: Any, entry: Any) -> Any:
    """The bits of a masked entry."""
    low, high = long_word(residuals, entry + _THREE), long_word(residuals, entry + np.uint64(5))
    return np.uint64(low) | (np.uint64(high) << np.uint64(32))


@bare_kernel
def counts_of(residuals: Any, residual: Any) -> Any:
    """Of a packed residual, how many single entries it has, how many of them decide alone, how many masked ones, and
    how many constraints the others decide."""
    single, masked = np.uint64(residuals[residual + _TWO]), np.uint64(residuals[residual + _THREE])
    low = np.uint64((1 << COUNT_BITS) - 1)
    return single & low, single >> np.uint64(COUNT_BITS), masked & low, masked >> np.uint64(COUNT_BITS)


@bare_kernel
def _steps(words: Any, entry: Any, labels: Any) -> Any:
    """How far the rank of an event is behind the first one of an entry; NULL's is above all."""
    rank = np.int32(np.uint32(labels[np.uint64(words[entry])]) >> np.uint32(RANK_SHIFT))
    return np.uint32(rank - np.int32(words[entry + _ONE]))


@bare_kernel
def _holds(words: Any, entry: Any, labels: Any) -> Any:
    """Whether a single entry, or a first test, holds of the scattered labels."""
    return _steps(words, entry, labels) <= np.uint32(words[entry + _TWO])


@bare_kernel
def _mask_holds(residuals: Any, entry: Any, labels: Any) -> Any:
    """Whether a masked entry does."""
    step = _steps(residuals, entry, labels) >> (np.uint32(residuals[entry + _TWO]) & np.uint32(31))
    bit = (mask_of(residuals, entry) >> np.uint64(step & np.uint32(63))) & _ONE
    return (bit != 0) & (step < np.uint32(64))


@bare_kernel
def collect_packed(tests: Any, start: Any, stop: Any, labels: Any, passing: Any, count: Any) -> Any:
    """Collect the packed residuals behind the packed tests start : stop that hold."""
    end, width = np.uint64(count), np.uint64(PACKED_TEST_WIDTH)
    for at in range(np.uint64(PACKED_TEST_WIDTH * start), np.uint64(PACKED_TEST_WIDTH * stop), width):
        passing[end] = np.int32(long_word(tests, at + _THREE))
        end += np.uint64(_holds(tests, at, labels))
    return np.int64(end)


@bare_kernel
def _others_hold(residuals: Any, entry: Any, end: Any, masked_end: Any, wanted: Any, labels: Any) -> Any:
    """Whether as many of the single entries before `end`, and of the masked ones behind, hold as constraints ask."""
    while entry < end:
        wanted -= np.uint64(_holds(residuals, entry, labels))
        entry += np.uint64(SINGLE_WIDTH)
    while entry < masked_end:
        wanted -= np.uint64(_mask_holds(residuals, entry, labels))
        entry += np.uint64(MASK_WIDTH)
    return wanted == 0


@bare_kernel
def verify_packed(
    residuals: Any, passing: Any, count: Any, labels: Any, states: Any, stale: bool, units: Any, used: Any
) -> Any:
    """Write the units behind `used` whose packed residuals hold of the scattered labels; returns the new end.

    Units that are not LIVE are left out, and what is beyond the end of `units`, should damaged ones name more.
    """
    width, room, written = np.uint64(SINGLE_WIDTH), np.uint64(len(units)), np.uint64(used)
    for place in range(np.uint64(count)):
        prefetch(residuals, np.int64(np.uint32(passing[place])))
    for place in range(np.uint64(count)):
        residual = np.uint64(np.uint32(passing[place]))
        singles, alone, masks, wanted = counts_of(residuals, residual)
        entry = residual + np.uint64(PACKED_START)
        end, held = entry + width * singles, True
        for at in range(entry, entry + width * alone, width):
            held &= _holds(residuals, at, labels)
        if held and wanted > 0:
            others = entry + width * alone
            held = _others_hold(residuals, others, end, end + np.uint64(MASK_WIDTH) * masks, wanted, labels)
        if held and written < room:
            unit = long_word(residuals, residual)
            units[written] = np.int32(unit)
            written += np.uint64(not stale or states[unit] == LIVE)
    return np.int64(written)
