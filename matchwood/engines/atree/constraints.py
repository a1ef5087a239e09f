"""What an A-Tree does with the constraints of all its leaves: read them, check them, relabel and renumber them.

SIGMOD 2021, ours: the paper's leaves are predicates, of which these are what is left once values have become labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from matchwood.core import require, require_range
from matchwood.encoding import TOP_LABEL, EncodedConjunctions
from matchwood.engines.atree._constraint_kernels import read_leaves, relabel_leaves
from matchwood.engines.atree.layout import FIRST, FLAG_BITS, INTERVALS, ROOM, SEVERAL, SIZE, WIDTH
from matchwood.engines.shared.views import read_only
from matchwood.errors import InvalidArgument

if TYPE_CHECKING:
    from matchwood.engines.atree.nodes import TreeNodes


def constraints_of(nodes: TreeNodes, leaves: NDArray[np.int32]) -> EncodedConjunctions:
    """The constraints of leaves, also of dead ones, each a conjunction of its own."""
    count, fields = len(leaves), nodes.fields()[leaves]
    several = fields[:, ROOM] & SEVERAL != 0
    pieces = np.zeros(count + 1, np.int64)
    np.cumsum(np.where(several, fields[:, SIZE] - fields[:, FIRST], 1), out=pieces[1:])
    total = int(pieces[-1])
    found = EncodedConjunctions(
        np.arange(count + 1, dtype=np.int64),
        np.empty(count, np.int32),
        np.empty(count, np.bool_),
        pieces,
        np.empty(total, np.int32),
        np.empty(total, np.int32),
    )
    columns = nodes.columns
    read_leaves(columns["nodes"].view(), columns["intervals"].view(), read_only(leaves, np.int32), found)
    return found


def check_constraints(nodes: TreeNodes, leaves: NDArray[np.int32]) -> None:
    """Refuse constraints that could lead a kernel out of its arrays."""
    fields, count = nodes.fields()[leaves], int(nodes.state[INTERVALS])
    intervals = nodes.columns["intervals"].view()[: 2 * count]
    codes, first, last = (fields[:, field] for field in (ROOM, FIRST, SIZE))
    several = codes & SEVERAL != 0
    require(not len(codes) or int(codes.min()) >= 0, "an attribute is negative")
    for ends in (first[several], last[several]):
        require_range(ends, 0, count + 1, "interval positions")
    require(bool((first[several] <= last[several]).all()), "a constraint's intervals end before they start")
    for labels in (first[~several], last[~several], intervals):
        require_range(labels, 0, TOP_LABEL + 1, "labels")


def relabel(nodes: TreeNodes, attribute: int, old: NDArray[np.int32], new: NDArray[np.int32]) -> None:
    """Replace the labels of one attribute in all leaves; those not in `old` stay."""
    order, leaves = np.argsort(old, kind="stable"), read_only(nodes.leaves(), np.int32)
    columns = nodes.columns
    relabel_leaves(
        columns["nodes"].writable(), columns["intervals"].writable(), leaves, attribute,
        read_only(old[order], np.int32), read_only(new[order], np.int32),
    )  # fmt: skip


def renumber(nodes: TreeNodes, numbers: NDArray[np.int32]) -> int:
    """Give the attributes of all leaves the numbers[old], which are in the same order; returns one more than the
    largest."""
    leaves = nodes.leaves()
    codes = nodes.fields()[leaves, ROOM]
    moved = np.asarray(numbers, np.int32)[codes >> FLAG_BITS]
    if len(moved) and int(moved.min()) < 0:
        raise InvalidArgument("an attribute that is in use has no new number")
    places = WIDTH * leaves.astype(np.int64) + ROOM
    nodes.columns["nodes"].writable()[places] = moved << FLAG_BITS | codes & ((1 << FLAG_BITS) - 1)
    return int(moved.max(initial=-1)) + 1
