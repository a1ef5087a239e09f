"""The keys of boundaries on the line of numbers, where integers, doubles and decimals mix."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding.spaces import _lookup_kernels as kernels
from matchwood.encoding.spaces.decimals import place_of
from matchwood.encoding.spaces.key_columns import Labels, frozen
from matchwood.encoding.spaces.keys import (
    BEHIND,
    DOUBLE,
    FINE,
    NAN_KEY,
    PLACE_BITS,
    REST_BITS,
    REST_MASK,
    FineKey,
    double_keys,
    doubles_of,
    fine_bytes,
    integer_keys,
    key_number,
    number_key,
    number_keys,
)

_PLACE = (1 << PLACE_BITS) - 1

Fine = NDArray[np.object_]
"""The further bytes of each key (`keys.py`), empty for most."""


class NumberKeys:
    """number and double: boundaries are given as a place, or as a place and the side of it."""

    def __init__(self, primary: NDArray[np.int64], rest: NDArray[np.int16], fine: Fine | None = None) -> None:
        self.primary, self.rest = frozen(primary), frozen(rest)
        self.fine = fine if fine is not None and len(fine) else None

    @classmethod
    def of_elements(cls, elements: Sequence[Any]) -> tuple[NumberKeys, NDArray[np.int64]]:
        given = cls.given(elements)
        if given.fine is None:
            return cls._distinct(given.primary, given.rest)
        order = given.order()
        ordered = given.take(order)
        fresh = np.ones(len(order), np.bool_)
        fresh[1:] = ~ordered.same(np.arange(len(order) - 1), ordered.take(np.arange(1, len(order))))
        inverse = np.empty(len(order), np.int64)
        inverse[order] = np.cumsum(fresh) - 1
        return ordered.take(np.flatnonzero(fresh)), inverse

    @classmethod
    def given(cls, elements: Sequence[Any]) -> NumberKeys:
        """The key of each of some boundaries, as they come."""
        sided = [element if type(element) is tuple else (element, 0) for element in elements]
        primary, rest, further = number_keys([place for place, _ in sided])
        sides = np.array([side for _, side in sided], np.int16)
        rest += np.where(rest & _PLACE == FINE, np.int16(0), sides)
        return cls(primary, rest, _with_sides(further, sides))

    @classmethod
    def _distinct(cls, primary: NDArray[np.int64], rest: NDArray[np.int16]) -> tuple[NumberKeys, NDArray[np.int64]]:
        """The same for keys without further bytes."""
        order = np.lexsort((rest, primary))
        primary, rest = primary[order], rest[order]
        fresh, inverse = np.ones(len(order), np.bool_), np.empty(len(order), np.int64)
        fresh[1:] = (primary[1:] != primary[:-1]) | (rest[1:] != rest[:-1])
        inverse[order] = np.cumsum(fresh) - 1
        return cls(primary[fresh], rest[fresh]), inverse

    @classmethod
    def of_keys(cls, keys: Sequence[int]) -> NumberKeys:
        primary = np.array([key >> REST_BITS for key in keys], np.int64)
        return cls(primary, np.array([key & REST_MASK for key in keys], np.int16), _objects(map(fine_bytes, keys)))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> NumberKeys:
        if "rest" not in arrays:
            return cls(*_from_before_decimals(arrays["primary"], arrays["residual"]))
        rest = arrays["rest"]
        return cls(arrays["primary"], rest, _restored(rest, arrays["fine_ends"], arrays["fine"]))

    @staticmethod
    def key(element: Any) -> int:
        return number_key(*element) if type(element) is tuple else number_key(element)

    @staticmethod
    def value_key(element: Any) -> int:
        if isinstance(element, Decimal):
            return number_key(place_of(element))
        return number_key(element, DOUBLE if isinstance(element, float) else 0)

    @staticmethod
    def place(low: int, key: int, high: int) -> float:
        start, stop = key_number(low), key_number(high)
        if stop - start > 0 and stop - start < math.inf:
            return (key_number(key) - start) / (stop - start)
        apart = int(high) - int(low)
        return (int(key) - int(low)) / apart if apart else math.nan

    def __len__(self) -> int:
        return len(self.primary)

    def at(self, position: int) -> int:
        key = (self.primary.item(position) << REST_BITS) + self.rest.item(position)
        if self.fine is not None and self.fine[position]:
            return FineKey(key, self.fine[position])
        return int(key)

    def order(self) -> NDArray[np.int64]:
        """The positions of the keys, which may lie in any order, from the least on."""
        order = np.lexsort((self.rest, self.primary))
        if self.fine is None:
            return order
        fine = np.flatnonzero(self.rest[order] & _PLACE == FINE)
        order[fine] = sorted(order[fine].tolist(), key=self.at)
        return order

    def find(self, key: int) -> tuple[int, bool]:
        primary, rest = int(key) >> REST_BITS, int(key) & REST_MASK
        count = places_in(self.primary, primary, "right")
        if not count or self.primary.item(count - 1) != primary:
            return count, False
        while count and self.rest.item(count - 1) > rest and self.primary.item(count - 1) == primary:
            count -= 1
        count = self._back(count, key)
        return count, count > 0 and self.at(count - 1) == key

    def _back(self, count: int, key: int) -> int:
        """How many of the first `count` keys, whose primaries and rests are not above that of one, are not above it."""
        if self.fine is not None and isinstance(key, FineKey):
            while count and self.at(count - 1) > key:
                count -= 1
        return count

    def counts_up_to(self, other: NumberKeys) -> NDArray[np.int64]:
        positions = frozen(np.arange(1, len(self) + 1, dtype=np.int32))
        none = NumberKeys.of_keys([])
        counts = self.located(positions, none, frozen(np.empty(0, np.int32)), other.primary, other.rest).astype(
            np.int64
        )
        if self.fine is not None and other.fine is not None:
            for place in np.flatnonzero(other.rest & _PLACE == FINE).tolist():
                counts[place] = self._back(counts.item(place), other.at(place))
        return counts

    def same(self, positions: NDArray[np.int64], other: NumberKeys) -> NDArray[np.bool_]:
        equal: NDArray[np.bool_] = self.primary[positions] == other.primary
        equal &= self.rest[positions] == other.rest
        if self.fine is not None and other.fine is not None:
            equal &= self.fine[positions] == other.fine
        return equal

    def take(self, order: NDArray[np.int64]) -> NumberKeys:
        return NumberKeys(self.primary[order], self.rest[order], None if self.fine is None else self.fine[order])

    def joined(self, other: NumberKeys) -> NumberKeys:
        fine = None
        if self.fine is not None or other.fine is not None:
            fine = np.concatenate((self._all_fine(), other._all_fine()))
        return NumberKeys(np.concatenate((self.primary, other.primary)), np.concatenate((self.rest, other.rest)), fine)

    def _all_fine(self) -> Fine:
        return np.full(len(self), b"", object) if self.fine is None else self.fine

    def scale(self) -> NDArray[np.float64]:
        return doubles_of(self.primary)

    def parts_equals(self) -> bool:
        """Whether a boundary stands between an integer or decimal and the double that equals it."""
        return bool((self.rest & _PLACE == DOUBLE).any())

    def steps(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float64]:
        """The integer and the double at one place count as one."""
        single = (self.primary[low] == self.primary[high]) & (
            self.rest[low] >> PLACE_BITS == self.rest[high] >> PLACE_BITS
        )
        fine = (self.rest[low] & _PLACE == FINE) | (self.rest[high] & _PLACE == FINE)
        if self.fine is not None and fine.any():
            ends = ([each[:-1] for each in self.fine[places]] for places in (low, high))
            single &= ~fine | np.array([one == other != b"" for one, other in zip(*ends, strict=True)])
        single |= (doubles_of(self.primary[low]) == math.inf) & (self.primary[high] >= NAN_KEY)
        return np.where(single, 1.0, np.inf)

    @staticmethod
    def ends(kind: str) -> tuple[int, int]:
        return number_key(-math.inf), number_key(math.nan) + (1 << REST_BITS)

    def locate(self, labels: Labels, tail: NumberKeys, tail_labels: Labels, elements: NDArray[Any]) -> Labels:
        return self.located(labels, tail, tail_labels, *value_keys(elements))

    def located(
        self, labels: Labels, tail: NumberKeys, tail_labels: Labels, primary: NDArray[np.int64], rest: NDArray[np.int16]
    ) -> Labels:
        """The label of the space of each key, given by its primary and rest; fine ones count as above all others."""
        found: Labels = kernels.locate_pairs(
            self.primary, self.rest, labels, tail.primary, tail.rest, tail_labels, frozen(primary), frozen(rest)
        )
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        fine = [each for each in self._all_fine().tolist() if each] if self.fine is not None else []
        ends = np.cumsum([len(each) for each in fine], dtype=np.int64)
        data = np.frombuffer(b"".join(fine), np.uint8)
        return {"primary": self.primary, "rest": self.rest, "fine_ends": ends, "fine": data}

    @property
    def nbytes(self) -> int:
        further = 0 if self.fine is None else 8 * len(self) + sum(map(len, self.fine))
        return self.primary.nbytes + self.rest.nbytes + further


def value_keys(elements: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
    """Primaries and rests of a column of numbers, doubles or integers."""
    if elements.dtype == np.float64:
        return double_keys(elements), np.full(len(elements), DOUBLE, np.int16)
    return integer_keys(elements)


def _from_before_decimals(
    primary: NDArray[np.int64], residual: NDArray[np.int16]
) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
    """The keys of a snapshot whose boundaries all stand before a double or integer.

    What stood behind 10.05 stands there before the next double. It is put back where the text of that one is longer
    than that of the other: for doubles and integers it is the same, and decimals find it in its place.
    """
    doubles, below = doubles_of(primary), doubles_of(primary - 1)
    texts = (pc.utf8_length(pa.array(each).cast(pa.string())).to_numpy() for each in (below, doubles))
    behind = np.less(*texts) & (residual == 0) & (np.abs(doubles) < 2.0**53)
    rest = np.where(behind, np.int16(BEHIND), residual << PLACE_BITS).astype(np.int16)
    # Before NaN is behind infinity.
    beyond = primary == NAN_KEY
    rest[beyond] = BEHIND
    return np.where(beyond, double_keys(np.array([math.inf])), primary - behind), rest


def _objects(fine: Iterable[bytes]) -> Fine | None:
    given = list(fine)
    if not any(given):
        return None
    return np.fromiter(given, object, len(given))


def _with_sides(further: Mapping[int, bytes], sides: NDArray[np.int16]) -> Fine | None:
    """The further bytes of keys, which end with the side of the boundary."""
    if not further:
        return None
    made = np.full(len(sides), b"", object)
    for at, data in further.items():
        made[at] = data[:-1] + bytes((sides.item(at),))
    return made


def _restored(rest: NDArray[np.int16], ends: NDArray[np.int64], data: NDArray[np.uint8]) -> Fine | None:
    places = np.flatnonzero(rest & _PLACE == FINE)
    starts = np.concatenate(([0], ends))
    if len(places) != len(ends) or (np.diff(starts) <= 0).any() or starts[-1] != len(data):
        raise ValueError("the further bytes of fine boundaries do not fit their number")
    if not len(places):
        return None
    made, bounds = np.full(len(rest), b"", object), starts.tolist()
    for number, place in enumerate(places.tolist()):
        made[place] = data[bounds[number] : bounds[number + 1]].tobytes()
    return made
