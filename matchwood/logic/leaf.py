"""Leaves: one attribute's accepted values and whether NULL is accepted too; and rows of leaves.

What a predicate is to a tree, a leaf is to the normal form. It has two truth values only: an event's
value is accepted or not. So leaves can be negated, intersected and united without a thought for NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from matchwood.language import Predicate
from matchwood.logic.cuts import (
    EMPTY,
    FULL,
    CutSet,
    complement,
    intersection,
    intersection_all,
    is_subset,
    union,
    union_all,
)


class Leaf(NamedTuple):
    """Holds when the attribute's value lies in `cuts`, or is NULL (or missing) and `null` is set."""

    attribute: str
    cuts: CutSet
    null: bool


@dataclass(slots=True)
class Bound:
    """A predicate as the encoding understands it.

    `attribute`  the attribute's key; derived attributes begin with a NUL character
    `cuts`       the values for which the predicate is TRUE; it is FALSE for all others
    `on_null`    its verdict for NULL: None, but True or False for null tests
    `answers`    kept by `questions.of_predicate`: rules that share what a predicate is bound to share its leaves
    """

    attribute: str
    cuts: CutSet
    on_null: bool | None
    answers: dict[int, Leaf | int] | None = field(default=None, init=False, repr=False, compare=False)


Bind: TypeAlias = Callable[[Predicate], Bound]
Conjunction: TypeAlias = tuple[Leaf, ...]
"""Leaves that must all hold: ordered by attribute, each attribute once, none of them empty or full; `()` is TRUE."""

Clause: TypeAlias = tuple[Leaf, ...]
"""Leaves of which one must hold: ordered and pruned like a conjunction; `()` is FALSE."""


class Clauses(NamedTuple):
    """A rule as clauses that must all hold; neither constant."""

    rows: list[Clause]


def is_empty(leaf: Leaf) -> bool:
    """Whether nothing is accepted, not even NULL."""
    return not leaf.cuts and not leaf.null


def is_full(leaf: Leaf) -> bool:
    """Whether everything is accepted, NULL too."""
    return leaf.null and leaf.cuts == FULL


def negation(leaf: Leaf) -> Leaf:
    """The leaf that holds exactly when this one does not."""
    return Leaf(leaf.attribute, complement(leaf.cuts), not leaf.null)


def meet(left: Leaf, right: Leaf) -> Leaf:
    """What both leaves of one attribute accept."""
    return Leaf(left.attribute, intersection(left.cuts, right.cuts), left.null and right.null)


def meet_all(leaves: Sequence[Leaf]) -> Leaf:
    """What all of some leaves of one attribute accept."""
    if len(leaves) == 2:
        return meet(leaves[0], leaves[1])
    cuts = intersection_all(leaf.cuts for leaf in leaves)
    return Leaf(leaves[0].attribute, cuts, all(leaf.null for leaf in leaves))


def join_all(leaves: Sequence[Leaf]) -> Leaf:
    """What any of some leaves of one attribute accepts."""
    if len(leaves) == 2:
        left, right = leaves
        return Leaf(left.attribute, union(left.cuts, right.cuts), left.null or right.null)
    cuts = union_all(leaf.cuts for leaf in leaves)
    return Leaf(leaves[0].attribute, cuts, any(leaf.null for leaf in leaves))


def accepts_only(narrow: Leaf, wide: Leaf) -> bool:
    """Whether the wide leaf of the same attribute accepts all that the narrow one does."""
    return (wide.null or not narrow.null) and is_subset(narrow.cuts, wide.cuts)


def anything(attribute: str) -> Leaf:
    """The leaf that an absent constraint stands for."""
    return Leaf(attribute, FULL, True)


def nothing(attribute: str) -> Leaf:
    """The leaf that no event passes."""
    return Leaf(attribute, EMPTY, False)
