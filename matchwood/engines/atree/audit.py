"""Every invariant of an A-Tree, looked at one by one.

SIGMOD 2021, the invariants of 4.1 and 4.2: each distinct node once, levels, links, use counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import AND, XNOR, XOR
from matchwood.engines.atree._node_kernels import part_kind
from matchwood.engines.atree._remove_kernels import KEEP, verdict
from matchwood.engines.atree.check import check_links, check_tree
from matchwood.engines.atree.layout import ACTIVE, FAN, FIRST, MOST_FLAT, PARENTS, SIZE
from matchwood.engines.atree.links import audit_links
from matchwood.errors import CorruptSnapshot
from matchwood.logic import MOST_FLAT as MOST_PARITY

if TYPE_CHECKING:
    from matchwood.engines.atree.engine import ATree


def audit(tree: ATree) -> list[str]:
    """Broken invariants in words; what could mislead a kernel is told alone."""
    unique = tree.settings["unique"]
    try:
        check_tree(tree.nodes, tree.roots, tree.alive, tree.attributes, unique)
        check_links(tree.nodes)
    except CorruptSnapshot as error:
        return [str(error)]
    problems = (
        audit_links(tree.nodes)
        + _audit_levels(tree)
        + _audit_needed(tree)
        + _audit_active(tree)
        + tree.leaf_lists.audit(tree.nodes)
    )
    return problems + (_audit_unique(tree) if unique else [])


def _children(tree: ATree, node: int) -> list[int]:
    fields, pool = tree.nodes.fields(), tree.nodes.columns["children"].view()
    return pool[fields[node, FIRST] : fields[node, FIRST] + fields[node, SIZE]].tolist()  # type: ignore[no-any-return]


def _audit_levels(tree: ATree) -> list[str]:
    """A node is one level above the highest of its children."""
    levels, inner = tree.nodes.levels(), tree.nodes.inner()
    wrong = [node for node in inner.tolist() if levels[node] != 1 + max(levels[_children(tree, node)])]
    return [f"node {wrong[0]} is on the wrong level ({len(wrong)} such)"] if wrong else []


def _audit_needed(tree: ATree) -> list[str]:
    """Every node is a root or has a parent that could not have its children instead."""
    fields, parents = tree.nodes.columns["nodes"].view(), tree.nodes.columns["parents"].view()
    live = np.concatenate([tree.nodes.leaves(), tree.nodes.inner()]).tolist()
    lost = [
        node for node in live if verdict(fields, parents, node, tree.flat) != KEEP and not _stands_apart(tree, node)
    ]
    return [f"nothing needs node {lost[0]} ({len(lost)} such)"] if lost else []


def _stands_apart(tree: ATree, node: int) -> bool:
    """Whether an XOR has a child that a parent of it has too, and so cannot be taken in by that."""
    fields, pool = tree.nodes.fields(), tree.nodes.columns["parents"].view()
    if tree.nodes.kinds()[node] != XOR:
        return False
    parents = pool[fields[node, PARENTS] : fields[node, PARENTS] + fields[node, FAN]].tolist()
    return not set(_children(tree, node)).isdisjoint(child for parent in parents for child in _children(tree, parent))


def _audit_active(tree: ATree) -> list[str]:
    """A node tells the parents that are not AND, and the AND nodes whose first child it is; without demand, all."""
    fields, pool = tree.nodes.fields(), tree.nodes.columns["parents"].view()
    kinds, firsts = tree.nodes.kinds(), tree.nodes.columns["children"].view()
    wrong = []
    for node in np.concatenate([tree.nodes.leaves(), tree.nodes.inner()]).tolist():
        start, fan = int(fields[node, PARENTS]), int(fields[node, FAN])
        for place, parent in enumerate(pool[start : start + fan].tolist()):
            told = kinds[parent] != AND or not tree.on_demand or firsts[fields[parent, FIRST]] == node
            if told != (place < fields[node, ACTIVE]):
                wrong.append(node)
    return [f"node {wrong[0]} tells the wrong parents ({len(wrong)} such)"] if wrong else []


def operands(tree: ATree, node: int, kinds: NDArray[np.int32]) -> frozenset[int] | None:
    """The operands of a node, those of children that stand for several in their place; `kinds` are those of all nodes.

    None if there are very many, or if a parity has one more than once.
    """
    part, once = part_kind(kinds[node]), kinds[node] in (XOR, XNOR)
    found, seen, pending = set(), {node}, [node]
    while pending:
        for child in _children(tree, pending.pop()):
            if child in seen or child in found:
                if once:
                    return None
            elif tree.flat and kinds[child] == part:
                seen.add(child)
                pending.append(child)
            else:
                found.add(child)
        if len(found) > (MOST_PARITY if once else MOST_FLAT // 2):
            return None
    return frozenset(found)


def _audit_unique(tree: ATree) -> list[str]:
    """No two nodes say the same."""
    problems = []
    leaves = tree.nodes.leaves()
    encoded = tree.nodes.encoded(leaves)
    kinds = tree.nodes.kinds()
    said: dict[tuple[object, ...], int] = {}
    for place, leaf in enumerate(leaves.tolist()):
        start, stop = encoded.pieces[place], encoded.pieces[place + 1]
        labels: tuple[NDArray[np.int32], ...] = (encoded.low[start:stop], encoded.high[start:stop])
        key = (kinds[leaf], encoded.attributes[place], encoded.accepts_null[place], *map(bytes, labels))
        if said.setdefault(key, leaf) != leaf:
            problems.append(f"leaves {said[key]} and {leaf} say the same")
    for node in tree.nodes.inner().tolist():
        own = operands(tree, node, kinds)
        if own is not None and said.setdefault((kinds[node], own), node) != node:
            problems.append(f"nodes {said[kinds[node], own]} and {node} say the same")
    return problems
