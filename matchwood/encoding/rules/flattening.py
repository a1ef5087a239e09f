"""Conjunctions laid out flat, and put together again from labels: the parts of encoding that are plain array work.

A leaf's cuts become pieces `[low, high)`: cuts at even positions begin one, those at odd positions end it, and a
piece that nothing ends reaches to TOP_LABEL. A leaf that many conjunctions share, as the same object, is taken apart
once. All work on single leaves is done by loops in C.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import pooled
from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL, EncodedConjunctions, EncodedRows
from matchwood.encoding.rules._flat_kernels import (
    count_uses,
    count_values,
    fill_constraints,
    fill_pieces,
    sort_leaves,
)
from matchwood.logic import CutSet, Leaf


class LeafRows(NamedTuple):
    """Conjunctions as numbers of leaves: each leaf stands once, in the order in which they first come.

    `lengths`  leaves of each conjunction
    `leaf_of`  for each of these leaves, one conjunction after the other, its place among the distinct ones
    `keys`, `cuts`, `nulls`  the attribute, the values, and whether NULL is accepted, of each distinct leaf
    """

    lengths: NDArray[np.int64]
    leaf_of: NDArray[np.int32]
    keys: list[str]
    cuts: list[CutSet]
    nulls: NDArray[np.bool_]

    @classmethod
    def of(cls, conjunctions: Sequence[Sequence[Leaf]]) -> LeafRows:
        """Leaves that are the same object are one."""
        lengths = np.fromiter(map(len, conjunctions), np.int64, len(conjunctions))
        every = list(chain.from_iterable(conjunctions))
        identities = list(map(id, every))
        leaf_by_id = dict(zip(identities, every, strict=True))
        place_by_id = {identity: place for place, identity in enumerate(leaf_by_id)}
        leaf_of = np.fromiter(map(place_by_id.__getitem__, identities), np.int32, len(every))
        leaves = leaf_by_id.values()
        # Not zip(*leaves): a million iterators at once keep the garbage collector busy for most of the time.
        nulls = np.fromiter([leaf[2] for leaf in leaves], np.bool_, len(leaves))
        return cls(lengths, leaf_of, [leaf[0] for leaf in leaves], [leaf[1] for leaf in leaves], nulls)


class Flat(NamedTuple):
    """The rows of many conjunctions, and the values in the cuts of their leaves.

    `lengths`, `leaf_of`  as in LeafRows
    `keys`     the distinct attribute keys
    `key_of`   for each distinct leaf, the position of its key
    `nulls`    for each, whether it accepts NULL
    `sizes`    for each, its number of cuts
    `starts`   for each cut, whether it is START (and has no value)
    `value_of` for each other cut, the place of its value
    `values`   the boundaries there as spaces take them; `value_keys` the positions of their keys
    """

    lengths: NDArray[np.int64]
    leaf_of: NDArray[np.int32]
    keys: list[str]
    key_of: NDArray[np.int64]
    nulls: NDArray[np.bool_]
    sizes: NDArray[np.int64]
    starts: NDArray[np.bool_]
    value_of: NDArray[np.int64]
    values: list[Any]
    value_keys: NDArray[np.int64]

    def joined(self, other: Flat, order: NDArray[np.int64]) -> Flat:
        """The conjunctions of both in the given order, those of the other one numbered behind these."""
        lengths = np.concatenate((self.lengths, other.lengths))
        begins = running(lengths)[:-1][order]
        leaf_of = np.concatenate((self.leaf_of, other.leaf_of + len(self.sizes)))
        lengths = lengths[order]
        leaf_of = leaf_of[np.arange(len(leaf_of)) + np.repeat(begins - running(lengths)[:-1], lengths)]
        leaf_places, kept = by_first_use(leaf_of)
        names = self.keys + other.keys
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        numbers = np.array([places[name] for name in names], np.int64)
        key_of = numbers[np.concatenate((self.key_of, other.key_of + len(self.keys)))[kept]]
        key_of, used = by_first_use(key_of)
        distinct = list(places)
        nulls = np.concatenate((self.nulls, other.nulls))[kept]
        sizes, starts, values = _cuts_of(kept, *_both_cuts(self, other))
        value_keys = np.repeat(key_of, sizes)[~starts]
        names = [distinct[at] for at in used.tolist()]
        leaf_of = leaf_places.astype(np.int32)
        return Flat(lengths, leaf_of, names, key_of, nulls, sizes, starts, _each(values), values, value_keys)

    def with_equal_leaves_once(self) -> Flat:
        """The same in which leaves that say the same are one, as those that were joined may not be."""
        same_values = {value: place for place, value in enumerate(dict.fromkeys(self.values))}
        places = np.fromiter(map(same_values.__getitem__, self.values), np.int64, len(self.values))
        cuts = np.full(len(self.starts), _START, np.int64)
        cuts[~self.starts] = places[self.value_of]
        ends = np.cumsum(self.sizes).tolist()
        sets = [cuts[end - size : end].tobytes() for size, end in zip(self.sizes.tolist(), ends, strict=True)]
        contents = list(zip(self.key_of.tolist(), self.nulls.tolist(), sets, strict=True))
        firsts = dict(zip(reversed(contents), range(len(contents) - 1, -1, -1), strict=True))
        leaf_places, kept = by_first_use(np.array([firsts[each] for each in contents], np.int64)[self.leaf_of])
        leaf_of = leaf_places.astype(np.int32)
        sizes, starts, values = _cuts_of(kept, self.sizes, self.starts, self.value_of, self.values)
        key_of = self.key_of[kept]
        value_keys = np.repeat(key_of, sizes)[~starts]
        return Flat(
            self.lengths, leaf_of, self.keys, key_of, self.nulls[kept], sizes, starts, _each(values), values, value_keys
        )  # fmt: skip

    def value_counts(self, uses: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many leaves of all conjunctions have each value, by how many conjunctions have each leaf."""
        counts = np.zeros(len(self.values), np.int64)
        count_values(uses, self.sizes, self.starts, self.value_of, counts)
        return counts

    def uses(self) -> NDArray[np.int64]:
        """How many conjunctions have each leaf."""
        uses = np.zeros(len(self.sizes), np.int64)
        count_uses(self.leaf_of, uses)
        return uses


_START = -1
"""In the place of a value, for the cut that has none."""


def by_first_use(numbers: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each number its place among the distinct ones, in the order in which they first come; and these.

    >>> [part.tolist() for part in by_first_use(np.array([7, 3, 7, 5]))]
    [[0, 1, 0, 2], [7, 3, 5]]
    """
    distinct, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places[inverse], distinct[order]


def _both_cuts(left: Flat, right: Flat) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64], list[Any]]:
    """The fields of the cuts of two, numbered one behind the other."""
    value_of = np.concatenate((left.value_of, right.value_of + len(left.values)))
    sizes, starts = np.concatenate((left.sizes, right.sizes)), np.concatenate((left.starts, right.starts))
    return sizes, starts, value_of, left.values + right.values


def _cuts_of(
    leaves: NDArray[np.int64],
    every: NDArray[np.int64],
    starts: NDArray[np.bool_],
    value_of: NDArray[np.int64],
    values: list[Any],
) -> tuple[NDArray[np.int64], NDArray[np.bool_], list[Any]]:
    """The sizes, the starts and a value for each cut of some leaves; `every` has the sizes of all."""
    sizes = every[leaves]
    taken = np.arange(int(sizes.sum())) + np.repeat(running(every)[leaves] - running(sizes)[:-1], sizes)
    inner = value_of[(np.cumsum(~starts) - 1)[taken][~starts[taken]]]
    return sizes, starts[taken], [values[at] for at in inner.tolist()]


def flatten(rows: LeafRows) -> Flat:
    """Take the leaves apart."""
    keys, cuts = rows.keys, rows.cuts
    distinct = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    points = list(chain.from_iterable(cuts))
    key_of = np.fromiter(map(distinct.__getitem__, keys), np.int64, len(keys))
    sizes = np.fromiter(map(len, cuts), np.int64, len(cuts))
    starts = np.fromiter(map(len, points), np.int8, len(points)) == 0
    values = [cut if cut[1] else cut[0] for cut in points if cut]
    value_keys = np.repeat(key_of, sizes)[~starts]
    return Flat(
        rows.lengths, rows.leaf_of, list(distinct), key_of, rows.nulls, sizes, starts, _each(values), values, value_keys
    )  # fmt: skip


def _each(values: list[Any]) -> NDArray[np.int64]:
    """The places of values that stand once for each cut."""
    return np.arange(len(values))


def assemble(
    flat: Flat, numbers: NDArray[np.int32], labels: NDArray[np.int32], uses: NDArray[np.int64], ordered: bool
) -> EncodedRows:
    """Put conjunctions together: `numbers` by key, `labels` by value; `ordered` by attribute within each."""
    counts = (flat.sizes + 1) // 2
    pieces, ends = pooled(len(counts) + 1, np.int64), pooled(2 * int(counts.sum()), np.int32).reshape(-1, 2)
    fill_pieces(flat.sizes, flat.starts, flat.value_of, labels, BOTTOM_LABEL, TOP_LABEL, pieces, ends.reshape(-1))
    attributes, offsets, leaf_of = numbers[flat.key_of], running(flat.lengths), flat.leaf_of
    if ordered:
        leaf_of = pooled(len(leaf_of), np.int32)
        sort_leaves(offsets, flat.leaf_of, attributes, leaf_of)
    low, high = np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])
    leaves = EncodedConjunctions(np.arange(len(counts) + 1), attributes, flat.nulls, pieces, low, high)
    return EncodedRows(offsets, leaf_of, leaves, uses)


def spread(rows: EncodedRows) -> EncodedConjunctions:
    """Conjunctions with a constraint of their own for each of their leaves."""
    leaves, leaf_of = rows.leaves, rows.leaf_of
    taken = int(rows.uses @ np.diff(leaves.pieces))
    target = EncodedConjunctions(
        rows.offsets,
        pooled(len(leaf_of), np.int32),
        pooled(len(leaf_of), np.bool_),
        pooled(len(leaf_of) + 1, np.int64),
        pooled(taken, np.int32),
        pooled(taken, np.int32),
    )
    target.pieces[0] = 0
    fill_constraints(leaf_of, leaves, target)
    return target


def running(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of some parts begins if they lie end to end, and where the last one ends."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets
