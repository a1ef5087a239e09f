"""Sorted keys of boundaries in arrays, one class a family of kinds; all arrays are read-only.

The Python form of a single key is an int (`keys.py`) or bytes, which Python compares in the right order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int32]


class KeyColumn(Protocol):
    """Distinct keys in increasing order."""

    @classmethod
    def of_elements(cls, elements: Sequence[Any]) -> tuple[Self, NDArray[np.int64]]:
        """The distinct keys of some boundaries, and the position of each one's key among them."""

    @classmethod
    def of_keys(cls, keys: Sequence[Any]) -> Self:
        """A column of keys in their Python form, already sorted."""

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """A column from what `arrays` returned."""

    @staticmethod
    def key(element: Any) -> Any:
        """The Python form of the key of a boundary, given by the element that it stands before; on the line of numbers
        (`decimals.py`) by a place, or by a place and the side of it."""

    @staticmethod
    def value_key(element: Any) -> Any:
        """The Python form of an element's own key."""

    @staticmethod
    def place(low: Any, key: Any, high: Any) -> float:
        """Where a key lies between two others, from 0 to 1; nan if nobody can tell."""

    def __len__(self) -> int: ...

    def at(self, position: int) -> Any:
        """The Python form of one key."""

    def find(self, key: Any) -> tuple[int, bool]:
        """How many keys are not above one in its Python form, and whether it is the last of these."""

    def counts_up_to(self, other: Self) -> NDArray[np.int64]:
        """The same for all keys of another column."""

    def same(self, positions: NDArray[np.int64], other: Self) -> NDArray[np.bool_]:
        """Whether the key at each position equals that of the other column."""

    def take(self, order: NDArray[np.int64]) -> Self:
        """The keys at the given positions."""

    def joined(self, other: Self) -> Self:
        """The keys of both, one after the other, not sorted."""

    def scale(self) -> NDArray[np.float64]:
        """Numbers that grow with the keys, to see roughly how far apart these are."""

    def steps(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float64]:
        """How many elements there are from the key at each low position on, up to that at the high one, which comes
        later; infinite if there are several and nobody counts them."""

    @staticmethod
    def ends(kind: str) -> tuple[Any, Any]:
        """The key of a kind's least element, and one that follows its greatest."""

    def locate(self, labels: Labels, tail: Self, tail_labels: Labels, elements: Any) -> Labels:
        """The label of each element's space, with the boundaries in two parts."""

    def arrays(self) -> dict[str, NDArray[Any]]: ...

    @property
    def nbytes(self) -> int: ...


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The same elements, read-only and contiguous: compiled code sees one type of array only."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
