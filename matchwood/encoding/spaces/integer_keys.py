"""The keys of boundaries on integers: one integer each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding.spaces import _lookup_kernels as kernels
from matchwood.encoding.spaces.key_columns import Labels, frozen


class IntegerKeys:
    """bool, int, date and timestamp: each element is its own key."""

    def __init__(self, primary: NDArray[np.int64]) -> None:
        self.primary = frozen(primary)

    @classmethod
    def of_elements(cls, elements: Sequence[int]) -> tuple[IntegerKeys, NDArray[np.int64]]:
        distinct, inverse = np.unique(np.array(elements, np.int64), return_inverse=True)
        return cls(distinct), inverse

    @classmethod
    def of_keys(cls, keys: Sequence[int]) -> IntegerKeys:
        return cls(np.array(keys, np.int64))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> IntegerKeys:
        return cls(arrays["primary"])

    @staticmethod
    def key(element: int) -> int:
        return int(element)

    value_key = key

    @staticmethod
    def place(low: int, key: int, high: int) -> float:
        return (key - low) / (high - low)

    def __len__(self) -> int:
        return len(self.primary)

    def at(self, position: int) -> int:
        return int(self.primary.item(position))

    def find(self, key: int) -> tuple[int, bool]:
        count = places_in(self.primary, key, "right")
        return count, count > 0 and self.primary.item(count - 1) == key

    def counts_up_to(self, other: IntegerKeys) -> NDArray[np.int64]:
        return places_in(self.primary, other.primary, "right")

    def same(self, positions: NDArray[np.int64], other: IntegerKeys) -> NDArray[np.bool_]:
        equal: NDArray[np.bool_] = self.primary[positions] == other.primary
        return equal

    def take(self, order: NDArray[np.int64]) -> IntegerKeys:
        return IntegerKeys(self.primary[order])

    def joined(self, other: IntegerKeys) -> IntegerKeys:
        return IntegerKeys(np.concatenate((self.primary, other.primary)))

    def scale(self) -> NDArray[np.float64]:
        return self.primary.astype(np.float64)

    def steps(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float64]:
        # The greatest int64 stands in for what follows it.
        counts: NDArray[np.float64] = np.maximum(self.primary[high].astype(np.float64) - self.primary[low], 1.0)
        return counts

    @staticmethod
    def ends(kind: str) -> tuple[int, int]:
        return (0, 2) if kind == "bool" else (-(2**63), 2**63 - 1)

    def locate(self, labels: Labels, tail: IntegerKeys, tail_labels: Labels, elements: NDArray[np.int64]) -> Labels:
        found: Labels = kernels.locate_integers(self.primary, labels, tail.primary, tail_labels, frozen(elements))
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"primary": self.primary}

    @property
    def nbytes(self) -> int:
        return self.primary.nbytes
