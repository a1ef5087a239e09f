"""The arrays of a `FormStore`, and what must hold of them before a kernel may read them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.engines._form_kernels import OR
from matchwood.engines._records import check_records
from matchwood.engines._views import require, require_offsets, require_range


class Forms(NamedTuple):
    """The arrays that kernels read. Unit u has the records offsets[u] : offsets[u + 1], one for each of its
    constraints, and the nodes node_offsets[u] : node_offsets[u + 1], children before their parents.

    `records`, `intervals`  as `_record_kernels` describes
    `nodes`                 a leaf's constraint, counted within its form; AND (-1) or OR (-2) otherwise
    `child_offsets`         node n has children[child_offsets[n] : child_offsets[n + 1]]
    `children`              nodes, counted within their form
    """

    offsets: NDArray[np.int64]
    records: NDArray[np.int32]
    intervals: NDArray[np.int32]
    node_offsets: NDArray[np.int64]
    nodes: NDArray[np.int32]
    child_offsets: NDArray[np.int64]
    children: NDArray[np.int32]


FORM_ARRAYS: dict[str, type] = {
    "offsets": np.int64,
    "records": np.int32,
    "intervals": np.int32,
    "node_offsets": np.int64,
    "nodes": np.int32,
    "child_offsets": np.int64,
    "children": np.int32,
}
"""The arrays by name, in the order of `Forms`, and their types."""


def check_forms(view: Forms, attributes: int, most_nodes: int) -> None:
    """Refuse arrays that could lead a kernel out of them."""
    require(len(view.child_offsets) == len(view.nodes) + 1, "'child_offsets' does not fit the nodes")
    check_records(view.offsets, view.records, view.intervals, attributes)
    require_offsets(view.node_offsets, len(view.nodes), "node_offsets")
    require_offsets(view.child_offsets, len(view.children), "child_offsets")
    sizes, constraints = np.diff(view.node_offsets), np.diff(view.offsets)
    require_range(sizes, 1, most_nodes + 1, "node counts")
    require(int(sizes.max(initial=0)) == most_nodes, "the largest form is misjudged")
    require((view.nodes >= OR).all(), "a node is neither leaf, AND nor OR")
    require((view.nodes < np.repeat(constraints, sizes)).all(), "a leaf has no constraint")
    within = np.arange(len(view.nodes)) - np.repeat(view.node_offsets[:-1], sizes)
    parents = np.repeat(within, np.diff(view.child_offsets))
    require(((view.children >= 0) & (view.children < parents)).all(), "a node comes before its children")
