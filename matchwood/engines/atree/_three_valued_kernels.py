"""Matching in an A-Tree without zero suppression: results have three values, and false ones are passed on too.

SIGMOD 2021, 5.1, Algorithm 6 without the filter of 5.2.1, over the values of 3.2, Table 2.
"""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import kernel
from matchwood.encoding.codes import NULL_LABEL
from matchwood.engines.atree._constraint_kernels import passes
from matchwood.engines.atree._match_kernels import NOBODY, Notes, next_signature
from matchwood.engines.atree.layout import (
    AND,
    FAN,
    FIRST,
    FLAG_BITS,
    KIND,
    KIND_BITS,
    KIND_MASK,
    NOT,
    OR,
    PARENTS,
    ROOM,
    SIZE,
    UNIT,
    WIDTH,
    XNOR,
)
from matchwood.engines.shared._verification_kernels import clear, scatter

FALSE, TRUE, UNKNOWN = 0, 1, 2


@kernel
def _evaluated(nodes: Any, children: Any, node: Any, marks: Any, results: Any, sign: Any) -> int:
    """The result of an inner node; a child that was not decided for this event is unknown."""
    at = WIDTH * node
    kind = nodes[at + KIND] & KIND_MASK
    odd, unknown = kind == XNOR, False
    for place in range(nodes[at + FIRST], nodes[at + FIRST] + nodes[at + SIZE]):
        child = children[place]
        result = results[child] if marks[child] == sign else UNKNOWN
        if result == UNKNOWN:
            unknown = True
            if kind != AND and kind != OR:
                return UNKNOWN
        elif kind == AND:
            if result == FALSE:
                return FALSE
        elif kind == OR:
            if result == TRUE:
                return TRUE
        elif result == TRUE:
            odd = not odd
    if unknown:
        return UNKNOWN
    if kind in (AND, OR):
        return TRUE if kind == AND else FALSE
    if kind == NOT:
        odd = not odd
    return TRUE if odd else FALSE


@kernel
def _tell_all(
    nodes: Any, children: Any, parents: Any, node: Any, result: Any, on_demand: bool,
    queued: Any, sign: Any, nexts: Any, heads: Any, top: Any,
) -> Any:  # fmt: skip
    """Queue all parents of a node that is true or false; returns the highest level at which somebody waits.

    Propagation on demand helps only an AND node without parents: nobody wants to know whether it is false, so it hears
    of nothing but its access child being true. One with parents may be false because of any child.
    """
    at = WIDTH * node
    for place in range(nodes[at + PARENTS], nodes[at + PARENTS] + nodes[at + FAN]):
        parent = parents[place]
        if queued[parent] == sign:
            continue
        below = WIDTH * parent
        head = nodes[below + KIND]
        unasked = on_demand and head & KIND_MASK == AND and nodes[below + FAN] == 0
        if unasked and (result != TRUE or children[nodes[below + FIRST]] != node):
            continue
        queued[parent] = sign
        above = head >> KIND_BITS
        nexts[parent] = heads[above]
        heads[above] = parent
        top = max(top, above)
    return top


@kernel
def _decide_leaves(nodes: Any, intervals: Any, leaves: Any, events: Any, event: int, labels: Any, decided: Any) -> int:
    """The leaves and predicates that are true or false of an event; returns how many.

    Each of an attribute that the event has, and of the others those that are not unknown for NULL.
    """
    offsets, members, definite = leaves.offsets, leaves.members, leaves.definite
    count = 0
    for pair in range(events.offsets[event], events.offsets[event + 1]):
        attribute = events.attributes[pair]
        if attribute < len(offsets) - 1:
            for place in range(offsets[attribute], offsets[attribute + 1]):
                decided[count] = members[place]
                count += 1
    for leaf in definite:
        if labels[nodes[WIDTH * leaf + ROOM] >> FLAG_BITS] == NULL_LABEL:
            decided[count] = leaf
            count += 1
    return count


@kernel
def match_three(
    tree: Any, leaves: Any, always: Any, live: int, on_demand: bool, events: Any, first: int, notes: Notes,
    results: Any, decided: Any, output: Any,
) -> None:  # fmt: skip
    """All hits of the events from `first` on, while a whole event's hits have room.

    `results` tells what each marked node is; `decided` has room for every node.
    """
    nodes, children, parents, intervals = tree.nodes, tree.children, tree.parents, tree.intervals
    labels, signature, marks, queued = notes.labels, notes.signature, notes.marks, notes.queued
    nexts, heads, units, offsets, work = notes.nexts, notes.heads, output.units, output.offsets, output.work
    used = 0
    for event in range(first, len(events.offsets) - 1):
        if len(units) - used < live:
            break
        sign = next_signature(signature, marks)
        if sign == 1:
            queued[:] = 0
        scatter(events, event, labels)
        for unit in always:
            units[used] = unit
            used += 1
        count = _decide_leaves(nodes, intervals, leaves, events, event, labels, decided)
        work[1] += len(always) + count
        for place in range(count):
            at = WIDTH * decided[place]
            code = nodes[at + ROOM]
            holds = passes(code, nodes[at + FIRST], nodes[at + SIZE], labels[code >> FLAG_BITS], intervals)
            results[decided[place]] = TRUE if holds else FALSE
            marks[decided[place]] = sign
        level, top = 1, 1
        while level <= top:
            if level > 1:
                count = _dequeue(nodes, children, heads, nexts, level, marks, results, sign, decided, work)
            for place in range(count):
                node = decided[place]
                unit = nodes[WIDTH * node + UNIT]
                if unit >= 0 and results[node] == TRUE and used < len(units):
                    units[used] = unit
                    used += 1
                top = _tell_all(
                    nodes, children, parents, node, results[node], on_demand, queued, sign, nexts, heads, top
                )
            level += 1
        clear(events, event, labels)
        offsets[event - first + 1] = used
        work[0] += 1
    work[3] = used


@kernel
def _dequeue(
    nodes: Any, children: Any, heads: Any, nexts: Any, level: Any, marks: Any, results: Any, sign: Any,
    decided: Any, work: Any,
) -> int:  # fmt: skip
    """Evaluate all nodes that wait at a level; returns how many are true or false."""
    node, count = heads[level], 0
    heads[level] = NOBODY
    while node != NOBODY:
        work[1] += 1
        work[2] += 1
        result = _evaluated(nodes, children, node, marks, results, sign)
        if result != UNKNOWN:
            results[node] = result
            marks[node] = sign
            decided[count] = node
            count += 1
        node = nexts[node]
    return count
