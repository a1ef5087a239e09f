"""Kernels of `Candidates`: from constraints to spaces, from spaces and combinations of them to lists.

A space is a dyadic block of an attribute; its key is `key_of`. A combination of spaces is known by its first part
(a space, or a shorter combination) and the space that is added to it, both as numbers of lists: so every key is exact,
whatever the number of predicates, and no two combinations share a list by a collision of hashes. The spaces of a
combination come in the order in which the unit uses its access predicates, the best one first.

VLDB 2018, 6.1 and 6.2, Algorithm 6: spaces of several access predicates; exact keys are ours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel, kernel
from matchwood.core.prefetch import prefetch
from matchwood.encoding.spaces.dyadic import fill_blocks, level_of
from matchwood.engines.shared._access_kernels import block_count
from matchwood.engines.shared._posting_kernels import EMPTY, key_of, slot_of
from matchwood.engines.shared.constraints._word_kernels import FLAG_BITS, constraint_at, piece_at, pieces_of

_AHEAD = 8
"""How many units before its turn the best access predicate of one is asked for."""

COMBINED = 1 << 63
_LOW_HALF = 2**32 - 1


class SpaceLists(NamedTuple):
    """What a new space changes of `CandidateLists`."""

    table: NDArray[np.int32]
    keys: NDArray[np.uint64]
    levels: NDArray[np.uint32]


class UnitSpaces(NamedTuple):
    """The spaces of the access predicates of some units.

    `counts`  how many each predicate has, as `count_spaces` writes them
    `lists`   the list of each space
    `codes`   room for those of one predicate
    """

    counts: NDArray[np.int64]
    lists: NDArray[np.int32]
    codes: NDArray[np.int64]


class CombinationLists(NamedTuple):
    """What a new combination changes of `CandidateLists`, and `added`, what each list gains."""

    combined_table: NDArray[np.int32]
    combined_filter: NDArray[np.uint64]
    keys: NDArray[np.uint64]
    counts: NDArray[np.int32]
    added: NDArray[np.int32]
    next_attributes: NDArray[np.uint64]
    next_levels: NDArray[np.uint32]


class CombinationLimits(NamedTuple):
    """How many access predicates a unit has at most, how many combinations of spaces, and how many units a list holds
    before one predicate more is used."""

    wanted: int
    most: int
    dense: int


@bare_kernel
def combined_key(part: Any, space: Any) -> Any:
    """The key of a combination: the list of its first part, and that of the space which is added."""
    return np.uint64(COMBINED) | (np.uint64(part) << np.uint64(32)) | np.uint64(space)


@bare_kernel
def filter_bit(hashed: Any, words: Any) -> Any:
    """Where the bit of a combination's hash lies in a filter: the number of the word, and the bit."""
    return (hashed >> np.uint64(6)) & (np.uint64(words) - np.uint64(1)), np.uint64(1) << (hashed & np.uint64(63))


@bare_kernel
def enter_filter(filtered: Any, key: Any) -> None:
    """Mark a combination as one that exists."""
    word, bit = filter_bit(mix64(key) >> np.uint64(24), len(filtered))
    filtered[word] |= bit


@bare_kernel
def attribute_bit(attribute: Any) -> Any:
    """The bit of an attribute in the mask of those that may follow in a combination."""
    return np.uint64(1) << (np.uint64(attribute) & np.uint64(63))


@bare_kernel
def count_spaces(conjunctions: Any, units: Any, given: Any, wanted: int, space_counts: Any) -> None:
    """How many spaces each access predicate has: `wanted` numbers a unit, 0 where there is none."""
    places, words, sets, bits = conjunctions
    for place in range(len(units)):
        first = np.int64(places[units[place]])
        for nth in range(wanted):
            found = 0
            if nth < given[place]:
                code, low, high = constraint_at(words, sets, bits, first + nth)
                found = block_count(sets, code, low, high)
            space_counts[wanted * place + nth] = found


@bare_kernel
def _fill_codes(sets: Any, code: Any, low: Any, high: Any, codes: Any) -> Any:
    used = 0
    for number in range(pieces_of(code, high)):
        start, stop = piece_at(sets, code, low, high, number)
        used = fill_blocks(start, stop, codes, used)
    return used


@bare_kernel
def assign_spaces(
    conjunctions: Any, units: Any, given: Any, wanted: int, spaces: UnitSpaces, place: int, used: int,
    lists: SpaceLists, count: int, room: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Find or make the list of every space of every access predicate, writing their numbers to `spaces.lists`.

    Starts with the unit at `place`, whose spaces begin at `used`, and stops before a unit for which there could be
    more than `room` lists; returns where, and the number of lists (docs/protocols.md, room).
    """
    codes, found = spaces.codes, spaces.lists
    table, keys, levels = lists.table, lists.keys, lists.levels
    places, words, sets, bits = conjunctions
    while place < len(units):
        needed = 0
        for nth in range(wanted):
            needed += spaces.counts[wanted * place + nth]
        if count + needed > room:
            break
        prefetch(words, np.int64(places[units[min(place + _AHEAD, len(units) - 1)]]))
        first = np.int64(places[units[place]])
        for nth in range(min(wanted, int(given[place]))):
            code, low, high = constraint_at(words, sets, bits, first + nth)
            attribute = code >> FLAG_BITS
            for block in codes[: _fill_codes(sets, code, low, high, codes)]:
                key = key_of(attribute, block)
                slot = slot_of(table, keys, key)
                if table[slot] == EMPTY:
                    table[slot] = count
                    keys[count] = key
                    levels[attribute] |= np.uint32(1) << np.uint32(level_of(block))
                    count += 1
                found[used] = table[slot]
                used += 1
        place += 1
    return place, used, count


@kernel
def assign_combinations(
    given: Any, limits: CombinationLimits, space_counts: Any, spaces: Any, progress: Any, room: int,
    combined: CombinationLists, sizes: Any, lists: Any,
) -> None:  # fmt: skip
    """Choose how many access predicates each unit uses, two at least if it has them, and find or make its lists.

    A unit uses one predicate more as long as one of its combinations holds `dense` units already. `progress` holds the
    next unit, where its spaces and its postings begin, and the number of lists; stops before there could be too many.
    """
    wanted, most, dense = limits.wanted, limits.most, limits.dense
    table, filtered, keys = combined.combined_table, combined.combined_filter, combined.keys
    counts, added = combined.counts, combined.added
    attributes, levels = combined.next_attributes, combined.next_levels
    while progress[0] < len(given) and progress[3] + wanted * most <= room:
        place, first, posting, count = progress[0], progress[1], progress[2], progress[3]
        depth, total = min(1, int(given[place])), space_counts[wanted * place]
        for nth in range(total):
            lists[posting + nth] = spaces[first + nth]
        first += total
        while depth < given[place]:
            full = depth == 1
            for posted in lists[posting : posting + total]:
                full |= counts[posted] + added[posted] >= dense
            if not full:
                break
            # Every list so far with every space of the next predicate, from behind: they grow in place.
            size = space_counts[wanted * place + depth]
            for posted in range(total - 1, -1, -1):
                part = lists[posting + posted]
                for nth in range(size):
                    space = spaces[first + nth]
                    key = combined_key(part, space)
                    slot = slot_of(table, keys, key)
                    if table[slot] == EMPTY:
                        table[slot] = count
                        keys[count] = key
                        enter_filter(filtered, key)
                        attributes[part] |= attribute_bit(keys[space] >> np.uint64(32))
                        levels[part] |= np.uint32(1) << np.uint32(level_of(keys[space] & np.uint64(_LOW_HALF)))
                        count += 1
                    lists[posting + posted * size + nth] = table[slot]
            first, total, depth = first + size, total * size, depth + 1
        for posted in range(posting, posting + total):
            added[lists[posted]] += 1
        for nth in range(depth, wanted):
            first += space_counts[wanted * place + nth]
        sizes[place], given[place] = total, depth
        progress[0], progress[1], progress[2], progress[3] = place + 1, first, posting + total, count


@bare_kernel
def strike_out(given: Any, space_counts: Any, spaces: Any, loads: Any, dense: int) -> None:
    """Leave units whose best predicate has short lists only with that one; `loads` counts the units of each space."""
    first = 0
    for place in range(len(given)):
        longest = 0
        for space in spaces[first : first + space_counts[place]]:
            longest = max(longest, loads[space])
        first += space_counts[place]
        if longest <= dense:
            given[place] = min(given[place], np.uint8(1))


@bare_kernel
def count_gains(lists: Any, added: Any) -> None:
    """Count what each list gains."""
    for found in lists:
        added[found] += 1


@bare_kernel
def enter_lists(table: Any, keys: Any, combined: bool) -> None:
    """Enter the spaces, or the combinations, which all differ, into an empty table."""
    for place in range(len(keys)):
        if (keys[place] >= np.uint64(COMBINED)) == combined:
            table[slot_of(table, keys, keys[place])] = place


@bare_kernel
def filter_lists(filtered: Any, keys: Any) -> None:
    """Mark all combinations among these lists in an empty filter."""
    for key in keys:
        if key >= np.uint64(COMBINED):
            enter_filter(filtered, key)


@kernel
def write_combinations(conjunctions: Any, units: Any, given: Any, wanted: int, space_counts: Any, keys: Any) -> None:
    """All combinations of spaces that units should be listed under: a row of keys each, 0 where there are fewer."""
    places, words, sets, bits = conjunctions
    codes = np.empty((wanted, max(1, space_counts.max()) if len(space_counts) > 0 else 1), dtype=np.int64)
    attributes, row = np.empty(wanted, dtype=np.int64), 0
    for place in range(len(units)):
        total, depth, first = 1, 0, np.int64(places[units[place]])
        while depth < given[place]:
            code, low, high = constraint_at(words, sets, bits, first + depth)
            attributes[depth] = code >> FLAG_BITS
            total *= _fill_codes(sets, code, low, high, codes[depth])
            depth += 1
        for combination in range(total if depth > 0 else 0):
            rest = combination
            for nth in range(depth):
                size = space_counts[wanted * place + nth]
                keys[row, nth] = key_of(attributes[nth], codes[nth, rest % size])
                rest //= size
            row += 1
