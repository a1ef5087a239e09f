"""`index.lint()`: rules that are never or always true, that repeat another, or that another implies.

`never` and `duplicate` are found for every rule whose normal form shows it, `always` by trying the cells of small
rules. `implied` compares single conjunctions, and gives up on one after a budget of candidates: the metadata of the
table says on how many (`unsearched`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.encoding import Encoder
from matchwood.indexing.compiled import CompiledMatcher
from matchwood.indexing.containment import contained
from matchwood.indexing.preparation import as_expression
from matchwood.logic import dnf_of, is_always, is_never
from matchwood.rules import RuleTable

PROBLEMS = ("never", "always", "duplicate", "implied")

_NOBODY = -1


class _Found(NamedTuple):
    """Rows with one kind of problem, and the row that each has it with, or -1."""

    problem: str
    rows: NDArray[np.int32]
    others: NDArray[np.int32]
    detail: str


def lint(table: RuleTable, encoder: Encoder, matcher: CompiledMatcher, dnf_limit: int) -> pa.Table:
    """All findings as a table (id, problem, other, detail), by problem and then rule order."""
    units = _UnitsOfRows(table, matcher)
    never = units.rows_without_any()
    always = units.rows_of_empty_conjunction()
    searched = _search_large_rules(table, encoder, dnf_limit, units.rows_with_several())
    never, always = np.union1d(never, searched[0]), np.union1d(always, searched[1])
    repeated, originals = units.duplicates()
    implied, implying, gave_up = units.implied()
    findings = [
        _alone("never", never, "no event can make it true"),
        _alone("always", always, "every event makes it true"),
        _Found("duplicate", repeated, originals, "the same as rule "),
        _without(_Found("implied", implied, implying, "true whenever this rule is: "), np.concatenate([always, repeated])),
    ]
    result = pa.concat_tables([_table(table, found) for found in findings])
    return result.replace_schema_metadata({"unsearched": str(gave_up)})


def _alone(problem: str, rows: NDArray[np.int32], detail: str) -> _Found:
    return _Found(problem, rows, np.full(len(rows), _NOBODY, np.int32), detail)


def _without(found: _Found, rows: NDArray[np.int32]) -> _Found:
    """Leave out rows that have a stronger finding."""
    kept = ~np.isin(found.rows, rows)
    return found._replace(rows=found.rows[kept], others=found.others[kept])


def _table(table: RuleTable, found: _Found) -> pa.Table:
    has_other = found.others != _NOBODY
    names = table.ids(np.where(has_other, found.others, 0)) if len(found.rows) else table.ids(found.others)
    others = pc.if_else(pa.array(has_other), names, pa.scalar(None, names.type))
    detail = pc.binary_join_element_wise(found.detail, pc.fill_null(others.cast(pa.string()), ""), "")
    problem = pa.array([found.problem] * len(found.rows), pa.string())
    return pa.table({"id": table.ids(found.rows), "problem": problem, "other": others, "detail": detail})


def _search_large_rules(
    table: RuleTable, encoder: Encoder, dnf_limit: int, rows: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Rules of several conjunctions, or with a form: whether they are never or always true is a search of its own."""
    never, always = [], []
    for row in rows.tolist():
        normal = dnf_of(as_expression(table.text(row)), encoder.bind, dnf_limit)
        if is_never(normal):
            never.append(row)
        elif is_always(normal):
            always.append(row)
    return np.array(never, np.int32), np.array(always, np.int32)


class _UnitsOfRows:
    """The links of an index in columns: which row uses which unit; forms are numbered after the conjunctions."""

    def __init__(self, table: RuleTable, matcher: CompiledMatcher) -> None:
        self._store = matcher.conjunctions
        self._live = table.live_rows()
        rows, units = table.pairs("conjunctions")
        form_rows, forms = table.pairs("forms")
        self._rows = np.concatenate([rows, form_rows])
        self._units = np.concatenate([units, forms + self._store.count])
        self._uses = np.bincount(self._rows, minlength=table.row_count)

    def rows_without_any(self) -> NDArray[np.int32]:
        return self._live[self._uses[self._live] == 0]

    def rows_with_several(self) -> NDArray[np.int32]:
        """Rows of several units, and rows of a form."""
        several = self._uses[self._rows] > 1
        return np.unique(self._rows[several | (self._units >= self._store.count)])

    def rows_of_empty_conjunction(self) -> NDArray[np.int32]:
        empty = np.append(np.diff(self._store.view().offsets) == 0, np.zeros(self._highest(), bool))
        return np.unique(self._rows[empty[self._units]])

    def _highest(self) -> int:
        return int(self._units.max()) + 1 if len(self._units) else 0

    def duplicates(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rows with the same units as an earlier row, and that row. Rows without units are `never`, and not compared."""
        order = np.lexsort((self._units, self._rows))
        rows, units = self._rows[order], self._units[order].astype(np.uint64)
        if not len(rows):
            return np.empty(0, np.int32), np.empty(0, np.int32)
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        return _same_sets(rows[starts], units, np.append(starts, len(units)))

    def implied(self) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
        """Rows that are true whenever another is, that other row, and on how many the search gave up."""
        plain = self._units < self._store.count
        rows, units = self._rows[plain], self._units[plain]
        if not len(units):
            return np.empty(0, np.int32), np.empty(0, np.int32), 0
        distinct, position = np.unique(units, return_inverse=True)
        order = np.full(len(distinct), -1, np.int64)
        alone = self._uses[rows] == 1
        reversed_rows, reversed_position = rows[alone][::-1], position[alone][::-1]
        order[reversed_position] = reversed_rows
        encoded = self._store.encoded(distinct.astype(np.int32))
        empty = np.diff(encoded.offsets) == 0
        order[empty] = -1
        found = contained(encoded, order)
        wide = (found.first >= 0)[position] & ~empty[position]
        others = order[found.first[position[wide]]].astype(np.int32)
        implied, which = np.unique(rows[wide], return_index=True)
        return implied.astype(np.int32), others[which], found.gave_up


def _same_sets(
    rows: NDArray[np.int32], units: NDArray[np.uint64], bounds: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Among sets units[bounds[i] : bounds[i + 1]] of rows[i], those equal to an earlier one, and the first such."""
    lengths = np.diff(bounds)
    repeated, originals = [], []
    for length in np.unique(lengths):
        which = np.flatnonzero(lengths == length)
        matrix = units[bounds[which][:, None] + np.arange(length)]
        _, first, group = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
        original = first[group.ravel()]
        again = original != np.arange(len(which))
        repeated.append(rows[which[again]])
        originals.append(rows[which[original[again]]])
    order = np.argsort(np.concatenate(repeated))
    return np.concatenate(repeated)[order], np.concatenate(originals)[order]
