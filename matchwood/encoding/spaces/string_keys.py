"""The keys of boundaries on strings: their UTF-8 bytes, laid end to end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.spaces import _lookup_kernels as kernels
from matchwood.encoding.spaces.base import Strings
from matchwood.encoding.spaces.key_columns import Labels, frozen
from matchwood.encoding.spaces.keys import strings_of


class StringKeys:
    """string: the UTF-8 bytes of each, and beside them its first eight as a number, which decides most comparisons."""

    def __init__(self, offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
        self.offsets, self.data = frozen(offsets), frozen(data)

    @cached_property
    def first(self) -> NDArray[np.uint64]:
        """The first eight bytes of each string."""
        return frozen(kernels.prefixes(self.offsets, self.data))

    @classmethod
    def of_elements(cls, elements: Sequence[str]) -> tuple[StringKeys, NDArray[np.int64]]:
        distinct = sorted(set(elements))
        places = {text: place for place, text in enumerate(distinct)}
        inverse = np.fromiter(map(places.__getitem__, elements), np.int64, len(elements))
        return cls.of_keys([text.encode() for text in distinct]), inverse

    @classmethod
    def of_keys(cls, keys: Sequence[bytes]) -> StringKeys:
        return cls(*strings_of(keys))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> StringKeys:
        return cls(arrays["offsets"], arrays["data"])

    @staticmethod
    def key(element: str) -> bytes:
        return element.encode()

    value_key = key

    @staticmethod
    def place(low: bytes, key: bytes, high: bytes) -> float:
        shared = _shared_length(low, high)
        start, at, stop = (
            int.from_bytes(text[shared : shared + 8].ljust(8, b"\0"), "big") for text in (low, key, high)
        )
        return (at - start) / (stop - start) if stop > start else math.nan

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def at(self, position: int) -> bytes:
        return self.data[self.offsets[position] : self.offsets[position + 1]].tobytes()

    def find(self, key: bytes) -> tuple[int, bool]:
        found = int(kernels.find_string(self.first, self.offsets, self.data, np.frombuffer(key, np.uint8)))
        return found >> 1, bool(found & 1)

    def counts_up_to(self, other: StringKeys) -> NDArray[np.int64]:
        positions = frozen(np.arange(1, len(self) + 1, dtype=np.int32))
        none = StringKeys.of_keys([])
        found = self.locate(positions, none, frozen(np.empty(0, np.int32)), Strings(other.offsets, other.data))
        return found.astype(np.int64)

    def same(self, positions: NDArray[np.int64], other: StringKeys) -> NDArray[np.bool_]:
        equal: NDArray[np.bool_] = kernels.same_strings(
            self.offsets, self.data, frozen(positions), other.offsets, other.data
        )
        return equal

    def take(self, order: NDArray[np.int64]) -> StringKeys:
        return StringKeys(*kernels.gather_strings(self.offsets, self.data, frozen(order)))

    def joined(self, other: StringKeys) -> StringKeys:
        own = self.data[self.offsets[0] : self.offsets[-1]]
        ends = other.offsets[1:] - other.offsets[0] + len(own)
        data = np.concatenate((own, other.data[other.offsets[0] : other.offsets[-1]]))
        return StringKeys(np.concatenate((self.offsets - self.offsets[0], ends)), data)

    def scale(self) -> NDArray[np.float64]:
        return self.first.astype(np.float64)

    def steps(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float64]:
        single = kernels.next_strings(self.offsets, self.data, frozen(low), frozen(high))
        return np.where(single, 1.0, np.inf)

    @staticmethod
    def ends(kind: str) -> tuple[bytes, bytes]:
        return b"", b"\xff"

    def locate(self, labels: Labels, tail: StringKeys, tail_labels: Labels, elements: Strings) -> Labels:
        found: Labels = kernels.locate_strings(
            self.first, self.offsets, self.data, labels,
            tail.first, tail.offsets, tail.data, tail_labels,
            frozen(elements.offsets), frozen(elements.data),
        )  # fmt: skip
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        start = self.offsets[0]
        return {"offsets": self.offsets - start, "data": self.data[start : self.offsets[-1]]}

    @property
    def nbytes(self) -> int:
        return self.first.nbytes + self.offsets.nbytes + self.data.nbytes


def _shared_length(left: bytes, right: bytes) -> int:
    """How many bytes two texts begin with in common."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[:middle] == right[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
