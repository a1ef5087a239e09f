"""The normal form of a rule: a DAG of AND and OR over leaves, without negation, two-valued.

Its numbering is canonical: leaves in order, then inner nodes by height, each height ordered by kind
and children. So two rules whose normal forms have the same structure have equal forms, whatever the order
in which their operands were written.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from matchwood.logic.leaf import Leaf

TRUE, FALSE, LEAF, AND, OR = range(5)
NOT, XOR, XNOR, PREDICATE = range(5, 9)
"""Kinds that only the three-valued DAG of `unsuppressed.py` has."""


class FormNodes(Protocol):
    """A DAG in any numbering that puts children before parents and the root last; leaves[n] for leaf n."""

    @property
    def leaves(self) -> Sequence[Leaf]: ...
    @property
    def kinds(self) -> Sequence[int]: ...
    @property
    def children(self) -> Sequence[tuple[int, ...]]: ...


class Form(NamedTuple):
    """Nodes are numbered; children come before their parents, and the last node is the root.

    `leaves`    the distinct leaves; node n < len(leaves) is leaves[n]
    `kinds`     of every node: LEAF, AND or OR; TRUE or FALSE only as the sole node of a constant form
    `children`  of every node: increasing node numbers, two or more for AND and OR, none for the others
    """

    leaves: tuple[Leaf, ...]
    kinds: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]

    @property
    def root(self) -> int:
        return len(self.kinds) - 1


def conjunction_form(leaves: tuple[Leaf, ...]) -> Form:
    """The form of one or more leaves in order, of different attributes, that must all hold."""
    return Form(leaves, *_shape(len(leaves)))


@lru_cache(256)
def _shape(count: int) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The kinds and children of a conjunction of so many leaves: forms of one length share them."""
    if count == 1:
        return (LEAF,), ((),)
    return (*(LEAF,) * count, AND), (*((),) * count, tuple(range(count)))


ALWAYS = Form((), (TRUE,), ((),))
NEVER = Form((), (FALSE,), ((),))
