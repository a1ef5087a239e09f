"""Whatever holds the events, and however it is cut, the codes are those of the same dicts one at a time."""

from __future__ import annotations

import datetime
import math
from types import MappingProxyType
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from events_support import EVERY_KIND, PlainDerived, PlainEncoder, batch_rows, plain_source, rows_of, single_rows
from hypothesis import given
from hypothesis import strategies as st

from matchwood.encoding.attribute import Source
from matchwood.encoding.events.entry import columns_needed, event_batches, event_chunks
from matchwood.errors import EventError, InvalidArgument

ENCODER = PlainEncoder(EVERY_KIND)
INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, -5, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)])
DOUBLES = st.floats(allow_nan=True) | st.sampled_from([0.0, -0.0, 1.0, 0.1, math.inf, -math.inf, 2.0**53])
TEXTS = st.text(max_size=6) | st.sampled_from(["", "a", "é", "\U0001f600", "z" * 60])
MOMENTS = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1))
COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "flag": (pa.bool_(), st.booleans()),
    "count": (pa.int64(), INTEGERS),
    "amount": (pa.float64(), DOUBLES),
    "ratio": (pa.int64(), INTEGERS),
    "word": (pa.string(), TEXTS),
    "day": (pa.date32(), st.dates()),
    "seen": (pa.timestamp("us"), MOMENTS),
    "tags": (pa.list_(pa.string()), st.lists(st.none() | TEXTS, max_size=3)),
    "sizes": (pa.list_(pa.int64()), st.lists(st.none() | INTEGERS, max_size=3)),
    "thing": (pa.float64(), DOUBLES),
    "unknown": (pa.int64(), INTEGERS),
}
SCHEMA = pa.schema([(name, kind) for name, (kind, _) in COLUMNS.items()])


@st.composite
def typed_events(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Events whose values fit one table; each may lack a key, hold None, or a value."""
    entries = st.fixed_dictionaries({}, optional={name: st.none() | values for name, (_, values) in COLUMNS.items()})
    return draw(st.lists(entries, max_size=8))


def dictionary_encoded(table: pa.Table) -> pa.Table:
    for position, name in enumerate(table.column_names):
        if not pa.types.is_list(table.schema.field(name).type):
            table = table.set_column(position, name, table[name].dictionary_encode())
    return table


def structs(table: pa.Table) -> pa.ChunkedArray:
    return pa.chunked_array([batch.to_struct_array() for batch in table.to_batches()], pa.struct(list(table.schema)))


def widened(table: pa.Table) -> pa.Table:
    wide = {"word": pa.string_view(), "tags": pa.large_list(pa.large_string()), "sizes": pa.large_list(pa.int64())}
    return table.cast(pa.schema([(field.name, wide.get(field.name, field.type)) for field in table.schema]))


INPUTS = {
    "table": lambda table: table,
    "batches": lambda table: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=2)),
    "single rows": lambda table: pa.Table.from_batches(table.to_batches(max_chunksize=1), table.schema),
    "structs": structs,
    "dictionaries": dictionary_encoded,
    "wide": widened,
    "polars": pl.from_arrow,
    "dicts": lambda table: table.to_pylist(),
    "generator": lambda table: iter(table.to_pylist()),
}


@given(typed_events(), st.integers(0, 2), st.integers(0, 2))
def test_every_input_gives_the_codes_of_dicts(events: list[dict[str, Any]], before: int, after: int) -> None:
    padding = {"flag": True, "count": 7, "word": "padding", "tags": ["padding", None], "sizes": [1, 2, 3]}
    padded = [padding] * before + events + [padding] * after
    table = pa.Table.from_pylist(padded, SCHEMA).slice(before, len(events))
    expected = single_rows(ENCODER, events)
    for name, convert in INPUTS.items():
        assert batch_rows(ENCODER, convert(table)) == expected, name
    assert batch_rows(ENCODER, events) == expected


def test_one_dict_is_one_event() -> None:
    event = {"count": 5, "word": "a"}
    assert batch_rows(ENCODER, event) == single_rows(ENCODER, [event])


def test_other_mappings_are_events_too() -> None:
    events = [MappingProxyType({"count": 5}), {"count": 6}]
    assert batch_rows(ENCODER, events) == single_rows(ENCODER, events) == single_rows(ENCODER, map(dict, events))


def test_duckdb_relations() -> None:
    relation = duckdb.sql("select i::bigint as count, 'w' || i as word, i % 2 = 0 as flag from range(5000) t(i)")
    expected = single_rows(ENCODER, [{"count": i, "word": f"w{i}", "flag": i % 2 == 0} for i in range(5000)])
    assert batch_rows(ENCODER, relation) == expected


def test_what_is_not_an_event_is_refused() -> None:
    with pytest.raises(EventError) as caught:
        batch_rows(ENCODER, [{}, {}, 5])
    assert str(caught.value) == "event 2: 'event' must be a dict or another mapping (got 5, an int)"
    for events in (5, "text", b"bytes", None, pa.array([1])):
        with pytest.raises(InvalidArgument, match=r"events must|must hold structs"):
            event_batches(ENCODER, events)
    with pytest.raises(InvalidArgument, match="must hold structs"):
        event_batches(ENCODER, pa.chunked_array([[1]]))


def test_choices_are_checked_at_once() -> None:
    with pytest.raises(InvalidArgument, match="missing must be one of 'null', 'error'"):
        event_batches(ENCODER, [], missing="drop")
    with pytest.raises(InvalidArgument, match="on_error must be one of 'raise', 'null', 'report'"):
        event_batches(ENCODER, [], on_error="ignore")


def test_no_rows_and_no_columns() -> None:
    assert batch_rows(ENCODER, []) == batch_rows(ENCODER, SCHEMA.empty_table()) == []
    nothing = pa.table({"unknown": [1, 2, 3]})
    assert batch_rows(ENCODER, nothing) == batch_rows(ENCODER, nothing.select([])) == [[], [], []]
    assert batch_rows(ENCODER, pa.array([{}, {}], pa.struct([]))) == [[], []]
    assert batch_rows(PlainEncoder([]), [{"count": 1}, {}]) == [[], []]


def test_null_structs_are_events_without_values() -> None:
    events = pa.array([{"count": 5}, None, {"count": None}], pa.struct([("count", pa.int64())]))
    assert batch_rows(ENCODER, events) == single_rows(ENCODER, [{"count": 5}, {}, {}])


def test_long_inputs_come_in_batches() -> None:
    values = np.arange(40_000)
    table = pa.table({"count": values % 7 - 3})
    batches = list(event_batches(PlainEncoder([plain_source("count", "int", 0, 1)]), table))
    assert [batch.first_row for batch in batches] == [0, 16_384, 32_768]
    batches = list(event_batches(ENCODER, table))
    assert [batch.first_row for batch in batches] == [0, 64, 320, 1344, 5440, 21_824, 38_208]
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=1_000))
    expected = single_rows(ENCODER, table.to_pylist())
    for events in (table, stream, table.to_pylist()):
        assert batch_rows(ENCODER, events) == expected


def test_wide_inputs_come_in_smaller_batches() -> None:
    wide = PlainEncoder([plain_source(f"c{i}", "any", i) for i in range(2_000)])
    table = pa.table(dict.fromkeys((f"c{i}" for i in range(2_000)), pa.array([1, None] * 5_000, pa.int8())))
    sizes = [batch.events.count for batch in event_batches(wide, table)]
    assert sizes == [64, 256, 1024, 4096, 8 * 2**20 // 2_000, 366]


def test_batches_are_small_where_values_have_many_pairs() -> None:
    tests = PlainDerived(dict.fromkeys(range(300_000), "a"))
    encoder = PlainEncoder([Source("x", "string", (), tests)])
    sizes = [batch.events.count for batch in event_batches(encoder, pa.table({"x": ["a"] * 120}))]
    assert sizes == [64, 27, 27, 2]


def test_columns_that_no_rule_names_are_never_touched() -> None:
    class Untouchable(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise AssertionError(key)

    assert columns_needed(ENCODER) == sorted(source.name for source in EVERY_KIND)
    assert batch_rows(ENCODER, [{"unknown": Untouchable()}]) == [[]]
    strange = pa.table({"count": [1], "other": pa.array([b"x"]), "unions": pa.array([[1.5]])})
    assert batch_rows(ENCODER, strange) == single_rows(ENCODER, [{"count": 1}])


def test_sparse_dicts() -> None:
    encoder = PlainEncoder([plain_source(f"c{i}", "number", i, 0, 10, 20.5) for i in range(500)])
    events = [{f"c{(row * 37 + k * 101) % 500}": row - 0.5 * k for k in range(4)} for row in range(300)]
    assert batch_rows(encoder, events) == single_rows(encoder, events)


def test_rules_may_change_between_batches() -> None:
    encoder = PlainEncoder([plain_source("x", "int", 0, 5)])
    batches = event_batches(encoder, pa.table({"x": np.arange(20_000), "y": ["a"] * 20_000}))
    next(batches)
    encoder.listed, encoder.version = [plain_source("y", "string", 3, "b")], 2
    second = next(batches)
    assert set(second.events.attributes.tolist()) == {3}
    assert second.events.count == 20_000 - 16_384


def test_types_of_polars() -> None:
    moment = datetime.datetime(1970, 1, 1, 1)
    frame = pl.DataFrame(
        {
            "word": pl.Series(["a", None, "zz"], dtype=pl.Categorical),
            "count": pl.Series([1, None, 2**63 - 1], dtype=pl.Int128),
            "ratio": pl.Series([1, None, 2**60], dtype=pl.UInt64),
            "seen": pl.Series([moment, None, moment], dtype=pl.Datetime("ms")).dt.replace_time_zone("Europe/Paris"),
            "tags": [["a"], None, []],
            "unknown": pl.Series([object()] * 3, dtype=pl.Object),
        }
    )
    instant = moment.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    first = {"word": "a", "count": 1, "ratio": 1, "seen": instant, "tags": ["a"]}
    last = {"word": "zz", "count": 2**63 - 1, "ratio": 2**60, "seen": instant, "tags": []}
    assert batch_rows(ENCODER, frame) == single_rows(ENCODER, [first, {}, last])
    structs = pl.Series([{"count": 5}, None, {"count": None}])
    assert batch_rows(ENCODER, structs) == single_rows(ENCODER, [{"count": 5}, {}, {}])


def test_objects_of_other_libraries_through_the_arrow_interface() -> None:
    class Stream:
        def __init__(self, held: Any) -> None:
            self.held = held

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return self.held.__arrow_c_stream__(requested_schema)

    class Batch:
        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return pa.record_batch({"count": [1, None]}).__arrow_c_array__(requested_schema)

    expected = single_rows(ENCODER, [{"count": 1}, {}])
    assert batch_rows(ENCODER, Stream(pa.table({"count": [1, None]}))) == expected
    assert batch_rows(ENCODER, Batch()) == expected
    with pytest.raises(InvalidArgument, match="must hold columns"):
        event_batches(ENCODER, Stream(pa.chunked_array([[1]])))


def test_chunks_can_be_taken_first_and_encoded_later() -> None:
    """Their codes are those of the rules at the time of encoding."""
    encoder = PlainEncoder([plain_source("x", "int", 0, 5)])
    taken = list(event_chunks(encoder, pa.table({"x": [1, 7]})))
    assert [(chunk.first_row, chunk.size) for chunk in taken] == [(0, 2)]
    assert rows_of(taken[0].encode().events) == [[(0, 0)], [(0, 10)]]
    encoder.listed, encoder.version = [plain_source("x", "int", 4, 1)], 2
    assert rows_of(taken[0].encode().events) == [[(4, 10)], [(4, 10)]]
