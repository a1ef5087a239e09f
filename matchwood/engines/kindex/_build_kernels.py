"""Kernels that build a run of the K-index: from units to keys, from keys to lists, from lists to entries.

VLDB 2009, sections 3 and 4: posting lists by key and size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import combine64, mix64
from matchwood.core.jit import kernel
from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL
from matchwood.encoding.spaces.dyadic import count_blocks, fill_blocks, level_of
from matchwood.engines.kindex.layout import BLOCK, EMPTY
from matchwood.engines.shared._posting_kernels import key_of, slot_of
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    ALTERNATIVE,
    FLAG_BITS,
    code_at,
    constraint_at,
    has,
    piece_at,
    pieces_of,
    stretch,
)

_SMALLEST_TABLE = 64


@kernel
def describe_units(conjunctions: Any, units: Any, sizes: Any, postings: Any, clauses: Any) -> None:
    """Of each unit the size K, the number of postings, and that of clauses; 0 if none of them leaves a choice."""
    places, words, sets, bits = conjunctions
    for place in range(len(units)):
        first, last = stretch(places, words, units[place])
        total, count, weak, chosen = 0, 0, 0, False
        accepted = False
        for position in range(first, last):
            code, low, high = constraint_at(words, sets, bits, position)
            if position == first or not has(words[position], ALTERNATIVE):
                count += 1
                accepted = False
            else:
                chosen = True
            if code & ACCEPTS_NULL != 0:
                weak += not accepted
                accepted = True
            total += count_postings(sets, code, low, high)
        sizes[place], postings[place] = count - weak, total
        clauses[place] = count if chosen else 0


@kernel
def rarest_attributes(conjunctions: Any, units: Any, frequency: Any, rarest: Any) -> None:
    """Of each conjunction the attribute that NULL fails and the fewest of them have; without any, what is there stays.

    `frequency` is counted here, from 0, for every attribute.
    """
    places, words, sets, bits = conjunctions
    for unit in units:
        first, last = stretch(places, words, unit)
        for position in range(first, last):
            code = code_at(words, sets, bits, position)
            if code & ACCEPTS_NULL == 0:
                frequency[code >> FLAG_BITS] += 1
    for place in range(len(units)):
        first, last = stretch(places, words, units[place])
        for position in range(first, last):
            code = code_at(words, sets, bits, position)
            attribute = code >> FLAG_BITS
            rarer = rarest[place] < 0 or frequency[attribute] < frequency[rarest[place]]
            if code & ACCEPTS_NULL == 0 and rarer:
                rarest[place] = attribute


@kernel
def count_postings(sets: Any, code: Any, low: Any, high: Any) -> int:
    """The blocks of a constraint's intervals, or of the labels between them if NULL passes."""
    weak, total, end = code & ACCEPTS_NULL != 0, 0, np.int64(BOTTOM_LABEL)
    for number in range(pieces_of(code, high)):
        start, stop = piece_at(sets, code, low, high, number)
        total += count_blocks(end, start) if weak else count_blocks(start, stop)
        end = stop
    if weak and end != TOP_LABEL:
        total += count_blocks(end, TOP_LABEL)
    return total


@kernel
def fill_postings(sets: Any, code: Any, low: Any, high: Any, blocks: Any, used: int) -> int:
    """What `count_postings` counts, written to blocks[used:]."""
    weak, end = code & ACCEPTS_NULL != 0, np.int64(BOTTOM_LABEL)
    for number in range(pieces_of(code, high)):
        start, stop = piece_at(sets, code, low, high, number)
        used = fill_blocks(end, start, blocks, used) if weak else fill_blocks(start, stop, blocks, used)
        end = stop
    if weak and end != TOP_LABEL:
        used = fill_blocks(end, TOP_LABEL, blocks, used)
    return used


@kernel
def _part_of(index: Any, copy: Any) -> Any:
    """A K-index and the number of a copy of a list within it, as one number."""
    return (np.int64(index) << np.int64(32)) | np.int64(copy)


@kernel
def _list_slot(table: Any, keys: Any, parts: Any, key: Any, part: Any) -> Any:
    mask = np.uint64(len(table) - 1)
    slot = combine64(mix64(key), np.uint64(part)) & mask
    while table[slot] != EMPTY and (keys[table[slot]] != key or parts[table[slot]] != part):
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def _enlarged(array: Any) -> Any:
    larger = np.empty(2 * len(array), array.dtype)
    larger[: len(array)] = array
    return larger


@kernel
def assign_lists(conjunctions: Any, units: Any, indexes: Any, most: int, lists: Any, marks: Any) -> Any:
    """Find or make the list of every posting of these units, one unit after the other.

    `indexes` holds the K-index of each unit. Writes to `lists` the list of each posting, and to `marks` its clause,
    doubled, plus 1 for IN. Returns for each list its key, its K-index and copy, and its length. A key that a unit has
    in several clauses stands in as many copies of the list, so that no list names a unit twice. No unit has more than
    `most` postings.
    """
    places, words, sets, bits = conjunctions
    blocks = np.empty(most, np.int64)
    keys, parts = np.empty(_SMALLEST_TABLE, np.uint64), np.empty(_SMALLEST_TABLE, np.int64)
    counts, last = np.empty(_SMALLEST_TABLE, np.int64), np.empty(_SMALLEST_TABLE, np.int64)
    table = np.full(2 * _SMALLEST_TABLE, EMPTY, np.int32)
    made, posting = 0, 0
    for place in range(len(units)):
        begin, end = stretch(places, words, units[place])
        clause = -1
        for position in range(begin, end):
            code, low, high = constraint_at(words, sets, bits, position)
            clause += position == begin or not has(words[position], ALTERNATIVE)
            used = fill_postings(sets, code, low, high, blocks, 0)
            for block in range(used):
                key, copy = key_of(code >> FLAG_BITS, blocks[block]), 0
                slot = _list_slot(table, keys, parts, key, _part_of(indexes[place], copy))
                while table[slot] != EMPTY and last[table[slot]] == place:
                    copy += 1
                    slot = _list_slot(table, keys, parts, key, _part_of(indexes[place], copy))
                found = table[slot]
                if found == EMPTY:
                    if made == len(keys):
                        keys, parts, counts, last = (
                            _enlarged(keys),
                            _enlarged(parts),
                            _enlarged(counts),
                            _enlarged(last),
                        )
                        table = np.full(4 * made, EMPTY, np.int32)
                        for each in range(made):
                            table[_list_slot(table, keys, parts, keys[each], parts[each])] = each
                        slot = _list_slot(table, keys, parts, key, _part_of(indexes[place], copy))
                    found = table[slot] = made
                    keys[found], parts[found], counts[found] = key, _part_of(indexes[place], copy), 0
                    made += 1
                last[found] = place
                counts[found] += 1
                lists[posting] = found
                marks[posting] = 2 * clause + (code & ACCEPTS_NULL == 0)
                posting += 1
    return keys[:made].copy(), parts[:made].copy(), counts[:made].copy()


@kernel
def fill_lists(
    sizes: Any, lists: Any, marks: Any, ranks: Any, nexts: Any, entries: Any, clauses: Any, weak: Any
) -> None:
    """Write the entry of each posting where the next one of its list goes; `sizes` are the postings of each number.

    `ranks` is the place of each list among all; `weak` is set for the lists that have a NOT IN entry.
    """
    posting = 0
    for number in range(len(sizes)):
        for _ in range(sizes[number]):
            found = ranks[lists[posting]]
            place = nexts[found]
            nexts[found] = place + 1
            entries[place] = 2 * number + (marks[posting] & 1)
            weak[found] |= 1 - (marks[posting] & 1)
            if len(clauses) > 0:
                clauses[place] = marks[posting] >> 1
            posting += 1


@kernel
def enter_keys(table: Any, keys: Any, levels: Any) -> None:
    """Enter all keys, which differ, into an empty table, and mark the level of each as in use."""
    for place in range(len(keys)):
        key = keys[place]
        table[slot_of(table, keys, key)] = place
        level = level_of(np.int64(key & np.uint64(0xFFFFFFFF)))
        levels[np.int64(key >> np.uint64(32))] |= np.uint32(1) << np.uint32(level)


@kernel
def plan_blocks(entries: Any, list_offsets: Any, block_offsets: Any, bases: Any, places: Any) -> int:
    """The base and place of every block; returns the bytes that all of them need."""
    used = 0
    for place in range(len(list_offsets) - 1):
        block = block_offsets[place]
        for start in range(list_offsets[place], list_offsets[place + 1], BLOCK):
            stop = min(start + BLOCK, list_offsets[place + 1])
            span = entries[stop - 1] - entries[start]
            width = 0 if span < 1 << 8 else 1 if span < 1 << 16 else 2
            bases[block], places[block] = entries[start], (used << 2) | width
            used += (stop - start) << width
            block += 1
    return used


@kernel
def compress(entries: Any, list_offsets: Any, block_offsets: Any, bases: Any, places: Any, data: Any) -> None:
    """Write every entry as what it is above the base of its block."""
    for place in range(len(list_offsets) - 1):
        for position in range(list_offsets[place], list_offsets[place + 1]):
            within = position - list_offsets[place]
            block = block_offsets[place] + within // BLOCK
            width = places[block] & 3
            at, above = (places[block] >> 2) + ((within % BLOCK) << width), entries[position] - bases[block]
            for byte in range(1 << width):
                data[at + byte] = (above >> (8 * byte)) & 255


@kernel
def decompress(
    list_offsets: Any, block_offsets: Any, bases: Any, places: Any, data: Any, most: int, entries: Any
) -> bool:
    """Write out all entries; False if a block lies outside of `data`, or an entry outside of 0 : most."""
    for place in range(len(list_offsets) - 1):
        for position in range(list_offsets[place], list_offsets[place + 1]):
            within = position - list_offsets[place]
            block = block_offsets[place] + within // BLOCK
            width = places[block] & 3
            at = (places[block] >> 2) + ((within % BLOCK) << width)
            if width > 2 or at < 0 or at + (1 << width) > len(data):
                return False
            above = np.int64(0)
            for byte in range(1 << width):
                above |= np.int64(data[at + byte]) << (8 * byte)
            entry = np.int64(bases[block]) + above
            if not 0 <= entry < most:
                return False
            entries[position] = entry
    return True
