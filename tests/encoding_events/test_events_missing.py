"""`missing="error"`: events without what rules name are refused, with the names that may have been meant."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from events_support import PlainEncoder, batch_rows, plain_source

from matchwood.encoding.events.missing import near_misses
from matchwood.errors import EventError


def encoder_of(*names: str) -> PlainEncoder:
    return PlainEncoder([plain_source(name, "any", number) for number, name in enumerate(names)])


def refusal(encoder: PlainEncoder, events: Any) -> str:
    with pytest.raises(EventError) as caught:
        batch_rows(encoder, events, missing="error")
    return str(caught.value)


def accepted(encoder: PlainEncoder, events: Any) -> bool:
    assert batch_rows(encoder, events, missing="error") == batch_rows(encoder, events)
    return True


def test_dicts_without_a_key() -> None:
    encoder = encoder_of("age", "country")
    assert accepted(encoder, [{"age": 1, "country": None, "more": 5}])
    assert refusal(encoder, [{"age": 1, "country": None}, {"Age": 1, "contry": "x"}]) == (
        "event 1: 'age, country' must be given, because rules name it "
        "(got no 'age', but 'Age', no 'country', but 'contry')"
    )
    assert refusal(encoder, [{"age": 1, "zzz": None}]) == (
        "event 0: 'country' must be given, because rules name it (got no 'country')"
    )


@pytest.mark.parametrize("convert", [lambda table: table, pl.from_arrow, pa.Table.to_pandas, pa.Table.to_reader])
def test_tables_without_a_column(convert: Any) -> None:
    encoder = encoder_of("age", "country")
    assert accepted(encoder, pa.table({"age": [1, None], "country": [None, None]}))
    assert refusal(encoder, convert(pa.table({"AGE": [1], "country": ["x"]}))) == (
        "the events' columns: 'age' must be given, because rules name it (got no 'age', but 'AGE')"
    )
    empty = pa.table({"AGE": pa.array([], pa.int64()), "country": pa.array([], pa.string())})
    assert "no 'age', but 'AGE'" in refusal(encoder, convert(empty))


def test_rows_may_be_told_apart_from_their_chunk() -> None:
    events = [{"x": 1}] * 20_000 + [{}]
    assert refusal(encoder_of("x"), events).startswith("event 20000: 'x'")


def test_structs() -> None:
    encoder = encoder_of("a.b", "a.c")
    fields = pa.struct([("b", pa.int64()), ("cc", pa.int64())])
    assert refusal(encoder, pa.table({"a": pa.array([{"b": 1}], fields)})) == (
        "the events' columns: 'a.c' must be given, because rules name it (got no 'a.c', but 'a.cc', 'a.b')"
    )
    whole = pa.struct([("b", pa.int64()), ("c", pa.int64())])
    assert accepted(encoder, pa.table({"a": pa.array([{"b": 1}, None, {}], whole)}))
    assert accepted(encoder, pa.table({"a": pa.array([], whole)}))
    assert accepted(encoder, [{"a": {"b": 1, "c": None}}, {"a": None}, {"a.b": 1, "a.c": 2}])
    assert refusal(encoder, [{"a": {"b": 1}}]).startswith("event 0: 'a.c'")
    assert refusal(encoder, [{"a": 5}]).startswith("event 0: 'a.b, a.c'")
    assert accepted(encoder, pa.table({"a": pa.nulls(2)}))


def test_maps_are_looked_at_row_by_row() -> None:
    encoder = encoder_of("m.k")
    kind = pa.map_(pa.string(), pa.int64())
    assert accepted(encoder, pa.table({"m": pa.array([[("k", 1)], None, [("k", None)]], kind)}))
    assert accepted(encoder, pa.table({"m": pa.array([], kind)}))
    assert refusal(encoder, pa.table({"m": pa.array([[("k", 1)], [("K", 1)]], kind)})) == (
        "event 1: 'm.k' must be given, because rules name it (got no 'm.k', but 'm.K')"
    )
    assert refusal(encoder, pd.DataFrame({"m": [{"k": 1}, {}]})).startswith("event 1: 'm.k'")


def test_many_names_are_cut_short() -> None:
    message = refusal(encoder_of(*(f"name{i:03}" for i in range(50))), [{"other": 1}])
    assert message.endswith("no 'name019', and 30 more)")


def test_misfits_are_not_missing() -> None:
    encoder = PlainEncoder([plain_source("x", "int", 0)])
    assert batch_rows(encoder, [{"x": "bad"}], missing="error", on_error="null") == [[]]


def test_near_misses() -> None:
    assert near_misses("country", ["age", "Country", "county", "zip"]) == ["Country", "county"]
    assert near_misses("x", ["completely", "different"]) == []
    assert near_misses("age", ["age", "ages"]) == ["ages"]
