"""Kernels that find the lists of many events.

Events of a batch have the same labels again and again, and each label of an attribute is in a space at every level in
use: probing them all takes half as long as matching. So what was found for a label is remembered until lists change,
ready for use: the long lists, and the tests of the short ones in one piece, where each list would be a cache miss or
two.

VLDB 2018, Algorithms 5 and 7, as `_match_kernels` has them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel, kernel
from matchwood.core.prefetch import prefetch
from matchwood.encoding.spaces.dyadic import LEVELS, ancestor
from matchwood.engines.pst._candidate_kernels import TEST_WIDTH
from matchwood.engines.pst._match_kernels import ListScratch, ListSearch, select_combinations
from matchwood.engines.pst._space_list_kernels import attribute_bit
from matchwood.engines.shared._posting_kernels import EMPTY, key_of, slot_of

RANK_SHIFT = 15
NULL_RANK = 2**16 - 1
"""The upper 16 bits of a label are its rank where ranks are laid out side by side, and the last one stands for NULL."""

LONG = 4
"""Candidates of a list that is worth to be tried with many events at once. The tests of shorter ones are remembered
with each of their labels."""

SLOT, WAYS = 8, 2
"""Integers of what is remembered of a label, and labels that share a cache line."""

_ATTRIBUTE, _LABEL, _LISTS, _LONG, _SPACES, _TESTS, _TEST_COUNT = range(7)
_ONE = np.uint64(1)


class KnownLists(NamedTuple):
    """What is remembered of labels, by slot.

    `slots`   for each label: its attribute plus one, itself, where its lists begin, how many of them are long, how many
              more are there for combinations; where its tests begin, and how many they are. 0 where there is none
    `lists`, `levels`  the lists, and the bits of the levels of those for combinations
    `tests`   the tests, as in `CandidateLists`
    `used`    how many lists and tests are used
    """

    slots: NDArray[np.int32]
    lists: NDArray[np.int32]
    levels: NDArray[np.uint32]
    tests: NDArray[np.uint32]
    used: NDArray[np.int64]


class SelectedLists(NamedTuple):
    """What the events of a group select, one event behind the other.

    `lists`, `ends`       lists that are to be tried, and where those of each event end, from 0 on
    `tests`, `test_ends`  remembered tests: where some begin, and how many they are
    `alone`  by event: whether it must be looked at alone, because it has a label whose rank stands for NULL
    """

    lists: NDArray[np.int32]
    ends: NDArray[np.int64]
    tests: NDArray[np.int32]
    test_ends: NDArray[np.int64]
    alone: NDArray[np.bool_]


@bare_kernel
def _forget(known: KnownLists) -> None:
    """Begin anew, because there is no room for more."""
    for at in range(_ATTRIBUTE, len(known.slots), SLOT):
        known.slots[at] = 0
    known.used[0], known.used[1] = 0, 0


@bare_kernel
def _probe(lists: Any, attribute: Any, label: Any, known: KnownLists, at: Any) -> Any:
    """Write the lists of a label to `at`, with the bits of their levels; returns how many they are."""
    table, keys, first = lists.table, lists.keys, at
    left, level = lists.levels[attribute] if attribute < len(lists.levels) else np.uint32(0), 0
    while left != 0:
        if left & np.uint32(1) != 0:
            found = np.int64(table[slot_of(table, keys, key_of(attribute, ancestor(label, level)))])
            if found != EMPTY:
                known.lists[at], known.levels[at] = found, np.uint32(1) << np.uint32(level)
                at += 1
        left >>= np.uint32(1)
        level += 1
    return at - first


@bare_kernel
def _copy_tests(lists: Any, listed: Any, known: KnownLists) -> None:
    """Remember the tests of a list."""
    source, target = TEST_WIDTH * lists.starts[listed], TEST_WIDTH * known.used[1]
    for step in range(TEST_WIDTH * np.int64(lists.counts[listed])):
        known.tests[target + step] = lists.tests[source + step]
    known.used[1] += lists.counts[listed]


@bare_kernel
def _remember(lists: Any, attribute: Any, label: Any, known: KnownLists, leading: bool, slot: Any) -> bool:
    """Remember a label in a slot, if there is room."""
    slots, begin = known.slots, known.used[0]
    if begin + 3 * LEVELS > len(known.lists) or TEST_WIDTH * (known.used[1] + LONG * LEVELS) > len(known.tests):
        return False
    spaces, end = begin + 2 * LEVELS, begin
    count = _probe(lists, attribute, label, known, spaces)
    slots[slot + _ATTRIBUTE], slots[slot + _LABEL], slots[slot + _LISTS] = attribute + 1, label, begin
    slots[slot + _TESTS] = known.used[1]
    for at in range(spaces, spaces + count):
        listed = known.lists[at]
        if lists.counts[listed] < LONG:
            _copy_tests(lists, listed, known)
        else:
            known.lists[end] = listed
            end += 1
    slots[slot + _LONG], slots[slot + _TEST_COUNT] = end - begin, known.used[1] - slots[slot + _TESTS]
    slots[slot + _SPACES] = count if leading else 0
    for step in range(count if leading else 0):
        known.lists[end + step], known.levels[end + step] = known.lists[spaces + step], known.levels[spaces + step]
    known.used[0] = end + slots[slot + _SPACES]
    return True


@bare_kernel
def _line(slots: Any, attribute: Any, label: Any) -> Any:
    """Where the slots begin in which a label may be."""
    key = (np.uint64(attribute) << np.uint64(32)) | np.uint64(label)
    lines = np.uint64(len(slots)) // np.uint64(SLOT * WAYS)
    return (mix64(key) & (lines - _ONE)) * np.uint64(SLOT * WAYS)


@bare_kernel
def _found(slots: Any, attribute: Any, label: Any) -> Any:
    """The slot of a label if it is remembered, otherwise one of another label."""
    line, width = _line(slots, attribute, label), np.uint64(SLOT)
    first = slots[line] == attribute + 1 and slots[line + np.uint64(_LABEL)] == label
    return line if first else line + width


@kernel
def _remembered(lists: Any, attribute: Any, label: Any, known: KnownLists, leading: bool) -> bool:
    """Remember a label that is not, if there is room.

    It takes the first of its two slots, and whatever was in that moves on to the second. A function of its own: handing
    over so many arrays takes longer than finding a label does.
    """
    slots, line, width = known.slots, _line(known.slots, attribute, label), np.uint64(SLOT)
    for at in range(line, line + width):
        slots[at + width] = slots[at]
    slots[line] = 0
    return _remember(lists, attribute, label, known, leading, np.int64(line))


@bare_kernel
def _fetch_slots(events: Any, event: int, known: KnownLists) -> None:
    """Ask for the slots of an event's labels."""
    if event + 1 < len(events.offsets):
        for pair in range(events.offsets[event], events.offsets[event + 1]):
            prefetch(known.slots, np.int64(_line(known.slots, events.attributes[pair], events.labels[pair])))


@bare_kernel
def _lead_on(known: KnownLists, attribute: Any, at: Any, some: Any, scratch: ListScratch, count: Any) -> None:
    """Write the spaces of a label that may lead on to combinations behind `count` of them."""
    for step in range(some):
        place = np.uint64(count) + step
        scratch.spaces[place], scratch.levels[place] = known.lists[at + step], known.levels[at + step]
        scratch.attributes[place] = attribute_bit(attribute)


@bare_kernel
def _select_spaces(
    lists: Any, events: Any, event: int, scratch: ListScratch, known: KnownLists, selected: SelectedLists, ends: Any,
    leading: bool,
) -> Any:  # fmt: skip
    """Select what is known of an event's labels behind the two `ends`.

    Returns the new ends, the number of spaces that lead on to combinations, and whether there was room.
    """
    end, test_end = np.uint64(ends[0]), np.uint64(ends[1])
    spaces, slots, count = scratch.spaces, known.slots, np.int64(0)
    for pair in range(np.uint64(events.offsets[event]), np.uint64(events.offsets[event + 1])):
        attribute, label = events.attributes[pair], events.labels[pair]
        slot = _found(slots, attribute, label)
        if slots[slot] != attribute + 1 or slots[slot + np.uint64(_LABEL)] != label:
            if not _remembered(lists, attribute, label, known, leading):
                return (np.int64(end), np.int64(test_end)), count, False
            slot = _line(slots, attribute, label)
        at, some = np.uint64(slots[slot + np.uint64(_LISTS)]), np.uint64(slots[slot + np.uint64(_LONG)])
        for step in range(some):
            selected.lists[end + step] = known.lists[at + step]
        at, end = at + some, end + some
        if leading:
            some = min(np.uint64(slots[slot + np.uint64(_SPACES)]), np.uint64(len(spaces) - count))
            _lead_on(known, attribute, at, some, scratch, count)
            count += np.int64(some)
        tests = slots[slot + np.uint64(_TEST_COUNT)]
        selected.tests[test_end], selected.tests[test_end + _ONE] = slots[slot + np.uint64(_TESTS)], tests
        test_end += np.uint64(2) if tests > 0 else np.uint64(0)
    return (np.int64(end), np.int64(test_end)), count, True


@bare_kernel
def _add_combinations(found: Any, count: int, total: int, selected: SelectedLists, end: Any) -> Any:
    """Select the lists of combinations, which stand behind those of `count` spaces; returns the new end."""
    for place in range(count, total):
        selected.lists[end] = found[place]
        end += 1
    return end


@bare_kernel
def _stands_alone(events: Any, event: int) -> bool:
    """Whether an event has a label whose rank stands for NULL."""
    alone = False
    for pair in range(events.offsets[event], events.offsets[event + 1]):
        alone |= events.labels[pair] >> RANK_SHIFT == NULL_RANK
    return alone


@kernel
def select_lists(
    lists: Any, search: ListSearch, events: Any, first: int, most: int, scratch: ListScratch, known: KnownLists,
    selected: SelectedLists,
) -> int:  # fmt: skip
    """Find the lists of up to `most` events, as far as there is room; returns how many events.

    Nothing is forgotten in the middle of a group, which refers to what is remembered.
    """
    count, found, leading, fresh = 0, scratch.found, search.depth > 1, False
    ends = np.int64(0), np.int64(0)
    selected.ends[0], selected.test_ends[0] = 0, 0
    while count < most:
        event = first + count
        pairs = events.offsets[event + 1] - events.offsets[event]
        if ends[0] + LEVELS * pairs > len(selected.lists) or ends[1] + 2 * pairs + 2 > len(selected.tests):
            break
        _fetch_slots(events, event + 1, known)
        after, spaces, complete = _select_spaces(lists, events, event, scratch, known, selected, ends, leading)
        if not complete:
            if count > 0 or fresh:
                break
            _forget(known)
            fresh = True
            continue
        if leading:
            total = select_combinations(lists, scratch, spaces, search.depth)
            if after[0] + total > len(selected.lists):
                break
            after = _add_combinations(found, spaces, total, selected, after[0]), after[1]
        selected.alone[count], ends = _stands_alone(events, event), after
        count += 1
        selected.ends[count], selected.test_ends[count] = ends
    return count
