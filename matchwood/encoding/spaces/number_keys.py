"""The keys of boundaries on numbers: one integer each, or two where integers and doubles mix."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding.spaces import _lookup_kernels as kernels
from matchwood.encoding.spaces.key_columns import Labels, frozen
from matchwood.encoding.spaces.keys import (
    NAN_KEY,
    RESIDUAL_BITS,
    double_keys,
    doubles_of,
    integer_keys,
    key_number,
    number_key,
    number_keys,
)


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


class NumberKeys:
    """number and double: 64-bit integers and doubles in one order."""

    def __init__(self, primary: NDArray[np.int64], residual: NDArray[np.int16]) -> None:
        self.primary, self.residual = frozen(primary), frozen(residual)

    @classmethod
    def of_elements(cls, elements: Sequence[float]) -> tuple[NumberKeys, NDArray[np.int64]]:
        primary, residual = number_keys(elements)
        if not residual.any():
            distinct, inverse = np.unique(primary, return_inverse=True)
            return cls(distinct, np.zeros(len(distinct), np.int16)), inverse
        order = np.lexsort((residual, primary))
        ordered = cls(primary[order], residual[order])
        fresh = np.append(True, (np.diff(ordered.primary) != 0) | (np.diff(ordered.residual) != 0))
        inverse = np.empty(len(order), np.int64)
        inverse[order] = np.cumsum(fresh) - 1
        return ordered.take(np.flatnonzero(fresh)), inverse

    @classmethod
    def of_keys(cls, keys: Sequence[int]) -> NumberKeys:
        primary = np.array([key >> RESIDUAL_BITS for key in keys], np.int64)
        return cls(primary, np.array([key & 0xFFFF for key in keys], np.int16))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> NumberKeys:
        return cls(arrays["primary"], arrays["residual"])

    @staticmethod
    def key(element: float) -> int:
        return number_key(element)

    @staticmethod
    def place(low: int, key: int, high: int) -> float:
        start, stop = key_number(low), key_number(high)
        if stop - start > 0 and stop - start < math.inf:
            return (key_number(key) - start) / (stop - start)
        return (key - low) / (high - low)

    def __len__(self) -> int:
        return len(self.primary)

    def at(self, position: int) -> int:
        return int((self.primary.item(position) << RESIDUAL_BITS) + self.residual.item(position))

    def find(self, key: int) -> tuple[int, bool]:
        primary, residual = key >> RESIDUAL_BITS, key & 0xFFFF
        count = places_in(self.primary, primary, "right")
        if not count or self.primary.item(count - 1) != primary:
            return count, False
        while count and self.residual.item(count - 1) > residual and self.primary.item(count - 1) == primary:
            count -= 1
        return count, count > 0 and self.at(count - 1) == key

    def counts_up_to(self, other: NumberKeys) -> NDArray[np.int64]:
        positions = frozen(np.arange(1, len(self) + 1, dtype=np.int32))
        none = NumberKeys.of_keys([])
        return self._locate(positions, none, frozen(np.empty(0, np.int32)), other).astype(np.int64)

    def same(self, positions: NDArray[np.int64], other: NumberKeys) -> NDArray[np.bool_]:
        equal: NDArray[np.bool_] = self.primary[positions] == other.primary
        equal &= self.residual[positions] == other.residual
        return equal

    def take(self, order: NDArray[np.int64]) -> NumberKeys:
        return NumberKeys(self.primary[order], self.residual[order])

    def joined(self, other: NumberKeys) -> NumberKeys:
        return NumberKeys(
            np.concatenate((self.primary, other.primary)), np.concatenate((self.residual, other.residual))
        )

    def scale(self) -> NDArray[np.float64]:
        return doubles_of(self.primary)

    def steps(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float64]:
        next_double = (self.primary[high] - self.primary[low] == 1) & (self.residual[high] == 0)
        single = next_double & (self.residual[low] == 0)
        start, stop = doubles_of(self.primary[low]), doubles_of(self.primary[high])
        # From 2**53 on integers lie between the doubles, up to 2**63.
        whole = np.flatnonzero((np.abs(start) >= 2.0**53) & (start >= -(2.0**63)) & (start < 2.0**63))
        first = start[whole].astype(np.int64) + self.residual[low[whole]]
        inside = stop[whole] < 2.0**63
        last = np.where(inside, stop[whole], 0.0).astype(np.int64) + self.residual[high[whole]]
        at_end = (first == 2**63 - 1) & (stop[whole] == 2.0**63)
        single[whole] = np.where(inside, last - first == 1, at_end)
        single |= (start == math.inf) & (self.primary[high] == NAN_KEY)
        return np.where(single, 1.0, np.inf)

    @staticmethod
    def ends(kind: str) -> tuple[int, int]:
        return number_key(-math.inf), number_key(math.nan) + (1 << RESIDUAL_BITS)

    def locate(self, labels: Labels, tail: NumberKeys, tail_labels: Labels, elements: NDArray[Any]) -> Labels:
        if elements.dtype == np.float64:
            primary = double_keys(elements)
            return self._locate(labels, tail, tail_labels, NumberKeys(primary, np.zeros(len(primary), np.int16)))
        return self._locate(labels, tail, tail_labels, NumberKeys(*integer_keys(elements)))

    def _locate(self, labels: Labels, tail: NumberKeys, tail_labels: Labels, keys: NumberKeys) -> Labels:
        found: Labels = kernels.locate_pairs(
            self.primary, self.residual, labels, tail.primary, tail.residual, tail_labels, keys.primary, keys.residual
        )
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"primary": self.primary, "residual": self.residual}

    @property
    def nbytes(self) -> int:
        return self.primary.nbytes + self.residual.nbytes
