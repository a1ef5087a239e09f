"""How much the rules of each unit can score at most, piece by piece: what an engine prunes by.

An event that a unit is true of lies in one interval of each of its constraints. No rule of the unit scores more than

    constants[unit]  +  the sum over its constraints of pieces[interval] x the event's weight of that attribute
                     +  elsewhere[unit] x the greatest weight that the event gives any attribute

if the unit is the one that the rule's best conjunction became; the units of its other conjunctions may promise less,
and that is enough: who prunes them still meets the rule in the best one. Compare with SLACK: sums in another order
differ by a few units of the last place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Growable, State, require, require_offsets

SLACK = 1 + 2.0**-40
"""A bound times this is one in spite of rounding, for rules of fewer than a thousand predicates or so."""


class UnitBounds(NamedTuple):
    """Bounds of units; unit u has one for each of its intervals, in their order: pieces[offsets[u] : offsets[u + 1]].

    `constants`  the greatest constant weight of its rules
    `elsewhere`  what attributes that the unit does not test can add, for an event weight of 1
    """

    offsets: NDArray[np.int64]
    pieces: NDArray[np.float64]
    constants: NDArray[np.float64]
    elsewhere: NDArray[np.float64]


class BoundTable(State):
    """The bounds of all units of a store; they only rise, so that a unit keeps those of rules that are gone.

    >>> table = BoundTable()
    >>> one = UnitBounds(np.array([0, 2]), np.array([1.0, 3.0]), np.zeros(1), np.zeros(1))
    >>> table.raise_to(np.array([0]), one).tolist(), table.view().pieces.tolist()
    ([0], [1.0, 3.0])
    >>> table.raise_to(np.array([0]), one._replace(pieces=np.array([2.0, 2.0]))).tolist(), table.view().pieces.tolist()
    ([0], [2.0, 3.0])
    """

    _offsets = Column(np.int64, initial=[0])
    _pieces = Column(np.float64)
    _constants = Column(np.float64)
    _elsewhere = Column(np.float64, length="constants")

    def __init__(self, store: Any = None) -> None:
        self._store = store
        self.start()

    @property
    def count(self) -> int:
        return len(self._constants)

    def view(self) -> UnitBounds:
        """The arrays for kernels; a restored state is checked before it is handed out for the first time."""
        self.check()
        return self.view_as(UnitBounds)

    def raise_to(self, units: NDArray[np.int32], bounds: UnitBounds) -> NDArray[np.int32]:
        """Let each unit named have at least these bounds; returns those that rose, new ones included.

        New units are numbered on without a gap; the same unit may come several times.
        """
        sizes = np.diff(bounds.offsets)
        self._grow(units, sizes)
        places = _spread(self._offsets.view()[units], sizes)
        before = self._pieces.view()[places], self._constants.view()[units], self._elsewhere.view()[units]
        rose = (bounds.constants > before[1]) | (bounds.elsewhere > before[2])
        higher = bounds.pieces > before[0]
        rose |= np.bincount(np.repeat(np.arange(len(units)), sizes)[higher], minlength=len(units)) > 0
        np.maximum.at(self._pieces.writable(), places, bounds.pieces)
        np.maximum.at(self._constants.writable(), units, bounds.constants)
        np.maximum.at(self._elsewhere.writable(), units, bounds.elsewhere)
        return np.unique(units[rose])

    def _grow(self, units: NDArray[np.int32], sizes: NDArray[np.int64]) -> None:
        numbers, first = np.unique(units, return_index=True)
        new = numbers >= self.count
        if not new.any():
            return
        ends = self._offsets.view()[-1] + np.cumsum(sizes[first[new]])
        self._offsets.extend(ends)
        self._pieces.resize(int(ends[-1]))
        for column in (self._constants, self._elsewhere):
            column.resize(int(numbers[-1]) + 1)

    def compact(self, remap: NDArray[np.int32]) -> None:
        """Keep the units that have a new number, which are in the same order."""
        kept = np.flatnonzero(remap >= 0)
        old = self.view()
        sizes = np.diff(old.offsets)[kept]
        self._pieces = Growable(np.float64, old.pieces[_spread(old.offsets[kept], sizes)])
        self._offsets = Growable(np.int64, np.concatenate(([0], np.cumsum(sizes))))
        self._constants = Growable(np.float64, old.constants[kept])
        self._elsewhere = Growable(np.float64, old.elsewhere[kept])

    # ------------------------------------------------------------------ trust

    def invariants(self) -> None:
        """There is a bound for each interval of each unit of the store."""
        encoded = self._store.encoded(np.arange(self._store.count, dtype=np.int32))
        intervals = np.diff(encoded.pieces[encoded.offsets])
        require_offsets(self._offsets.view(), len(self._pieces), "offsets of bounds")
        fits = len(self._constants) == len(intervals) == len(self._offsets) - 1
        require(fits and (np.diff(self._offsets.view()) == intervals).all(), "bounds are not those of the units")
        for column in (self._pieces, self._constants, self._elsewhere):
            require(bool((column.view() >= 0).all()), "a bound is negative")

    def audit(self) -> list[str]:
        """Every broken invariant in words."""
        return []


def _spread(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The positions from each start on, as many as its size."""
    ends = np.cumsum(sizes)
    return np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
