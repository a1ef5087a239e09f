"""Kernels that make nodes of an A-Tree share: covers for a new node, and the nodes that a new node is part of.

SIGMOD 2021, 4.2.2, Algorithm 2 (reorganisation), and 4.2.3, Algorithm 3 (self-adjustment).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import wide_kernel
from matchwood.engines.atree._link_kernels import choose_access, link, move_entry, set_active, unlink
from matchwood.engines.atree._node_kernels import correct_levels, is_parity, is_told, kind_of, next_stamp, part_kind
from matchwood.engines.atree.layout import (
    ACTIVE,
    AND,
    BOUNDED,
    FAN,
    FIRST,
    MOST_ASKED,
    MOST_STEPS,
    MOST_WALKED,
    PARENTS,
    SIZE,
    STEPS,
    WIDTH,
)

_NO_LIMIT = 1 << 60


@wide_kernel
def _is_contained(tree: Any, node: Any, stamp: Any) -> bool:
    """Whether all children of a node are operands or nodes known to be contained."""
    nodes, children, stamps, at = tree.nodes, tree.children, tree.stamps, WIDTH * node
    tree.state[STEPS] -= nodes[at + SIZE]
    for place in range(nodes[at + FIRST], nodes[at + FIRST] + nodes[at + SIZE]):
        if not stamp <= stamps[children[place]] <= stamp + 2:
            return False
    return True


@wide_kernel
def _contained_nodes(
    tree: Any, kind: Any, operands: Any, count: int, sketch: Any, stamp: Any, walked: int, found: Any, failed: Any
) -> int:
    """Nodes of a kind whose operands are among those given, stamped; returns how many.

    Each is looked for from its first child, which is the one that is true most rarely: so the lists to walk are short,
    and what is cut off beyond `walked` is little. A node made of other contained nodes may be met before they are:
    so those that failed are tried again as long as new ones are found.
    """
    nodes, children, parents, stamps, sketches = tree.nodes, tree.children, tree.parents, tree.stamps, tree.sketches
    others = ~sketch if sketch != 0 else np.uint32(0)
    met, again, position = 0, 0, 0
    while position < count + met and met < len(found) and tree.state[STEPS] > 0:
        child = operands[position] if position < count else found[position - count]
        position += 1
        at = WIDTH * child
        start = nodes[at + PARENTS]
        stop = start + min(nodes[at + ACTIVE] if kind == AND else nodes[at + FAN], walked)
        tree.state[STEPS] -= stop - start
        for place in range(start, stop):
            node = parents[place]
            if met == len(found):
                break
            if sketches[node] & others != 0:
                continue
            if kind_of(nodes, node) != kind or children[nodes[WIDTH * node + FIRST]] != child:
                continue
            if _is_contained(tree, node, stamp):
                stamps[node] = stamp + 2
                found[met] = node
                met += 1
            elif again < len(failed) and _has_own_kind(nodes, children, node, kind):
                failed[again] = node
                again += 1
        if position == count + met:
            for place in range(again):
                node = failed[place]
                if met < len(found) and stamps[node] != stamp + 2 and _is_contained(tree, node, stamp):
                    stamps[node] = stamp + 2
                    found[met] = node
                    met += 1
    return met


@wide_kernel
def _has_own_kind(nodes: Any, children: Any, node: Any, kind: Any) -> bool:
    """Whether a node has a child of its own kind."""
    at = WIDTH * node
    for place in range(nodes[at + FIRST], nodes[at + FIRST] + nodes[at + SIZE]):
        if kind_of(nodes, children[place]) == kind:
            return True
    return False


@wide_kernel
def _gain(tree: Any, node: Any, stamp: Any, once: bool) -> int:
    """How many operands that are not covered yet a contained node covers.

    They are marked on the way, so that what is reached twice counts once, and unmarked again. If operands must be
    covered `once`, a node gains nothing that reaches one twice, or one that is covered.
    """
    gain, others = _walk(tree, node, stamp, stamp + 3)
    _walk(tree, node, stamp + 3, stamp)
    return 0 if once and others > 0 else gain


@wide_kernel
def _walk(tree: Any, node: Any, wanted: Any, given: Any) -> tuple[int, int]:
    """Stamp the operands below a contained node stamped `wanted`; returns how many, and how many were not."""
    nodes, children, stamps, stack = tree.nodes, tree.children, tree.stamps, tree.stack
    contained = min(wanted, given) + 2
    met, others, waiting = 0, 0, 1
    stack[0] = node
    while waiting > 0:
        waiting -= 1
        at = WIDTH * stack[waiting]
        tree.state[STEPS] -= nodes[at + SIZE]
        for place in range(nodes[at + FIRST], nodes[at + FIRST] + nodes[at + SIZE]):
            child = children[place]
            if stamps[child] == wanted:
                stamps[child] = given
                met += 1
            elif stamps[child] == contained and waiting < len(stack):
                stack[waiting] = child
                waiting += 1
            else:
                others += 1
    return met, others


@wide_kernel
def cover(
    tree: Any, kind: Any, operands: Any, count: int, sketch: Any, stamp: Any, reach: int, chosen: Any, scratch: Any
) -> int:
    """Children for a node with these operands, which are stamped: existing nodes that cover many of them, and the rest.

    Greedy set cover: the node that covers the most comes first. Covers may overlap, since AND and OR do not mind an
    operand that comes twice; those of XOR and XNOR, which do, may not. A cover never has all of the operands. One that
    brings but one new operand saves no link: it serves an AND, as it is true more rarely than the operand, but would
    only be one step more for an OR. `scratch` has room for twice the covers to weigh; `reach` tells how far to look.
    """
    stamps, state = tree.stamps, tree.state
    state[STEPS] = MOST_STEPS if reach == BOUNDED else _NO_LIMIT
    walked = MOST_WALKED if reach == BOUNDED else _NO_LIMIT
    found, failed = scratch[: len(scratch) // 2], scratch[len(scratch) // 2 :]
    met = _contained_nodes(tree, part_kind(kind), operands, count, sketch, stamp, walked, found, failed)
    size, once = 0, is_parity(kind)
    while met > 0 and state[STEPS] > 0:
        best, most = -1, 0 if kind == AND else 1
        for place in range(met):
            gain = _gain(tree, found[place], stamp, once)
            if most < gain < count:
                best, most = place, gain
        if best < 0:
            break
        _walk(tree, found[best], stamp, stamp + 1)
        chosen[size] = found[best]
        size += 1
        met -= 1
        found[best] = found[met]
    for place in range(count):
        if stamps[operands[place]] == stamp:
            chosen[size] = operands[place]
            size += 1
    return size


@wide_kernel
def adopt(tree: Any, node: Any, parent: Any, stamp: Any, on_demand: bool) -> None:
    """Let a parent have a new node in the place of the node's children, which it has too and which are stamped."""
    nodes, children, at = tree.nodes, tree.children, WIDTH * parent
    first, kind, kept = nodes[at + FIRST], kind_of(nodes, parent), 0
    access = children[first]
    for place in range(first, first + nodes[at + SIZE]):
        child = children[place]
        if tree.stamps[child] == stamp:
            unlink(tree, place)
        else:
            move_entry(tree, place, first + kept)
            kept += 1
    children[first + kept] = node
    nodes[at + SIZE] = kept + 1
    lost = tree.stamps[access] == stamp
    link(tree, parent, first + kept, is_told(kind, on_demand, False))
    if lost:  # the child now in front takes the place of the access child
        set_active(tree, first, is_told(kind, on_demand, True))
    choose_access(tree, parent, on_demand)


@wide_kernel
def self_adjust(tree: Any, node: Any, reach: int, on_demand: bool) -> int:
    """Make a new node the child of the nodes that have all of its children and more; returns how many.

    They are among the parents of each of its children, so the child with the fewest will do, of whose parents
    MOST_ASKED are looked at, or all. Links move with it, and so do the uses that they stand for.
    """
    nodes, children, parents, stamps, at = tree.nodes, tree.children, tree.parents, tree.stamps, WIDTH * node
    first, size, kind = nodes[at + FIRST], nodes[at + SIZE], kind_of(nodes, node)
    stamp, rarest, sketch = next_stamp(tree), children[first], tree.sketches[node]
    for place in range(first, first + size):
        stamps[children[place]] = stamp
        if nodes[WIDTH * children[place] + FAN] < nodes[WIDTH * rarest + FAN]:
            rarest = children[place]
    steps, adopted = np.int64(MOST_STEPS if reach == BOUNDED else _NO_LIMIT), 0
    start = nodes[WIDTH * rarest + PARENTS]
    # Backwards, as taking one out of the list moves others forward that were seen already.
    place = start + nodes[WIDTH * rarest + FAN] - 1
    last = max(start, place - MOST_ASKED) if reach == BOUNDED else start
    while place >= last and steps > 0:
        parent = parents[place]
        place -= 1
        below = WIDTH * parent
        if tree.sketches[parent] != 0 and sketch & ~tree.sketches[parent] != 0:
            continue
        if parent == node or part_kind(kind_of(nodes, parent)) != kind or nodes[below + SIZE] <= size:
            continue
        steps -= nodes[below + SIZE]
        shared = 0
        for step in range(nodes[below + FIRST], nodes[below + FIRST] + nodes[below + SIZE]):
            shared += stamps[children[step]] == stamp
        if shared == size:
            adopt(tree, node, parent, stamp, on_demand)
            adopted += 1
    for step in range(nodes[at + PARENTS], nodes[at + PARENTS] + nodes[at + FAN]):
        correct_levels(tree, parents[step])
    return adopted
