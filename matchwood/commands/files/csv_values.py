"""The cells of a CSV file, which are text, as the values that the rules' types ask for.

Text, dates and timestamps stay text: the index reads ISO 8601 by itself. Numbers become integers where all of a
column's are, otherwise decimals, or Python numbers where no column holds them all: nothing is lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from matchwood.commands.files.reading import Batch
from matchwood.encoding import NUMBER, numbers_of, truths_of, values_of_text
from matchwood.errors import EventError

_ELEMENTS = {"list<int>": int, "list<string>": str}


class _Misfit(Exception):
    """The position of a cell that cannot be read, and what it should be."""

    def __init__(self, position: int, expected: str) -> None:
        self.position, self.expected = position, expected


def typed(batch: pa.RecordBatch, kinds: Mapping[str, str], separator: str | None, on_error: str = "raise") -> Batch:
    """A batch of text with the columns that have a kind converted to it; columns without stay text.

    With `on_error="null"` cells that cannot be converted stay text too, for the index to count.

    >>> rows = pa.record_batch({"age": ["20", None], "tags": ['["a", "b"]', "[]"], "zip": ["00123", ""]})
    >>> typed(rows, {"age": "number", "tags": "list<string>"}, None).to_pylist()
    [{'age': 20, 'tags': ['a', 'b'], 'zip': '00123'}, {'age': None, 'tags': [], 'zip': ''}]
    """
    columns = [_column(batch, number, kinds, separator, on_error) for number in range(batch.num_columns)]
    names = batch.schema.names
    if all(isinstance(column, pa.Array) for column in columns):
        return pa.record_batch(columns, names=names) if names else batch
    lists = [column.to_pylist() if isinstance(column, pa.Array) else column for column in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]


def _column(batch: pa.RecordBatch, number: int, kinds: Mapping[str, str], separator: str | None, on_error: str) -> Any:
    name, text = batch.schema.names[number], batch.column(number)
    kind = kinds.get(name, "any")
    try:
        return _READERS.get(kind, _same)(text) if kind not in _ELEMENTS else _lists(text, kind, separator)
    except _Misfit as misfit:
        if on_error == "null":
            return _as_far_as_can_be(text, kind, separator)
        got = repr(text[misfit.position].as_py())
        where = f"event {misfit.position}"
        raise EventError(name, where=where, got=f"{got:.80}", expected=misfit.expected) from None


def _as_far_as_can_be(text: pa.Array, kind: str, separator: str | None) -> Any:
    """The column with text in the places of cells that are no values."""
    if kind not in _ELEMENTS:
        return values_of_text("number" if kind == "int" else kind, _bare(text))
    element, found = _ELEMENTS[kind], list[Any]()
    for cell in text.to_pylist():
        try:
            found.append(None if cell is None else _elements(cell, element, separator))
        except ValueError:
            found.append(cell)
    return found


def _same(text: pa.Array) -> pa.Array:
    return text


def _bare(text: pa.Array) -> pa.Array:
    """Without spaces around it; what is then empty is NULL, also in quotes, as only text can be empty."""
    trimmed = pc.utf8_trim_whitespace(text)
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


def _refuse(wrong: pa.Array, expected: str) -> None:
    position = pc.index(wrong, True).as_py()
    if position >= 0:
        raise _Misfit(position, expected)


def _bools(text: pa.Array) -> pa.Array:
    values, wrong = truths_of(_bare(text))
    _refuse(wrong, "true or false")
    return values


def _numbers(text: pa.Array) -> pa.Array | list[int | float | Decimal | None]:
    bare = _bare(text)
    _refuse(pc.invert(pc.match_substring_regex(bare, NUMBER)), "a number")
    return numbers_of(bare)


def _lists(text: pa.Array, kind: str, separator: str | None) -> pa.Array:
    """Each distinct cell is read once."""
    cells = text.dictionary_encode()
    element, found = _ELEMENTS[kind], []
    for number, cell in enumerate(cells.dictionary.to_pylist()):
        try:
            found.append(_elements(cell, element, separator))
        except ValueError:
            position = pc.index(cells.indices, number).as_py()
            raise _Misfit(position, _list_form(kind, separator)) from None
    values = pa.array(found, pa.list_(pa.int64() if element is int else pa.string()))
    return values.take(cells.indices)


def _elements(cell: str, element: type, separator: str | None) -> list[Any] | None:
    if separator is not None:
        return [element(piece) for piece in cell.split(separator)] if cell else []
    if not cell.strip():
        return None
    values = json.loads(cell)
    if not isinstance(values, list) or any(type(value) is not element for value in values if value is not None):
        raise ValueError(cell)
    return values


def _list_form(kind: str, separator: str | None) -> str:
    if separator is not None:
        return f"{kind}, its elements separated by {separator!r}"
    example = "[1, 2]" if kind == "list<int>" else '["a", "b"]'
    return f"{kind}, which in CSV is a JSON array such as {example}, or use --list-separator"


_READERS: dict[str, Callable[[pa.Array], Any]] = {
    "bool": _bools,
    "int": _numbers,
    "double": _numbers,
    "number": _numbers,
    "date": _bare,
    "timestamp": _bare,
}
