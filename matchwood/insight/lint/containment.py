"""For each conjunction the first one, in rule order, that it contains: the compiled part of `lint`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import EncodedConjunctions
from matchwood.insight.lint import _kernels as kernels

EFFORT = 200_000
"""What is spent on one conjunction before the search gives up on it, some 0.1 ms: a million take two minutes."""


class Contained(NamedTuple):
    """`first[c]` is a conjunction that conjunction c contains, -1 if none was found; `gave_up` were not searched."""

    first: NDArray[np.int64]
    gave_up: int


def contained(conjunctions: EncodedConjunctions, order: NDArray[np.int64], budget: int = EFFORT) -> Contained:
    """Search with every conjunction whose order is at least 0 for the ones that contain it."""
    offsets, attributes, pieces = conjunctions.offsets, conjunctions.attributes, conjunctions.pieces
    highest = int(attributes.max()) + 1 if len(attributes) else 0
    uses = np.bincount(attributes, minlength=highest).astype(np.int64)
    access = np.empty(conjunctions.count, np.int64)
    kernels.access_constraints(offsets, attributes, pieces, conjunctions.low, conjunctions.high, uses, access)
    keys, starts, units, levels = _lists(access, conjunctions, highest)
    signatures = np.empty(conjunctions.count, np.uint64)
    kernels.attribute_signatures(offsets, attributes, signatures)
    first = np.full(conjunctions.count, -1, np.int64)
    lists = kernels.BlockLists(keys, starts, units, signatures[units], levels)
    gave_up = kernels.find_contained(conjunctions, lists, signatures, order, budget, first)
    return Contained(first, gave_up)


def _lists(
    access: NDArray[np.int64], conjunctions: EncodedConjunctions, highest: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The lists of conjunctions by the blocks of their access constraints, and the levels that each attribute uses."""
    _, attributes, accepts_null, pieces, low, high, _ = conjunctions
    nowhere = np.empty(0, np.int64)
    count = kernels.post(access, attributes, accepts_null, pieces, low, high, nowhere, nowhere)
    keys, units = np.empty(count, np.int64), np.empty(count, np.int64)
    kernels.post(access, attributes, accepts_null, pieces, low, high, keys, units)
    order = np.argsort(keys, kind="stable")
    distinct, starts = np.unique(keys[order], return_index=True)
    codes = distinct & (2**32 - 1)
    blocks = codes > kernels.NULL_CODE
    levels = np.zeros(highest, np.int64)
    np.bitwise_or.at(levels, distinct[blocks] >> 32, np.int64(1) << (32 - np.frexp(codes[blocks])[1]))
    return distinct, np.append(starts, count).astype(np.int64), units[order], levels
