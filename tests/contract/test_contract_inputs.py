"""The contract for events: whatever holds them, the answers are the same."""

from __future__ import annotations

import datetime
import functools
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import matchwood
from tests.cases import Workload, workloads
from tests.contract.engines import of_each_kind
from tests.contract.tables import COLUMNAR, arrow_table
from tests.contract.twin import SCHEMA, Twin, hits, oracle_answers
from tests.sql import field

pytestmark = [pytest.mark.few, of_each_kind]

WORK = next(workloads(seed=11, count=1, rules=50, events=40, attributes=COLUMNAR))
WAYS: dict[str, Callable[[Workload], Any]] = {
    "dicts": lambda work: work.events,
    "table": lambda work: arrow_table(work.events),
    "nested table": lambda work: arrow_table(work.events, nested=True),
    "chunks": lambda work: pa.concat_tables([arrow_table(work.events[:7]), arrow_table(work.events[7:])]),
    "batch": lambda work: arrow_table(work.events).combine_chunks().to_batches()[0],
    "reader": lambda work: arrow_table(work.events).to_reader(max_chunksize=13),
    "slice": lambda work: arrow_table([{}, *work.events, {}]).slice(1, len(work.events)),
    "polars": lambda work: pl.from_arrow(arrow_table(work.events)),
    "dictionary": lambda work: _dictionary(arrow_table(work.events)),
}


def _dictionary(table: pa.Table) -> pa.Table:
    for position, column in enumerate(table.schema):
        if pa.types.is_string(column.type):
            table = table.set_column(position, column.name, table[column.name].dictionary_encode())
    return table


def loaded(engine: str, types: dict[str, str] | None = SCHEMA) -> Twin:
    twin = Twin(engine, types)
    twin.put_many(list(enumerate(WORK.rules)))
    return twin


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("types", [SCHEMA, None], ids=["declared", "inferred"])
def test_every_kind_of_batch(engine: str, way: str, types: dict[str, str] | None) -> None:
    found = asked(engine, types is not None).index.match_many(WAYS[way](WORK))
    assert hits(found, len(WORK.events)) == answers(types is not None)


@functools.cache
def asked(engine: str, declared: bool) -> Twin:
    """An index that all kinds of batches share: matching changes none of its rules."""
    return loaded(engine, SCHEMA if declared else None)


@functools.cache
def answers(declared: bool) -> list[list[Any]]:
    """The oracle's, which all engines share."""
    expected = oracle_answers(WORK, SCHEMA if declared else None)
    assert sum(map(len, expected)) > 600
    return expected


def test_frames(engine: str) -> None:
    """Columns of Arrow types, and columns of Python objects; NaN is NULL in both."""
    twin = loaded(engine)
    values = [{name: field(event, name) for name in COLUMNAR} for event in WORK.events]
    events = [{name: None if value != value else value for name, value in event.items()} for event in values]
    expected = [twin.model.match({name.strip("`"): value for name, value in event.items()}) for event in events]
    assert sum(map(len, expected)) > 600
    columns = {name.strip("`"): pd.Series([event[name] for event in values], dtype=object) for name in COLUMNAR}
    for frame in (arrow_table(WORK.events).to_pandas(types_mapper=pd.ArrowDtype), pd.DataFrame(columns)):
        assert hits(twin.index.match_many(frame), len(events)) == expected


def test_batches_are_the_same_in_pieces(engine: str) -> None:
    twin = loaded(engine)
    reader = twin.index.match_batches(arrow_table(WORK.events).to_reader(max_chunksize=10))
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.read_all().equals(twin.index.match_many(WORK.events))


def test_pandas_reads_nan_as_null(engine: str) -> None:
    twin = Twin(engine)
    twin.put("null", "x is null")
    twin.put("nan", "x = cast('NaN' as double)")
    twin.put("big", "x >= 1 and name != 'b'")
    frame = pd.DataFrame({"x": [1.5, math.nan, 0.5, 2.0], "name": ["a", "b", None, pd.NA], "unused": [object()] * 4})
    assert hits(twin.index.match_many(frame), 4) == [["big"], ["null"], [], []]
    as_dicts = [{"x": 1.5, "name": "a"}, {"x": math.nan, "name": "b"}, {"x": 0.5}, {"x": 2.0}]
    assert twin.check(as_dicts) == 2
    assert hits(twin.index.match_many(pa.table({"x": [1.5, math.nan, 0.5, 2.0]})), 4) == [[], ["nan"], [], []]


def test_pandas_types(engine: str) -> None:
    twin = Twin(engine)
    rules = {
        "n": "n = 3",
        "t": "t < timestamp '2026-01-02 00:00:00'",
        "flag": "flag",
        "s": "s in ('a', 'b')",
        "tn": "t is null",
    }
    for rule_id, rule in rules.items():
        twin.put(rule_id, rule)
    frame = pd.DataFrame(
        {
            "n": pd.array([3, None, 4], "Int64"),
            "t": pd.to_datetime(["2026-01-01", None, "2026-01-03"]),
            "flag": pd.array([None, True, False], "boolean"),
            "s": pd.Categorical(["a", None, "c"]),
        },
        index=[7, 7, 9],
    )
    assert hits(twin.index.match_many(frame), 3) == [["n", "t", "s"], ["flag", "tn"], []]


def test_arrow_types_widen(engine: str) -> None:
    twin = Twin(engine, {"i": "int", "d": "double", "s": "string", "t": "timestamp"})
    twin.put("i", "i = 3")
    twin.put("f", "d = 0.5 or d between 0.1 and 0.2")
    twin.put("tenth", "d = 0.1")
    twin.put("s", "s like 'a%'")
    twin.put("t", "t = timestamp '2026-01-01 00:00:00'")
    table = pa.table(
        {
            "i": pa.array([3, None, 4], pa.int8()),
            "d": pa.array([0.5, 0.1, 0.2], pa.float32()),
            "s": pa.array(["a", "ab", "b"], pa.large_string()),
            "t": pa.array([datetime.datetime(2026, 1, 1)] * 3, pa.timestamp("s")),
        }
    )
    assert hits(twin.index.match_many(table), 3) == [["i", "f", "s", "t"], ["f", "s", "t"], ["t"]]
    for width in (pa.uint8(), pa.uint32(), pa.int16(), pa.int32(), pa.uint64()):
        assert hits(twin.index.match_many(pa.table({"i": pa.array([3, 4], width)})), 2) == [["i"], []]


def test_maps_and_lists(engine: str) -> None:
    twin = Twin(engine)
    twin.put("m", "m.k = 'a'")
    twin.put("tags", "'x' in tags and tags none of ('y')")
    twin.put("empty", "tags none of ('x')")
    table = pa.table(
        {
            "m": pa.array([[("k", "a")], [("j", "a")], None], pa.map_(pa.string(), pa.string())),
            "tags": pa.array([["x", None], ["x", "y"], []], pa.large_list(pa.string())),
        }
    )
    assert hits(twin.index.match_many(table), 3) == [["m", "tags"], [], ["empty"]]


def test_scalars_unwrap(engine: str) -> None:
    twin = Twin(engine)
    twin.put("int", "x = 3")
    twin.put("double", "x = 0.5")
    twin.put("text", "s = 'a'")
    twin.put("bool", "b")
    twin.put("time", "t = timestamp '2026-01-01 12:00:00'")
    noon = datetime.datetime(2026, 1, 1, 12)
    events: list[dict[str, Any]] = [
        *({"x": value} for value in (3, 3.0, np.int8(3), np.uint64(3), np.float32(3), Decimal(3), Decimal("0.50"))),
        *({"x": value} for value in (0.5, np.float32(0.5), np.float16(0.5))),
        *({"s": np.str_("a"), "b": np.bool_(True)}, {"b": np.False_}),
        *({"t": value} for value in (noon, np.datetime64("2026-01-01T12:00:00"), pd.Timestamp(noon), noon.isoformat())),
        {"t": np.datetime64("NaT"), "x": None},
        {"t": pd.NaT, "x": pd.NA},
    ]
    assert twin.check(events) == 7 + 3 + 2 + 4
    with pytest.raises(matchwood.EventError, match="'x'"):
        twin.index.match({"x": Decimal("sNaN")})


def test_no_events(engine: str) -> None:
    twin = loaded(engine)
    assert twin.index.match_many([]).num_rows == 0
    assert twin.index.match_many(arrow_table([])).num_rows == 0
    assert twin.index.match_many(arrow_table(WORK.events[:5]).select([])).num_rows >= 0


def test_columns_that_the_rules_do_not_name(engine: str) -> None:
    twin = Twin(engine)
    twin.put("a", "x = 1")
    twin.put("b", "y is null")
    table = pa.table({"x": [1, 2], "binary": [b"a", b"b"], "deep": [[[1.5]], None]})
    assert hits(twin.index.match_many(table), 2) == [["a", "b"], ["b"]]
    with pytest.raises(matchwood.MatchwoodError, match="'y'"):
        twin.index.match_many(table, missing="error")


def test_a_wrong_value_in_a_column_names_its_row(engine: str) -> None:
    twin = Twin(engine)
    twin.put("a", "x = 1")
    with pytest.raises(matchwood.EventError, match="'x'"):
        twin.index.match_many(pa.table({"x": ["1", "2"]}))
    with pytest.raises(matchwood.EventError, match="2"):
        twin.index.match_many([{"x": 1}, {"x": 2}, {"x": "3"}])
