"""Kernels that match events in an A-Tree, level by level from the leaves up, passing on what is true.

A mark is the signature of the event for which a node was last found true: a byte, so that the marks of a million leaves
stay in the cache (docs/protocols.md, stamps).

The true nodes of a level lie in a row, the *wave*. What they lead to is not in any cache when a tree is large: so a
block of them is read ahead, in loops whose loads do not wait for each other, before anything is decided by it.

SIGMOD 2021, 5.1, Algorithm 6, with zero suppression (5.2.1) and propagation on demand (5.2.2); waves and reading ahead
are ours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import bare_kernel
from matchwood.encoding.codes import NULL_LABEL
from matchwood.engines.atree.layout import ACTIVE, AND, FIRST, KIND, KIND_BITS, KIND_MASK, PARENTS, SIZE, UNIT, WIDTH
from matchwood.engines.shared._posting_kernels import probe
from matchwood.engines.shared._verification_kernels import clear, scatter

NOBODY = -1
LAST_SIGNATURE = 255

BLOCK = 512
"""Nodes that are read ahead of their turn."""


class Notes(NamedTuple):
    """What matching notes down of an event and of nodes, for one thread.

    `labels`     by attribute: the event's label, NULL_LABEL between two events
    `signature`  of the last event: docs/protocols.md tells how stamps work
    `marks`      by node: the signature of the event that it was last true of
    `queued`     by node: the signature of the event for which it last waited
    `nexts`      of nodes that wait for a level further up, the next one that does
    `heads`      the first that waits at each level; NOBODY between the events
    """

    labels: NDArray[np.int32]
    signature: NDArray[np.int64]
    marks: NDArray[np.uint8]
    queued: NDArray[np.uint8]
    nexts: NDArray[np.int32]
    heads: NDArray[np.int32]


class Waves(NamedTuple):
    """The true nodes of an event, and what is read ahead for them, for one thread.

    `wave`     true nodes, level after level: no node is there twice, so it has room for every node
    `block`    nodes that are to be decided, BLOCK of them, and one integer more that what was touched goes to
    `starts`   where the parents of nodes begin, or the children of those in `block`
    `counts`   how many parents are told
    `list_starts`, `list_stops`  the stretches of the lists that an event finds: room for every level of every pair
    """

    wave: NDArray[np.int32]
    block: NDArray[np.int32]
    starts: NDArray[np.int32]
    counts: NDArray[np.int32]
    list_starts: NDArray[np.int64]
    list_stops: NDArray[np.int64]


@bare_kernel
def next_signature(signature: Any, marks: Any) -> Any:
    """The signature of the next event; the marks of the last round go when a new one begins."""
    if signature[0] == LAST_SIGNATURE:
        marks[:] = 0
        signature[0] = 0
    signature[0] += 1
    return np.uint8(signature[0])


@bare_kernel
def _all_true(nodes: Any, children: Any, node: Any, marks: Any, sign: Any) -> Any:
    """Whether all children of an AND node are marked."""
    at = np.uint64(WIDTH) * np.uint64(node)
    place = np.uint64(nodes[at + np.uint64(FIRST)])
    end = place + np.uint64(nodes[at + np.uint64(SIZE)])
    while place < end:
        if marks[np.uint32(children[place])] != sign:
            return False
        place += np.uint64(1)
    return True


@bare_kernel
def _says_nothing(nodes: Any, node: Any) -> Any:
    """Whether a true node needs no more than its mark: it is no rule, and its parents ask for it themselves."""
    at = np.uint64(WIDTH) * np.uint64(np.uint32(node))
    return (nodes[at + np.uint64(ACTIVE)] == 0) & (nodes[at + np.uint64(UNIT)] < 0)


@bare_kernel
def _touch(nodes: Any, children: Any, marks: Any, waves: Waves, count: Any) -> None:
    """Read what deciding the nodes of the block will read: their rows, then their first children."""
    block, starts = waves.block, waves.starts
    touched = np.int32(0)
    for place in range(count):
        node = np.uint64(np.uint32(block[place]))
        starts[place] = nodes[np.uint64(WIDTH) * node + np.uint64(FIRST)]
        touched ^= np.int32(marks[node])
    for place in range(count):
        touched ^= children[np.uint32(starts[place])]
    block[BLOCK] = touched


@bare_kernel
def _decide(
    nodes: Any, children: Any, count: Any, level: Any, on_demand: bool, sign: Any, notes: Notes, waves: Waves,
    end: Any, top: Any, work: Any,
) -> Any:  # fmt: skip
    """Tell the nodes of the block that a child of theirs is true; returns the end of the wave, and the highest level
    at which somebody is or waits.

    All nodes up to `level` are decided, so an AND node right above is evaluated at once. Those further up wait to be
    evaluated at their level. An OR node is true as soon as it is told.
    """
    block, wave, nexts, heads = waves.block, waves.wave, notes.nexts, notes.heads
    marks, queued = notes.marks, notes.queued
    _touch(nodes, children, marks, waves, count)
    for place in range(count):
        node = block[place]
        if marks[node] == sign:
            continue
        head = nodes[WIDTH * node + KIND]
        above = head >> KIND_BITS
        if head & KIND_MASK == AND:
            if not on_demand:
                if queued[node] == sign:
                    continue
                queued[node] = sign
            elif above == level + 1:
                work[1] += 1
                work[2] += 1
                if not _all_true(nodes, children, node, marks, sign):
                    continue
                marks[node] = sign
        else:
            work[1] += 1
            marks[node] = sign
        if marks[node] == sign and _says_nothing(nodes, node):
            continue
        top = max(top, above)
        if marks[node] == sign and above == level + 1:
            wave[end] = node
            end += 1
        else:
            nexts[node] = heads[above]
            heads[above] = node
    return end, top


@bare_kernel
def _tell(
    tree: Any, start: Any, level: Any, on_demand: bool, sign: Any, notes: Notes, waves: Waves, end: Any, top: Any,
    used: Any, output: Any,
) -> Any:  # fmt: skip
    """Collect the units of a level's true nodes, wave[start:end], and pass them on, block by block.

    Returns the end of the wave, the highest level at which somebody is or waits, and the end of the hits.
    """
    nodes, children, parents, units, work = tree.nodes, tree.children, tree.parents, output.units, output.work
    wave, block, starts, counts = waves.wave, waves.block, waves.starts, waves.counts
    stop, filled = end, 0
    while start < stop:
        last = min(stop, start + BLOCK)
        for place in range(start, last):
            at = np.uint64(WIDTH) * np.uint64(np.uint32(wave[place]))
            unit = nodes[at + np.uint64(UNIT)]
            starts[BLOCK + place - start] = nodes[at + np.uint64(PARENTS)]
            counts[place - start] = nodes[at + np.uint64(ACTIVE)]
            if unit >= 0 and used < len(units):
                units[used] = unit
                used += 1
        for place in range(last - start):
            at = np.uint64(np.uint32(starts[BLOCK + place]))
            beyond = at + np.uint64(np.uint32(counts[place]))
            while at < beyond:
                block[filled] = parents[at]
                filled += 1
                at += np.uint64(1)
                if filled == BLOCK:
                    end, top = _decide(nodes, children, filled, level, on_demand, sign, notes, waves, end, top, work)
                    filled = 0
        start = last
    end, top = _decide(nodes, children, filled, level, on_demand, sign, notes, waves, end, top, work)
    return end, top, used


@bare_kernel
def _wake(
    nodes: Any, children: Any, level: Any, sign: Any, notes: Notes, waves: Waves, end: Any, work: Any
) -> Any:  # fmt: skip
    """Evaluate the nodes that wait at a level; returns the end of the wave with those that are true."""
    wave, block, marks, nexts, heads = waves.wave, waves.block, notes.marks, notes.nexts, notes.heads
    node = heads[level]
    heads[level] = NOBODY
    while node != NOBODY:
        count = 0
        while node != NOBODY and count < BLOCK:
            block[count] = node
            count += 1
            node = nexts[node]
        _touch(nodes, children, marks, waves, count)
        for place in range(count):
            waiting = block[place]
            if marks[waiting] != sign:
                work[1] += 1
                work[2] += 1
                if not _all_true(nodes, children, waiting, marks, sign):
                    continue
                marks[waiting] = sign
                if _says_nothing(nodes, waiting):
                    continue
            wave[end] = waiting
            end += 1
    return end


@bare_kernel
def _true_leaves(
    lists: Any, nulls: Any, events: Any, event: int, sign: Any, notes: Notes, waves: Waves
) -> Any:  # fmt: skip
    """Mark all leaves that are true of an event; they are the first wave, whose end is returned."""
    labels, marks, wave, starts, stops = notes.labels, notes.marks, waves.wave, waves.list_starts, waves.list_stops
    found, _ = probe(lists, events, event, starts, stops)
    pool, end = lists.pool, 0
    for stretch in range(found):
        for posting in range(np.uint64(starts[stretch]), np.uint64(stops[stretch])):
            leaf = np.uint32(pool[posting])
            if marks[leaf] != sign:
                marks[leaf] = sign
                wave[end] = leaf
                end += 1
    attributes, heads, chain = nulls.attributes, nulls.heads, nulls.chain
    if len(attributes) == 0:
        return end
    scatter(events, event, labels)
    for attribute in attributes:
        if labels[attribute] != NULL_LABEL:
            continue
        link = heads[attribute]
        while link >= 0:
            leaf = np.uint32(chain[2 * link])
            if marks[leaf] != sign:
                marks[leaf] = sign
                wave[end] = leaf
                end += 1
            link = chain[2 * link + 1]
    clear(events, event, labels)
    return end


@bare_kernel
def match_true(
    tree: Any, lists: Any, nulls: Any, always: Any, live: int, on_demand: bool, events: Any, first: int, notes: Notes,
    waves: Waves, output: Any,
) -> None:  # fmt: skip
    """Algorithm 6: all hits of the events from `first` on, while a whole event's hits have room."""
    nodes, children = tree.nodes, tree.children
    units, offsets, work, used = output.units, output.offsets, output.work, 0
    for event in range(first, len(events.offsets) - 1):
        if len(units) - used < live:
            break
        sign = next_signature(notes.signature, notes.marks)
        if sign == 1:
            notes.queued[:] = 0
        for unit in always:
            units[used] = unit
            used += 1
        work[1] += len(always)
        before = used
        end = _true_leaves(lists, nulls, events, event, sign, notes, waves)
        start, level, top = 0, 1, 1
        while level <= top:
            if level > 1:
                end = _wake(nodes, children, level, sign, notes, waves, end, work)
            stop = end
            end, top, used = _tell(tree, start, level, on_demand, sign, notes, waves, end, top, used, output)
            if level == 1:
                work[1] += used - before
            start, level = stop, level + 1
        offsets[event - first + 1] = used
        work[0] += 1
    work[3] = used
