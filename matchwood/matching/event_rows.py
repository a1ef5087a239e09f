"""Events as dicts, one a row: what the oracle looks at. Everything else encodes columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from matchwood.encoding import Chunk, check_column, is_frame, key_trie, near_misses
from matchwood.errors import EventError, InvalidArgument, kind_in_words
from matchwood.language import split_path

ROWS_AT_ONCE = 256
MISSING = ("null", "error")

Row: TypeAlias = Mapping[str, Any]


class RowChunk(NamedTuple):
    """Some events: where they begin, how many they are, and how they are read, given the names that rules ask for."""

    first: int
    size: int
    read: Callable[[list[str]], list[Any]]
    missing: str

    def events(self, names: Iterable[str]) -> list[Row]:
        """The events as mappings; with missing="error" each must have every one of `names`."""
        named = sorted(names)
        rows = self.read(named)
        for position, event in enumerate(rows, self.first):
            check_row(event, position, named if self.missing == "error" else [])
        return rows


def row_chunks(events: Any, missing: str, keeps_nan: bool = False) -> Iterator[RowChunk]:
    """Events of any kind in chunks, read when they are asked for; NaN in pandas is NULL unless it is kept."""
    if missing not in MISSING:
        raise InvalidArgument(f"missing must be one of {', '.join(map(repr, MISSING))} (got {missing!r:.80})")
    if is_frame(events, "pandas"):
        return _frame_chunks(events, missing, keeps_nan)
    tables = _tables(events)
    return _list_chunks(iter(_rows(events)), missing) if tables is None else _table_chunks(tables, missing)


def rows_of_chunk(chunk: Chunk, keeps_nan: bool) -> RowChunk:
    """The events of a chunk of any kind, read when they are asked for. What is missing is told elsewhere."""
    return RowChunk(
        chunk.first_row, chunk.size, partial(_chunk_rows, chunk, chunk.from_pandas and not keeps_nan), "null"
    )


def _chunk_rows(chunk: Chunk, restores: bool, names: list[str]) -> list[Any]:
    """`restores` integers that a missing value turned into floats."""
    if chunk.mappings is not None:
        return list(chunk.mappings)
    trie, columns, doubled = key_trie(names), dict[str, list[Any]](), set[str]()
    for name, _, values in chunk.rows.entries(trie):
        if name in columns:
            doubled.add(name)
        cells = values if isinstance(values, list) else _column_cells(values)
        columns[name] = [_cell(value) for value in cells] if restores else cells
    # What stands in two columns fits nowhere, and counts as missing.
    return _as_rows({name: cells for name, cells in columns.items() if name not in doubled}, chunk.size)


def _list_chunks(rows: Iterator[Any], missing: str) -> Iterator[RowChunk]:
    first = 0
    while chunk := list(itertools.islice(rows, ROWS_AT_ONCE)):
        yield RowChunk(first, len(chunk), partial(_as_given, chunk), missing)
        first += len(chunk)


def _as_given(rows: list[Any], names: list[str]) -> list[Any]:
    return rows


def _frame_chunks(frame: Any, missing: str, keeps_nan: bool) -> Iterator[RowChunk]:
    for first in range(0, len(frame), ROWS_AT_ONCE):
        part = frame.iloc[first : first + ROWS_AT_ONCE]
        yield RowChunk(first, len(part), partial(_frame_rows, part, keeps_nan), missing)


def _frame_rows(frame: Any, keeps_nan: bool, names: list[str]) -> list[Any]:
    """Rows of a DataFrame; a column only matters if a rule names it, or something within it."""
    tops = _tops(names)
    columns = {name: _cells(frame[name], keeps_nan) for name in frame.columns if name in tops}
    return _as_rows(columns, len(frame))


def _tops(names: list[str]) -> set[str]:
    """The columns that may hold what these names ask for: each, or a container of it."""
    paths = [split_path(name) for name in names]
    return {".".join(path[:size]) for path in paths for size in range(1, len(path) + 1)}


def _as_rows(columns: Mapping[str, list[Any]], count: int) -> list[Any]:
    if not columns:
        return [{} for _ in range(count)]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _cells(column: Any, keeps_nan: bool) -> list[Any]:
    """The values of a column, None for whatever pandas takes as missing.

    One missing value turns a column of integers into floats, so whole numbers count as the integers they may have been.
    """
    absent = column.isna().tolist()
    cells = zip(column.tolist(), absent, strict=True)
    if keeps_nan:
        return [value if isinstance(value, float) else None if missing else value for value, missing in cells]
    return [None if missing else _cell(value) for value, missing in cells]


def _cell(value: Any) -> Any:
    """Arrow-backed columns do not call NaN missing, but it is NULL in pandas all the same."""
    if not isinstance(value, float):
        return value
    if value != value:
        return None
    return int(value) if value.is_integer() and abs(value) < 2**63 else value


def check_row(event: Any, position: int, wanted: list[str]) -> None:
    """EventError for what is no mapping, or lacks a name that is wanted."""
    where = f"event {position}"
    if not isinstance(event, Mapping):
        got = f"{event!r:.80}, {kind_in_words(event)}"
        raise EventError("event", where=where, got=got, expected="a dict or another mapping")
    absent = [name for name in wanted if not _has(event, name)]
    if absent:
        near = [f"no {name!r}" + _nearest(name, event) for name in absent]
        raise EventError(", ".join(absent), where=where, got=", ".join(near), expected="given, because rules name it")


def _nearest(name: str, event: Row) -> str:
    return "".join(f", but {other!r}" for other in near_misses(name, map(str, event))[:1])


def _has(event: Row, name: str) -> bool:
    path = split_path(name)
    if ".".join(path) in event:
        return True
    at: Any = event
    for key in path:
        if not isinstance(at, Mapping) or key not in at:
            return False
        at = at[key]
    return True


def _rows(events: Any) -> Iterable[Any]:
    if isinstance(events, Mapping):
        return [events]
    if isinstance(events, Iterable) and not isinstance(events, str | bytes):
        return events
    wanted = "a dict, dicts, an Arrow table or stream, or a DataFrame"
    raise InvalidArgument(f"events must be {wanted} (got {events!r:.80})")


def _tables(events: Any) -> Iterable[pa.Table] | None:
    """Arrow data as tables; None for anything else. Where a struct is NULL, all its fields are."""
    if isinstance(events, pa.Table):
        return [events]
    if isinstance(events, pa.RecordBatch):
        return [pa.Table.from_batches([events])]
    if isinstance(events, pa.ChunkedArray | pa.StructArray):
        names = [field.name for field in events.type]
        return [pa.Table.from_arrays(events.flatten(), names=names) if names else pa.table({"": pa.nulls(len(events))})]
    if hasattr(events, "__arrow_c_stream__"):
        return (pa.Table.from_batches([batch]) for batch in pa.RecordBatchReader.from_stream(events))
    return None


def _table_chunks(tables: Iterable[pa.Table], missing: str) -> Iterator[RowChunk]:
    before = 0
    for table in tables:
        for start in range(0, len(table), ROWS_AT_ONCE):
            part = table.slice(start, ROWS_AT_ONCE)
            yield RowChunk(before + start, len(part), partial(_table_rows, part, before + start), missing)
        before += len(table)


def _table_rows(table: pa.Table, first: int, names: list[str]) -> list[Any]:
    """Rows of Arrow data; as in a DataFrame, only columns that rules name matter."""
    tops, columns = _tops(names), dict[str, list[Any]]()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in columns:
            raise EventError(name, where=f"event {first}", got=f"{name} twice", expected="given only once")
        if name in tops:
            check_column(name, column)
            columns[name] = _column_cells(column)
    return _as_rows(columns, len(table))


class Unreadable:
    """A value of Arrow's that Python has no object for; it fits no attribute."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind

    def __repr__(self) -> str:
        return "bytes that are not UTF-8" if self._kind in _TEXTS else f"a {self._kind} that Python cannot hold"


_TEXTS = (pa.string(), pa.large_string(), pa.string_view())


def _column_cells(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """The values of a column; maps, which Arrow hands out as lists of pairs, as dicts."""
    try:
        return column.to_pylist(maps_as_pydicts="lossy")  # type: ignore[no-any-return]
    except (ValueError, OverflowError):
        return [_python_value(scalar) for scalar in column]


def _python_value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py(maps_as_pydicts="lossy")
    except (ValueError, OverflowError):
        return Unreadable(scalar.type)
