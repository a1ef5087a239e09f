"""Kernels that match events in an A-Tree, level by level from the leaves up, passing on what is true.

A mark is the signature of the event for which a node was last found true: a byte, so that the marks of a million leaves
stay in the cache. Nothing is cleaned after an event; all marks are, when the signatures have gone round.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._jit import bare_kernel
from matchwood.encoding.codes import NULL_LABEL
from matchwood.engines._atree_layout import (
    ACTIVE,
    AND,
    FIRST,
    KIND,
    KIND_BITS,
    KIND_MASK,
    PARENTS,
    SIZE,
    UNIT,
    WIDTH,
)
from matchwood.engines._posting_kernels import probe
from matchwood.engines._verify_kernels import clear, scatter

NOBODY = -1
LAST_SIGNATURE = 255


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
def _tell(
    nodes: Any, children: Any, parents: Any, node: Any, level: Any, on_demand: bool,
    marks: Any, queued: Any, sign: Any, nexts: Any, heads: Any, top: Any, work: Any,
) -> Any:  # fmt: skip
    """Pass the result of a true node on; returns the highest level at which somebody waits.

    All nodes up to `level` are decided, so an AND node right above is evaluated at once, and waits only if it is true.
    Those further up wait to be evaluated at their level. An OR node is true as soon as it is told.
    """
    at = WIDTH * node
    start = nodes[at + PARENTS]
    for place in range(start, start + nodes[at + ACTIVE]):
        parent = parents[place]
        if marks[parent] == sign:
            continue
        head = nodes[WIDTH * parent + KIND]
        above = head >> KIND_BITS
        if head & KIND_MASK == AND:
            if not on_demand:
                if queued[parent] == sign:
                    continue
                queued[parent] = sign
            elif above == level + 1:
                work[1] += 1
                work[2] += 1
                if not _all_true(nodes, children, parent, marks, sign):
                    continue
                marks[parent] = sign
        else:
            work[1] += 1
            marks[parent] = sign
        nexts[parent] = heads[above]
        heads[above] = parent
        top = max(top, above)
    return top


@bare_kernel
def _climb(
    nodes: Any, children: Any, parents: Any, on_demand: bool, marks: Any, queued: Any, sign: Any,
    nexts: Any, heads: Any, top: Any, units: Any, used: Any, work: Any,
) -> Any:  # fmt: skip
    """Empty the queues from the second level up; returns the end of the hits."""
    level = 2
    while level <= top:
        node = heads[level]
        while node != NOBODY:
            if marks[node] != sign:
                work[1] += 1
                work[2] += 1
                if _all_true(nodes, children, node, marks, sign):
                    marks[node] = sign
            node = nexts[node]
        node = heads[level]
        heads[level] = NOBODY
        while node != NOBODY:
            if marks[node] == sign:
                unit = nodes[WIDTH * node + UNIT]
                if unit >= 0 and used < len(units):
                    units[used] = unit
                    used += 1
                top = _tell(
                    nodes, children, parents, node, level, on_demand, marks, queued, sign, nexts, heads, top, work
                )
            node = nexts[node]
        level += 1
    return used


@bare_kernel
def _true_leaves(
    lists: Any, nulls: Any, events: Any, event: int, labels: Any, starts: Any, stops: Any,
    marks: Any, sign: Any, true_nulls: Any,
) -> tuple[int, int]:  # fmt: skip
    """Mark all leaves that are true of an event; returns the stretches of postings, and leaves that accept NULL."""
    found, _ = probe(lists, events, event, starts, stops)
    pool = lists.pool
    for stretch in range(found):
        for posting in range(np.uint64(starts[stretch]), np.uint64(stops[stretch])):
            marks[np.uint32(pool[posting])] = sign
    attributes, heads, chain = nulls.attributes, nulls.heads, nulls.chain
    accepted = 0
    if len(attributes) == 0:
        return found, accepted
    scatter(events, event, labels)
    for attribute in attributes:
        if labels[attribute] != NULL_LABEL:
            continue
        link = heads[attribute]
        while link >= 0 and accepted < len(true_nulls):
            marks[chain[2 * link]] = sign
            true_nulls[accepted] = chain[2 * link]
            accepted += 1
            link = chain[2 * link + 1]
    clear(events, event, labels)
    return found, accepted


@bare_kernel
def match_true(
    tree: Any, lists: Any, nulls: Any, always: Any, live: int, on_demand: bool, events: Any, first: int,
    labels: Any, marks: Any, queued: Any, signature: Any, nexts: Any, heads: Any, starts: Any, stops: Any,
    true_nulls: Any, units: Any, offsets: Any, work: Any,
) -> None:  # fmt: skip
    """All hits of the events from `first` on, while a whole event's hits have room.

    `heads` is -1 everywhere between the calls; `starts` and `stops` have room for every level of every pair.
    """
    nodes, children, parents = tree.nodes, tree.children, tree.parents
    pool, used = lists.pool, 0
    for event in range(first, len(events.offsets) - 1):
        if len(units) - used < live:
            break
        sign = next_signature(signature, marks)
        if sign == 1:
            queued[:] = 0
        found, accepted = _true_leaves(lists, nulls, events, event, labels, starts, stops, marks, sign, true_nulls)
        for unit in always:
            units[used] = unit
            used += 1
        work[1] += len(always)
        top = 1
        for stretch in range(found + 1):
            start = starts[stretch] if stretch < found else 0
            stop = stops[stretch] if stretch < found else accepted
            for posting in range(start, stop):
                leaf = pool[posting] if stretch < found else true_nulls[posting]
                unit = nodes[WIDTH * leaf + UNIT]
                if unit >= 0 and used < len(units):
                    work[1] += 1
                    units[used] = unit
                    used += 1
                if nodes[WIDTH * leaf + ACTIVE] > 0:
                    top = _tell(
                        nodes, children, parents, leaf, 1, on_demand, marks, queued, sign, nexts, heads, top, work
                    )
        used = _climb(nodes, children, parents, on_demand, marks, queued, sign, nexts, heads, top, units, used, work)
        offsets[event - first + 1] = used
        work[0] += 1
    work[3] = used
