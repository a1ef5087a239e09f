"""Forms as an OR of conjunctions: the size is estimated on the DAG before anything is expanded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from matchwood.logic.conjunctions import canonical, of_leaves
from matchwood.logic.form import AND, LEAF, OR, TRUE, FormNodes
from matchwood.logic.leaf import Conjunction, Leaf
from matchwood.logic.masks import masked
from matchwood.logic.sizes import expanded

LENGTH = 1_024
"""Leaves a conjunction may have on average, if there are as many conjunctions as the limit allows."""

_Chain: TypeAlias = "tuple[int, _Chain] | None"
"""Node numbers, the newest first; branches share what they have in common."""


def dnf_size(form: FormNodes) -> int:
    """At most this many conjunctions; saturates at 2**62."""
    return expanded(form, OR).rows


def dnf(form: FormNodes, limit: int) -> list[Conjunction] | None:
    """The conjunctions in canonical order; None when there may be more than `limit`, or very long ones."""
    size = expanded(form, OR)
    if size.rows > limit or (size.rows > 1 and size.leaves > limit * LENGTH):
        return None
    if not form.leaves:
        return [()] if form.kinds[-1] == TRUE else []
    conjunctions = masked(form)
    if conjunctions is not None:
        return conjunctions
    rows = map(of_leaves, choices(form))
    return canonical(row for row in rows if row is not None)


def choices(form: FormNodes) -> Iterator[list[Leaf]]:
    """Every way to take all children of an AND and one of an OR: the leaves met on the way.

    Branch by branch, so that the work is that of writing the rows down; lists of rows for each node
    would be copied at every level of a deep form.
    """
    leaves, kinds, children_of = form.leaves, form.kinds, form.children
    branches: list[tuple[_Chain, _Chain]] = [(None, (len(kinds) - 1, None))]
    while branches:
        chosen, pending = branches.pop()
        while pending is not None:
            node, pending = pending
            kind = kinds[node]
            if kind == LEAF:
                chosen = (node, chosen)
            elif kind == AND:
                for child in children_of[node]:
                    pending = (child, pending)
            else:
                first, *others = children_of[node]
                branches.extend([(chosen, (child, pending)) for child in others])
                pending = (first, pending)
        yield [leaves[number] for number in _numbers(chosen)]


def _numbers(chain: _Chain) -> Iterator[int]:
    while chain is not None:
        number, chain = chain
        yield number
