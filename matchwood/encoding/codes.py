"""The integers that engines see: the whole seam between the encoding and the engines.

An attribute is a small number. A *space* of an attribute is named by the label of its lower
boundary: labels are ordered like the values, and leave gaps, so that a new boundary between two old
ones changes neither of theirs. A predicate is a set of half-open label intervals `[low, high)`; a
value is the label of the space that it falls into. NULL and a missing attribute have no code: the
pair is absent from the event.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BOTTOM_LABEL = 0
"""The label of every attribute's first space; an interval from the start of the domain begins here."""

TOP_LABEL = 2**31 - 1
"""The label that ends an interval which reaches to the end of the domain; no space has it."""

NULL_LABEL = -1
"""What a dense array of labels holds for an attribute that the event lacks; below every interval."""


class EncodedEvents(NamedTuple):
    """A batch of events: event e has the pairs offsets[e] : offsets[e + 1], ordered by attribute."""

    offsets: NDArray[np.int64]
    attributes: NDArray[np.int32]
    labels: NDArray[np.int32]

    @property
    def count(self) -> int:  # type: ignore[override]
        return len(self.offsets) - 1


NO_ALTERNATIVES: NDArray[np.bool_] = np.empty(0, np.bool_)
NO_ALTERNATIVES.flags.writeable = False


class EncodedConjunctions(NamedTuple):
    """A batch of conjunctions, in three levels: conjunction, constraint, interval.

    Conjunction c has the constraints offsets[c] : offsets[c + 1], ordered by attribute, each
    attribute at most once. Constraint k tests attributes[k], holds for NULL if accepts_null[k], and
    has the intervals pieces[k] : pieces[k + 1], disjoint and increasing (none: only NULL passes).
    No constraint holds for everything. A conjunction without constraints is always true.

    With `alternatives` they are conjunctions of clauses: constraint k is an alternative to the one before it if
    alternatives[k], and begins a clause, one constraint of which must hold, if not. The order is then that of the
    clauses, and an attribute may come back in another clause. An empty array says that every clause is one constraint.
    """

    offsets: NDArray[np.int64]
    attributes: NDArray[np.int32]
    accepts_null: NDArray[np.bool_]
    pieces: NDArray[np.int64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    alternatives: NDArray[np.bool_] = NO_ALTERNATIVES

    @property
    def count(self) -> int:  # type: ignore[override]
        return len(self.offsets) - 1


class EncodedRows(NamedTuple):
    """The same conjunctions by their distinct leaves: many rules have few of them.

    Conjunction c has the constraints of leaf_of[offsets[c] : offsets[c + 1]], ordered by attribute.

    `leaves`  the constraint of each distinct leaf, as a conjunction of its own; all of them have uses
    `uses`    how many conjunctions have each
    """

    offsets: NDArray[np.int64]
    leaf_of: NDArray[np.int32]
    leaves: EncodedConjunctions
    uses: NDArray[np.int64]

    @property
    def count(self) -> int:  # type: ignore[override]
        return len(self.offsets) - 1


LEAF, AND, OR, NOT, XOR, XNOR, PREDICATE = range(1, 8)
"""Kinds of nodes. A leaf's constraint holds or does not; that of a predicate is neither, but unknown, for NULL.

Forms in which only what is TRUE matters have leaves, AND and OR. The other kinds belong to three-valued ones: XOR tells
whether the number of its TRUE operands is odd, XNOR whether it is even; both are unknown if one of them is.
"""

ALWAYS_TRUE = -1
"""The root of a form that is TRUE of every event."""


class EncodedForms(NamedTuple):
    """A batch of rules as one DAG. Its nodes are the leaves, then the inner ones, children before their parents.

    `constraints`    one for each distinct leaf of the batch, as a conjunction of its own
    `leaf_kinds`     of each leaf: LEAF or PREDICATE
    `kinds`          of each inner node
    `child_offsets`  the i-th inner node has children[child_offsets[i] : child_offsets[i + 1]], distinct nodes
    `roots`          for each rule its node, or ALWAYS_TRUE
    """

    constraints: EncodedConjunctions
    leaf_kinds: NDArray[np.int8]
    kinds: NDArray[np.int8]
    child_offsets: NDArray[np.int64]
    children: NDArray[np.int32]
    roots: NDArray[np.int32]

    @property
    def count(self) -> int:  # type: ignore[override]
        return len(self.roots)
