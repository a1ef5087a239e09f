"""The forms of many rules, numbered as `numbering.py` numbers them: leaves in order, then inner nodes by height, kind
and children. Whoever takes rules whole needs no conjunctions, and a form is never larger than its rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.logic.columnar._builder_kernels import (
    ALWAYS_TRUE,
    AND,
    LEAF,
    LEAF_BASE,
    MOST_CHILDREN,
    MOST_NODES,
    NEVER_TRUE,
)
from matchwood.logic.columnar._leaf_kernels import FAILED
from matchwood.logic.columnar._row_kernels import in_order
from matchwood.logic.columnar._rule_kernels import (
    MOST_TREE,
    begin,
    has_room_for_leaves,
    is_plain,
    mark_reached,
    put_row,
)
from matchwood.logic.columnar._walk_kernels import answered

HEIGHT, BEGIN = range(2)
"""Columns of `work.sizes`, which forms do not need: the height of each node, and where those of each height begin."""


@bare_kernel
def _put_in_order(work: Any, first: int, last: int) -> None:
    """Put the children at these places, which are numbers of the form by now, in order."""
    children = work.children
    for place in range(first + 1, last):
        child, at = children[place], place
        while at > first and children[at - 1] > child:
            children[at] = children[at - 1]
            at -= 1
        children[at] = child


@bare_kernel
def _comes_before(work: Any, left: int, right: int) -> Any:
    """Whether a node comes before another one of its height: by kind, and then by children."""
    if work.kinds[left] != work.kinds[right]:
        return work.kinds[left] < work.kinds[right]
    one, two = work.child_ends[left], work.child_ends[right]
    last, end = work.child_ends[left + 1], work.child_ends[right + 1]
    while one < last and two < end:
        if work.children[one] != work.children[two]:
            return work.children[one] < work.children[two]
        one += 1
        two += 1
    return one == last and two < end


@bare_kernel
def _gather_leaves(given: Any, work: Any, root: int) -> Any:
    """The leaves below a root in order, in work.local; how many. Each node knows its number: work.row_starts."""
    count = 0
    for node in range(root + 1):
        if work.reached[node] and work.kinds[node] == LEAF:
            work.local[count] = work.leaf_of[node]
            count += 1
    in_order(work, given.leaves, given.state, given.ranks, given.key_ranks, count)
    for node in range(root + 1):
        if work.reached[node] and work.kinds[node] == LEAF:
            work.row_starts[node] = given.leaves.numbers[work.leaf_of[node]]
    return count


@bare_kernel
def _by_height(work: Any, root: int) -> Any:
    """The inner nodes below a root by height, in work.members; how many. Each node knows its height."""
    sizes, count = work.sizes, 0
    for place in range(root + 2):
        sizes[place, BEGIN] = 0
    for node in range(root + 1):
        if not work.reached[node]:
            continue
        height = np.int64(0)
        for child in range(work.child_ends[node], work.child_ends[node + 1]):
            height = max(height, 1 + sizes[work.children[child], HEIGHT])
        sizes[node, HEIGHT] = height
        if height > 0:
            sizes[height + 1, BEGIN] += 1
            count += 1
    for place in range(1, root + 2):
        sizes[place, BEGIN] += sizes[place - 1, BEGIN]
    for node in range(root + 1):
        if work.reached[node] and work.kinds[node] != LEAF:
            place = sizes[sizes[node, HEIGHT], BEGIN]
            work.members[place] = node
            sizes[sizes[node, HEIGHT], BEGIN] = place + 1
    return count


@bare_kernel
def _number_inner(work: Any, leaves: Any, count: Any) -> None:
    """Number the inner nodes behind the leaves, in work.members; their children become numbers of the form."""
    members, numbers, first = work.members, work.row_starts, 0
    while first < count:
        height, stop = work.sizes[members[first], HEIGHT], first
        while stop < count and work.sizes[members[stop], HEIGHT] == height:
            node, at = members[stop], stop
            for child in range(work.child_ends[node], work.child_ends[node + 1]):
                work.children[child] = numbers[work.children[child]]
            _put_in_order(work, work.child_ends[node], work.child_ends[node + 1])
            while at > first and _comes_before(work, node, members[at - 1]):
                members[at] = members[at - 1]
                at -= 1
            members[at] = node
            stop += 1
        for place in range(first, stop):
            numbers[members[place]] = leaves + place
        first = stop


@bare_kernel
def _put_nodes(work: Any, count: Any, output: Any, nodes: int, children: int) -> Any:
    """Write kinds and children of the numbered inner nodes; where their children end."""
    for place in range(count):
        node = work.members[place]
        output.kinds[nodes + place] = work.kinds[node]
        output.child_counts[nodes + place] = work.child_ends[node + 1] - work.child_ends[node]
        for child in range(work.child_ends[node], work.child_ends[node + 1]):
            output.children[children] = work.children[child]
            children += 1
    return children


@bare_kernel
def _put_and(held: Any, output: Any, nodes: int, children: int) -> Any:
    """Write the only inner node of an AND of so many leaves."""
    output.kinds[nodes], output.child_counts[nodes] = AND, held
    for place in range(held):
        output.children[children + place] = place
    return children + held


@bare_kernel
def _has_room(leaves: Any, state: Any, output: Any, done: Any) -> Any:
    """Whether there is room for one more rule."""
    return (
        has_room_for_leaves(leaves, state, output.leaves, done[0])
        and done[2] + MOST_NODES <= len(output.kinds)
        and done[3] + MOST_CHILDREN <= len(output.children)
    )


@bare_kernel
def write_forms(given: Any, work: Any, wanted: Any, first: int, output: Any) -> Any:
    """Write the forms of the wanted rules from `first` on, until room runs out: the rule to go on with.

    A rule that is always true has a form without leaves, and one that never is has none.
    """
    tree, leaves, state, ends, done = given.tree, given.leaves, given.state, given.ends, output.done
    for rule in range(first, len(ends)):
        base, root = ends[rule - 1] if rule else 0, ends[rule] - 1
        output.rule_rows[rule] = -1
        if not wanted[rule] or root < base or root - base >= MOST_TREE:
            continue
        if not _has_room(leaves, state, output, done):
            return rule
        plain = is_plain(tree, root)
        begin(work, state, 0 if plain else root - base + 1)
        held, inner, stop = np.int64(0), np.int64(0), done[3]
        if plain:
            held = np.int64(put_row(given, work, base, root, output.leaves, done[0]))
            inner = np.int64(held > 1)
        else:
            answer = answered(given, work, base, root)
            if answer == NEVER_TRUE:
                held = np.int64(-1)
            elif answer >= LEAF_BASE:
                held, output.leaves[done[0]] = np.int64(1), answer - LEAF_BASE
            elif answer != ALWAYS_TRUE and not state[FAILED]:
                mark_reached(work, answer)
                held = np.int64(_gather_leaves(given, work, answer))
                inner = np.int64(_by_height(work, answer))
        if state[FAILED]:
            continue
        output.rule_rows[rule] = held >= 0
        if held < 0:
            continue
        if plain and inner:
            stop = _put_and(held, output, done[2], stop)
        elif inner:
            for place in range(held):
                output.leaves[done[0] + place] = work.local[place]
            _number_inner(work, held, inner)
            stop = _put_nodes(work, inner, output, done[2], stop)
        done[0] += held
        output.row_ends[done[1]], output.node_counts[done[1]] = done[0], inner
        done[1], done[2], done[3] = done[1] + 1, done[2] + inner, stop
    return len(ends)
