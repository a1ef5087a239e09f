"""Kernels of packs: up to 256 candidates of one list, laid out so that they are verified together.

Candidates that are verified one after the other (`_tail_kernels`) have different numbers of constraints, and where most
of them match the processor guesses wrong once or twice at each. A pack has all their constraints as one stream of
*entries*, each of which names its candidate, and no branch depends on an answer. Labels are round numbers: as long as
an attribute has few spaces their upper 16 bits, their *rank*, say all, and an entry takes 8 bytes where a record takes
12. BEGen at 1%, where nine in ten candidates match, takes a third less, and so does the index (`bench core`).

- how many candidates, plain and masked entries there are, in three integers;
- a head of each candidate, two integers: an attribute, the first rank, the last behind it; and above that how many of
  its constraints are left to be tested, and how many of those are plain entries that come first;
- the unit of each;
- where its plain entries and its masked ones begin, in one integer; after the last candidate, where all end;
- plain entries, two integers: an attribute, the first rank, the last behind it, the number of the candidate;
- masked entries, four: an attribute, the first rank, a shift, the number of the candidate, and 64 bits.

A constraint of several intervals has one entry for each, or for as many as lie within 64 steps. An event satisfies at
most one of them, so it is enough to count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._jit import bare_kernel
from matchwood.engines._tail_kernels import LIVE

PACKED = 256
"""Candidates of a pack."""

RANK_SHIFT = 15
PACK_START, HEAD_WIDTH, PLAIN_WIDTH, MASK_WIDTH = 3, 2, 2, 4

_DENSE = 12
"""Entries that take as long as one candidate by itself, which waits for its branches."""

_STREAMS = 4
"""Entries of a candidate follow each other, and each waits for the count of the one before: so four places of the
stream are read in turn."""


@bare_kernel
def _holds(packs: Any, entry: Any, labels: Any) -> Any:
    """Whether a plain entry, or a head, holds of the scattered labels; none does of NULL, whose rank is above all."""
    test, width = np.uint32(packs[entry]), np.uint32(packs[entry + np.uint64(1)])
    rank = np.int32(np.uint32(labels[test & np.uint32(0xFFFF)]) >> np.uint32(RANK_SHIFT))
    return np.uint32(rank - np.int32(test >> np.uint32(16))) <= width & np.uint32(0xFFFF)


@bare_kernel
def _mask_holds(packs: Any, entry: Any, labels: Any) -> Any:
    """Whether a masked entry holds of the scattered labels."""
    test, shift = np.uint32(packs[entry]), np.uint32(packs[entry + np.uint64(1)]) & np.uint32(31)
    rank = np.int32(np.uint32(labels[test & np.uint32(0xFFFF)]) >> np.uint32(RANK_SHIFT))
    step = np.uint32(rank - np.int32(test >> np.uint32(16))) >> shift
    bits = np.uint32(packs[entry + np.uint64(2) + np.uint64((step >> np.uint32(5)) & np.uint32(1))])
    return ((bits >> (step & np.uint32(31))) & np.uint32(1) != 0) & (step < np.uint32(64))


@bare_kernel
def _owner(packs: Any, entry: Any) -> Any:
    return np.uint32(packs[entry + np.uint64(1)]) >> np.uint32(16)


@bare_kernel
def _count_down(packs: Any, plain_at: Any, mask_at: Any, end: Any, labels: Any, left: Any) -> None:
    """Take all entries that hold off what is left of their candidates."""
    width = np.uint64(PLAIN_WIDTH)
    stream = (mask_at - plain_at) // (width * np.uint64(_STREAMS)) * width
    for first in range(plain_at, plain_at + stream, width):
        entry = first
        for _ in range(_STREAMS):
            left[_owner(packs, entry)] -= np.uint8(_holds(packs, entry, labels))
            entry += stream
    for entry in range(plain_at + np.uint64(_STREAMS) * stream, mask_at, width):
        left[_owner(packs, entry)] -= np.uint8(_holds(packs, entry, labels))
    for entry in range(mask_at, end, np.uint64(MASK_WIDTH)):
        left[_owner(packs, entry)] -= np.uint8(_mask_holds(packs, entry, labels))


@bare_kernel
def _verified(packs: Any, marks: Any, begin: Any, following: Any, plain_at: Any, mask_at: Any, labels: Any) -> Any:
    """Whether one candidate's entries hold; those that decide by themselves come first."""
    low_byte, low_half = np.uint32(255), np.uint32(0xFFFF)
    single = (marks >> np.uint32(24)) & low_byte
    entry = plain_at + np.uint64(PLAIN_WIDTH) * np.uint64(begin & low_half)
    stop = entry + np.uint64(PLAIN_WIDTH) * np.uint64(single)
    while entry < stop:
        if not _holds(packs, entry, labels):
            return False
        entry += np.uint64(PLAIN_WIDTH)
    waiting = ((marks >> np.uint32(16)) & low_byte) - single
    if waiting == np.uint32(0):
        return True
    stop = plain_at + np.uint64(PLAIN_WIDTH) * np.uint64(following & low_half)
    while entry < stop:
        waiting -= np.uint32(_holds(packs, entry, labels))
        entry += np.uint64(PLAIN_WIDTH)
    entry = mask_at + np.uint64(MASK_WIDTH) * np.uint64(begin >> np.uint32(16))
    stop = mask_at + np.uint64(MASK_WIDTH) * np.uint64(following >> np.uint32(16))
    while entry < stop:
        waiting -= np.uint32(_mask_holds(packs, entry, labels))
        entry += np.uint64(MASK_WIDTH)
    return waiting == np.uint32(0)


@bare_kernel
def verify_packs(
    packs: Any, at: Any, end: Any, labels: Any, left: Any, passing: Any, states: Any, stale: bool, units: Any,
    used: Any, work: Any,
) -> Any:  # fmt: skip
    """Write the units of the packs at : end that hold of the scattered labels behind `used`; returns the new end.

    `left` and `passing` have room for a pack. Units that are not LIVE are left out, and what is beyond the end of
    `units`, should damaged packs hold more than there are.
    """
    one, room, written = np.uint64(1), np.uint64(len(units)), np.uint64(used)
    at, end = np.uint64(at), np.uint64(end)
    while at < end:
        count = np.uint64(packs[at])
        head_at = at + np.uint64(PACK_START)
        unit_at = head_at + np.uint64(HEAD_WIDTH) * count
        begin_at = unit_at + count
        plain_at = begin_at + count + one
        mask_at = plain_at + np.uint64(PLAIN_WIDTH) * np.uint64(packs[at + one])
        entries = np.uint64(packs[at + one]) + np.uint64(packs[at + np.uint64(2)])
        at = mask_at + np.uint64(MASK_WIDTH) * np.uint64(packs[at + np.uint64(2)])
        kept, head = np.uint64(0), head_at
        for owner in range(count):
            passing[kept] = owner
            kept += np.uint64(_holds(packs, head, labels))
            left[owner] = np.uint8((np.uint32(packs[head + one]) >> np.uint32(16)) & np.uint32(255))
            head += np.uint64(HEAD_WIDTH)
        work[1] += np.int64(count)
        work[2] += np.int64(kept)
        kept = min(kept, room - written)
        dense = np.uint64(_DENSE) * kept > entries
        if dense:
            _count_down(packs, plain_at, mask_at, at, labels, left)
        for place in range(kept):
            number = np.uint64(passing[place])
            if dense:
                holds = left[number] == 0
            else:
                marks = np.uint32(packs[head_at + np.uint64(HEAD_WIDTH) * number + one])
                begin, following = np.uint32(packs[begin_at + number]), np.uint32(packs[begin_at + number + one])
                holds = _verified(packs, marks, begin, following, plain_at, mask_at, labels)
            unit = packs[unit_at + number]
            units[written] = unit
            written += np.uint64(holds and (not stale or states[np.uint32(unit)] == LIVE))
    return np.int64(written)
