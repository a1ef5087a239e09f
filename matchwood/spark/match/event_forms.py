"""The forms that an event can have in one column, a map or JSON text, as what an index takes for events.

Events as columns or as a struct need none of this: they travel as columns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.encoding import Edge, Values, fraction_of, key_trie, open_container, values_of_text
from matchwood.errors import EventError


class Read(NamedTuple):
    """Events as an index takes them, and the rows that hold no event at all, with the reason."""

    events: Any
    errors: list[tuple[int, EventError]]


def read_maps(maps: pa.MapArray, kinds: Mapping[str, str], presence: bool) -> Read:
    """Maps from names to values; those of text are converted to the attributes' types.

    With `presence`, a key with NULL must be told from none, which columns cannot.
    """
    held, columns = open_container(maps), []
    if held is not None:
        names = list(kinds.values())
        for key, rows, items in held.inside.entries(trie := key_trie(list(kinds))):
            columns.append((key, _rows(rows, len(maps)), _converted(trie[key], names, items)))
    if presence or any(isinstance(values, list) for _, _, values in columns):
        return Read(_dicts(columns, len(maps)), [])
    return Read(_table(columns, len(maps)), [])


def _rows(rows: NDArray[np.int64] | None, count: int) -> NDArray[np.int64]:
    return np.arange(count) if rows is None else rows


def _converted(edge: Edge, kinds: list[str], items: Values) -> Values:
    """A key that several attributes ask for, each with its own type, stays text."""
    wanted = {kinds[position] for position in edge.here} - {"any"}
    if len(wanted) != 1 or isinstance(items, list) or not pa.types.is_string(items.type):
        return items
    return values_of_text(wanted.pop(), items)


def _table(columns: list[tuple[str, NDArray[np.int64], Values]], count: int) -> pa.RecordBatch:
    if not columns:
        return pa.record_batch([pa.nulls(count)], names=[""])
    return pa.record_batch(
        [_scattered(rows, values, count) for _, rows, values in columns], names=[key for key, _, _ in columns]
    )


def _scattered(rows: NDArray[np.int64], values: pa.Array, count: int) -> pa.Array:
    """The values in their rows, NULL in all others."""
    if len(rows) == count:
        return values
    places = np.full(count, -1, np.int64)
    places[rows] = np.arange(len(rows))
    return values.take(pa.array(places, mask=places < 0))


def _dicts(columns: list[tuple[str, NDArray[np.int64], Values]], count: int) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{} for _ in range(count)]
    for key, rows, values in columns:
        held = values if isinstance(values, list) else values.to_pylist()
        for row, value in zip(rows.tolist(), held, strict=True):
            events[row][key] = value
    return events


def read_json(texts: pa.Array) -> Read:
    """JSON objects, one a row; NULL is an event without attributes, and so is what is no object."""
    events: list[dict[str, Any]] = []
    errors: list[tuple[int, EventError]] = []
    for row, text in enumerate(_texts(texts)):
        event, problem = _json_object(text)
        events.append(event)
        if problem is not None:
            got = f"{text!r:.80}{problem}"
            errors.append((row, EventError("event", where=f"event {row}", got=got, expected="a JSON object")))
    return Read(events, errors)


def _texts(texts: pa.Array) -> list[Any]:
    """The texts; bytes if one of them is not UTF-8, which Spark does not check when it casts bytes to text."""
    try:
        return list(texts.to_pylist())
    except UnicodeDecodeError:
        return list(texts.cast(pa.binary()).to_pylist())


def _json_object(text: str | bytes | None) -> tuple[dict[str, Any], str | None]:
    """The object, and what is wrong with the text."""
    if text is None:
        return {}, None
    try:
        told = text.decode() if isinstance(text, bytes) else text
        event = json.loads(told, parse_float=fraction_of)
    except (ValueError, RecursionError) as error:
        return {}, f" ({error})"
    return (event, None) if isinstance(event, dict) else ({}, "")
