"""Kernels that try the candidates in a list's blocks with many events at once: the answer is a word, a bit an event.

The ranks of a *tile*, up to TILE events under the same list, are laid out by attribute, 16 bits each; LANES of them are
tested together, and as many again where a tile has more. Rank 2**16 - 1 stands for NULL, and no event in a tile has it
as a rank.

VLDB 2018, ours, in the place of the verification of Algorithms 5 and 7.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.bits import bit_count
from matchwood.core.jit import bare_kernel
from matchwood.core.lanes import LANES, lanes_masked, lanes_within
from matchwood.core.prefetch import prefetch
from matchwood.engines.pst._block_kernels import (
    BLOCK_START,
    BLOCK_TEST_WIDTH,
    COUNT_BITS,
    MARK_WIDTH,
    MASK_FAR,
    MASK_WIDTH,
    RANK_SHIFT,
    SINGLE_FAR,
    SINGLE_WIDTH,
)
from matchwood.engines.pst._known_list_kernels import NULL_RANK
from matchwood.engines.shared._residual_kernels import LIVE

TILE = 64
"""Events whose ranks are laid out together: a power of two, and a bit of a word each."""

PLANES = 5
"""Bits of a count of a candidate's entries, beyond the lowest three."""

_AT_ONCE = 24
"""So many neighbouring ranks are written in the time of one anywhere."""

_AHEAD = 4
_ONE, _EVERY = np.uint64(1), np.uint64(2**64 - 1)


class LaneWords(NamedTuple):
    """What candidates are true of.

    `ranks`   by attribute: the ranks of the events of a tile; NULL_RANK between two tiles
    `units`, `lanes`  the candidates that hold of some lane, and of which
    `planes`  counts of entries in eights, a bit of each lane's count in each word; 0 between two candidates
    """

    ranks: NDArray[np.uint16]
    units: NDArray[np.int32]
    lanes: NDArray[np.uint64]
    planes: NDArray[np.uint64]


class EventCodes(NamedTuple):
    """The events of a group, as they are laid out.

    `codes`  the place of an attribute's ranks and a rank, 16 bits each, of all pairs of one event behind the other
    `ends`   where those of each event end, from 0 on
    """

    codes: NDArray[np.uint32]
    ends: NDArray[np.int64]


@bare_kernel
def pack_codes(events: Any, first: int, count: int, attributes: int, packed: EventCodes) -> None:
    """Pack the pairs of a group's events; attributes that no block names are left out."""
    used = np.uint64(0)
    packed.ends[0] = 0
    for event in range(np.uint64(count)):
        at = np.uint64(first) + event
        for pair in range(np.uint64(events.offsets[at]), np.uint64(events.offsets[at + _ONE])):
            attribute, label = np.uint32(events.attributes[pair]), np.uint32(events.labels[pair])
            packed.codes[used] = (attribute << np.uint32(16)) | (label >> np.uint32(RANK_SHIFT))
            used += np.uint64(attribute < np.uint32(attributes))
        packed.ends[event + _ONE] = used


@bare_kernel
def lay_out(packed: EventCodes, members: Any, begin: int, stop: int, ranks: Any) -> Any:
    """Put the ranks of some events side by side by attribute; returns how many they are."""
    codes, ends, placed = packed.codes, packed.ends, np.uint64(0)
    for lane in range(np.uint64(stop - begin)):
        place = np.uint64(begin) + lane
        later = np.uint64(members[min(place + np.uint64(_AHEAD), np.uint64(stop - 1))])
        prefetch(codes, ends[later])
        event = np.uint64(members[place])
        first, last = np.uint64(ends[event]), np.uint64(ends[event + _ONE])
        for at in range(first, last):
            ranks[np.uint64(TILE) * np.uint64(codes[at] >> np.uint32(16)) + lane] = codes[at] & np.uint32(0xFFFF)
        placed += last - first
    return np.int64(placed)


@bare_kernel
def take_away(packed: EventCodes, members: Any, begin: int, stop: int, ranks: Any, placed: int) -> None:
    """Make so many ranks of some events NULL again: all that there are, if that is less to write."""
    if _AT_ONCE * placed > len(ranks):
        for at in range(np.uint64(len(ranks))):
            ranks[at] = NULL_RANK
        return
    codes, ends = packed.codes, packed.ends
    for lane in range(np.uint64(stop - begin)):
        event = np.uint64(members[np.uint64(begin) + lane])
        for at in range(np.uint64(ends[event]), np.uint64(ends[event + _ONE])):
            ranks[np.uint64(TILE) * np.uint64(codes[at] >> np.uint32(16)) + lane] = NULL_RANK


@bare_kernel
def _held(blocks: Any, entry: Any, ranks: Any, wide: bool) -> Any:
    """The lanes of which a single entry, or a first test, holds: of NULL, the last rank, none does."""
    test, width = np.uint32(blocks[entry]), np.uint64(np.uint32(blocks[entry + _ONE]) & np.uint32(0xFFFF))
    low, start = np.uint64(test >> np.uint32(16)), np.int64(TILE) * np.int64(test & np.uint32(0xFFFF))
    count = width if low + width == np.uint64(NULL_RANK) else width + _ONE
    held = lanes_within(ranks, start, low, count)
    if wide:
        held |= lanes_within(ranks, start + np.int64(LANES), low, count) << np.uint64(LANES)
    return held


@bare_kernel
def _mask_held(blocks: Any, entry: Any, ranks: Any, wide: bool) -> Any:
    """The lanes of which a masked entry holds; of NULL, the last rank, none does."""
    test, shift = np.uint32(blocks[entry]), np.uint64(np.uint32(blocks[entry + _ONE]) & np.uint32(31))
    low, start = np.uint64(test >> np.uint32(16)), np.int64(TILE) * np.int64(test & np.uint32(0xFFFF))
    bits = np.uint64(np.uint32(blocks[entry + np.uint64(2)]))
    bits |= np.uint64(np.uint32(blocks[entry + np.uint64(3)])) << np.uint64(32)
    count = min(np.uint64(64) << shift, np.uint64(NULL_RANK) - low)
    held = lanes_masked(ranks, start, low, count, shift, bits)
    if wide:
        held |= lanes_masked(ranks, start + np.int64(LANES), low, count, shift, bits) << np.uint64(LANES)
    return held


@bare_kernel
def _count_more(planes: Any, lanes: Any) -> None:
    """Count one more for each of the lanes."""
    plane = 0
    while lanes != 0 and plane < len(planes):
        carried = planes[plane] & lanes
        planes[plane] ^= lanes
        lanes = carried
        plane += 1


@bare_kernel
def _several_held(blocks: Any, mark: Any, entry: Any, ranks: Any, wide: bool, planes: Any) -> Any:
    """The lanes of which the constraints with several entries hold: of each constraint at most one entry does, so it is
    enough to count; the lowest bits of the counts in three words, the others, which are rare, in planes.
    """
    single, masked = np.uint32(blocks[mark + _ONE]), np.uint32(blocks[mark + np.uint64(2)])
    low, wanted = np.uint32((1 << COUNT_BITS) - 1), np.uint64(single >> np.uint32(SINGLE_FAR + COUNT_BITS))
    ones = twos = fours = np.uint64(0)
    begin = mark + np.uint64(single & np.uint32((1 << SINGLE_FAR) - 1))
    single_end = begin + np.uint64(SINGLE_WIDTH) * np.uint64((single >> np.uint32(SINGLE_FAR)) & low)
    mask_at = mark + np.uint64(masked & np.uint32((1 << MASK_FAR) - 1))
    mask_end = mask_at + np.uint64(MASK_WIDTH) * np.uint64((masked >> np.uint32(MASK_FAR)) & low)
    while entry < single_end or mask_at < mask_end:
        if entry < single_end:
            held = _held(blocks, entry, ranks, wide)
            entry += np.uint64(SINGLE_WIDTH)
        else:
            held = _mask_held(blocks, mask_at, ranks, wide)
            mask_at += np.uint64(MASK_WIDTH)
        two, four = ones & held, ones & held & twos
        ones, twos = ones ^ held, twos ^ two
        if fours & four != 0:
            _count_more(planes, fours & four)
        fours ^= four
    found = (ones if wanted & _ONE != 0 else ones ^ _EVERY) & (twos if wanted & np.uint64(2) != 0 else twos ^ _EVERY)
    found &= fours if wanted & np.uint64(4) != 0 else fours ^ _EVERY
    if wanted >= np.uint64(8):
        for plane in range(len(planes)):
            found &= planes[plane] if (wanted >> np.uint64(3 + plane)) & _ONE != 0 else planes[plane] ^ _EVERY
            planes[plane] = np.uint64(0)
    return found


@bare_kernel
def try_block(blocks: Any, start: int, states: Any, stale: bool, lanes: Any, words: LaneWords, kept: Any) -> Any:
    """Try the candidates of a block with the lanes of a tile; there is room for a word of each of them.

    Returns how often a lane passed a first test, the end of what is kept, and how many bits that has.
    """
    ranks, planes, wide, passed, hits = (
        words.ranks,
        words.planes,
        lanes >> np.uint64(LANES) != 0,
        np.int64(0),
        np.int64(0),
    )
    kept_units, kept_lanes = words.units, words.lanes
    test, count = np.uint64(start + BLOCK_START), np.int64(blocks[start])
    mark = test + np.uint64(BLOCK_TEST_WIDTH) * np.uint64(count)
    for _ in range(count):
        held = lanes & _held(blocks, test, ranks, wide)
        if held != 0:
            passed += bit_count(held)
            single, masked = np.uint32(blocks[mark + _ONE]), np.uint32(blocks[mark + np.uint64(2)])
            entry = mark + np.uint64(single & np.uint32((1 << SINGLE_FAR) - 1))
            alone = entry + np.uint64(SINGLE_WIDTH) * np.uint64(masked >> np.uint32(MASK_FAR + COUNT_BITS))
            while entry < alone and held != 0:
                held &= _held(blocks, entry, ranks, wide)
                entry += np.uint64(SINGLE_WIDTH)
            if held != 0 and single >> np.uint32(SINGLE_FAR + COUNT_BITS) != 0:
                held &= _several_held(blocks, mark, entry, ranks, wide, planes)
            unit = blocks[mark]
            kept_units[kept], kept_lanes[kept] = unit, held
            if held != 0 and (not stale or states[unit] == LIVE):
                kept += 1
                hits += bit_count(held)
        test += np.uint64(BLOCK_TEST_WIDTH)
        mark += np.uint64(MARK_WIDTH)
    return passed, kept, hits
