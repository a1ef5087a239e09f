"""Kernels that lay out clusters: distinct predicates, the clause that leads to each unit, and what else must hold.

VLDB 2009, ours, in the place of sections 3 and 4: `direct=True`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel, kernel
from matchwood.engines.kindex._build_kernels import count_postings, fill_postings
from matchwood.engines.kindex.layout import EMPTY, FIRST, HEADER, NEGATED, TEST_BITS
from matchwood.engines.shared._posting_kernels import key_of
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    ALTERNATIVE,
    FLAG_BITS,
    PAYLOAD,
    SET,
    code_at,
    constraint_at,
    has,
    mixed,
    pieces_of,
    stretch,
)


@bare_kernel
def distinct_predicates(conjunctions: Any, units: Any, table: Any, numbers: Any, predicates: Any) -> int:
    """Number the distinct constraints of these units: `numbers` of all, one unit after the other, and the word of each
    without what tells where it stands: an alternative is the same predicate as the constraint by itself. `table` is
    empty, a power of two, and at most half full in the end.
    """
    places, words = conjunctions.places, conjunctions.words
    mask, made, used = np.uint64(len(table) - 1), 0, 0
    for unit in units:
        first, last = stretch(places, words, unit)
        for position in range(first, last):
            wanted = np.uint32(words[position]) & np.uint32(SET | PAYLOAD)
            slot = mixed(wanted) & mask
            while table[slot] != EMPTY and predicates[table[slot]] != wanted:
                slot = (slot + np.uint64(1)) & mask
            if table[slot] == EMPTY:
                table[slot], predicates[made] = made, wanted
                made += 1
            numbers[used] = table[slot]
            used += 1
    return made


@bare_kernel
def promise_of_units(conjunctions: Any, bounds: Any, units: Any, promises: Any) -> None:
    """What each unit promises at most, its constant weight included, for event weights of 1."""
    places, words, sets, bits = conjunctions
    for place in range(len(units)):
        unit = units[place]
        first, last = stretch(places, words, unit)
        total, piece = bounds.elsewhere[unit] + bounds.constants[unit], bounds.offsets[unit]
        for position in range(first, last):
            code, _, high = constraint_at(words, sets, bits, position)
            heaviest = 0.0
            for _ in range(pieces_of(code, high)):
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
    places, words, sets, bits = conjunctions
    tests = np.empty(most + 1, np.int32)
    chance, clause_starts = np.empty(most + 1, np.float64), np.empty(most + 1, np.int64)
    order, base = np.empty(most + 1, np.int64), np.int64(0)
    for place in range(len(units)):
        start, stop = stretch(places, words, units[place])
        size, clauses, access, least = stop - start, 0, -1, np.inf
        weak = False
        for at in range(size + 1):
            if at == size or at == 0 or not has(words[start + at], ALTERNATIVE):
                if clauses > 0 and not weak and chance[clauses - 1] < least:
                    access, least = clauses - 1, chance[clauses - 1]
                clause_starts[clauses] = at
                if at == size:
                    break
                chance[clauses], order[clauses], weak = 0.0, clauses, False
                clauses += 1
            weak |= code_at(words, sets, bits, start + at) & ACCEPTS_NULL != 0
            chance[clauses - 1] += chances[numbers[base + at]]
        _sort_clauses(chance, order, clauses)
        used = 0
        for turn in range(clauses):
            clause, count = order[turn], 0
            if clause != access:
                for at in range(clause_starts[clause], clause_starts[clause + 1]):
                    tests[used + count] = numbers[base + at]
                    count += 1
                _sort_numbers(tests, used, count, chances)
                for at in range(count):
                    tests[used] = (tests[used] << TEST_BITS) | (FIRST if at == 0 else 0)
                    used += 1
        first = clause_starts[access] if access >= 0 else np.int64(0)
        last = clause_starts[access + 1] if access >= 0 else np.int64(1)
        for at in range(first, last):
            cluster = numbers[base + at] if access >= 0 else len(ends) - 1
            end, length = ends[cluster], HEADER + used + at - first
            ends[cluster] = end + length
            if len(stream) > 0:
                stream[end], stream[end + 1], stream[end + 2] = units[place], length, promises[place]
                for test in range(used):
                    stream[end + HEADER + test] = tests[test]
                for before in range(first, at):
                    negated = (numbers[base + before] << TEST_BITS) | FIRST | NEGATED
                    stream[end + HEADER + used + before - first] = negated
        base += size


@bare_kernel
def _sort_numbers(predicates: Any, start: int, count: int, chances: Any) -> None:
    """Sort some predicates, the most likely first."""
    for place in range(start + 1, start + count):
        moved = predicates[place]
        while place > start and chances[predicates[place - 1]] < chances[moved]:
            predicates[place] = predicates[place - 1]
            place -= 1
        predicates[place] = moved


@kernel
def write_keys(predicates: Any, sets: Any, bits: int, posted: Any, keys: Any, owners: Any) -> int:
    """The keys of the predicates `posted`, which NULL fails, and whose they are; without room they are only counted."""
    blocks, used = np.empty(0, np.int64), 0
    for predicate in posted:
        code, low, high = constraint_at(predicates, sets, bits, predicate)
        count = count_postings(sets, code, low, high)
        if len(keys) > 0:
            if count > len(blocks):
                blocks = np.empty(2 * count, np.int64)
            fill_postings(sets, code, low, high, blocks, 0)
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
