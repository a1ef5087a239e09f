"""What the tables of list tests and of patterns share: columns of values, room for output, marks a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.encoding.derived.keys import DerivedTest


class Pairs(NamedTuple):
    """Values, by position, and for each the number of an attribute whose test it satisfies; in no order."""

    values: NDArray[np.int64]
    attributes: NDArray[np.int32]


class DerivedTable(Protocol):
    """Some derived attributes of one source, laid out for evaluation; never changed."""

    def __init__(self, attributes: Sequence[int], tests: Sequence[DerivedTest]) -> None: ...

    attributes: NDArray[np.int32]
    tests: Sequence[DerivedTest]

    def satisfied(self, column: Any) -> Pairs:
        """All pairs of a value and a test that holds of it."""


class Marks:
    """Scratch arrays of the calling thread, and an epoch that makes all older marks void (docs/protocols.md)."""

    def __init__(self, **sizes: int) -> None:
        self._sizes = sizes
        self._local = threading.local()

    def taken(self, steps: int) -> tuple[int, dict[str, NDArray[np.int64]]]:
        """The arrays, and an epoch after which `steps` numbers are free to be used as marks."""
        local = self._local
        if not hasattr(local, "arrays"):
            local.arrays = {name: np.zeros(size, np.int64) for name, size in self._sizes.items()}
            local.epoch = 1
        epoch = local.epoch
        local.epoch += steps + 1
        return epoch, local.arrays


def collected(count: int, room: int, run: Callable[[int, Any, Any], tuple[int, int]]) -> tuple[Any, Any]:
    """Call a kernel until all `count` values are done; run(first, values, tests) says how far it came.

    `room` is what a single value can need at most.
    """
    values: list[NDArray[np.int64]] = []
    tests: list[NDArray[np.int32]] = []
    first, size = 0, max(room, 1024, 2 * count)
    while first < count:
        held, found = np.empty(size, np.int64), np.empty(size, np.int32)
        first, filled = run(first, held, found)
        values.append(held[:filled])
        tests.append(found[:filled])
    if len(values) == 1:
        return values[0], tests[0]
    return np.concatenate([np.empty(0, np.int64), *values]), np.concatenate([np.empty(0, np.int32), *tests])


class ListColumn:
    """Lists as positions in the list of their distinct elements; NULL elements have position -1."""

    def __init__(self, offsets: NDArray[np.int64], codes: NDArray[np.int64], distinct: list[Any]) -> None:
        self.offsets, self.codes, self.distinct = offsets, codes, distinct

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of_array(cls, lists: pa.Array) -> ListColumn:
        """From an Arrow array of lists, none of them NULL."""
        lists = lists.cast(pa.large_list(lists.type.value_type)) if not pa.types.is_large_list(lists.type) else lists
        offsets = np.asarray(lists.offsets).astype(np.int64)
        encoded = lists.values.slice(offsets[0], offsets[-1] - offsets[0]).dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(offsets - offsets[0], codes, encoded.dictionary.to_pylist())

    @classmethod
    def of_value(cls, elements: Sequence[Any]) -> ListColumn:
        """From a single list."""
        distinct = list(dict.fromkeys(element for element in elements if element is not None))
        codes = np.arange(len(distinct))
        return cls(np.array([0, len(distinct)], np.int64), codes, distinct)
