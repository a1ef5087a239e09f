"""From columns to codes: look up a chunk's elements, and put the pairs together event by event."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding.attribute import Source
from matchwood.encoding.codes import NULL_LABEL, EncodedEvents
from matchwood.encoding.derived.attributes import Verdicts
from matchwood.encoding.events._assembly_kernels import pairs_of_matrix, pairs_of_triples, pairs_with_verdicts
from matchwood.encoding.events.columns.fixed import FixedColumns
from matchwood.encoding.events.columns.parts import ColumnPart, Rows, codes_of, labels_of
from matchwood.encoding.spaces.base import Strings
from matchwood.encoding.spaces.decimals import Decimals
from matchwood.encoding.spaces.keys import arrow_strings

_SPARSE = 4
"""A matrix that would be emptier than one in four is not made: triples cost some four times a cell."""

_SPARE = 16
"""Unused labels at the end of a matrix's line: with lines of 2^n bytes all columns fall into the same few places of the
processor's cache and drive each other out."""


class _Labels(NamedTuple):
    """Labels for an attribute number: of the given rows, or of all."""

    number: int
    rows: Rows | None
    labels: NDArray[np.int32]


class _Verdicts(NamedTuple):
    """Verdicts on some values, and which of them each row has (-1 for none)."""

    rows: Rows | None
    codes: NDArray[np.int64]
    verdicts: Verdicts


class Assembly:
    """Collects what the values of one chunk are encoded to; `fixed` columns are looked up at the end."""

    def __init__(self, count: int, fixed: FixedColumns | None = None) -> None:
        self._count = count
        self._fixed = FixedColumns(count) if fixed is None else fixed
        self._labels: list[_Labels] = []
        self._found: list[_Verdicts] = []
        self.held = 0
        """How many labels were held at once before they became pairs, those that mean NULL included."""

    def add(self, source: Source, part: ColumnPart) -> None:
        """Look up the values of one part of a source's column."""
        if not len(part.elements):
            return
        elements = _readable(part.elements) if any(target.spaces is not None for target in source.direct) else _UNREAD
        for target in source.direct:
            labels = target.locate_many(elements, len(part.elements))
            self._labels.append(_Labels(target.number, part.rows, labels_of(part, labels)))
        if source.derived is not None:
            self._found.append(_Verdicts(part.rows, codes_of(part), source.derived.evaluate(part.elements)))

    def _cells(self) -> int:
        """How many labels there are; those that mean NULL included, but for fixed columns."""
        return sum(len(labels.labels) for labels in self._labels) + self._fixed.cells

    def finish(self) -> EncodedEvents:
        """All pairs, event by event, ordered by attribute."""
        self._labels.sort(key=lambda labels: labels.number)
        numbers = self._fixed.numbers.tolist()
        if self._labels:
            numbers = sorted({*(labels.number for labels in self._labels), *numbers})
        cells, matrix = self._cells(), len(numbers) * self._count
        dense = cells * _SPARSE >= matrix
        self.held = max(cells, matrix) if dense else cells
        direct = self._from_matrix(numbers) if dense else self._from_triples()
        return EncodedEvents(*(self._with_verdicts(*direct) if self._found else direct))

    def _from_matrix(self, numbers: list[int]) -> Any:
        matrix = np.empty((len(numbers), self._count + _SPARE), np.int32)
        lines = np.array(numbers, np.int32)
        if len(self._fixed):
            self._fixed.fill(matrix, places_in(lines, self._fixed.numbers))
        previous = -1
        for number, rows, labels in self._labels:
            line = matrix[bisect_left(numbers, number), : self._count]
            (_add if number == previous else _begin)(line, rows, labels)
            previous = number
        return pairs_of_matrix(matrix, self._count, lines)

    def _from_triples(self) -> Any:
        begins, fixed = self._fixed.located()
        if not self._labels:
            return pairs_of_triples(self._count, *fixed)
        every, done = np.arange(self._count), 0
        runs: list[list[NDArray[Any]]] = []
        for number, rows, labels in self._labels:
            end = int(begins[places_in(self._fixed.numbers, number)])
            runs.append([each[done:end] for each in fixed])
            runs.append([every if rows is None else rows, np.full(len(labels), number, np.int32), labels])
            done = end
        runs.append([each[done:] for each in fixed])
        return pairs_of_triples(self._count, *(np.concatenate(each) for each in zip(*runs, strict=True)))

    def _with_verdicts(self, offsets: Any, attributes: Any, labels: Any) -> Any:
        """The verdicts of all sources one after the other, so that a code names a value of one of them."""
        codes = np.full((len(self._found), self._count), -1, np.int64)
        bounds, values, pairs = [], 0, 0
        for line, (rows, own, verdicts) in zip(codes, self._found, strict=True):
            line[slice(None) if rows is None else rows] = np.where(own < 0, -1, own + values)
            bounds.append(verdicts.offsets[:-1] + pairs)
            values += len(verdicts.offsets) - 1
            pairs += len(verdicts.attributes)
        every = Verdicts(
            np.concatenate([*bounds, [pairs]]).astype(np.int64, copy=False),
            np.concatenate([found.verdicts.attributes for found in self._found]),
            np.concatenate([found.verdicts.labels for found in self._found]),
        )
        return pairs_with_verdicts(offsets, attributes, labels, codes, every.offsets, every.attributes, every.labels)


_UNREAD: NDArray[np.int64] = np.zeros(0, np.int64)


def _begin(line: NDArray[np.int32], rows: Rows | None, labels: NDArray[np.int32]) -> None:
    """The first labels of an attribute; the other rows are NULL."""
    if rows is None:
        line[:] = labels
    else:
        line.fill(NULL_LABEL)
        line[rows] = labels


def _add(line: NDArray[np.int32], rows: Rows | None, labels: NDArray[np.int32]) -> None:
    """Further labels, from other places of the events; a NULL there replaces nothing."""
    held = np.flatnonzero(labels >= 0)
    line[held if rows is None else rows[held]] = labels[held]


def _readable(elements: NDArray[Any] | Decimals | pa.Array) -> NDArray[Any] | Strings | Decimals:
    """Elements as look-ups take them: always read-only, so that their kernels are compiled once."""
    if isinstance(elements, Decimals):
        return elements
    if isinstance(elements, pa.Array):
        offsets, data = arrow_strings(elements)
        return Strings(_frozen(offsets), _frozen(data))
    return _frozen(elements)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    frozen = array.view()
    frozen.flags.writeable = False
    return frozen
