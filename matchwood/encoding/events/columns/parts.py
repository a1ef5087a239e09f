"""What a column of an attribute's values is read into: elements to look up, and the values that do not fit.

The readers (`arrow.py` for Arrow, `objects.py` for Python values) turn each column into a
`ValueColumn`; rows are positions in the column until `placed` moves them to the chunk's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.encoding.codes import NULL_LABEL
from matchwood.encoding.spaces.decimals import Decimals

Rows = NDArray[np.int64]


class ColumnPart(NamedTuple):
    """Some values of a column, none of them NULL except as said here.

    `elements`  int64, float64, Decimals, or a pyarrow array of strings or lists, without NULLs
    `rows`      the row of each value; None when value i is that of row i
    `codes`     value i is elements[codes[i]], NULL if that is -1; None when it is elements[i]
    `valid`     False where value i is NULL, whatever the elements hold; None when none is
    """

    elements: NDArray[Any] | Decimals | pa.Array
    rows: Rows | None = None
    codes: NDArray[np.int64] | None = None
    valid: NDArray[np.bool_] | None = None


class Misfits(NamedTuple):
    """Values that do not fit: their rows, what the i-th of them is, and what was expected if not the kind."""

    rows: Rows
    got: Callable[[int], str]
    expected: str | None = None


class ValueColumn(NamedTuple):
    """All values of an attribute that stand in one column; no row is in two parts."""

    parts: list[ColumnPart]
    misfits: list[Misfits]


EMPTY = ValueColumn([], [])


def placed(column: ValueColumn, rows: Rows | None) -> ValueColumn:
    """The column with its rows moved: the value at position i belongs to rows[i]."""
    if rows is None:
        return column
    parts = [part._replace(rows=rows if part.rows is None else rows[part.rows]) for part in column.parts]
    return ValueColumn(parts, [misfits._replace(rows=rows[misfits.rows]) for misfits in column.misfits])


def without(column: ValueColumn, excluded: NDArray[np.bool_]) -> ValueColumn:
    """The column without the rows that are excluded."""
    parts = [_part_without(part, excluded) for part in column.parts]
    return ValueColumn(parts, [_misfits_without(misfits, excluded) for misfits in column.misfits])


def _part_without(part: ColumnPart, excluded: NDArray[np.bool_]) -> ColumnPart:
    kept = ~excluded[: _length(part)] if part.rows is None else ~excluded[part.rows]
    return part._replace(valid=kept if part.valid is None else part.valid & kept)


def _length(part: ColumnPart) -> int:
    return len(part.elements) if part.codes is None else len(part.codes)


def _misfits_without(misfits: Misfits, excluded: NDArray[np.bool_]) -> Misfits:
    kept = np.flatnonzero(~excluded[misfits.rows])
    return misfits._replace(rows=misfits.rows[kept], got=lambda position: misfits.got(int(kept[position])))


def repeated(distinct: ValueColumn, codes: NDArray[np.int64]) -> ValueColumn:
    """The column in which row i has the value that `distinct` has in row codes[i]; NULL for -1."""
    parts = [_repeated_part(part, codes) for part in distinct.parts]
    return ValueColumn(parts, [_repeated_misfits(misfits, codes) for misfits in distinct.misfits])


def _repeated_part(part: ColumnPart, codes: NDArray[np.int64]) -> ColumnPart:
    elements = codes_of(part)
    places = np.arange(len(elements)) if part.rows is None else part.rows
    rows, found = _looked_up(places, elements, codes)
    return ColumnPart(part.elements, rows, found)


def _repeated_misfits(misfits: Misfits, codes: NDArray[np.int64]) -> Misfits:
    rows, found = _looked_up(misfits.rows, np.arange(len(misfits.rows)), codes)
    return misfits._replace(rows=rows, got=lambda position: misfits.got(int(found[position])))


def _looked_up(places: Rows, values: Rows, codes: Rows) -> tuple[Rows, Rows]:
    """The positions i whose codes[i] is one of the places, and the values (if not -1) that stand there."""
    value_at = np.full(max(int(places.max(initial=-1)), int(codes.max(initial=-1))) + 2, -1, np.int64)
    value_at[places] = values
    found = value_at[codes]
    rows = np.flatnonzero(found >= 0)
    return rows, found[rows]


def labels_of(part: ColumnPart, labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """The labels of a part's values, from those of its elements; NULL_LABEL where a value is NULL.

    NULL_LABEL has all bits set, and so has valid - 1 where a value is not: three times faster than a choice.
    """
    if part.codes is not None:
        labels = np.append(labels, np.int32(NULL_LABEL))[part.codes]
    return labels if part.valid is None else labels | (part.valid.view(np.int8) - np.int8(1))


def codes_of(part: ColumnPart) -> NDArray[np.int64]:
    """The element of each of a part's values; -1 where it is NULL."""
    codes = np.arange(len(part.elements)) if part.codes is None else part.codes
    return codes if part.valid is None else np.where(part.valid, codes, -1)
