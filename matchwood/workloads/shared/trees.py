"""Arbitrary expressions as columns: one DAG of all rules, in which a subexpression that rules share stands once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from matchwood.workloads.shared.draws import offsets_of, row_sums

if TYPE_CHECKING:
    from matchwood.workloads.shared.base import Rules

JUNCTIONS = ("and", "or", "not", "xor", "xnor")
"""`Trees.junctions` holds positions in this list. `not` has one operand, `xor` and `xnor` have two."""

AND, OR, NOT, XOR, XNOR = range(len(JUNCTIONS))

FALSE, UNKNOWN, TRUE = 0, 1, 2
"""SQL's verdicts in such an order that AND is the least and OR the largest of its operands."""

Integers = NDArray[np.int64]
Verdicts = NDArray[np.int8]


@dataclass(frozen=True)
class Trees:
    """Nodes are numbered level by level: those of level k + 1 are levels[k] : levels[k + 1].

    Level 1 is `predicates`, in which rule n is the n-th predicate alone. Inner node n, counted from the first inner
    one, joins the nodes children[offsets[n] : offsets[n + 1]], all of lower levels, by junctions[n]. Rule r is the
    node roots[r].
    """

    predicates: Rules
    junctions: NDArray[np.int8]
    offsets: Integers
    children: Integers
    levels: Integers
    roots: Integers

    def inner(self, level: int) -> slice:
        """The inner nodes of a level, from 2 on."""
        first = int(self.levels[1])
        return slice(int(self.levels[level - 1]) - first, int(self.levels[level]) - first)

    @property
    def depth(self) -> int:
        return len(self.levels) - 1

    def children_of(self, nodes: slice) -> tuple[Integers, Integers]:
        """The children of a run of inner nodes: offsets from 0 and node numbers."""
        offsets = self.offsets[nodes.start : nodes.stop + 1]
        return offsets - offsets[0], self.children[offsets[0] : offsets[-1]]


def occurrences(trees: Trees) -> Integers:
    """How often each node stands in the texts of all rules."""
    uses = np.bincount(trees.roots, minlength=int(trees.levels[-1])).astype(np.int64)
    for level in range(trees.depth, 1, -1):
        offsets, children = trees.children_of(trees.inner(level))
        own = uses[trees.levels[level - 1] : trees.levels[level]]
        np.add.at(uses, children, np.repeat(own, np.diff(offsets)))
    return uses


def sharing_by_level(trees: Trees) -> list[float]:
    """Subexpressions over distinct ones at each level of the DAG, predicates first."""
    uses = occurrences(trees)
    return [round(float(uses[start:stop].sum() / max(1, stop - start)), 2) for start, stop in pairwise(trees.levels)]


def truth(trees: Trees, predicates: Verdicts) -> Verdicts:
    """The verdict of every node for some events: predicates[p, e] is that of predicate p for event e."""
    verdicts = np.empty((int(trees.levels[-1]), predicates.shape[1]), dtype=np.int8)
    verdicts[: len(predicates)] = predicates
    for level in range(2, trees.depth + 1):
        nodes = trees.inner(level)
        offsets, children = trees.children_of(nodes)
        if nodes.stop > nodes.start:
            below = verdicts[children]
            verdicts[trees.levels[level - 1] : trees.levels[level]] = _joined(trees.junctions[nodes], offsets, below)
    return verdicts


def _joined(junctions: NDArray[np.int8], offsets: Integers, below: Verdicts) -> Verdicts:
    starts, kind = offsets[:-1], junctions[:, None]
    least, most = np.minimum.reduceat(below, starts), np.maximum.reduceat(below, starts)
    first, last = below[starts], below[offsets[1:] - 1]
    known = (first != UNKNOWN) & (last != UNKNOWN)
    differ = np.where(known, np.where(first != last, TRUE, FALSE), UNKNOWN)
    choices = [least, most, TRUE - first, differ, TRUE - differ]
    return np.select([kind == code for code in range(len(JUNCTIONS))], choices).astype(np.int8)


def sizes(trees: Trees) -> Integers:
    """How many predicates each node has, those that occur twice counted twice."""
    counts = np.ones(int(trees.levels[-1]), dtype=np.int64)
    for level in range(2, trees.depth + 1):
        offsets, children = trees.children_of(trees.inner(level))
        counts[trees.levels[level - 1] : trees.levels[level]] = row_sums(offsets, counts[children])
    return counts


def leaves(trees: Trees) -> tuple[Integers, Integers]:
    """The predicates of each rule in the order of its text: offsets and predicate numbers.

    Roots are replaced by their children, and those by theirs, until only predicates are left.
    """
    first, row_of, nodes = int(trees.levels[1]), np.arange(len(trees.roots)), trees.roots
    while len(inner := np.flatnonzero(nodes >= first)):
        counts = np.ones(len(nodes), dtype=np.int64)
        counts[inner] = np.diff(trees.offsets)[nodes[inner] - first]
        starts = offsets_of(counts)
        below = np.repeat(nodes, counts)
        at = np.flatnonzero(below >= first)
        steps = np.arange(len(below)) - np.repeat(starts[:-1], counts)
        below[at] = trees.children[trees.offsets[below[at] - first] + steps[at]]
        row_of, nodes = np.repeat(row_of, counts), below
    return offsets_of(np.bincount(row_of, minlength=len(trees.roots))), nodes


def restricted(trees: Trees, roots: Integers) -> tuple[Trees, Integers]:
    """The trees below some roots, and the old numbers of the predicates that they have left."""
    kept = np.zeros(int(trees.levels[-1]), dtype=bool)
    kept[roots] = True
    for level in range(trees.depth, 1, -1):
        offsets, children = trees.children_of(trees.inner(level))
        kept[children[np.repeat(kept[trees.levels[level - 1] : trees.levels[level]], np.diff(offsets))]] = True
    numbers, first = np.cumsum(kept) - 1, int(trees.levels[1])
    counts, inner = np.diff(trees.offsets), kept[first:]
    small = replace(
        trees,
        junctions=trees.junctions[inner],
        offsets=offsets_of(counts[inner]),
        children=numbers[trees.children[np.repeat(inner, counts)]],
        levels=np.concatenate(([0], np.cumsum(kept)))[trees.levels],
        roots=numbers[roots],
    )
    return small, np.flatnonzero(kept[:first])
