"""The compiled side of the links between units and rows; `links.py` describes the arrays.

A chain only ever leads to older, lower nodes, and each step checks that it does: a damaged chain
ends early instead of running for ever.
"""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import kernel

NONE = -1


@kernel
def decode(head: Any) -> Any:
    """The node that a head below NONE refers to; the same formula turns a node into a head."""
    return -2 - head


@kernel
def _add_node(row: Any, unit: Any, node: Any, unit_heads: Any, row_heads: Any, chain: Any, back: Any) -> Any:
    """Write a node and put it at the front of its row's chain, and of its unit's unless that is direct."""
    chain[2 * node] = row
    chain[2 * node + 1] = NONE
    back[3 * node] = unit
    back[3 * node + 1] = NONE
    back[3 * node + 2] = decode(row_heads[row]) if row_heads[row] < NONE else NONE
    row_heads[row] = decode(node)
    if unit_heads[unit] < NONE:
        _push_to_unit(node, unit, unit_heads, chain, back)


@kernel
def _push_to_unit(node: Any, unit: Any, unit_heads: Any, chain: Any, back: Any) -> Any:
    following = decode(unit_heads[unit])
    chain[2 * node + 1] = following
    back[3 * following + 1] = node
    unit_heads[unit] = decode(node)


@kernel
def _node_of(row: Any, unit: Any, row_heads: Any, back: Any) -> Any:
    """The node of a link, or NONE in a damaged table that lacks it."""
    node = decode(row_heads[row]) if row_heads[row] < NONE else NONE
    while node >= 0 and back[3 * node] != unit:
        node = back[3 * node + 2] if back[3 * node + 2] < node else NONE
    return node


@kernel
def link(rows: Any, units: Any, unit_heads: Any, row_heads: Any, chain: Any, back: Any, nodes: Any) -> Any:
    """Add the links rows[i] - units[i]; returns the number of nodes afterwards, at most three more a link.

    These are its own, and those of the only links that its row and its unit had before.

    Returns NONE when a unit names a row that does not name the unit.
    """
    for i in range(len(rows)):
        row, unit = rows[i], units[i]
        if unit_heads[unit] == NONE and row_heads[row] == NONE:
            unit_heads[unit] = row
            row_heads[row] = unit
            continue
        if row_heads[row] >= 0:
            partner = row_heads[row]
            _add_node(row, partner, nodes, unit_heads, row_heads, chain, back)
            nodes += 1
        if unit_heads[unit] == NONE:
            unit_heads[unit] = row
        elif unit_heads[unit] >= 0:
            other = unit_heads[unit]
            if row_heads[other] >= 0:
                _add_node(other, unit, nodes, unit_heads, row_heads, chain, back)
                nodes += 1
            node = _node_of(other, unit, row_heads, back)
            if node == NONE:
                return NONE
            unit_heads[unit] = decode(node)
        _add_node(row, unit, nodes, unit_heads, row_heads, chain, back)
        nodes += 1
    return nodes


@kernel
def _leave_unit(node: Any, unit: Any, unit_heads: Any, chain: Any, back: Any) -> Any:
    """Take a node out of its unit's chain; a unit left with one row refers to it directly again."""
    if unit_heads[unit] >= NONE:
        unit_heads[unit] = NONE
        return
    following, previous = chain[2 * node + 1], back[3 * node + 1]
    if following >= 0:
        back[3 * following + 1] = previous
    if previous >= 0:
        chain[2 * previous + 1] = following
    else:
        unit_heads[unit] = decode(following)
    first = decode(unit_heads[unit])
    if chain[2 * first + 1] < 0:
        unit_heads[unit] = chain[2 * first]


@kernel
def unlink(rows: Any, unit_heads: Any, row_heads: Any, chain: Any, back: Any, out: Any) -> Any:
    """Remove all links of the rows; their units go to `out`. Returns how many links, and how many nodes, went."""
    links, nodes = 0, 0
    for i in range(len(rows)):
        head = row_heads[rows[i]]
        row_heads[rows[i]] = NONE
        if head >= 0:
            unit_heads[head] = NONE
            out[links] = head
            links += 1
        node = decode(head) if head < NONE else NONE
        while node >= 0:
            unit = back[3 * node]
            _leave_unit(node, unit, unit_heads, chain, back)
            out[links] = unit
            links += 1
            nodes += 1
            node = back[3 * node + 2] if back[3 * node + 2] < node else NONE
    return links, nodes


@kernel
def follow(sources: Any, heads: Any, nodes: Any, stride: Any, value: Any, step: Any, counts: Any, out: Any) -> Any:
    """What each source is linked with: how many into counts, which into out as far as that has room; returns the total.

    Node n has its value at nodes[n * stride + value] (with value -1, n itself) and the next node at
    nodes[n * stride + step].
    """
    links = 0
    for i in range(len(sources)):
        before, head = links, heads[sources[i]]
        if head >= 0:
            if links < len(out):
                out[links] = head
            links += 1
        node = decode(head) if head < NONE else NONE
        while node >= 0 and (node + 1) * stride <= len(nodes):
            if links < len(out):
                out[links] = node if value < 0 else nodes[node * stride + value]
            links += 1
            following = nodes[node * stride + step]
            node = following if following < node else NONE
        counts[i] = links - before
    return links


@kernel
def check(unit_heads: Any, row_heads: Any, chain: Any, back: Any) -> Any:
    """Whether every number in the arrays lies where a kernel may follow it."""
    units, rows, nodes = len(unit_heads), len(row_heads), len(chain) // 2
    for unit in range(units):
        if unit_heads[unit] >= rows or unit_heads[unit] < decode(nodes - 1):
            return False
    for row in range(rows):
        if row_heads[row] >= units or row_heads[row] < decode(nodes - 1):
            return False
    for node in range(nodes):
        row, following = chain[2 * node], chain[2 * node + 1]
        unit, previous, sibling = back[3 * node], back[3 * node + 1], back[3 * node + 2]
        if row < 0 or row >= rows or following < NONE or following >= node:
            return False
        if unit < 0 or unit >= units or sibling < NONE or sibling >= node:
            return False
        if previous < NONE or previous >= nodes or (previous >= 0 and previous <= node):
            return False
    return True
