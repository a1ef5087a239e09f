"""Kernels that find the lists of many events, and bring events together that are alike.

Events of a batch have the same labels again and again, and each label of an attribute is in a space at every level in
use: probing them all takes half as long as matching, so what was found for a label is remembered until lists change.

The order of events is that of A-PCM and OSR (ICDE 2014) in its simplest form: events that share the longest of their
lists stand side by side.

VLDB 2018, Algorithms 5 and 7, as `_match_kernels` has them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel, kernel
from matchwood.encoding.spaces.dyadic import LEVELS, ancestor
from matchwood.engines.pst._block_kernels import RANK_SHIFT
from matchwood.engines.pst._match_kernels import ListScratch, ListSearch, select_combinations
from matchwood.engines.pst._space_list_kernels import attribute_bit
from matchwood.engines.shared._posting_kernels import EMPTY, key_of, slot_of

NULL_RANK = 2**16 - 1
"""The rank that stands for NULL where ranks are laid out side by side."""

KNOWN_LABELS, KNOWN_LISTS = 2**16, 2**18
"""Labels whose lists are remembered, a power of two, and the lists of all of them."""

NO_LIST, PLACES = -1, 4


class KnownLists(NamedTuple):
    """The lists of labels that were met before.

    `keys`    by slot: the attribute and the label, plus one; 0 where there is none
    `places`  by slot, four each: where its lists begin, how many they are, the longest of them or NO_LIST, and how long
              its blocks are
    `lists`, `levels`  the lists, and the bits of their levels
    `used`    how many of these are used
    """

    keys: NDArray[np.uint64]
    places: NDArray[np.int32]
    lists: NDArray[np.int32]
    levels: NDArray[np.uint32]
    used: NDArray[np.int64]


class SelectedLists(NamedTuple):
    """What the events of a group select.

    `lists`    the lists of all of them, one event behind the other
    `ends`     where those of each event end, from 0 on
    `longest`  by event: the longest of its lists; NO_LIST if it has none, or must be looked at alone
    `order`    the events that have one, those with the same side by side
    `counts`   by list: how many events have it as their longest; 0 between two groups
    `touched`  the lists of which there are some
    """

    lists: NDArray[np.int32]
    ends: NDArray[np.int64]
    longest: NDArray[np.int32]
    order: NDArray[np.int32]
    counts: NDArray[np.int32]
    touched: NDArray[np.int32]


@bare_kernel
def _forget(known: KnownLists) -> None:
    """Begin anew, because there is no room for more."""
    for slot in range(len(known.keys)):
        known.keys[slot] = np.uint64(0)
    known.used[0] = 0


@bare_kernel
def _probe(lists: Any, attribute: Any, label: Any, known: KnownLists) -> Any:
    """Write the lists of a label behind the ones that are known; returns how many they are, the longest, and how long
    that is."""
    table, keys, starts = lists.table, lists.keys, lists.block_starts
    left = lists.levels[attribute] if attribute < len(lists.levels) else np.uint32(0)
    at, level, longest, most = known.used[0], 0, np.int64(NO_LIST), np.int64(0)
    while left != 0:
        if left & np.uint32(1) != 0:
            found = np.int64(table[slot_of(table, keys, key_of(attribute, ancestor(label, level)))])
            if found != EMPTY:
                known.lists[at], known.levels[at] = found, np.uint32(1) << np.uint32(level)
                at += 1
                size = starts[found + 1] - starts[found]
                longest, most = (found, size) if size > most else (longest, most)
        left >>= np.uint32(1)
        level += 1
    return at - known.used[0], longest, most


@bare_kernel
def _known(lists: Any, attribute: Any, label: Any, known: KnownLists) -> Any:
    """Where a label's lists stand: the first of its four places."""
    key = ((np.uint64(attribute) << np.uint64(32)) | np.uint64(label)) + np.uint64(1)
    slot = mix64(key) & np.uint64(len(known.keys) - 1)
    place = np.uint64(PLACES) * slot
    if known.keys[slot] != key:
        if known.used[0] + LEVELS > len(known.lists):
            _forget(known)
        begin, places = known.used[0], known.places
        count, longest, size = _probe(lists, attribute, label, known)
        known.keys[slot], known.used[0] = key, begin + count
        places[place], places[place + np.uint64(1)] = begin, count
        places[place + np.uint64(2)], places[place + np.uint64(3)] = longest, size
    return place


@bare_kernel
def _select_spaces(
    lists: Any, events: Any, event: int, scratch: ListScratch, known: KnownLists, into: Any, used: Any, room: Any,
    leading: bool,
) -> Any:  # fmt: skip
    """As `select_spaces`, into[used : used + room]: where the lists of an event end, and the longest, or NO_LIST.

    If combinations are wanted, what leads on to them goes to the scratch.
    """
    spaces, attributes, places = scratch.spaces, scratch.attributes, known.places
    end, stop = np.uint64(used), np.uint64(used + room)
    best, most, alone = np.int32(NO_LIST), np.int32(0), False
    for pair in range(events.offsets[event], events.offsets[event + 1]):
        attribute, label = events.attributes[pair], events.labels[pair]
        alone |= label >> RANK_SHIFT == NULL_RANK
        place = _known(lists, attribute, label, known)
        at, count = np.uint64(places[place]), np.uint64(places[place + np.uint64(1)])
        count = min(count, stop - end)
        for step in range(count):
            into[end + step] = known.lists[at + step]
        if leading:
            for step in range(count):
                spaces[end + step] = known.lists[at + step]
                attributes[end + step], scratch.levels[end + step] = attribute_bit(attribute), known.levels[at + step]
        end += count
        if places[place + np.uint64(3)] > most:
            best, most = places[place + np.uint64(2)], places[place + np.uint64(3)]
    return np.int64(end), np.int32(NO_LIST) if alone else best


@kernel
def select_lists(
    lists: Any, search: ListSearch, events: Any, first: int, most: int, scratch: ListScratch, known: KnownLists,
    selected: SelectedLists,
) -> int:  # fmt: skip
    """Find the lists of up to `most` events, as far as there is room; returns how many events."""
    ends, used, count, found = selected.ends, 0, 0, scratch.found
    ends[0] = 0
    while count < most:
        event = first + count
        pairs = events.offsets[event + 1] - events.offsets[event]
        room = min(len(scratch.spaces), len(found), LEVELS * pairs)
        if search.depth > 1:
            total, longest = _select_spaces(lists, events, event, scratch, known, found, 0, room, True)
            total = select_combinations(lists, scratch, total, search.depth)
            if used + total > len(selected.lists):
                break
            for place in range(total):
                selected.lists[used + place] = found[place]
            used += total
        else:
            if used + room > len(selected.lists):
                break
            used, longest = _select_spaces(lists, events, event, scratch, known, selected.lists, used, room, False)
        selected.longest[count] = longest
        count += 1
        ends[count] = used
    return count


@bare_kernel
def put_in_order(selected: SelectedLists, count: int) -> int:
    """Bring the events together that have the same longest list; returns how many have one."""
    longest, counts, touched, order, seen = selected.longest, selected.counts, selected.touched, selected.order, 0
    for event in range(count):
        if longest[event] != NO_LIST:
            if counts[longest[event]] == 0:
                touched[seen] = longest[event]
                seen += 1
            counts[longest[event]] += 1
    used = 0
    for place in range(seen):
        here = counts[touched[place]]
        counts[touched[place]] = used
        used += here
    for event in range(count):
        if longest[event] != NO_LIST:
            order[counts[longest[event]]] = event
            counts[longest[event]] += 1
    for place in range(seen):
        counts[touched[place]] = 0
    return used
