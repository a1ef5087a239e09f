"""Clusters: every unit where one of its clauses leads to it, with all that else must hold, side by side.

A unit is true only if each of its clauses is. So it is enough to look at it when its *access clause* is: the one that
is least likely true. An event's keys lead to the predicates that hold, and these to their clusters. Each distinct
predicate is evaluated at most once an event, when a unit first asks for it, and the tests of a cluster are read in
sequence.

How likely a predicate is true is told from the rules alone, since an index is mostly built before it sees events: an
attribute that rules name more often is taken to be in more events (as the square root), and the values between any two
boundaries of an attribute to be equally likely.

VLDB 2009, ours, in the place of sections 3 and 4: `direct=True`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in, require
from matchwood.encoding import BOTTOM_LABEL, TOP_LABEL, EncodedConjunctions
from matchwood.engines.kindex._cluster_kernels import distinct_predicates, promise_of_units, write_clusters, write_keys
from matchwood.engines.kindex.build import key_table
from matchwood.engines.kindex.layout import EMPTY, AccessArrays
from matchwood.engines.shared.bounds import UnitBounds
from matchwood.engines.shared.constraints._word_kernels import LAST
from matchwood.engines.shared.constraints.words import constraint_counts, unpacked
from matchwood.engines.shared.store import Conjunctions
from matchwood.engines.shared.views import read_only

PRESENCE_ROOT = 0.5
"""Of the paper's workload, 1,461 attributes by Zipf, whose events follow a root of 0.4."""


def access_arrays(
    conjunctions: Conjunctions, attributes: int, units: NDArray[np.int32], bounds: UnitBounds | None
) -> AccessArrays:
    """Clusters over these units; without bounds, a unit promises whatever one asks for."""
    units, promises = _by_promise(conjunctions, units, bounds)
    numbers, predicates = _predicates(conjunctions, units)
    encoded = _encoded(conjunctions, predicates)
    _check_labels(encoded)
    chances = _chances(encoded, numbers, attributes)
    offsets, stream = _clusters(conjunctions, units, promises, numbers, chances)
    posted = np.flatnonzero(np.diff(offsets)[:-1]).astype(np.int32)
    keys, owners = _keys(conjunctions, predicates, posted)
    order = np.argsort(keys, kind="stable")
    distinct, first = np.unique(keys[order], return_index=True)
    table, levels = key_table(distinct, attributes)
    laid = AccessArrays(
        predicates, table, distinct, np.append(first, len(keys)), levels, owners[order], offsets, stream,
        stream.view(np.float32),
    )  # fmt: skip
    return AccessArrays(*(read_only(array, array.dtype) for array in laid))


def _by_promise(
    conjunctions: Conjunctions, units: NDArray[np.int32], bounds: UnitBounds | None
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The units, those that promise most first, and the bits of what they promise, rounded up."""
    promises = np.full(len(units), np.inf)
    if bounds is not None:
        promise_of_units(conjunctions, bounds, units, promises)
    order = np.argsort(-promises, kind="stable")
    with np.errstate(over="ignore"):
        rounded = np.nextafter(promises[order].astype(np.float32), np.float32(np.inf))
    return read_only(units[order], np.int32), read_only(rounded.view(np.int32), np.int32)


def _predicates(conjunctions: Conjunctions, units: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """The number of the predicate of each constraint, unit after unit, and the predicates."""
    total = int(_counts(conjunctions, units).sum())
    numbers, predicates, size = np.empty(total, np.int32), np.empty(total, np.uint32), 16
    while size < 2 * total:
        size *= 2
    count = distinct_predicates(conjunctions, units, np.full(size, EMPTY, np.int32), numbers, predicates)
    return read_only(numbers, np.int32), read_only(predicates[:count].copy(), np.uint32)


def _counts(conjunctions: Conjunctions, units: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many constraints each of these units has."""
    return constraint_counts(conjunctions.places, conjunctions.words, units)


def _encoded(conjunctions: Conjunctions, predicates: NDArray[np.uint32]) -> EncodedConjunctions:
    """What predicates say, each as a conjunction of its own."""
    every = read_only(np.arange(len(predicates)), np.int32)
    words = read_only(predicates | np.uint32(LAST), np.uint32)
    return unpacked(every, words, conjunctions.sets, conjunctions.bits, every)


def _check_labels(predicates: EncodedConjunctions) -> None:
    """Refuse intervals that have no blocks: of a damaged store, which checks no more than its positions."""
    low, high = predicates.low, predicates.high
    require(bool(((low >= BOTTOM_LABEL) & (low < high)).all()), "an interval ends before it starts")


def _chances(predicates: EncodedConjunctions, numbers: NDArray[np.int32], attributes: int) -> NDArray[np.float64]:
    """How likely each predicate is true."""
    named, weak = predicates.attributes.astype(np.int64), predicates.accepts_null
    owners = np.repeat(np.arange(len(named)), np.diff(predicates.pieces))
    starts, stops = predicates.low + (named[owners] << 32), predicates.high + (named[owners] << 32)
    ends = np.arange(attributes) << 32
    edges = np.unique(np.concatenate((starts, stops, ends + BOTTOM_LABEL, ends + TOP_LABEL)))
    covered = places_in(edges, stops) - places_in(edges, starts)
    cells = np.bincount(edges >> 32, minlength=attributes) - 1
    share = np.bincount(owners, covered, len(named)) / cells[named]
    uses = np.bincount(named[numbers[~weak[numbers]]], minlength=attributes)
    presence = ((uses / max(1, uses.max(initial=0))) ** PRESENCE_ROOT)[named]
    return np.asarray(np.where(weak, 1 - presence * (1 - share), presence * share))


def _clusters(
    conjunctions: Conjunctions, units: NDArray[np.int32], promises: Any, numbers: Any, chances: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Where the entries of each predicate begin, and all entries."""
    most = int(_counts(conjunctions, units).max(initial=0))
    ends = np.zeros(len(chances) + 1, np.int64)
    asked = (conjunctions, units, promises, numbers, read_only(chances, np.float64), most)
    write_clusters(*asked, ends, np.empty(0, np.int32))
    offsets = np.concatenate(([0], np.cumsum(ends)))
    stream = np.empty(int(offsets[-1]), np.int32)
    write_clusters(*asked, offsets[:-1].copy(), stream)
    return offsets, stream


def _keys(
    conjunctions: Conjunctions, predicates: NDArray[np.uint32], posted: NDArray[np.int32]
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """The keys of the predicates that lead to units, and whose they are."""
    asked = (predicates, conjunctions.sets, conjunctions.bits, read_only(posted, np.int32))
    count = write_keys(*asked, np.empty(0, np.uint64), np.empty(0, np.int32))
    keys, owners = np.empty(count, np.uint64), np.empty(count, np.int32)
    write_keys(*asked, keys, owners)
    return keys, owners
