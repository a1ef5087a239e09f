"""Kernels that lay out clusters: distinct predicates, the clause that leads to each unit, and what else must hold.

VLDB 2009, ours, in the place of sections 3 and 4: `direct=True`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import combine64, mix64
from matchwood.core.jit import bare_kernel, kernel
from matchwood.engines.kindex._build_kernels import count_postings, fill_postings
from matchwood.engines.kindex.layout import EMPTY, FIRST, HEADER, NEGATED, TEST_BITS
from matchwood.engines.shared._posting_kernels import key_of
from matchwood.engines.shared.constraints._record_kernels import (
    ACCEPTS_NULL,
    ALTERNATIVE,
    FLAG_BITS,
    SEVERAL,
    WIDTH,
    piece_count,
    record_at,
)


@bare_kernel
def _hash(records: Any, intervals: Any, at: Any) -> Any:
    """A hash of what a record says, wherever it stands in its clause and wherever its intervals lie."""
    code, low, high = records[at] & ~ALTERNATIVE, records[at + 1], records[at + 2]
    accumulated = mix64(np.uint64(code))
    if code & SEVERAL == 0:
        return combine64(accumulated, (np.uint64(low) << np.uint64(32)) | np.uint64(high))
    for interval in range(low, high):
        ends = (np.uint64(intervals[2 * interval]) << np.uint64(32)) | np.uint64(intervals[2 * interval + 1])
        accumulated = combine64(accumulated, ends)
    return accumulated


@bare_kernel
def _same(records: Any, intervals: Any, one: Any, other: Any) -> bool:
    if one == other:
        return True
    code, low, high = records[one] & ~ALTERNATIVE, records[one + 1], records[one + 2]
    other_low, other_high = records[other + 1], records[other + 2]
    if code != records[other] & ~ALTERNATIVE or (code & SEVERAL == 0 and (low != other_low or high != other_high)):
        return False
    if code & SEVERAL == 0:
        return True
    if high - low != other_high - other_low:
        return False
    differ = 0
    for step in range(2 * (high - low)):
        differ |= intervals[2 * low + step] ^ intervals[2 * other_low + step]
    return differ == 0


@bare_kernel
def distinct_predicates(conjunctions: Any, units: Any, table: Any, numbers: Any, predicates: Any) -> int:
    """Number the distinct constraints of these units: `numbers` of all, one unit after the other, and the leaf of the
    store by which each is first met. `table` is empty, a power of two, and at most half full in the end.

    An alternative is another leaf than the same constraint by itself, so leaves are held against each other.
    """
    offsets, leaves, records, intervals = conjunctions
    mask, made, used = np.uint64(len(table) - 1), 0, 0
    for unit in units:
        for position in range(offsets[unit], offsets[unit + 1]):
            at = record_at(leaves, position)
            slot = _hash(records, intervals, at) & mask
            while table[slot] != EMPTY and not _same(records, intervals, record_at(predicates, table[slot]), at):
                slot = (slot + np.uint64(1)) & mask
            if table[slot] == EMPTY:
                table[slot], predicates[made] = made, leaves[position]
                made += 1
            numbers[used] = table[slot]
            used += 1
    return made


@bare_kernel
def copy_predicates(conjunctions: Any, predicates: Any, own_records: Any, own_intervals: Any) -> int:
    """Write the records of these leaves side by side; returns how many intervals stand apart.

    Without room for intervals they are only counted.
    """
    records, intervals, used = conjunctions.records, conjunctions.intervals, 0
    for place in range(len(predicates)):
        at = record_at(predicates, place)
        code, low, high = records[at] & ~ALTERNATIVE, records[at + 1], records[at + 2]
        own_records[WIDTH * place] = code
        own_records[WIDTH * place + 1], own_records[WIDTH * place + 2] = low, high
        if code & SEVERAL != 0:
            own_records[WIDTH * place + 1], own_records[WIDTH * place + 2] = used, used + high - low
            if len(own_intervals) > 0:
                for step in range(2 * (high - low)):
                    own_intervals[2 * used + step] = intervals[2 * low + step]
            used += high - low
    return used


@bare_kernel
def promise_of_units(conjunctions: Any, bounds: Any, units: Any, promises: Any) -> None:
    """What each unit promises at most, its constant weight included, for event weights of 1."""
    offsets, leaves, records, _ = conjunctions
    for place in range(len(units)):
        unit = units[place]
        total, piece = bounds.elsewhere[unit] + bounds.constants[unit], bounds.offsets[unit]
        for position in range(offsets[unit], offsets[unit + 1]):
            heaviest = 0.0
            for _ in range(piece_count(records, record_at(leaves, position))):
                heaviest = max(heaviest, bounds.pieces[piece])
                piece += 1
            total += heaviest
        promises[place] = total


@bare_kernel
def _sort_clauses(chance: Any, order: Any, count: int) -> None:
    """Sort some clauses, the least likely first."""
    for place in range(1, count):
        moved = order[place]
        while place > 0 and chance[order[place - 1]] > chance[moved]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = moved


@kernel
def write_clusters(
    conjunctions: Any, units: Any, promises: Any, numbers: Any, chances: Any, most: int, ends: Any, stream: Any
) -> None:
    """Write each unit to the clusters of the predicates of its access clause, in the order of `units`.

    The access clause is the one that is least likely true of those that NULL fails; a unit without any goes to the last
    cluster. The other clauses follow, the least likely first, and in each the most likely predicate first. A unit whose
    access clause has several predicates is found by the first that holds: behind all else stand those before, negated.
    `ends` says where the next entry of each cluster goes; without a `stream` entries are only counted there.
    No unit has more than `most` constraints.
    """
    offsets, leaves, records, _ = conjunctions
    words = np.empty(most + 1, np.int32)
    chance, clause_starts = np.empty(most + 1, np.float64), np.empty(most + 1, np.int64)
    order, base = np.empty(most + 1, np.int64), np.int64(0)
    for place in range(len(units)):
        start, stop = offsets[units[place]], offsets[units[place] + 1]
        size, clauses, access, least = stop - start, 0, -1, np.inf
        weak = False
        for at in range(size + 1):
            if at == size or at == 0 or records[record_at(leaves, start + at)] & ALTERNATIVE == 0:
                if clauses > 0 and not weak and chance[clauses - 1] < least:
                    access, least = clauses - 1, chance[clauses - 1]
                clause_starts[clauses] = at
                if at == size:
                    break
                chance[clauses], order[clauses], weak = 0.0, clauses, False
                clauses += 1
            weak |= records[record_at(leaves, start + at)] & ACCEPTS_NULL != 0
            chance[clauses - 1] += chances[numbers[base + at]]
        _sort_clauses(chance, order, clauses)
        used = 0
        for turn in range(clauses):
            clause, count = order[turn], 0
            if clause != access:
                for at in range(clause_starts[clause], clause_starts[clause + 1]):
                    words[used + count] = numbers[base + at]
                    count += 1
                _sort_numbers(words, used, count, chances)
                for at in range(count):
                    words[used] = (words[used] << TEST_BITS) | (FIRST if at == 0 else 0)
                    used += 1
        first = clause_starts[access] if access >= 0 else np.int64(0)
        last = clause_starts[access + 1] if access >= 0 else np.int64(1)
        for at in range(first, last):
            cluster = numbers[base + at] if access >= 0 else len(ends) - 1
            end, length = ends[cluster], HEADER + used + at - first
            ends[cluster] = end + length
            if len(stream) > 0:
                stream[end], stream[end + 1], stream[end + 2] = units[place], length, promises[place]
                for word in range(used):
                    stream[end + HEADER + word] = words[word]
                for before in range(first, at):
                    word = (numbers[base + before] << TEST_BITS) | FIRST | NEGATED
                    stream[end + HEADER + used + before - first] = word
        base += size


@bare_kernel
def _sort_numbers(words: Any, start: int, count: int, chances: Any) -> None:
    """Sort some predicates, the most likely first."""
    for place in range(start + 1, start + count):
        moved = words[place]
        while place > start and chances[words[place - 1]] < chances[moved]:
            words[place] = words[place - 1]
            place -= 1
        words[place] = moved


@kernel
def write_keys(records: Any, intervals: Any, predicates: Any, keys: Any, owners: Any) -> int:
    """The keys of these predicates, which NULL fails, and whose they are; without room they are only counted."""
    blocks, used = np.empty(0, np.int64), 0
    for predicate in predicates:
        at = WIDTH * predicate
        code, low, high = records[at], records[at + 1], records[at + 2]
        count = count_postings(code, low, high, intervals)
        if len(keys) > 0:
            if count > len(blocks):
                blocks = np.empty(2 * count, np.int64)
            fill_postings(code, low, high, intervals, blocks, 0)
            for block in range(count):
                keys[used + block], owners[used + block] = key_of(code >> FLAG_BITS, blocks[block]), predicate
        used += count
    return used


@bare_kernel
def low_promises(stream: Any, entry_promises: Any, promises: Any) -> int:
    """How many entries promise less than their unit does; `promises` are by unit."""
    at, low = np.int64(0), 0
    while at < len(stream):
        low += entry_promises[at + 2] < promises[stream[at]]
        at += stream[at + 1]
    return low
