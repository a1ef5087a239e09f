"""Conjunctions laid out flat, and put together again from labels: the parts of encoding that are plain array work.

A leaf's cuts become pieces `[low, high)`: cuts at even positions begin one, those at odd positions end it, and a
piece that nothing ends reaches to TOP_LABEL. All work on single leaves is done by loops in C: a million conjunctions
of seven leaves take some twenty seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL, EncodedConjunctions
from matchwood.logic.leaf import Leaf


class Flat(NamedTuple):
    """Leaves of many conjunctions one after the other, and the values in their cuts.

    `lengths`  leaves of each conjunction
    `keys`     the distinct attribute keys
    `key_of`   for each leaf, the position of its key
    `nulls`    for each leaf, whether it accepts NULL
    `sizes`    for each leaf, its number of cuts
    `starts`   for each cut, whether it is START (and has no value)
    `values`   for each other cut, its value; `sides` the side of it
    """

    lengths: NDArray[np.int64]
    keys: list[str]
    key_of: NDArray[np.int64]
    nulls: NDArray[np.bool_]
    sizes: NDArray[np.int64]
    starts: NDArray[np.bool_]
    values: list[Any]
    sides: NDArray[np.int8]

    def value_groups(self) -> list[tuple[int, NDArray[np.int64]]]:
        """For each key that has values, their positions in `values`."""
        key_of_value = np.repeat(self.key_of, self.sizes)[~self.starts]
        order = np.argsort(key_of_value, kind="stable")
        keys, first = np.unique(key_of_value[order], return_index=True)
        return list(zip(keys.tolist(), np.split(order, first[1:]), strict=False))


def flatten(conjunctions: Sequence[Sequence[Leaf]]) -> Flat:
    """Take conjunctions apart."""
    lengths = np.fromiter(map(len, conjunctions), np.int64, len(conjunctions))
    leaves = list(chain.from_iterable(conjunctions))
    # Not zip(*leaves): a million iterators at once keep the garbage collector busy for most of the time.
    keys, cuts = [leaf[0] for leaf in leaves], [leaf[1] for leaf in leaves]
    distinct = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    points = list(chain.from_iterable(cuts))
    parts = list(chain.from_iterable(points))
    return Flat(
        lengths,
        list(distinct),
        np.fromiter(map(distinct.__getitem__, keys), np.int64, len(leaves)),
        np.fromiter([leaf[2] for leaf in leaves], np.bool_, len(leaves)),
        np.fromiter(map(len, cuts), np.int64, len(leaves)),
        np.fromiter(map(len, points), np.int8, len(points)) == 0,
        parts[::2],
        np.array(parts[1::2], np.int8),
    )


def assemble(flat: Flat, numbers: NDArray[np.int32], labels: NDArray[np.int32], ordered: bool) -> EncodedConjunctions:
    """Put conjunctions together: `numbers` by key, `labels` by value; `ordered` by attribute within each."""
    cut_labels = np.full(len(flat.starts), BOTTOM_LABEL, np.int32)
    cut_labels[~flat.starts] = labels
    counts = (flat.sizes + 1) // 2
    pieces = _running(counts)
    first_cut = _running(flat.sizes)[:-1]
    ends = np.full(2 * int(pieces[-1]), TOP_LABEL, np.int32)
    ends[np.arange(len(cut_labels)) + np.repeat(2 * pieces[:-1] - first_cut, flat.sizes)] = cut_labels
    attributes = numbers[flat.key_of]
    encoded = EncodedConjunctions(
        _running(flat.lengths), attributes, flat.nulls, pieces, ends[::2].copy(), ends[1::2].copy()
    )
    return _ordered(encoded) if ordered else encoded


def _running(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def _ordered(encoded: EncodedConjunctions) -> EncodedConjunctions:
    """The constraints of each conjunction by attribute number."""
    owner = np.repeat(np.arange(encoded.count), np.diff(encoded.offsets))
    sorting = owner << 32 | encoded.attributes
    if (np.diff(sorting) > 0).all():
        return encoded
    order = np.argsort(sorting, kind="stable")
    counts = np.diff(encoded.pieces)[order]
    pieces = _running(counts)
    taken = np.arange(int(pieces[-1])) + np.repeat(encoded.pieces[:-1][order] - pieces[:-1], counts)
    return EncodedConjunctions(
        encoded.offsets,
        encoded.attributes[order],
        encoded.accepts_null[order],
        pieces,
        encoded.low[taken],
        encoded.high[taken],
    )
