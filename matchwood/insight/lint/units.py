"""Which rule has which units, in columns: what can be told of all rules at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import EncodedConjunctions
from matchwood.insight.lint.containment import contained
from matchwood.matching import MatcherPart
from matchwood.rules import RuleTable

Rows: TypeAlias = NDArray[np.int32]
NO_ROWS: Rows = np.empty(0, np.int32)


class Implied(NamedTuple):
    """Rows that are true whenever the other one is, and on how many the search gave up."""

    rows: Rows
    others: Rows
    gave_up: int


class UnitsOfRows:
    """The links of an index; what is beside the conjunctions is numbered after them."""

    def __init__(self, table: RuleTable, parts: Sequence[MatcherPart]) -> None:
        self._live = table.live_rows()
        first, *others = parts
        linked, units = table.pairs(first.kind)
        self._distinct, used = np.unique(units, return_inverse=True)
        self._encoded: EncodedConjunctions = first.store.encoded(self._distinct.astype(np.int32))
        rows, places, count = [linked], [used.ravel()], len(self._distinct)
        for part in others:
            linked, units = table.pairs(part.kind)
            rows, places = [*rows, linked], [*places, units + np.int64(count)]
            count += part.store.count
        self._rows, self._places = np.concatenate(rows), np.concatenate(places).astype(np.int64)
        """For each link its unit, as a position among the conjunctions in use, or beyond them for another part's."""
        self._count = np.bincount(self._rows, minlength=table.row_count)

    @property
    def _is_form(self) -> NDArray[np.bool_]:
        return self._places >= len(self._distinct)

    def rows_without_any(self) -> Rows:
        """Rules that no conjunction satisfies."""
        empty: Rows = self._live[self._count[self._live] == 0]
        return empty

    def rows_of_empty_conjunction(self) -> Rows:
        """Rules with a conjunction that asks for nothing."""
        return self._rows_with(np.diff(self._encoded.offsets) == 0)

    def rows_to_search(self) -> Rows:
        """Rules that may be always true without showing it: several conjunctions, one of which holds of the event
        without any attribute. And rules with a form, of which little can be seen."""
        refuses = np.zeros(len(self._distinct), np.bool_)
        owner = np.repeat(np.arange(len(self._distinct)), np.diff(self._encoded.offsets))
        refuses[owner[~self._encoded.accepts_null]] = True
        likely = self._rows_with(~refuses)
        return np.union1d(likely[self._count[likely] > 1], self._rows[self._is_form])

    def _rows_with(self, wanted: NDArray[np.bool_]) -> Rows:
        """The rules that have one of the conjunctions wanted."""
        plain = ~self._is_form
        return np.unique(self._rows[plain][wanted[self._places[plain]]])

    def duplicates(self) -> tuple[Rows, Rows]:
        """Rows with the same units as an earlier row, and the first such."""
        if not len(self._rows):
            return NO_ROWS, NO_ROWS
        order = np.lexsort((self._places, self._rows))
        rows, places = self._rows[order], self._places[order]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        return _same_sets(rows[starts], places, np.append(starts, len(places)))

    def implied(self) -> Implied:
        """Rows with a conjunction that contains, or is, that of a rule which has no other one."""
        plain = ~self._is_form
        rows, places = self._rows[plain], self._places[plain]
        narrow, asked = np.full(len(self._distinct), -1, np.int64), np.diff(self._encoded.offsets) > 0
        alone = self._count[rows] == 1
        narrow[places[alone][::-1]] = rows[alone][::-1]
        found = contained(self._encoded, np.where(asked, narrow, -1))
        wide, shared = found.first[places] >= 0, ~alone & (narrow[places] >= 0)
        others = (narrow[found.first[places[wide]]], narrow[places[shared]])
        either = np.concatenate([rows[wide], rows[shared]])
        return Implied(*_first_of_each(either, np.concatenate(others)), found.gave_up)


def _first_of_each(rows: Rows, others: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Each row once, with the first of its others in rule order."""
    order = np.lexsort((others, rows))
    distinct, first = np.unique(rows[order], return_index=True)
    return distinct.astype(np.int32), others[order][first].astype(np.int32)


def _same_sets(rows: Rows, places: NDArray[np.int64], bounds: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Among sets places[bounds[i] : bounds[i + 1]] of rows[i], those equal to an earlier one, and the first such."""
    lengths = np.diff(bounds)
    repeated, originals = [], []
    for length in np.unique(lengths).tolist():
        which = np.flatnonzero(lengths == length)
        original = _first_equal(places[bounds[which][:, None] + np.arange(length)])
        again = original != np.arange(len(which))
        repeated.append(rows[which[again]])
        originals.append(rows[which[original[again]]])
    order = np.argsort(np.concatenate(repeated))
    return np.concatenate(repeated)[order], np.concatenate(originals)[order]


def _first_equal(matrix: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each line the position of the first that is equal to it."""
    if matrix.shape[1] == 1:
        _, first, group = np.unique(matrix.ravel(), return_index=True, return_inverse=True)
    else:
        _, first, group = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
    return first[group.ravel()]
