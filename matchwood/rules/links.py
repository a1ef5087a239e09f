"""Which rows a unit belongs to, and which units a row has: a multi-map in both directions, in four arrays.

Most units belong to one row that has no other unit; such a link is two numbers and no node:

    unit_heads[unit] = row         the only row of this unit
    row_heads[row] = unit          the only unit of this row, whose only row this is

Every other link is a node. `row_heads[row] = -2 - node` begins the chain of a row's nodes. A unit with one row
still names it directly, which saves matching a step; one with several has `unit_heads[unit] = -2 - node`. -1 is none.

    chain[2 * node :]              row, next node of the same unit                        (what matching reads)
    back[3 * node :]               unit, previous node of the same unit, next node of the same row

Rules that come in bulk get units that count on as their rows do, but for a rule here and there whose unit another has
already. So 64 units in a row mostly differ from their rows by one and the same number, which is their *shift*. Shifts
are derived from the heads once enough is asked of them: they are 64 times smaller, and stay in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from matchwood.core import Growable
from matchwood.errors import CorruptSnapshot
from matchwood.rules import _link_kernels as kernels
from matchwood.rules._link_kernels import NONE

PIECE = 1 << 18
"""Links made in one call: room for three nodes each is reserved before, and cut off after."""

_NAMES = ("unit_heads", "row_heads", "chain", "back")
_FourArrays: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
_NOWHERE, _NO_SHIFTS = np.empty((2, 0), np.int32)
_NO_SHIFTS.flags.writeable = False

FEW_UNITS = 8_192
"""Below that, the heads themselves stay in the processor's nearest cache."""

SHIFTED = 64
"""So many units share a shift; kernels divide by it."""

NO_SHIFT = -(2**31)
"""Where units do not all differ from their rows by the same number: added to any unit it is no row."""

KEPT_SHARE = 4
"""Shifts are derived once hits were asked for that are one for so many units: until then they do not pay."""


class RuleLinks:
    """A link given twice is kept twice, and handed back twice.

    >>> links = RuleLinks()
    >>> links.link([0, 1, 1], [5, 5, 6])
    >>> links.rows_of(5).tolist(), links.units_of(1).tolist()
    ([1, 0], [6, 5])
    >>> links.unlink([1]).tolist(), links.rows_of(5).tolist()
    ([6, 5], [0])
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._unit_heads, self._row_heads = Growable(np.int32), Growable(np.int32)
        self._chain, self._back = Growable(np.int32), Growable(np.int32)
        self.garbage = 0
        """Nodes that no chain leads to any more."""
        self._forget_shifts()

    def _forget_shifts(self) -> None:
        self._shifts: NDArray[np.int32] | None = None
        self._asked = 0

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays().values())

    @property
    def nodes(self) -> int:
        return self._chain.count // 2

    @property
    def linked_rows(self) -> int:
        """How many rows have a unit."""
        return int(np.count_nonzero(self._row_heads.view() != NONE))

    def reading(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """What the kernel that turns hits into rows reads: unit_heads and chain."""
        return self._unit_heads.view(), self._chain.view()

    def shifts(self, hits: int) -> NDArray[np.int32]:
        """The shift of each SHIFTED units, for one who has so many hits to look up; empty if it does not pay yet.

        Several threads may ask at once: they all work out the same.
        """
        known = self._shifts
        if known is not None:
            return known
        self._asked += hits
        if len(self._unit_heads) < FEW_UNITS or KEPT_SHARE * self._asked < len(self._unit_heads):
            return _NO_SHIFTS
        known = self._shifts = _shifts_of(self._unit_heads.view())
        return known

    def link(self, rows: ArrayLike, units: ArrayLike) -> None:
        """Add the links rows[i] - units[i]."""
        rows, units = np.ascontiguousarray(rows, np.int32), np.ascontiguousarray(units, np.int32)
        if len(rows) != len(units) or (len(rows) and min(rows.min(), units.min()) < 0):
            raise IndexError(f"{len(rows)} rows cannot be linked with {len(units)} units, or one is negative")
        if len(rows):
            _reach(self._row_heads, int(rows.max()) + 1)
            _reach(self._unit_heads, int(units.max()) + 1)
        for start in range(0, len(rows), PIECE):
            self._link_piece(rows[start : start + PIECE], units[start : start + PIECE])

    def _link_piece(self, rows: NDArray[np.int32], units: NDArray[np.int32]) -> None:
        nodes = self.nodes
        linked = kernels.link(rows, units, *self._writing(nodes + 3 * len(rows)), nodes)
        self._writing(max(linked, nodes))
        if linked < nodes:
            raise CorruptSnapshot("links: a unit names a row that does not name the unit: the snapshot is damaged")

    def _writing(self, nodes: int | None = None) -> _FourArrays:
        """The arrays to write to, with room for so many nodes if it is told."""
        self._forget_shifts()
        if nodes is not None:
            self._chain.resize(2 * nodes)
            self._back.resize(3 * nodes)
        heads = self._unit_heads.writable(), self._row_heads.writable()
        return (*heads, self._chain.writable(), self._back.writable())

    def unlink(self, rows: ArrayLike) -> NDArray[np.int32]:
        """Remove all links of these rows; returns the units they had."""
        if not self._row_heads.count:
            return np.empty(0, np.int32)
        present = self._present(rows)
        out = np.empty(len(self._units(present)[1]), np.int32)
        if len(out):
            links, nodes = kernels.unlink(present, *self._writing(), out)
            self.garbage += nodes
            out = out[:links]
        return out

    def units_of(self, row: int) -> NDArray[np.int32]:
        """The units of one row."""
        return self._units(self._present([row]))[1]

    def rows_of(self, unit: int) -> NDArray[np.int32]:
        """The rows of one unit."""
        return self._rows(np.array([unit] if unit < len(self._unit_heads) else [], np.int32))[1]

    def pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """All links as rows and units, in row order."""
        rows = np.arange(len(self._row_heads), dtype=np.int32)
        counts, units = self._units(rows)
        return np.repeat(rows, counts), units

    def rebuild(self, rows: NDArray[np.int32], units: NDArray[np.int32]) -> None:
        """Begin anew with these links; the rows of one unit come to lie side by side."""
        order = np.argsort(units, kind="stable")
        self._clear()
        self.link(rows[order], units[order])

    def _present(self, rows: ArrayLike) -> NDArray[np.int32]:
        wanted = np.ascontiguousarray(rows, np.int32)
        return wanted[(wanted >= 0) & (wanted < self._row_heads.count)]

    def _units(self, rows: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        return _followed(rows, self._row_heads.view(), self._back.view(), 3, 0, 2)

    def _rows(self, units: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        return _followed(units, self._unit_heads.view(), self._chain.view(), 2, 0, 1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        views = (self._unit_heads.view(), self._row_heads.view(), self._chain.view(), self._back.view())
        return dict(zip(_NAMES, views, strict=True))

    def header(self) -> dict[str, Any]:
        return {"garbage": self.garbage}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Take over a saved state; arrays may be read-only maps of files."""
        self._unit_heads, self._row_heads, self._chain, self._back = (
            Growable(np.int32, arrays[name]) for name in _NAMES
        )
        self.garbage = header["garbage"]
        self._forget_shifts()
        if len(self._chain) % 2 or len(self._back) != self.nodes * 3:
            raise CorruptSnapshot(f"links: {len(self._chain)} and {len(self._back)} numbers make no nodes")

    def check(self, name: str, rows: int) -> None:
        """Raise CorruptSnapshot unless every number lies where a kernel may follow it."""
        if len(self._row_heads) > rows or not kernels.check(*self.arrays().values()):
            raise CorruptSnapshot(f"{name}: a link leads outside of its array")

    def audit(self, name: str) -> list[str]:
        """Every broken invariant in words."""
        by_unit = np.arange(len(self._unit_heads), dtype=np.int32)
        counts, rows = self._rows(by_unit)
        problems = []
        if not _same_pairs(self.pairs(), (rows, np.repeat(by_unit, counts))):
            problems.append(f"{name}: rows and units do not name the same links")
        heads = self._unit_heads.view()
        if ((heads >= 0) != (counts == 1)).any():
            problems.append(f"{name}: a unit of one row does not name it directly")
        if not self._backward_is_forward(by_unit[heads < NONE]):
            problems.append(f"{name}: a chain read backwards is not the chain")
        return problems

    def _backward_is_forward(self, units: NDArray[np.int32]) -> bool:
        counts, nodes = _followed(units, self._unit_heads.view(), self._chain.view(), 2, -1, 1)
        before = np.full(len(nodes), NONE, np.int32)
        before[1:] = nodes[:-1]
        before[(np.cumsum(counts) - counts)] = NONE
        return bool((self._back.view()[3 * nodes.astype(np.int64) + 1] == before).all())


def _reach(array: Growable, count: int) -> None:
    if array.count < count:
        array.resize(count, NONE)


def _shifts_of(heads: NDArray[np.int32]) -> NDArray[np.int32]:
    """The shift of each SHIFTED units.

    >>> rows = np.arange(200, dtype=np.int32)
    >>> _shifts_of(np.concatenate((rows[:100], rows[101:]))).tolist() == [0, NO_SHIFT, 1, 1]
    True
    """
    words = -(-len(heads) // SHIFTED)
    rows = np.empty(words * SHIFTED, np.int32)
    rows[: len(heads)] = heads
    # Behind the last unit, rows count on.
    rows[len(heads) :] = np.arange(1, len(rows) - len(heads) + 1) + (heads[-1] if len(heads) else 0)
    lines = (rows - np.arange(len(rows), dtype=np.int32)).reshape(words, SHIFTED)
    regular = (lines == lines[:, :1]).all(axis=1) & (rows[::SHIFTED] >= 0)
    shifts = np.where(regular, lines[:, 0], np.int32(NO_SHIFT)).astype(np.int32)
    shifts.flags.writeable = False
    return shifts


def _followed(
    sources: NDArray[np.int32], heads: NDArray[np.int32], nodes: NDArray[np.int32], stride: int, value: int, step: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    counts = np.empty(len(sources), np.int64)
    if not len(sources):
        return counts, np.empty(0, np.int32)  # a new index calls no kernel
    total = kernels.follow(sources, heads, nodes, stride, value, step, counts, _NOWHERE)
    out = np.empty(total, np.int32)
    kernels.follow(sources, heads, nodes, stride, value, step, counts, out)
    return counts, out


def _same_pairs(left: tuple[NDArray[Any], NDArray[Any]], right: tuple[NDArray[Any], NDArray[Any]]) -> bool:
    first, second = (np.sort((rows.astype(np.int64) << 32) | units) for rows, units in (left, right))
    return bool(np.array_equal(first, second))
