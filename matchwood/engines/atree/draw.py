"""The nodes of a small A-Tree as plain data, for pictures and tests.

SIGMOD 2021, the trees of its figures.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from matchwood.encoding import AND, LEAF, NOT, OR, PREDICATE, XNOR, XOR
from matchwood.engines.atree.engine import ATree
from matchwood.engines.atree.layout import FAN, FIRST, KIND, KIND_BITS, KIND_MASK, SIZE, UNIT
from matchwood.errors import InvalidArgument

MOST_VIEWED = 5_000
"""Nodes of the largest tree that is told node by node."""

KIND_NAMES = {
    LEAF: "leaf",
    AND: "and",
    OR: "or",
    NOT: "not",
    XOR: "xor",
    XNOR: "xnor",
    PREDICATE: "predicate",
}


class NodeView(NamedTuple):
    """One node.

    `kind`        leaf, predicate, and, or, not, xor or xnor
    `level`       1 for leaves, else one more than the highest child
    `uses`        parents, and rules that the node is the root of
    `children`    their numbers; none for leaves
    `access`      of an AND node, the child that must be true for it to be looked at
    `attribute`   what a leaf tests, and `constraint` how, in words
    `rules`       the ids of the rules that the node is the root of
    """

    number: int
    kind: str
    level: int
    uses: int
    children: tuple[int, ...]
    access: int | None
    attribute: str | None
    constraint: str
    rules: tuple[Any, ...]


class BareNode(NamedTuple):
    """A node as the tree knows it: without names."""

    number: int
    kind: int
    level: int
    parents: int
    children: tuple[int, ...]
    unit: int


def bare_nodes(tree: ATree) -> list[BareNode]:
    """All live nodes, by number; InvalidArgument for a large tree."""
    tree.check()
    if tree.nodes.live > MOST_VIEWED:
        raise InvalidArgument(f"a tree of {tree.nodes.live:,} nodes is too large to list (at most {MOST_VIEWED:,})")
    fields, pool = tree.nodes.fields().tolist(), tree.nodes.columns["children"].view()
    found = []
    for number, node in enumerate(fields):
        kind = node[KIND] & KIND_MASK
        if kind not in KIND_NAMES:
            continue
        inner = kind not in (LEAF, PREDICATE)
        children = pool[node[FIRST] : node[FIRST] + node[SIZE]].tolist() if inner else []
        found.append(BareNode(number, kind, node[KIND] >> KIND_BITS, node[FAN], tuple(children), node[UNIT]))
    return found
