"""What holds values under keys: mappings, tables, structs, maps. All are asked the same question.

`entries(node)` yields what stands under the keys of a trie's node: the key, the rows that have it (None
for all), and their values, an Arrow array or a list. Nothing else in the container is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding.events.columns.parts import Rows
from matchwood.encoding.events.columns.types import decoded, family, valid_rows, without_views
from matchwood.encoding.events.paths import Node

Values: TypeAlias = pa.Array | list[Any]
Entry: TypeAlias = tuple[str, Rows | None, Values]

_MAPPINGS_NAMED = 1_000
"""How many mappings are asked for their keys, where a message tells them."""


class Container(Protocol):
    """Rows of keys and values."""

    def entries(self, node: Node) -> Iterator[Entry]:
        """What stands under the keys of a node."""

    def names(self) -> list[str]:
        """The keys that there are, for messages."""


class OpenedContainer(NamedTuple):
    """A container found among values: its rows, and the rows in which NULL stands in its place.

    `fixed` says that all rows have the same keys.
    """

    inside: Container
    rows: Rows | None
    null_rows: Rows
    fixed: bool


def open_container(values: Values) -> OpenedContainer | None:
    """The container that a column's values form, if they do."""
    if isinstance(values, list):
        return _opened_objects(values)
    array = decoded(values)
    kind = family(array.type)
    if kind in ("union", "null"):
        return _opened_objects(array.to_pylist())
    return _OPENERS[kind](array) if kind in _OPENERS else None


def holds_struct(value: Any) -> bool:
    """Whether a Python value is a list with a mapping in it."""
    return isinstance(value, list | tuple | np.ndarray) and any(isinstance(each, Mapping) for each in value)


def rows_of_lists(values: Values) -> Rows:
    """The rows in which a list of structs or maps stands."""
    if isinstance(values, list):
        return np.array([row for row, value in enumerate(values) if holds_struct(value)], np.int64)
    array = decoded(values)
    kind = family(array.type)
    if kind == "union":
        return rows_of_lists(array.to_pylist())
    if kind != "list" or family(array.type.value_type) not in _OPENERS:
        return _NO_ROWS
    lists = array.cast(pa.large_list(array.type.value_field))
    held = np.asarray(pc.list_parent_indices(lists).to_numpy())[np.asarray(lists.flatten().is_valid())]
    return np.unique(held).astype(np.int64)


def _opened_struct(array: pa.StructArray) -> OpenedContainer:
    valid = valid_rows(array)
    if valid is None:
        return OpenedContainer(StructContainer(array, None), None, _NO_ROWS, fixed=True)
    rows = np.flatnonzero(valid)
    return OpenedContainer(StructContainer(array, rows), rows, np.flatnonzero(~valid), fixed=True)


def _opened_map(array: pa.MapArray) -> OpenedContainer:
    valid = valid_rows(array)
    return OpenedContainer(
        MapContainer(array, valid), None, _NO_ROWS if valid is None else np.flatnonzero(~valid), fixed=False
    )


_OPENERS: dict[str, Callable[[pa.Array], OpenedContainer]] = {"struct": _opened_struct, "map": _opened_map}
_NO_ROWS: Rows = np.zeros(0, np.int64)


def _taken(array: pa.Array, rows: Rows) -> pa.Array:
    """Some values of an array; Arrow cannot take them from views."""
    try:
        return array.take(pa.array(rows))
    except pa.ArrowNotImplementedError:
        return array.cast(without_views(array.type)).take(pa.array(rows))


def _opened_objects(values: list[Any]) -> OpenedContainer:
    rows = [row for row, value in enumerate(values) if isinstance(value, Mapping)]
    nulls = np.array([row for row, value in enumerate(values) if value is None], np.int64)
    if len(rows) == len(values):
        return OpenedContainer(MappingContainer(values), None, nulls, fixed=False)
    return OpenedContainer(
        MappingContainer([values[row] for row in rows]), np.array(rows, np.int64), nulls, fixed=False
    )


class MappingContainer:
    """Python mappings, one a row.

    With `presence`, a key that holds None is always told from a missing one; otherwise only where
    an attribute can stand in several places.
    """

    _ABSENT = object()

    def __init__(self, mappings: Sequence[Mapping[Any, Any]], presence: bool = True) -> None:
        self._mappings = mappings
        self._presence = presence

    def names(self) -> list[str]:
        keys = chain.from_iterable(self._mappings[:_MAPPINGS_NAMED])
        return [key for key in dict.fromkeys(keys) if isinstance(key, str)]

    def entries(self, node: Node) -> Iterator[Entry]:
        """By key, or, where mappings hold few of many keys, by what they hold."""
        held = sum(map(len, self._mappings))
        if held * 2 < len(self._mappings) * len(node):
            return self._by_mapping(node)
        return self._by_key(node)

    def _by_key(self, node: Node) -> Iterator[Entry]:
        for key, edge in node.items():
            if edge.sole and not self._presence:
                yield key, None, [mapping.get(key) for mapping in self._mappings]
            else:
                yield from self._where_present(key)

    def _where_present(self, key: str) -> Iterator[Entry]:
        absent = self._ABSENT
        values = [mapping.get(key, absent) for mapping in self._mappings]
        rows = [row for row, value in enumerate(values) if value is not absent]
        if len(rows) == len(values):
            yield key, None, values
        elif rows:
            yield key, np.array(rows, np.int64), [values[row] for row in rows]

    def _by_mapping(self, node: Node) -> Iterator[Entry]:
        found: dict[str, tuple[list[int], list[Any]]] = {}
        for row, mapping in enumerate(self._mappings):
            for key in mapping:
                if key in node:
                    rows, values = found.setdefault(key, ([], []))
                    rows.append(row)
                    values.append(mapping[key])
        for key, (rows, values) in found.items():
            yield key, np.array(rows, np.int64), values


def positions_of(names: Sequence[Any]) -> dict[str, list[int]]:
    """Where each name stands; a column whose name is not text can be no attribute."""
    positions: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        if isinstance(name, str):
            positions.setdefault(name, []).append(position)
    return positions


class ColumnContainer:
    """Columns by name, made only when they are asked for; a name may occur more than once."""

    def __init__(self, positions: Mapping[str, list[int]], column: Callable[[int], Values]) -> None:
        self._positions, self._column = positions, column

    def names(self) -> list[str]:
        return list(self._positions)

    def entries(self, node: Node) -> Iterator[Entry]:
        held = self._positions
        keys = [key for key in held if key in node] if len(held) < len(node) else [key for key in node if key in held]
        for key in keys:
            for position in held[key]:
                yield key, None, self._column(position)


class StructContainer:
    """The fields of a struct array; its rows are those in which the struct is not NULL."""

    def __init__(self, array: pa.StructArray, rows: Rows | None) -> None:
        self._array, self._rows = array, rows

    def names(self) -> list[str]:
        return [field.name for field in self._array.type]

    def entries(self, node: Node) -> Iterator[Entry]:
        for position, field in enumerate(self._array.type):
            if field.name in node:
                values = decoded(pc.struct_field(self._array, [position]))
                yield field.name, None, values if self._rows is None else _taken(values, self._rows)


class MapContainer:
    """The items of a map array's rows; of a key that comes twice in a map, the last counts."""

    def __init__(self, array: pa.MapArray, valid: NDArray[np.bool_] | None) -> None:
        offsets = array.offsets.to_numpy()
        within = slice(int(offsets[0]), int(offsets[-1]))
        self._keys, self._items = decoded(array.keys[within]), decoded(array.items[within])
        self._rows = np.repeat(np.arange(len(array)), np.diff(offsets))
        self._unused = None if valid is None else ~valid[self._rows]

    def names(self) -> list[str]:
        return self._keys.unique().to_pylist() if family(self._keys.type) == "string" else []

    def entries(self, node: Node) -> Iterator[Entry]:
        """All items of the node's keys are put in order at once: a map may hold thousands of keys."""
        if family(self._keys.type) != "string":
            return
        encoded = self._keys.dictionary_encode()
        keys = encoded.dictionary.to_pylist()
        wanted = np.array([key in node for key in keys], np.bool_)
        order, codes = self._ordered(encoded.indices.to_numpy().astype(np.int64), wanted)
        rows, items = self._rows[order], _taken(self._items, order)
        starts = places_in(codes, np.arange(len(keys) + 1)).tolist()
        for code in np.unique(codes).tolist():
            start, stop = starts[code], starts[code + 1]
            yield keys[code], rows[start:stop], items.slice(start, stop - start)

    def _ordered(self, codes: Rows, wanted: NDArray[np.bool_]) -> tuple[Rows, Rows]:
        """The items of wanted keys, by key and row, only the last of equal ones; and their keys."""
        chosen = wanted[codes]
        if self._unused is not None:
            chosen &= ~self._unused
        items = np.flatnonzero(chosen)
        items = items[np.argsort(codes[items], kind="stable")]
        keys, rows = codes[items], self._rows[items]
        last = np.ones(len(items), np.bool_)
        last[:-1] = (keys[1:] != keys[:-1]) | (rows[1:] != rows[:-1])
        return items[last], keys[last]
