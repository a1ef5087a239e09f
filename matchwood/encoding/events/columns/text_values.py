"""Text as the values that the rules' types ask for, where it is to be converted: in maps of text, or by `coerce=`.

Dates, timestamps and text stay as they are: the index reads ISO 8601 by itself. What is no value of its type stays text
as well, for the index to refuse.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from matchwood.encoding.events.columns.text_scalars import INTEGER, NUMBER, SPACES, numbers_of, truths_of

Values: TypeAlias = pa.Array | list[Any]


def values_of_text(kind: str, text: pa.Array) -> Values:
    """A column of text as values; a list where no Arrow type holds them all.

    >>> values_of_text("number", pa.array(["1", " 2.5", None])).to_pylist()
    [Decimal('1.0'), Decimal('2.5'), None]
    >>> values_of_text("int", pa.array(["1", "x"]))
    [1, 'x']
    """
    return _READERS[kind](text) if kind in _READERS else text


def _settled(values: Values, text: pa.Array, wrong: pa.Array) -> Values:
    """The values, if all of the text could be read; otherwise with text in the places of those that could not."""
    if not pc.any(wrong).as_py():
        return values
    held = values if isinstance(values, list) else values.to_pylist()
    places = zip(held, text.to_pylist(), wrong.to_pylist(), strict=True)
    return [given if bad else value for value, given, bad in places]


def _bools(text: pa.Array) -> Values:
    values, wrong = truths_of(pc.utf8_trim(text, SPACES))
    return _settled(values, text, wrong)


def _integers(text: pa.Array) -> Values:
    return _numbers(text, INTEGER)


def _numbers(text: pa.Array, pattern: str = NUMBER) -> Values:
    bare = pc.utf8_trim(text, SPACES)
    wrong = pc.fill_null(pc.invert(pc.match_substring_regex(bare, pattern)), False)
    return _settled(numbers_of(pc.if_else(wrong, pa.scalar(None, text.type), bare)), text, wrong)


def _lists(text: pa.Array) -> Values:
    """JSON arrays. Each distinct text is read once."""
    cells = text.dictionary_encode()
    found = [_elements(cell) for cell in cells.dictionary.to_pylist()]
    return [None if number is None else found[number] for number in cells.indices.to_pylist()]


def _elements(cell: str) -> Any:
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


_READERS: dict[str, Callable[[pa.Array], Values]] = {
    "bool": _bools,
    "int": _integers,
    "double": _numbers,
    "number": _numbers,
    "list<int>": _lists,
    "list<string>": _lists,
}
