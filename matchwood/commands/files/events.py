"""Events from a file, a batch at a time, as `Index.match_batches` takes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from matchwood.commands.files.csv_values import typed
from matchwood.commands.files.formats import CSV, format_of
from matchwood.commands.files.reading import Batch, column_names, read_batches
from matchwood.encoding import near_misses
from matchwood.errors import EventError, InvalidArgument
from matchwood.index import Index
from matchwood.language import split_path


class EventBatch(NamedTuple):
    """Some events: the position of the first in the file, what the index takes, and each one's key if there is one."""

    first: int
    events: Batch
    keys: pa.Array | None


class EventFile:
    """The events of a file, with the columns that an index asks for.

    `key`        a column to hand out beside the events
    `separator`  what stands between the elements of a list in CSV; None for JSON arrays
    `narrow`     read no other columns than rules name, where the format allows it
    `kinds`      the types of columns, if not those that the rules of the index give them
    `on_error`   what becomes of cells that do not fit: `raise` or `null`
    """

    def __init__(
        self,
        path: Path,
        index: Index,
        key: str | None,
        separator: str | None,
        narrow: bool,
        kinds: dict[str, str] | None = None,
        on_error: str = "raise",
    ) -> None:
        self._on_error = on_error
        self.path, self._key, self._separator = path, key, separator
        self._kinds = column_kinds(index) if kinds is None else kinds
        self._columns = column_names(path)
        self._narrow = narrow
        self._key_type: pa.DataType | None = None
        self.seen: set[str] = set(self._columns or ())
        """The columns, or the keys of all objects so far."""
        if key is not None and self._columns is not None and self._columns.count(key) != 1:
            found = "more than one column" if key in self._columns else "no column"
            raise InvalidArgument(f"{path}: there is {found} {key!r} (the columns: {', '.join(self._columns)})")

    def batches(self) -> Iterator[EventBatch]:
        first = 0
        for batch in read_batches(self.path, self._wanted()):
            keys = None if self._key is None else self._keys(batch, self._key)
            with self.located(first):
                events = self._typed(batch)
            yield EventBatch(first, events, keys)
            first += len(batch)

    @contextmanager
    def located(self, first: int) -> Iterator[None]:
        """Errors within a batch name the file, and count events from its beginning."""
        try:
            yield
        except EventError as error:
            where = re.sub(r"(?<=event )\d+", lambda found: str(int(found[0]) + first), error.where)
            named = f"{self.path}, {where}"
            raise EventError(error.what, where=named, got=error.got, expected=error.expected, hint=error.hint) from None

    def _wanted(self) -> list[str] | None:
        if self._columns is None or not self._narrow:
            return None
        tops = {split_path(name)[0] for name in self._kinds} | set(self._kinds)
        return [name for name in self._columns if name in tops or name == self._key]

    def _typed(self, batch: Batch) -> Batch:
        if format_of(self.path) == CSV:
            return typed(batch, self._kinds, self._separator, self._on_error)
        if isinstance(batch, list):
            self.seen.update(*batch)
        return batch

    def _keys(self, batch: Batch, key: str) -> pa.Array:
        if isinstance(batch, pa.RecordBatch):
            return batch.column(key)
        values = [row.get(key) for row in batch]
        try:
            keys = pa.array(values, self._key_type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
            keys = pa.nulls(0)
        if pa.types.is_null(keys.type) or pa.types.is_nested(keys.type):
            raise InvalidArgument(f"{self.path}: {key!r} must be one text, or one number, in every event to be a key")
        self._key_type = keys.type
        return keys

    def absences(self, index: Index) -> list[str]:
        """Each attribute that rules name and no event has, with names that may have been meant."""
        return [_absence(name, self.seen) for name in sorted(_names(index)) if not _is_given(name, self.seen)]


def _names(index: Index) -> set[str]:
    return {name for name, _ in index._encoder.schema.counts()}


def column_kinds(index: Index) -> dict[str, str]:
    """The type that live rules give to each column they name."""
    return {".".join(split_path(name)): index._encoder.schema.kind(name) for name in sorted(_names(index))}


def _is_given(name: str, seen: set[str]) -> bool:
    path = split_path(name)
    return path[0] in seen or ".".join(path) in seen


def _absence(name: str, seen: set[str]) -> str:
    near = near_misses(name, sorted(seen))
    return f"{name!r} (but {', '.join(map(repr, near))})" if near else repr(name)
