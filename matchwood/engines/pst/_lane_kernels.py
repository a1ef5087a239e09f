"""Kernels that try candidates with many events at once: the answer is a word of 64 bits, a bit an event.

The ranks of a *tile*, up to TILE events under the same list, are laid out by attribute, the upper 16 bits of a label
each; LANES of them are tested together, and as many again where a tile has more. Rank 2**16 - 1 stands for NULL, and no
event in a tile has it as a rank. Where some set has labels that ranks do not tell apart, labels are laid out as well.

VLDB 2018, ours, in the place of the verification of Algorithms 5 and 7.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.bits import bit_count
from matchwood.core.jit import bare_kernel, kernel
from matchwood.core.lanes import LANES, both_in_pieces, both_within, lanes_in_pieces, lanes_within, long_lanes_within
from matchwood.core.prefetch import prefetch
from matchwood.encoding.codes import NULL_LABEL
from matchwood.engines.pst._candidate_kernels import TEST_WIDTH, rest_of
from matchwood.engines.pst._known_list_kernels import NULL_RANK, RANK_SHIFT
from matchwood.engines.pst._match_kernels import fetch_sets
from matchwood.engines.shared._verification_kernels import LIVE
from matchwood.engines.shared.constraints._set_kernels import (
    MOST_PIECES,
    NARROW,
    NARROW_START,
    PAIR_BITS,
    PAIRED,
    form_of,
    is_plain,
    null_passes,
    piece,
    piece_count,
    rank_bits_of,
    set_attribute,
)
from matchwood.engines.shared.constraints._word_kernels import LAST, PAYLOAD, SET, set_of

TILE = 64
"""Events whose ranks are laid out together: a power of two, and a bit of a word each."""

_AT_ONCE = 24
"""So many neighbouring ranks are written in the time of one anywhere."""

_AHEAD = 4
_UNITS_AHEAD = 16 * TEST_WIDTH + 1
"""From a test to the unit that stands so many candidates further on."""

AT_A_TIME = 256
"""Candidates that are asked for before the first is looked at."""

_ONE = np.uint64(1)
_RANKS = 1 << PAIR_BITS


class LaneWords(NamedTuple):
    """What candidates are true of.

    `ranks`   by attribute: the ranks of the events of a tile; NULL_RANK between two tiles
    `labels`  likewise, and NULL_LABEL; empty where ranks tell all
    `units`, `lanes`  the candidates that hold of some lane, and of which
    `places`  where the constraints of some of them stand that are not decided
    """

    ranks: NDArray[np.uint16]
    labels: NDArray[np.int32]
    units: NDArray[np.int32]
    lanes: NDArray[np.uint64]
    places: NDArray[np.int32]


class EventCodes(NamedTuple):
    """The events of a group, as they are laid out.

    `codes`   the place of an attribute's ranks and a rank, 16 bits each, of all pairs of one event behind the other
    `labels`  the labels of these pairs; empty where ranks tell all
    `ends`    where those of each event end, from 0 on
    """

    codes: NDArray[np.uint32]
    labels: NDArray[np.int32]
    ends: NDArray[np.int64]


@bare_kernel
def pack_codes(events: Any, first: int, count: int, attributes: int, packed: EventCodes) -> None:
    """Pack the pairs of a group's events; attributes that no candidate names are left out."""
    used, with_labels = np.uint64(0), len(packed.labels) > 0
    packed.ends[0] = 0
    for event in range(np.uint64(count)):
        at = np.uint64(first) + event
        for pair in range(np.uint64(events.offsets[at]), np.uint64(events.offsets[at + _ONE])):
            attribute, label = np.uint32(events.attributes[pair]), np.uint32(events.labels[pair])
            packed.codes[used] = (attribute << np.uint32(16)) | (label >> np.uint32(RANK_SHIFT))
            if with_labels:
                packed.labels[used] = np.int32(label)
            used += np.uint64(attribute < np.uint32(attributes))
        packed.ends[event + _ONE] = used


@bare_kernel
def lay_out(packed: EventCodes, members: Any, begin: int, stop: int, words: LaneWords) -> Any:
    """Put the ranks of some events side by side by attribute; returns how many they are."""
    codes, ends, ranks, placed = packed.codes, packed.ends, words.ranks, np.uint64(0)
    for lane in range(np.uint64(stop - begin)):
        place = np.uint64(begin) + lane
        later = np.uint64(members[min(place + np.uint64(_AHEAD), np.uint64(stop - 1))])
        prefetch(codes, ends[later])
        event = np.uint64(members[place])
        first, last = np.uint64(ends[event]), np.uint64(ends[event + _ONE])
        for at in range(first, last):
            ranks[np.uint64(TILE) * np.uint64(codes[at] >> np.uint32(16)) + lane] = codes[at] & np.uint32(0xFFFF)
        placed += last - first
    if len(words.labels) > 0:
        _lay_out_labels(packed, members, begin, stop, words.labels)
    return np.int64(placed)


@bare_kernel
def _lay_out_labels(packed: EventCodes, members: Any, begin: int, stop: int, labels: Any) -> None:
    """The same with the labels themselves."""
    codes, ends = packed.codes, packed.ends
    for lane in range(np.uint64(stop - begin)):
        event = np.uint64(members[np.uint64(begin) + lane])
        for at in range(np.uint64(ends[event]), np.uint64(ends[event + _ONE])):
            labels[np.uint64(TILE) * np.uint64(codes[at] >> np.uint32(16)) + lane] = packed.labels[at]


@bare_kernel
def take_away(packed: EventCodes, members: Any, begin: int, stop: int, words: LaneWords, placed: int) -> None:
    """Make so many ranks of some events NULL again: all that there are, if that is less to write."""
    _clear(packed, members, begin, stop, words.ranks, np.uint16(NULL_RANK), placed)
    if len(words.labels) > 0:
        _clear(packed, members, begin, stop, words.labels, np.int32(NULL_LABEL), placed)


@bare_kernel
def _clear(packed: EventCodes, members: Any, begin: int, stop: int, cells: Any, null: Any, placed: int) -> None:
    if _AT_ONCE * placed > len(cells):
        for at in range(np.uint64(len(cells))):
            cells[at] = null
        return
    codes, ends = packed.codes, packed.ends
    for lane in range(np.uint64(stop - begin)):
        event = np.uint64(members[np.uint64(begin) + lane])
        for at in range(np.uint64(ends[event]), np.uint64(ends[event + _ONE])):
            cells[np.uint64(TILE) * np.uint64(codes[at] >> np.uint32(16)) + lane] = null


@bare_kernel
def _ranks_held(ranks: Any, attribute: Any, low: Any, count: Any, wide: bool) -> Any:
    """The lanes whose rank is one of the `count` from `low` on; NULL's, the last one, never is."""
    start, counted = np.int64(TILE) * np.int64(attribute), np.uint64(count)
    counted -= np.uint64(np.uint64(low) + counted == np.uint64(_RANKS))
    if wide:
        return both_within(ranks, start, np.uint64(low), counted)
    return lanes_within(ranks, start, np.uint64(low), counted)


@bare_kernel
def _word_held(word: Any, bits: Any, ranks: Any, wide: bool) -> Any:
    """The lanes of which a word holds that is no set."""
    payload, width = np.uint64(np.uint32(word) & np.uint32(PAYLOAD)), np.uint64(bits)
    mask, shift = (_ONE << width) - _ONE, np.uint64(PAIR_BITS) - width
    low, count = ((payload >> width) & mask) << shift, ((payload & mask) + _ONE) << shift
    return _ranks_held(ranks, payload >> (width + width), low, count, wide)


@bare_kernel
def _labels_held(labels: Any, attribute: Any, low: Any, high: Any, wide: bool) -> Any:
    """The lanes whose label lies in an interval; NULL's never does."""
    start, count = np.int64(TILE) * np.int64(attribute), np.uint64(high - low)
    held = long_lanes_within(labels, start, np.uint64(low), count)
    if wide:
        held |= long_lanes_within(labels, start + np.int64(LANES), np.uint64(low), count) << np.uint64(LANES)
    return held


@bare_kernel
def _narrow_held(sets: Any, at: Any, ranks: Any, wide: bool) -> Any:
    """The lanes of which the pieces of a narrow set hold."""
    head, start = np.int64(sets[at]), np.int64(TILE) * np.int64(sets[at + 1])
    count, left = head & MOST_PIECES, np.uint64(PAIR_BITS - rank_bits_of(head))
    if wide:
        return both_in_pieces(ranks, start, sets, at + NARROW_START, count, left)
    return lanes_in_pieces(ranks, start, sets, at + NARROW_START, count, left)


@kernel
def _other_held(sets: Any, at: Any, ranks: Any, labels: Any, wide: bool) -> Any:
    """The lanes of which a set holds that is paired or wide, or that NULL is in."""
    form, attribute, held = form_of(sets[at]), set_attribute(sets, at), np.uint64(0)
    count = piece_count(sets, at)
    if form == NARROW:
        held = _narrow_held(sets, at, ranks, wide)
    elif form == PAIRED:
        for number in range(at + NARROW_START, at + NARROW_START + 2 * count, 2):
            held |= _ranks_held(ranks, attribute, sets[number], np.int64(sets[number + 1]) + 1, wide)
    else:
        for number in range(count):
            low, high = piece(sets, at, number)
            held |= _labels_held(labels, attribute, low, high, wide)
    if null_passes(sets, at):
        start = np.int64(TILE) * attribute
        held |= lanes_within(ranks, start, np.uint64(NULL_RANK), _ONE)
        if wide:
            held |= lanes_within(ranks, start + np.int64(LANES), np.uint64(NULL_RANK), _ONE) << np.uint64(LANES)
    return held


@bare_kernel
def _pass_tests(conjunctions: Any, tests: Any, start: Any, stop: Any, lanes: Any, words: LaneWords, kept: Any) -> Any:
    """Keep the units of the tests start : stop that some lane passes, these lanes, and where what is left to test of
    each stands, which is asked for; returns their end, and how often a lane passed.

    Where a unit's constraints stand is in the order of the units, and asked for ahead.
    """
    places, stored, bits = conjunctions.places, conjunctions.words, conjunctions.bits
    kept_units, kept_lanes, found, ranks = words.units, words.lanes, words.places, words.ranks
    end_of_units = np.uint64(TEST_WIDTH * stop - 1)
    wide, end, passed, first = lanes >> np.uint64(LANES) != 0, np.uint64(kept), np.int64(0), np.uint64(kept)
    for at in range(np.uint64(TEST_WIDTH * start), np.uint64(TEST_WIDTH * stop), np.uint64(TEST_WIDTH)):
        prefetch(places, np.int64(tests[min(at + np.uint64(_UNITS_AHEAD), end_of_units)]))
        held = lanes & _word_held(tests[at], bits, ranks, wide)
        if held != 0:
            unit = tests[at + _ONE]
            rest = rest_of(places, tests[at], unit)
            prefetch(stored, np.int64(rest))
            kept_units[end], kept_lanes[end], found[end - first] = np.int32(unit), held, np.int32(rest)
            passed += bit_count(held)
            end += _ONE
    return end, passed


@bare_kernel
def _keep_held(
    conjunctions: Any, first: Any, last: Any, wide: bool, states: Any, stale: bool, words: LaneWords, kept: Any
) -> Any:
    """Of the units kept from `first` to `last`, keep those that hold of some lane, behind `kept`; returns their end,
    and how many bits they have."""
    kept_units, kept_lanes, found, ranks, labels = words.units, words.lanes, words.places, words.ranks, words.labels
    stored, sets, bits = conjunctions.words, conjunctions.sets, conjunctions.bits
    hits, end = np.int64(0), np.uint64(kept)
    for place in range(np.uint64(first), np.uint64(last)):
        unit, held, position = np.uint32(kept_units[place]), kept_lanes[place], np.uint64(found[place - first])
        word = stored[position - _ONE]
        while word & np.uint32(LAST) == 0 and stored[position] & np.uint32(SET) != 0:
            word = stored[position]
            set_at = set_of(word)
            if is_plain(sets[set_at]):
                held &= _narrow_held(sets, set_at, ranks, wide)
            else:
                held &= _other_held(sets, set_at, ranks, labels, wide)
            position += _ONE
        while word & np.uint32(LAST) == 0 and held != 0:
            word = stored[position]
            held &= _word_held(word, bits, ranks, wide)
            position += _ONE
        if held != 0 and (not stale or states[unit] & np.uint8(LIVE) != 0):
            kept_units[end], kept_lanes[end] = np.int32(unit), held
            end += _ONE
            hits += bit_count(held)
    return end, hits


@bare_kernel
def try_candidates(
    conjunctions: Any, tests: Any, start: int, stop: int, states: Any, stale: bool, lanes: Any, words: LaneWords,
    kept: Any,
) -> Any:  # fmt: skip
    """Try the candidates start : stop with the lanes of a tile; there is room for a word of each of them.

    Returns how often a lane passed a test, the end of what is kept, and how many bits that has.
    """
    wide, passed, hits, end = lanes >> np.uint64(LANES) != 0, np.int64(0), np.int64(0), np.uint64(kept)
    for first in range(start, stop, AT_A_TIME):
        until = min(first + AT_A_TIME, stop)
        last, some = _pass_tests(conjunctions, tests, first, until, lanes, words, end)
        fetch_sets(conjunctions.words, conjunctions.sets, words.places, last - end)
        end, bits_held = _keep_held(conjunctions, end, last, wide, states, stale, words, end)
        passed, hits = passed + some, hits + bits_held
    return passed, np.int64(end), hits
