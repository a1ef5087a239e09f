"""Unions built in steps of some milliseconds, so that nobody who matches meanwhile waits for more than one."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Growable
from matchwood.engines.shared.store import Conjunctions
from matchwood.engines.shared.unions._build_kernels import (
    ENTRY,
    carry_rows,
    count_boundaries,
    count_entries,
    count_fails,
    join_nodes,
    write_boundaries,
    write_units,
)
from matchwood.engines.shared.unions.layout import UnionArrays
from matchwood.engines.shared.unions.unions import UnionPlan, Unions
from matchwood.engines.shared.views import read_only

STEP_CONSTRAINTS, STEP_WORDS, STEP_SORTED = 2**15, 2**20, 2**16
"""What a step looks at: constraints, words of rows, or boundaries that are sorted."""

_SAMPLED = 2**14
"""Boundaries of an attribute that its cells are cut by, about."""


class _Cells(NamedTuple):
    """Where the labels of each attribute are cut, as in `UnionArrays`."""

    firsts: NDArray[np.int64]
    edge_firsts: NDArray[np.int64]
    edges: NDArray[np.int32]


class _Asked(NamedTuple):
    """What unions are built of: `places` has the place among the plan's attributes of each that there is, or -1."""

    conjunctions: Conjunctions
    units: NDArray[np.int32]
    plan: UnionPlan
    places: NDArray[np.int32]

    def slices(self, stride: int = 1) -> Iterator[NDArray[np.int32]]:
        """The units, or each `stride`-th of them, so many at a time as a step looks at."""
        units = self.units[::stride]
        size = max(1, STEP_CONSTRAINTS * len(self.units) // max(1, self.plan.constraints))
        return (read_only(units[at : at + size], np.int32) for at in range(0, len(units), size))


def build_steps(
    conjunctions: Conjunctions, units: NDArray[np.int32], plan: UnionPlan, attributes: int
) -> Iterator[Unions | None]:
    """Build the unions of these units by a plan: None after each step, and at last the unions.

    `attributes` is how many there are in all. Between steps units may come and go, which is for the caller to note; the
    labels of these must not change.
    """
    places = np.full(attributes, -1, np.int32)
    places[plan.attributes] = np.arange(len(plan.attributes))
    asked = _Asked(conjunctions, units, plan, read_only(places, np.int32))
    cells = yield from _cut(asked)
    rows, words = int(cells.firsts[-1]) + 2 * len(plan.attributes), plan.words
    counts = np.zeros(rows + 1, np.int64)
    for some in asked.slices():
        count_entries(conjunctions, some, asked.places, cells, counts[1:])
        yield None
    starts = np.cumsum(counts)
    bits, base, loose = (np.zeros(count * words, np.uint64) for count in (rows, 1, 1))
    entries, ends, loose_units = np.empty(ENTRY * int(starts[-1]), np.int32), starts[:-1].copy(), 0
    for some in asked.slices():
        loose_units += int(
            write_units(conjunctions, some, asked.places, cells, words, bits, ends, entries, base, loose)
        )
        yield None
    fails = np.empty(rows, np.int32)
    yield from _finish_rows(cells.firsts, words, bits, fails)
    made = Unions()
    made.words, made.units, made.loose_units = words, len(units), loose_units
    rest = bits, fails, starts, entries, base, loose, np.empty(0, np.int32)
    arrays: tuple[NDArray[Any], ...] = (plan.attributes, *cells, *rest)
    for name, array in zip(UnionArrays._fields, arrays, strict=True):
        setattr(made, name, Growable(array.dtype, array))
    yield made


def _finish_rows(
    firsts: NDArray[np.int64], words: int, bits: NDArray[np.uint64], fails: NDArray[np.int32]
) -> Iterator[None]:
    """Turn marks into bits, join the nodes of the tree, count."""
    tree, attributes, size = int(firsts[-1]), len(firsts) - 1, max(1, STEP_WORDS // words)
    is_first = np.zeros(tree + 1, np.bool_)
    is_first[firsts] = True
    for start in range(0, tree, size):
        carry_rows(is_first, words, bits, start, min(start + size, tree))
        yield None
    for highest in range(attributes - 1, 0, -size):
        join_nodes(tree, words, bits, highest, max(1, highest - size + 1))
        yield None
    for start in range(0, len(fails), size):
        count_fails(words, bits, fails, start, min(start + size, len(fails)))
        yield None


def _cut(asked: _Asked) -> Generator[None, None, _Cells]:
    """Cells of about as many boundaries each; every space is one where there is room for that."""
    plan = asked.plan
    samples = yield from _boundaries(asked, max(1, 2 * plan.constraints // max(1, _SAMPLED * len(plan.attributes))))
    wanted = np.array([1 + len(_distinct(sample)) for sample in samples], np.int64)
    granted = shared_out(wanted, plan.counts, plan.cells)
    edges = [_edges(sample, cells) for sample, cells in zip(samples, granted.tolist(), strict=True)]
    yield None
    edge_firsts = np.cumsum([0, *map(len, edges)], dtype=np.int64)
    firsts = edge_firsts + np.arange(len(edges) + 1)
    joined = np.concatenate([np.empty(0, np.int32), *edges])
    return _Cells(read_only(firsts, np.int64), read_only(edge_firsts, np.int64), read_only(joined, np.int32))


def _boundaries(asked: _Asked, stride: int) -> Generator[None, None, list[NDArray[np.int32]]]:
    """The ends of the intervals of each `stride`-th unit, sorted, for each attribute that has a place."""
    counts = np.zeros(len(asked.plan.attributes), np.int64)
    for some in asked.slices(stride):
        count_boundaries(asked.conjunctions, some, asked.places, counts)
        yield None
    ends = np.cumsum(counts)
    starts, found = ends - counts, np.empty(int(counts.sum()), np.int32)
    written = starts.copy()
    for some in asked.slices(stride):
        write_boundaries(asked.conjunctions, some, asked.places, written, found)
        yield None
    ordered, sorted_now = [], 0
    for start, stop in zip(starts.tolist(), ends.tolist(), strict=True):
        ordered.append(np.sort(found[start:stop]))
        sorted_now += stop - start
        if sorted_now > STEP_SORTED:
            sorted_now = 0
            yield None
    return ordered


def shared_out(wanted: NDArray[np.int64], weights: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Of `total`, to each what it wants or a share by its weight, at least 1; what one leaves goes to the others.

    >>> shared_out(np.array([2, 100, 100]), np.array([10, 10, 20]), 32).tolist()
    [2, 10, 20]
    """
    granted, left, weight = np.empty(len(wanted), np.int64), total, int(weights.sum())
    for place in np.argsort(wanted / weights, kind="stable"):
        granted[place] = max(1, min(wanted[place], left * int(weights[place]) // weight))
        left, weight = left - int(granted[place]), weight - int(weights[place])
    return granted


def _edges(sample: NDArray[np.int32], cells: int) -> NDArray[np.int32]:
    """At most so many cells need one edge fewer; sorted boundaries that come often are edges of their own."""
    distinct = _distinct(sample)
    return distinct if len(distinct) < cells else _distinct(sample[np.arange(1, cells) * len(sample) // cells])


def _distinct(ordered: NDArray[np.int32]) -> NDArray[np.int32]:
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    found: NDArray[np.int32] = ordered[is_first]
    return found
