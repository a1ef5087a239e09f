"""The kinds of input that events come in, cut into chunks of bounded size.

A chunk is a container of rows. Its columns are sliced, and converted where they must be, only when
the encoding asks for them by name: what no live rule names costs nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from matchwood.encoding.events.columns.fixed import BatchPlaces
from matchwood.encoding.events.columns.validity import check_column
from matchwood.encoding.events.containers import ColumnContainer, Container, Entry, MappingContainer, positions_of
from matchwood.encoding.events.frames import PandasRows, PolarsRows, is_frame
from matchwood.encoding.events.paths import Node
from matchwood.encoding.events.unwrapping import describe
from matchwood.errors import EventError, InvalidArgument

RowLimit = Callable[[], int]


class Chunk(NamedTuple):
    """Some rows of the input: where they begin, how many they are, what holds them.

    `mappings`     the events themselves, if they are mappings; None for columns
    `from_pandas`  whether it is of a DataFrame of pandas
    `table`        the columns, if they are those of an Arrow table
    """

    first_row: int
    size: int
    rows: Container
    mappings: Sequence[Mapping[Any, Any]] | None = None
    from_pandas: bool = False
    table: TableRows | None = None


def chunks(events: Any, limit: RowLimit, presence: bool = False, keeps_nan: bool = False) -> Iterator[Chunk]:
    """The input in chunks of at most limit() rows each; asked anew for each chunk.

    Input with columns gives at least one chunk, if need be an empty one. `presence` says that a
    key with None must be told from none; `keeps_nan` that NaN in pandas is no missing value.
    """
    if isinstance(events, Mapping):
        return _mapping_chunks([events], limit, presence)
    if is_frame(events, "pandas") or is_frame(events, "polars"):
        return _frame_chunks(events, limit, keeps_nan)
    table = _as_table(events)
    if table is not None:
        return _table_chunks(table, 0, limit)
    if hasattr(events, "__arrow_c_stream__"):
        return _stream_chunks(_reader(events), limit)
    if isinstance(events, Iterable) and not isinstance(events, str | bytes):
        return _mapping_chunks(events, limit, presence)
    raise InvalidArgument(
        f"events must be a dict, dicts, an Arrow table or stream, or a DataFrame (got {describe(events)})"
    )


def can_be_read_again(events: Any) -> bool:
    """Whether all events are held, to be read as often as need be: a stream is not, even if it has a length."""
    held = Mapping | Sequence | pa.Table | pa.RecordBatch | pa.Array | pa.ChunkedArray
    return isinstance(events, held) or is_frame(events, "pandas") or is_frame(events, "polars")


def row_count(events: Any) -> int | None:
    """How many events there are, if that can be told without taking them."""
    if isinstance(events, Mapping):
        return 1
    return len(events) if hasattr(events, "__len__") else None


def _as_table(events: Any) -> pa.Table | None:
    """Arrow's own objects that hold all rows, and a Series of structs; None for anything else."""
    if isinstance(events, pa.Table):
        return events
    if isinstance(events, pa.RecordBatch):
        return pa.Table.from_batches([events])
    if isinstance(events, pa.StructArray | pa.ChunkedArray):
        return _table_of_structs(events)
    if isinstance(events, pa.Array):
        raise InvalidArgument(f"an Arrow array of events must hold structs (got one of {events.type})")
    if hasattr(events, "__arrow_c_array__"):
        return pa.Table.from_batches([pa.record_batch(events)])
    if hasattr(events, "__arrow_c_stream__") and hasattr(events, "dtype"):
        return _table_of_structs(pa.chunked_array(events))
    return None


def _table_of_structs(events: pa.StructArray | pa.ChunkedArray) -> pa.Table:
    """One column a field; where a struct is NULL all its fields are."""
    if not pa.types.is_struct(events.type):
        raise InvalidArgument(f"an Arrow array of events must hold structs (got one of {events.type})")
    names = [field.name for field in events.type]
    if not names:
        return pa.table({"": pa.nulls(len(events))}).select([])
    return pa.Table.from_arrays(events.flatten(), names=names)


def _table_chunks(table: pa.Table, first_row: int, limit: RowLimit) -> Iterator[Chunk]:
    columns = _TableColumns(table)
    for start, size in _spans(len(table), limit):
        part = TableRows(columns, start, size)
        yield Chunk(first_row + start, size, part, table=part)


def _spans(total: int, limit: RowLimit) -> Iterator[tuple[int, int]]:
    """Start and size of each chunk; one at least."""
    start = 0
    while True:
        size = min(limit(), total - start)
        yield start, size
        start += size
        if start >= total:
            return


class _TableColumns:
    """The columns of a table, each of them checked once before anything reads it."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._checked: set[int] = set()
        self._selected: dict[tuple[int, ...], pa.Table | None] = {}
        self._whole: dict[tuple[int, ...], BatchPlaces | None] = {}

    def column(self, position: int) -> pa.ChunkedArray:
        column = self.table.column(position)
        if position not in self._checked:
            check_column(self.table.field(position).name, column)
            self._checked.add(position)
        return column

    def selected(self, positions: tuple[int, ...]) -> pa.Table | None:
        """Some columns of fixed width as a table; None if one of them is damaged."""
        if positions not in self._selected:
            chosen = self.table.select(positions)
            try:
                chosen.validate()
            except (pa.ArrowInvalid, pa.ArrowIndexError):
                chosen = None
            self._selected[positions] = chosen
        return self._selected[positions]

    def whole(self, positions: tuple[int, ...]) -> BatchPlaces | None:
        """Some columns of fixed width as they lie in memory; None if they lie in pieces, or one is damaged."""
        if positions not in self._whole:
            chosen = self.selected(positions)
            self._whole[positions] = None if chosen is None else _in_one_piece(chosen)
        return self._whole[positions]


class TableRows:
    """Some rows of a table, a container of all its columns."""

    def __init__(self, columns: _TableColumns, start: int, size: int) -> None:
        self._columns, self._start, self._size = columns, start, size

    @property
    def schema(self) -> pa.Schema:
        return self._columns.table.schema

    def names(self) -> list[str]:
        return self._every().names()

    def entries(self, node: Node) -> Iterator[Entry]:
        return self._every().entries(node)

    def _every(self) -> Container:
        """All columns; most tables are never asked for more than some of them."""
        return self.some(positions_of(self._columns.table.column_names))

    def some(self, positions: Mapping[str, list[int]]) -> Container:
        """Some of the columns, by name."""
        return ColumnContainer(positions, self._column)

    def _column(self, position: int) -> pa.Array:
        column = self._columns.column(position).slice(self._start, self._size)
        if column.num_chunks == 1:
            return column.chunk(0)
        return column.combine_chunks() if column.num_chunks else pa.nulls(0, column.type)

    def places(self, positions: tuple[int, ...]) -> tuple[BatchPlaces, int] | None:
        """Some columns of fixed width as they lie in memory, and where these rows begin in them; None if they lie in
        pieces, or one is damaged."""
        whole = self._columns.whole(positions)
        if whole is not None:
            return whole, self._start
        chosen = self._columns.selected(positions)
        part = None if chosen is None else _in_one_piece(chosen.slice(self._start, self._size))
        return None if part is None else (part, 0)


def _in_one_piece(table: pa.Table) -> BatchPlaces | None:
    parts = table.to_batches()
    return BatchPlaces(parts[0]) if len(parts) == 1 and len(parts[0]) == len(table) else None


def _reader(events: Any) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(events)
    except (pa.ArrowInvalid, TypeError) as error:
        raise InvalidArgument(f"an Arrow stream of events must hold columns ({error})") from None


def _stream_chunks(reader: pa.RecordBatchReader, limit: RowLimit) -> Iterator[Chunk]:
    """Batches of a stream, small ones put together (a database's hold some 2,000 rows)."""
    first_row, pending, rows = 0, [], 0
    for batch in reader:
        pending.append(batch)
        rows += len(batch)
        if rows >= limit():
            yield from _table_chunks(pa.Table.from_batches(pending), first_row, limit)
            first_row, pending, rows = first_row + rows, [], 0
    if rows or not first_row:
        yield from _table_chunks(pa.Table.from_batches(pending, reader.schema), first_row, limit)


def _frame_chunks(frame: Any, limit: RowLimit, keeps_nan: bool) -> Iterator[Chunk]:
    """DataFrames of pandas and polars: a column that cannot be converted only matters if a rule names it."""
    is_pandas = is_frame(frame, "pandas")
    positions = positions_of(list(frame.columns))
    for start, size in _spans(len(frame), limit):
        part = PandasRows(frame, start, size, keeps_nan) if is_pandas else PolarsRows(frame, start, size)
        yield Chunk(start, size, ColumnContainer(positions, part.column), from_pandas=is_pandas)


def _mapping_chunks(events: Iterable[Any], limit: RowLimit, presence: bool) -> Iterator[Chunk]:
    iterator, first_row = iter(events), 0
    while rows := list(itertools.islice(iterator, limit())):
        if set(map(type, rows)) != {dict}:
            _check_mappings(rows, first_row)
        yield Chunk(first_row, len(rows), MappingContainer(rows, presence), rows)
        first_row += len(rows)


def _check_mappings(rows: list[Any], first_row: int) -> None:
    for row, event in enumerate(rows):
        if not isinstance(event, Mapping):
            raise EventError(
                "event", where=f"event {first_row + row}", got=describe(event), expected="a dict or another mapping"
            )
