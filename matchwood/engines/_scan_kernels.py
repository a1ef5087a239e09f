"""Kernels of `scan`: one test of every unit, read in sequence, then the full conjunction of the few that pass.

Measured on 1,000,000 BEGen rules (7 constraints, 1% matching), nanoseconds a rule and event: 5.6 with each candidate
verified where it is found; 4.8 with the first tests in a loop of their own, free of branches; 2.9 with the
candidates' constraints fetched before they are verified; 2.6 with 16 events against a block of rules while it is in
the cache; 2.0 with unsigned positions throughout.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel, kernel
from matchwood.core.prefetch import prefetch
from matchwood.engines.shared._access_kernels import covered
from matchwood.engines.shared._verification_kernels import clear, scatter, verify
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    FLAG_BITS,
    attribute_of,
    constraint_at,
    hull,
    stretch,
)

BLOCK = 4096
"""Units tested together: their first tests take 48 KB, what their candidates need stays in the second-level cache."""

GROUP = 16
"""Events that share a block: their dense labels stay in the first-level cache for a few hundred attributes."""

ALWAYS_LOW = -1
ALWAYS_WIDTH = 2**31 + 1
"""A test that every label passes, and NULL_LABEL: for units without a constraint that NULL fails."""


@bare_kernel
def count_attributes(conjunctions: Any, units: Any, frequency: Any) -> None:
    """Count how many constraints of these units name each attribute."""
    places, words, sets, bits = conjunctions
    for unit in units:
        first, last = stretch(places, words, unit)
        for position in range(first, last):
            frequency[attribute_of(words, sets, bits, position)] += 1


@kernel
def choose_first_tests(conjunctions: Any, units: Any, frequency: Any, attributes: Any, lows: Any, widths: Any) -> None:
    """For each unit, its constraint that the fewest events should pass: the narrowest, on the rarest attribute.

    Of several intervals the test takes what encloses them all; verification is exact.
    """
    places, words, sets, bits = conjunctions
    for unit in units:
        attributes[unit], lows[unit], widths[unit] = 0, ALWAYS_LOW, ALWAYS_WIDTH
        least = np.inf
        first, last = stretch(places, words, unit)
        for position in range(first, last):
            code, low, high = constraint_at(words, sets, bits, position)
            if code & ACCEPTS_NULL != 0:
                continue
            cost = float(covered(sets, code, low, high)[0]) * frequency[code >> FLAG_BITS]
            if cost >= least:
                continue
            least = cost
            start, stop = hull(sets, code, low, high)
            attributes[unit], lows[unit], widths[unit] = code >> FLAG_BITS, start, max(1, stop - start)


@kernel
def _candidates(attributes: Any, lows: Any, widths: Any, start: int, stop: int, labels: Any, candidates: Any) -> Any:
    """Collect the units start : stop whose first test holds: without a branch, so that none is mispredicted,
    and with unsigned positions, which need no test for negative ones (0.8 ns a unit; 1.2 with signed ones)."""
    count = np.uint64(0)
    for unit in range(np.uint64(start), np.uint64(stop)):
        candidates[count] = unit
        count += np.uint64(np.uint32(labels[attributes[unit]] - lows[unit]) < widths[unit])
    return count


@kernel
def _fetch(places: Any, words: Any, candidates: Any, count: Any) -> None:
    """Ask for what verification will read: these cache misses overlap, which those of verification, each behind a
    branch, do not."""
    for place in range(count):
        prefetch(places, np.int64(candidates[place]))
    for place in range(count):
        prefetch(words, np.int64(places[np.uint64(candidates[place])]))


@kernel
def _close_gaps(units: Any, start: int, stride: int, counts: Any, group: int) -> int:
    """Move the hits of a group's events, each in its own stretch of `units`, together; returns their end."""
    used = start
    for member in range(group):
        source = start + member * stride
        if source != used:
            for position in range(counts[member]):
                units[used + position] = units[source + position]
        used += counts[member]
    return used


@kernel
def match_scan(
    conjunctions: Any, tests: Any, live: int, events: Any, first: int, labels: Any, candidates: Any,
    units: Any, offsets: Any, work: Any,
) -> None:  # fmt: skip
    """All hits of the events from `first` on, group by group, while a whole group's hits have room.

    `labels` holds a row for each event of a group, NULL_LABEL throughout between the calls.
    """
    places, words, sets, bits = conjunctions
    attributes, lows, widths = tests.attributes, tests.lows, tests.widths
    total, last, used, verified = len(widths), len(events.offsets) - 1, 0, np.int64(0)
    counts = np.zeros(GROUP, dtype=np.int64)
    event = first
    while event < last and len(units) - used >= live:
        group = min(GROUP, last - event)
        if live > 0:
            group = min(group, (len(units) - used) // live)
        for member in range(group):
            scatter(events, event + member, labels[member])
            counts[member] = 0
        for start in range(0, total, BLOCK):
            stop = min(start + BLOCK, total)
            for member in range(group):
                row = labels[member]
                found = np.int64(_candidates(attributes, lows, widths, start, stop, row, candidates))
                _fetch(places, words, candidates, found)
                verified += found
                end = used + member * live + counts[member]
                for position in range(found):
                    unit = np.uint64(candidates[position])
                    if verify(places, words, sets, bits, unit, row):
                        units[end] = unit
                        end += 1
                counts[member] = end - used - member * live
        used = _close_gaps(units, used, live, counts, group)
        for member in range(group):
            clear(events, event + member, labels[member])
            offsets[event - first + member + 1] = offsets[event - first + member] + counts[member]
        event += group
    work[0], work[1], work[2], work[3] = event - first, (event - first) * live, verified, used
