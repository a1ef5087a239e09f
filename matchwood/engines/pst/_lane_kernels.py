"""Kernels that try packed candidates with many events at once: the answer is a word, a bit an event.

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
from matchwood.engines.pst._known_list_kernels import NULL_RANK
from matchwood.engines.pst._packed_kernels import (
    MASK_WIDTH,
    PACKED_START,
    PACKED_TEST_WIDTH,
    RANK_SHIFT,
    SINGLE_WIDTH,
    counts_of,
    long_word,
    mask_of,
)
from matchwood.engines.shared._residual_kernels import LIVE

TILE = 64
"""Events whose ranks are laid out together: a power of two, and a bit of a word each."""

PLANES = 5
"""Bits of a count of a candidate's entries, beyond the lowest three."""

_AT_ONCE = 24
"""So many neighbouring ranks are written in the time of one anywhere."""

_AHEAD = 4
_AT_A_TIME = 256
"""Packed candidates of which residuals are asked for before the first is looked at."""

_ONE, _TWO, _THREE, _FIVE, _EVERY = (np.uint64(number) for number in (1, 2, 3, 5, 2**64 - 1))


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
    """Pack the pairs of a group's events; attributes that no packed candidate names are left out."""
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
def _held(words: Any, entry: Any, ranks: Any, wide: bool) -> Any:
    """The lanes of which a single entry, or a first test, holds: of NULL, the last rank, none does."""
    low, more = np.uint64(words[entry + _ONE]), np.uint64(words[entry + _TWO])
    start, count = np.int64(TILE) * np.int64(words[entry]), more if low + more == np.uint64(NULL_RANK) else more + _ONE
    held = lanes_within(ranks, start, low, count)
    if wide:
        held |= lanes_within(ranks, start + np.int64(LANES), low, count) << np.uint64(LANES)
    return held


@bare_kernel
def _mask_held(residuals: Any, entry: Any, ranks: Any, wide: bool) -> Any:
    """The lanes of which a masked entry holds; of NULL, the last rank, none does."""
    low, shift, bits = np.uint64(residuals[entry + _ONE]), np.uint64(residuals[entry + _TWO]), mask_of(residuals, entry)
    start, shift = np.int64(TILE) * np.int64(residuals[entry]), shift & np.uint64(31)
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
def _others_held(
    residuals: Any, entry: Any, masked: Any, end: Any, wanted: Any, ranks: Any, wide: bool, planes: Any
) -> Any:
    """The lanes of which the constraints with several entries hold, single ones before `masked` and masked ones behind.

    Of each constraint at most one entry does, so it is enough to count; the lowest bits of the counts in three words,
    the others, which are rare, in planes.
    """
    ones = twos = fours = np.uint64(0)
    while entry < end:
        if entry < masked:
            held = _held(residuals, entry, ranks, wide)
            entry += np.uint64(SINGLE_WIDTH)
        else:
            held = _mask_held(residuals, entry, ranks, wide)
            entry += np.uint64(MASK_WIDTH)
        two, four = ones & held, ones & held & twos
        ones, twos = ones ^ held, twos ^ two
        if fours & four != 0:
            _count_more(planes, fours & four)
        fours ^= four
    found = (ones if wanted & _ONE != 0 else ones ^ _EVERY) & (twos if wanted & _TWO != 0 else twos ^ _EVERY)
    found &= fours if wanted & np.uint64(4) != 0 else fours ^ _EVERY
    if wanted >= np.uint64(8):
        for plane in range(len(planes)):
            found &= planes[plane] if (wanted >> np.uint64(3 + plane)) & _ONE != 0 else planes[plane] ^ _EVERY
            planes[plane] = np.uint64(0)
    return found


@bare_kernel
def _pass_tests(tests: Any, start: Any, stop: Any, lanes: Any, residuals: Any, words: LaneWords, kept: Any) -> Any:
    """Keep the packed residuals behind the packed tests start : stop that some lane passes, which are asked for, and
    these lanes; returns their end, and how often a lane passed."""
    kept_units, kept_lanes, ranks = words.units, words.lanes, words.ranks
    wide, end, passed = lanes >> np.uint64(LANES) != 0, np.uint64(kept), np.int64(0)
    for at in range(np.uint64(PACKED_TEST_WIDTH * start), np.uint64(PACKED_TEST_WIDTH * stop), _FIVE):
        held = lanes & _held(tests, at, ranks, wide)
        if held != 0:
            residual = long_word(tests, at + _THREE)
            kept_units[end], kept_lanes[end] = np.int32(residual), held
            prefetch(residuals, np.int64(residual))
            passed += bit_count(held)
            end += _ONE
    return end, passed


@bare_kernel
def _keep_held(
    residuals: Any, first: Any, last: Any, wide: bool, states: Any, stale: bool, words: LaneWords, kept: Any
) -> Any:
    """Of the packed residuals kept from `first` to `last`, keep the units that hold of some lane, behind `kept`;
    returns their end, and how many bits they have."""
    kept_units, kept_lanes, ranks, planes = words.units, words.lanes, words.ranks, words.planes
    hits, end, width = np.int64(0), np.uint64(kept), np.uint64(SINGLE_WIDTH)
    for place in range(np.uint64(first), np.uint64(last)):
        residual, held = np.uint64(np.uint32(kept_units[place])), kept_lanes[place]
        singles, alone, masks, wanted = counts_of(residuals, residual)
        entry = residual + np.uint64(PACKED_START)
        others = entry + width * alone
        masked = entry + width * singles
        while entry < others and held != 0:
            held &= _held(residuals, entry, ranks, wide)
            entry += width
        if held != 0 and wanted > 0:
            masked_end = masked + np.uint64(MASK_WIDTH) * masks
            held &= _others_held(residuals, others, masked, masked_end, wanted, ranks, wide, planes)
        unit = long_word(residuals, residual)
        if held != 0 and (not stale or states[unit] == LIVE):
            kept_units[end], kept_lanes[end] = np.int32(unit), held
            end += _ONE
            hits += bit_count(held)
    return end, hits


@bare_kernel
def try_packed(
    tests: Any, residuals: Any, start: int, stop: int, states: Any, stale: bool, lanes: Any, words: LaneWords, kept: Any
) -> Any:
    """Try the packed candidates start : stop with the lanes of a tile; there is room for a word of each of them.

    Returns how often a lane passed a first test, the end of what is kept, and how many bits that has.
    """
    wide, passed, hits, end = lanes >> np.uint64(LANES) != 0, np.int64(0), np.int64(0), np.uint64(kept)
    for first in range(start, stop, _AT_A_TIME):
        last, some = _pass_tests(tests, first, min(first + _AT_A_TIME, stop), lanes, residuals, words, end)
        end, bits = _keep_held(residuals, end, last, wide, states, stale, words, end)
        passed, hits = passed + some, hits + bits
    return passed, np.int64(end), hits
