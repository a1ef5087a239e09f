"""Matching with a BE-Tree (TODS 2013, Algorithms 1 and 2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel, kernel
from matchwood.engines.betree._leaf_kernels import (
    EVALUATED,
    NOTED,
    PASSING,
    fetch_rows,
    pass_all,
    pass_bits,
    pass_filtered,
    pass_tests,
    verify_known,
    verify_references,
    verify_stored,
)
from matchwood.engines.betree._node_kernels import bucket_key, find, partition_key
from matchwood.engines.betree._note_kernels import EVALUATIONS, HITS, LEAF, note_leaf, note_partition, spent_on
from matchwood.engines.betree._predicate_kernels import restore_nulls, select_rows
from matchwood.engines.betree._residual_kernels import fetch_residuals, verify_residuals
from matchwood.engines.betree._row_kernels import LEAF_START, attribute_bit, row_width
from matchwood.engines.betree.layout import (
    ALWAYS,
    CLUSTER,
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
    UNIT_COUNT,
    DescentScratch,
)
from matchwood.engines.shared._verification_kernels import clear, scatter


@bare_kernel
def _search(
    nodes: Any, partitions: Any, keys: Any, values: Any, partition: Any, label: Any, present: Any, reached: Any,
    count: Any,
) -> Any:  # fmt: skip
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
        wanted = nodes[at + UNIT_COUNT] > 0 or np.uint32(nodes[at + MASK]) & present != 0
        if wanted and nodes[at + LOW] <= label < nodes[at + HIGH] and count < len(reached):
            reached[count] = cluster
            count += 1
        level -= 1
        if nodes[at + FLAGS] & SPLIT == 0 or level < 0:
            break
        cluster = np.int64(nodes[at + LEFT + ((label >> level) & 1)])
    return count


@bare_kernel
def _reach(shape: Any, events: Any, event: Any, present: Any, form: Any, noted: Any, scratch: DescentScratch) -> Any:
    """All c-nodes whose buckets hold an event, the root and Z included; returns how many."""
    attributes, tally, reached = len(scratch.labels), scratch.tally, scratch.reached
    nodes, partitions, keys, values = shape.clusters, shape.partitions, shape.keys, shape.values
    begin, end = events.offsets[event], events.offsets[event + 1]
    reached[0], reached[1], count, place = ROOT, ALWAYS, 2, 0
    while place < count:
        cluster = reached[place]
        place += 1
        mask = np.uint32(nodes[CLUSTER * np.int64(cluster) + MASK]) & present
        if mask == 0:
            continue
        for pair in range(begin, end):
            attribute = events.attributes[pair]
            if (mask >> np.uint32(attribute & 31)) & np.uint32(1) == 0 or attribute >= attributes:
                continue
            partition = find(keys, values, partition_key(cluster, attribute))
            if partition != NONE:
                label = events.labels[pair]
                if form.noting:
                    tally[NOTED] = note_partition(noted, partition, tally[NOTED])
                count = _search(nodes, partitions, keys, values, partition, label, present, reached, count)
    return count


@bare_kernel
def _collect(
    pool: Any, form: Any, start: Any, stop: Any, bloom: Any, scratch: DescentScratch, end: Any, work: Any
) -> Any:
    """Collect the candidates of some rows of a leaf that pass their Bloom filter and their first test."""
    if form.bloom_bits > 0:
        return pass_filtered(pool, start, stop, form, bloom, scratch, end, work)
    work[2] += (stop - start) // row_width(form)
    if not form.blocks:
        return pass_all(pool, start, stop, scratch.passing, end)
    if form.kind == 0:
        return pass_tests(pool, start, stop, scratch.labels, scratch.passing, end)
    return pass_bits(pool, start, stop, scratch.result, scratch.passing, end)


@bare_kernel
def _verify(
    conjunctions: Any, known: Any, form: Any, pool: Any, count: Any, scratch: DescentScratch, units: Any, used: Any
) -> Any:
    """Write the units behind `used` that match, of the candidates that passed; returns the new end."""
    labels, passing = scratch.labels, scratch.passing
    if form.blocks:
        fetch_residuals(pool, passing, count)
        if form.kind == 0:
            return verify_residuals(pool, conjunctions.sets, passing, count, labels, units, used)
        return verify_references(conjunctions, known.predicates, pool, count, scratch, units, used)
    if form.kind == 0:
        return verify_stored(conjunctions, passing, count, labels, units, used)
    return verify_known(conjunctions, known, count, scratch, units, used)


@bare_kernel
def _decide(
    conjunctions: Any, shape: Any, known: Any, form: Any, count: Any, scratch: DescentScratch, noted: Any, units: Any,
    used: Any,
) -> Any:  # fmt: skip
    """The same, and note in their leaves which of them hit, and what the others have cost."""
    nodes, partitions, pool = shape.clusters, shape.partitions, shape.pool
    labels, passing = scratch.labels, scratch.passing
    end = _verify(conjunctions, known, form, pool, count, scratch, units, used)
    for place in range(count if form.noting else 0):
        unit = np.int64(passing[place])
        if form.blocks:
            unit = np.int64(pool[unit])
        home = np.int64(noted.homes[unit])
        if used < end and units[used] == unit:
            noted.leaves[LEAF * home + HITS] += 1
            used += 1
        else:
            noted.leaves[LEAF * home + EVALUATIONS] += spent_on(conjunctions, nodes, partitions, home, unit, labels)
    return end


@bare_kernel
def _scan(
    conjunctions: Any, shape: Any, known: Any, form: Any, count: Any, bloom: Any, scratch: DescentScratch, noted: Any,
    used: Any, output: Any,
) -> Any:  # fmt: skip
    """All hits in the leaves reached, behind `used`; returns the new end."""
    reached, tally, units, work = scratch.reached, scratch.tally, output.units, output.work
    nodes, pool, width, waiting = shape.clusters, shape.pool, row_width(form), 0
    for place in range(count):
        at = CLUSTER * np.int64(reached[place])
        start = np.int64(nodes[at + START]) + LEAF_START
        fetch_rows(pool, start, start + np.int64(nodes[at + UNIT_COUNT]) * width)
    for place in range(count):
        at = CLUSTER * np.int64(reached[place])
        rows, start = np.int64(nodes[at + UNIT_COUNT]), np.int64(nodes[at + START]) + LEAF_START
        stop, failed = start + rows * width, np.int64(0)
        work[1] += rows
        while start < stop:
            end, before, tested = min(stop, start + (PASSING - waiting) * width), waiting, work[2]
            waiting = _collect(pool, form, start, end, bloom, scratch, waiting, work)
            failed += (work[2] - tested) - (waiting - before)
            start = end
            if waiting == PASSING:
                used = _decide(conjunctions, shape, known, form, waiting, scratch, noted, units, used)
                waiting = 0
        if form.noting:
            tally[NOTED] = note_leaf(noted, reached[place], failed, tally[NOTED])
    return _decide(conjunctions, shape, known, form, waiting, scratch, noted, units, used)


@kernel
def match_tree(
    conjunctions: Any, shape: Any, known: Any, bitmap: Any, form: Any, live: Any, events: Any, first: Any,
    scratch: DescentScratch, noted: Any, output: Any,
) -> None:  # fmt: skip
    """All hits of the events from `first` on, while the most that one event can have fits."""
    labels, result, tally = scratch.labels, scratch.result, scratch.tally
    passed, failed, done = scratch.passed, scratch.failed, scratch.done
    units, offsets, work, used, evaluated = output.units, output.offsets, output.work, 0, 0
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
        count = _reach(shape, events, event, present, form, noted, scratch)
        used = _scan(conjunctions, shape, known, form, count, bloom, scratch, noted, used, output)
        clear(events, event, labels)
        if form.kind > 1:
            restore_nulls(events, event, bitmap, result)
        for place in range(tally[EVALUATED]):
            passed[done[place]] = failed[done[place]] = 0
        evaluated += tally[EVALUATED]
        tally[EVALUATED] = 0
        offsets[event - first + 1] = used
        work[0] += 1
    work[3], tally[EVALUATED] = used, evaluated
