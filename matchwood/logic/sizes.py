"""How large a form would be when expanded, told from its DAG: nothing is expanded to find out."""

from __future__ import annotations

from typing import NamedTuple

from matchwood.logic.form import AND, LEAF, OR, TRUE, FormNodes

SATURATED = 1 << 62
"""Sizes stop growing here: a chain of xor would have 2**9999 conjunctions."""


class ExpandedSize(NamedTuple):
    """At most so many rows (conjunctions or clauses), with so many leaves in all of them together."""

    rows: int
    leaves: int


_ONE_LEAF = ExpandedSize(1, 1)


def expanded(nodes: FormNodes, sums: int) -> ExpandedSize:
    """The size when nodes of the kind `sums` collect their children's rows, and the others multiply them."""
    sizes: list[ExpandedSize] = []
    for kind, children in zip(nodes.kinds, nodes.children, strict=True):
        if kind == LEAF:
            sizes.append(_ONE_LEAF)
        elif kind == sums:
            sizes.append(_sum([sizes[child] for child in children]))
        elif kind in (AND, OR):
            sizes.append(_product([sizes[child] for child in children]))
        else:
            sizes.append(ExpandedSize(int((kind == TRUE) == (sums == OR)), 0))
    return sizes[-1]


def _sum(sizes: list[ExpandedSize]) -> ExpandedSize:
    rows, leaves = sum([size[0] for size in sizes]), sum([size[1] for size in sizes])
    return ExpandedSize(min(rows, SATURATED), min(leaves, SATURATED))


def _product(sizes: list[ExpandedSize]) -> ExpandedSize:
    """Each row of one child meets each of the next, and brings its leaves along."""
    rows, leaves = 1, 0
    for size in sizes:
        if size is _ONE_LEAF:
            leaves += rows
            continue
        more_rows, more_leaves = size
        leaves = min(leaves * more_rows + rows * more_leaves, SATURATED)
        rows = min(rows * more_rows, SATURATED)
    return ExpandedSize(rows, min(leaves, SATURATED))
