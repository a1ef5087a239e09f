"""Many forms in columns, on their way to one DAG of integers: what `forms.py` does with forms that are objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import codes
from matchwood.encoding.rules._form_kernels import number_children
from matchwood.encoding.rules.flattening import Flat, LeafRows, flatten, running
from matchwood.logic import AND, OR, Form, FormShapes

_CODES = np.zeros(max(AND, OR) + 1, np.int8)
_CODES[AND], _CODES[OR] = codes.AND, codes.OR


class FlatDag(NamedTuple):
    """The fields of `EncodedForms`, with leaves in the place of their constraints, each of them a row."""

    leaves: Flat
    kinds: NDArray[np.int8]
    child_offsets: NDArray[np.int64]
    children: NDArray[np.int32]
    roots: NDArray[np.int32]


class FlatForms(NamedTuple):
    """Forms, none of them constantly FALSE; one that is constantly TRUE has no leaves.

    `rows`    the leaves of each
    `shapes`  what stands above them
    """

    rows: Flat
    shapes: FormShapes

    @classmethod
    def of(cls, forms: Sequence[Form]) -> FlatForms:
        """Forms that were made one by one."""
        return cls(flatten(LeafRows.of([form.leaves for form in forms])), FormShapes.of(forms))

    def joined(self, other: FlatForms, order: NDArray[np.int64]) -> FlatForms:
        """The forms of both in the given order, those of the other one numbered behind these."""
        rows = self.rows.joined(other.rows, order).with_equal_leaves_once()
        return FlatForms(rows, self.shapes.joined(other.shapes, order))

    def dag(self, shared: bool) -> FlatDag:
        """Number the leaves of all forms together, and behind them the other nodes, form by form.

        Equal leaves of different forms are one leaf if they are to be `shared`.
        """
        rows, shapes = self.rows, self.shapes
        leaf_of = rows.leaf_of if shared else np.arange(len(rows.leaf_of), dtype=np.int32)
        count = len(rows.sizes) if shared else len(leaf_of)
        held = np.arange(count, dtype=np.int32) if shared else rows.leaf_of
        children = np.empty(len(shapes.children), np.int32)
        number_children(
            rows.lengths, leaf_of, count, shapes.node_counts, shapes.child_counts, shapes.children, children
        )  # fmt: skip
        return FlatDag(
            rows._replace(lengths=np.ones(count, np.int64), leaf_of=held),
            _CODES[shapes.kinds],
            running(shapes.child_counts.astype(np.int64)),
            children,
            self._roots(leaf_of, count),
        )

    def _roots(self, leaf_of: NDArray[np.int32], leaves: int) -> NDArray[np.int32]:
        """The last inner node of each form, its only leaf, or ALWAYS_TRUE."""
        lengths, nodes = self.rows.lengths, self.shapes.node_counts
        roots = leaves + np.cumsum(nodes, dtype=np.int64) - 1
        alone = nodes == 0
        roots[alone] = codes.ALWAYS_TRUE
        alone &= lengths == 1
        roots[alone] = leaf_of[running(lengths)[:-1][alone]]
        return roots.astype(np.int32)
