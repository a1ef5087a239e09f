"""Kernels of blocks: up to 256 candidates of one list, laid out so that they are verified together (docs/protocols.md).

Candidates that are verified one after the other (`_residual_kernels`) have different numbers of constraints, and where
most of them match the processor guesses wrong once or twice at each. A block has all their constraints as one stream of
*entries*, each of which names its candidate, and no branch depends on an answer. Labels are round numbers: as long as
an attribute has few spaces their upper 16 bits, their *rank*, say all, and an entry takes 8 bytes where a record takes
12. BEGen at 1%, where nine in ten candidates match, takes a quarter less, and its index a fifth (`bench core`).

- how many candidates, single and masked entries there are, in three integers;
- a first test of each candidate, two integers: an attribute, the first rank, the last behind it, and how many of its
  constraints are left to be tested;
- its *mark*, three integers: the unit; how far on its single entries begin, how many they are, and how many constraints
  they and the masked ones decide together; the same of the masked ones, and how many single ones decide alone, and come
  first;
- single entries, two integers: an attribute, the first rank, the last behind it, the number of the candidate;
- masked entries, four: an attribute, the first rank, a shift, the number of the candidate, and 64 bits.

A constraint of several intervals has one entry for each, or for as many as lie within 64 steps. An event satisfies at
most one of them, so it is enough to count.

VLDB 2018, ours, in the place of the verification of Algorithms 5 and 7.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.core.prefetch import prefetch
from matchwood.engines.shared._residual_kernels import LIVE

BLOCK_SIZE = 256
"""Candidates of a block."""

RANK_SHIFT = 15
BLOCK_START, BLOCK_TEST_WIDTH, MARK_WIDTH, SINGLE_WIDTH, MASK_WIDTH = 3, 2, 3, 2, 4
SINGLE_FAR, MASK_FAR, COUNT_BITS = 17, 18, 7
"""Bits of a mark for how far on single and masked entries begin, and for each count."""

_DENSE = 12
"""Entries that take as long as one candidate by itself, which waits for its branches."""

_STREAMS = 4
"""Entries of a candidate follow each other, and each waits for the count of the one before: so four places of the
stream are read in turn."""


@bare_kernel
def end_of_block(blocks: Any, at: Any) -> Any:
    """Where the block that begins at `at` ends."""
    entries = SINGLE_WIDTH * np.int64(blocks[at + 1]) + MASK_WIDTH * np.int64(blocks[at + 2])
    return at + BLOCK_START + (BLOCK_TEST_WIDTH + MARK_WIDTH) * np.int64(blocks[at]) + entries


@bare_kernel
def _holds(blocks: Any, entry: Any, labels: Any) -> Any:
    """Whether a single entry, or a first test, holds of the labels; none does of NULL, whose rank is above all."""
    test, width = np.uint32(blocks[entry]), np.uint32(blocks[entry + np.uint64(1)])
    rank = np.int32(np.uint32(labels[test & np.uint32(0xFFFF)]) >> np.uint32(RANK_SHIFT))
    return np.uint32(rank - np.int32(test >> np.uint32(16))) <= width & np.uint32(0xFFFF)


@bare_kernel
def _mask_holds(blocks: Any, entry: Any, labels: Any) -> Any:
    """Whether a masked entry holds of the scattered labels."""
    test, shift = np.uint32(blocks[entry]), np.uint32(blocks[entry + np.uint64(1)]) & np.uint32(31)
    rank = np.int32(np.uint32(labels[test & np.uint32(0xFFFF)]) >> np.uint32(RANK_SHIFT))
    step = np.uint32(rank - np.int32(test >> np.uint32(16))) >> shift
    bits = np.uint32(blocks[entry + np.uint64(2) + np.uint64((step >> np.uint32(5)) & np.uint32(1))])
    return ((bits >> (step & np.uint32(31))) & np.uint32(1) != 0) & (step < np.uint32(64))


@bare_kernel
def _owner(blocks: Any, entry: Any) -> Any:
    return np.uint32(blocks[entry + np.uint64(1)]) >> np.uint32(16)


@bare_kernel
def _count_down(
    blocks: Any, first_tests_at: Any, count: Any, single_at: Any, mask_at: Any, end: Any, labels: Any, left: Any
) -> None:
    """Take all entries that hold off what is left of their candidates."""
    first_test = first_tests_at + np.uint64(1)
    for owner in range(count):
        left[owner] = np.uint8((np.uint32(blocks[first_test]) >> np.uint32(16)) & np.uint32(255))
        first_test += np.uint64(BLOCK_TEST_WIDTH)
    width = np.uint64(SINGLE_WIDTH)
    stream = (mask_at - single_at) // (width * np.uint64(_STREAMS)) * width
    for first in range(single_at, single_at + stream, width):
        entry = first
        for _ in range(_STREAMS):
            left[_owner(blocks, entry)] -= np.uint8(_holds(blocks, entry, labels))
            entry += stream
    for entry in range(single_at + np.uint64(_STREAMS) * stream, mask_at, width):
        left[_owner(blocks, entry)] -= np.uint8(_holds(blocks, entry, labels))
    for entry in range(mask_at, end, np.uint64(MASK_WIDTH)):
        left[_owner(blocks, entry)] -= np.uint8(_mask_holds(blocks, entry, labels))


@bare_kernel
def _fetch_entries(blocks: Any, marks: Any, count: Any) -> None:
    """Ask for the first entry of each candidate, so that their misses overlap."""
    for place in range(np.uint64(count)):
        mark = np.uint64(np.uint32(marks[place]))
        far = np.uint32(blocks[mark + np.uint64(1)]) & np.uint32((1 << SINGLE_FAR) - 1)
        prefetch(blocks, np.int64(mark + np.uint64(far)))


@bare_kernel
def verify_marks(
    blocks: Any, marks: Any, count: Any, labels: Any, states: Any, stale: bool, units: Any, used: Any
) -> Any:  # fmt: skip
    """Write the units behind `used` whose entries hold of the scattered labels, one by one; returns the new end.

    Units that are not LIVE are left out, and what is beyond the end of `units`, should damaged blocks hold more.
    """
    one, width, mask_width = np.uint64(1), np.uint64(SINGLE_WIDTH), np.uint64(MASK_WIDTH)
    low, room, written = np.uint32((1 << COUNT_BITS) - 1), np.uint64(len(units)), np.uint64(used)
    _fetch_entries(blocks, marks, count)
    for place in range(np.uint64(count)):
        mark = np.uint64(np.uint32(marks[place]))
        single, masked = np.uint32(blocks[mark + one]), np.uint32(blocks[mark + np.uint64(2)])
        entry = mark + np.uint64(single & np.uint32((1 << SINGLE_FAR) - 1))
        stop = entry + width * np.uint64((single >> np.uint32(SINGLE_FAR)) & low)
        alone = entry + width * np.uint64(masked >> np.uint32(MASK_FAR + COUNT_BITS))
        while entry < alone:
            if not _holds(blocks, entry, labels):
                break
            entry += width
        if entry < alone:
            continue
        waiting = single >> np.uint32(SINGLE_FAR + COUNT_BITS)
        if waiting > np.uint32(0):
            while entry < stop:
                waiting -= np.uint32(_holds(blocks, entry, labels))
                entry += width
            entry = mark + np.uint64(masked & np.uint32((1 << MASK_FAR) - 1))
            stop = entry + mask_width * np.uint64((masked >> np.uint32(MASK_FAR)) & low)
            while entry < stop:
                waiting -= np.uint32(_mask_holds(blocks, entry, labels))
                entry += mask_width
            if waiting > np.uint32(0):
                continue
        unit = blocks[mark]
        if written < room and (not stale or states[np.uint32(unit)] == LIVE):
            units[written] = unit
            written += one
    return np.int64(written)


@bare_kernel
def verify_block(
    blocks: Any, at: Any, labels: Any, left: Any, marks: Any, waiting: Any, states: Any, stale: bool, units: Any,
    used: Any,
) -> Any:  # fmt: skip
    """Try the first tests of a block: returns the end of the hits, of the marks, and how many candidates passed.

    If many passed, all entries are tried, and the units that hold are written behind `used`. If few did, their marks
    wait for `verify_marks`, behind the `waiting` ones; there must be room for a block.
    """
    one, written, start = np.uint64(1), np.uint64(used), np.uint64(at)
    count, singles, masks = (
        np.uint64(blocks[start]),
        np.uint64(blocks[start + one]),
        np.uint64(blocks[start + np.uint64(2)]),
    )
    first_tests_at = start + np.uint64(BLOCK_START)
    mark_at = first_tests_at + np.uint64(BLOCK_TEST_WIDTH) * count
    single_at = mark_at + np.uint64(MARK_WIDTH) * count
    mask_at = single_at + np.uint64(SINGLE_WIDTH) * singles
    first_test, mark, end = first_tests_at, mark_at, np.uint64(waiting)
    for _ in range(count):
        marks[end] = mark
        end += np.uint64(_holds(blocks, first_test, labels))
        first_test += np.uint64(BLOCK_TEST_WIDTH)
        mark += np.uint64(MARK_WIDTH)
    kept = end - np.uint64(waiting)
    if np.uint64(_DENSE) * kept <= singles + masks or kept > np.uint64(len(units)) - written:
        return used, np.int64(end), np.int64(kept)
    mask_end = mask_at + np.uint64(MASK_WIDTH) * masks
    _count_down(blocks, first_tests_at, count, single_at, mask_at, mask_end, labels, left)
    for place in range(np.uint64(waiting), end):
        mark = np.uint64(np.uint32(marks[place]))
        unit = blocks[mark]
        units[written] = unit
        holds = left[(mark - mark_at) // np.uint64(MARK_WIDTH)] == 0
        written += np.uint64(holds & (not stale or states[np.uint32(unit)] == LIVE))
    return np.int64(written), waiting, np.int64(kept)
