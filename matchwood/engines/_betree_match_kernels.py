"""Matching with a BE-Tree (TODS 2013, Algorithms 1 and 2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._jit import kernel
from matchwood.engines._betree_layout import (
    ALWAYS,
    CLUSTER,
    COUNT,
    EXACT,
    FLAGS,
    HIGH,
    LEFT,
    LEVELS,
    LOW,
    MASK,
    NONE,
    PARTITION,
    ROOT,
    SPLIT,
    START,
    TOP,
)
from matchwood.engines._betree_node_kernels import bucket_key, find, partition_key
from matchwood.engines._betree_predicate_kernels import restore_nulls, select_rows
from matchwood.engines._betree_row_kernels import TEST, attribute_bit
from matchwood.engines._record_kernels import WIDTH
from matchwood.engines._verify_kernels import clear, passes, scatter, verify

EVALUATED, REUSED, COVERED, COVERED_FALSE, NOTED, TALLY = range(6)
"""Predicates evaluated lazily, and found evaluated; candidates by covered predicates, and the false ones among them;
notes for the ranking; how many numbers there are."""

_BLOCK = 128
"""Leaves whose first rows are touched together before any of them is scanned."""


@kernel
def _lazily(
    records: Any, intervals: Any, samples: Any, predicate: int, labels: Any, passed: Any, failed: Any, done: Any,
    tally: Any,
) -> Any:  # fmt: skip
    """Whether a predicate holds: as it was found for this event before, else it is evaluated and remembered."""
    word, bit = predicate >> 6, np.uint64(1) << np.uint64(predicate & 63)
    if passed[word] & bit != 0:
        tally[REUSED] += 1
        return True
    if failed[word] & bit != 0:
        tally[REUSED] += 1
        return False
    at = WIDTH * samples[predicate]
    label = labels[records[at] >> 2]
    holds = passes(records[at], records[at + 1], records[at + 2], label, intervals)
    done[tally[EVALUATED]] = word
    tally[EVALUATED] += 1
    if holds:
        passed[word] |= bit
    else:
        failed[word] |= bit
    return holds


@kernel
def match_tree(
    conjunctions: Any, shape: Any, known: Any, bitmap: Any, form: Any, live: int, events: Any, first: int, labels: Any,
    reached: Any, result: Any, passed: Any, failed: Any, done: Any, notes: Any, tally: Any, units: Any, offsets: Any,
    work: Any,
) -> None:  # fmt: skip
    """All hits of the events from `first` on, while the most that one event can have fits."""
    nodes, partitions, keys, values, pool = shape.clusters, shape.partitions, shape.keys, shape.values, shape.pool
    used, evaluated, touched = 0, 0, np.int32(0)
    for event in range(first, len(events.offsets) - 1):
        if len(units) - used < live:
            break
        scatter(events, event, labels)
        present, bloom = np.uint32(0), np.uint64(0)
        for pair in range(events.offsets[event], events.offsets[event + 1]):
            present |= np.uint32(1) << np.uint32(events.attributes[pair] & 31)
            if form.bloom_bits > 0:
                bloom |= attribute_bit(events.attributes[pair], form.bloom_bits)
        if form.kind > 1:
            select_rows(events, event, bitmap, result)
        reached[0], reached[1], count, place = ROOT, ALWAYS, 2, 0
        while place < count:
            cluster = reached[place]
            place += 1
            mask = np.uint32(nodes[CLUSTER * cluster + MASK]) & present
            if mask == 0:
                continue
            for pair in range(events.offsets[event], events.offsets[event + 1]):
                attribute = events.attributes[pair]
                if (mask >> np.uint32(attribute & 31)) & np.uint32(1) == 0 or attribute >= len(labels):
                    continue
                partition = find(keys, values, partition_key(cluster, attribute))
                if partition != NONE:
                    count = _search(
                        nodes, partitions, keys, values, partition, events.labels[pair], present, reached, count
                    )
        for start in range(0, count, _BLOCK):
            stop = min(start + _BLOCK, count)
            touched ^= _touch(nodes, pool, reached, start, stop)
            for place in range(start, stop):
                cluster = reached[place]
                at = CLUSTER * cluster
                size = nodes[at + COUNT]
                if size > 0:
                    before = used
                    used = _scan(
                        conjunctions, known, form, pool, nodes[at + START], size, labels, bloom, result, passed, failed,
                        done, tally, units, used, work,
                    )  # fmt: skip
                    if form.noting:
                        _note(nodes, cluster, size, size - used + before, notes, tally)
        clear(events, event, labels)
        if form.kind > 1:
            restore_nulls(events, event, bitmap, result)
        if form.kind > 0:
            for place in range(tally[EVALUATED]):
                passed[done[place]] = failed[done[place]] = 0
            evaluated += tally[EVALUATED]
            tally[EVALUATED] = 0
        offsets[event - first + 1] = used
        work[0] += 1
    work[3], tally[EVALUATED] = used, evaluated
    reached[0] = touched


@kernel
def _note(nodes: Any, cluster: int, count: int, false: int, notes: Any, tally: Any) -> None:
    """Remember how many candidates of a leaf were false, for the ranking; what does not fit is left out."""
    if nodes[CLUSTER * cluster + FLAGS] & EXACT == 0:
        tally[COVERED] += count
        tally[COVERED_FALSE] += false
    if 2 * tally[NOTED] + 2 <= len(notes):
        notes[2 * tally[NOTED]], notes[2 * tally[NOTED] + 1] = cluster, false
        tally[NOTED] += 1


@kernel
def _scan(
    conjunctions: Any, known: Any, form: Any, pool: Any, start: int, count: int, labels: Any, bloom: Any, result: Any,
    passed: Any, failed: Any, done: Any, tally: Any, units: Any, used: int, work: Any,
) -> int:  # fmt: skip
    """Write the units of a leaf that hold behind `used`; returns the new end."""
    positions, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    width, one = np.uint64(pool[start]), np.uint64(1)
    words = np.uint64((form.bloom_bits + 31) // 32)
    row, kind = np.uint64(start + 1), form.kind
    work[1] += count
    for _ in range(count):
        at, end = row + one + words, row + width
        unit, row = np.int64(pool[row]), end
        if words != 0:
            wanted = np.uint64(np.uint32(pool[at - words]))
            if words == 2:
                wanted |= np.uint64(np.uint32(pool[at - one])) << np.uint64(32)
            if bloom & wanted != wanted:
                continue
        work[2] += 1
        whole = unit >= 0
        unit = unit if whole else -1 - unit
        holds = True
        if kind == 0:
            while holds and at < end:
                holds = np.uint32(labels[np.uint32(pool[at])] - pool[at + one]) < np.uint32(pool[at + one + one])
                at += np.uint64(TEST)
            if holds and (not whole or not form.blocks):
                holds = verify(positions, records, intervals, unit, labels)
        elif form.blocks:
            while holds and at < end:
                reference = pool[at]
                at += one
                if reference >= 0:
                    holds = (result[reference >> 6] >> np.uint64(reference & 63)) & one != 0
                else:
                    holds = _lazily(
                        records, intervals, known.samples, -1 - reference, labels, passed, failed, done, tally
                    )
            if holds and not whole:
                holds = verify(positions, records, intervals, unit, labels)
        else:
            position, last = positions[unit], positions[unit + 1]
            while holds and position < last:
                predicate = known.ids[position]
                reference = known.bits[predicate]
                position += 1
                if reference >= 0:
                    holds = (result[reference >> 6] >> np.uint64(reference & 63)) & one != 0
                else:
                    holds = _lazily(records, intervals, known.samples, predicate, labels, passed, failed, done, tally)
        if holds and used < len(units):
            units[used] = unit
            used += 1
    return used


@kernel
def _touch(nodes: Any, pool: Any, reached: Any, start: int, stop: int) -> Any:
    """Read where the rows of some leaves begin. The loads are independent, so their cache misses overlap."""
    touched = np.int32(0)
    for place in range(np.uint64(start), np.uint64(stop)):
        at = np.uint64(CLUSTER) * np.uint64(reached[place])
        if nodes[at + np.uint64(COUNT)] > 0:
            touched ^= pool[np.uint64(nodes[at + np.uint64(START)])]
    return touched


@kernel
def _search(
    nodes: Any, partitions: Any, keys: Any, values: Any, partition: int, label: int, present: Any, reached: Any,
    count: int,
) -> int:  # fmt: skip
    """Write the buckets of a p-node that enclose a label behind `count`; returns the new end.

    A bucket that is cut is looked at too: it holds what straddles the cut.
    """
    at = PARTITION * partition
    levels, level = np.uint32(partitions[at + LEVELS]), 0
    while levels != 0:
        if levels & np.uint32(1) != 0:
            found = find(keys, values, bucket_key(partition, level, label >> level))
            if found != NONE and count < len(reached):
                reached[count] = found
                count += 1
        levels >>= np.uint32(1)
        level += 1
    cluster, level = np.int64(partitions[at + TOP]), 31
    while cluster != NONE:
        at = CLUSTER * cluster
        wanted = nodes[at + COUNT] > 0 or np.uint32(nodes[at + MASK]) & present != 0
        if wanted and nodes[at + LOW] <= label < nodes[at + HIGH] and count < len(reached):
            reached[count] = cluster
            count += 1
        level -= 1
        if nodes[at + FLAGS] & SPLIT == 0 or level < 0:
            break
        cluster = np.int64(nodes[at + LEFT + ((label >> level) & 1)])
    return count
