"""Values that do not fit, NaN, conversions and lists of structs: the same for every kind of event, never in silence."""

from __future__ import annotations

import datetime
import math
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import matchwood as mw

ENGINES = ("scan", "oracle")
NAN = math.nan


def index_of(*rules: str, engine: str = "scan", **settings: Any) -> mw.Index:
    index = mw.Index(engine, **settings)
    index.insert_many(enumerate(rules), on_error="raise")
    return index


def every_way(index: mw.Index, event: dict[str, Any]) -> list[list[Any]]:
    """What an index says of one event, however it comes."""
    tables: list[Any] = [[event], pa.Table.from_pylist([event]), pl.DataFrame([event])]
    found = [index.match_many(table)["rule"].to_pylist() for table in tables]
    return [index.match(event), [rule for rule, _ in index.top(event)], *found]


# ------------------------------------------------------------------ on_error, missing


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_two_arguments_everywhere(engine: str) -> None:
    index = index_of("age > 5", "age is null", engine=engine)
    events: list[dict[str, Any]] = [{"age": 7}, {"age": "x"}, {}]
    for many in (index.match_many, index.match_batches, index.top_many):
        for word in ("raise", "fail"):
            with pytest.raises(mw.EventError, match="event 1: 'age' must be number"):
                list(many(events, on_error=word))
        with pytest.raises(mw.EventError, match="event 2: 'age' must be given"):
            list(many(events, on_error="null", missing="error"))
    for one in (index.match, index.top):
        with pytest.raises(mw.EventError, match="'age' must be number"):
            one({"age": "x"})
        with pytest.raises(mw.EventError, match="'age' must be given"):
            one({}, missing="error")
        with pytest.raises(mw.InvalidArgument, match="match_many or top_many"):
            one({}, on_error="report")
        with pytest.raises(mw.InvalidArgument, match="on_error must be one of 'raise', 'null', 'report'"):
            one({}, on_error="ignore")
    assert index.match({"age": "x"}, on_error="null") == [1]
    assert index.top({"age": "x"}, on_error="null") == [(1, 0.0)]
    assert index.match_many(events, on_error="null").to_pydict() == {"event": [0, 1, 2], "rule": [0, 1, 1]}
    assert index.match_batches(events, on_error="null").read_all().num_rows == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_reports_have_a_row_for_every_error(engine: str) -> None:
    index = index_of("age > 5", "vip", engine=engine)
    events = pa.table({"age": ["7", None, "y"], "vip": [True, True, False]})
    table = index.match_many(events, on_error="report")
    assert [(row["event"], row["rule"], row["match_error"] is None) for row in table.to_pylist()] == [
        (0, 1, False),
        (1, 1, True),
        (2, None, False),
    ]
    ranked = index.top_many(events, on_error="report").to_pylist()
    assert [(row["event"], row["rank"], row["match_error"] is None) for row in ranked] == [
        (0, 1, False),
        (1, 1, True),
        (2, None, False),
    ]
    assert index.stats()["misfits"] == {"age": 4}


@pytest.mark.parametrize("engine", ENGINES)
def test_misfits_are_counted_by_attribute(engine: str) -> None:
    index = index_of("age > 5", "t > date '2026-01-01'", "geo.zip = 'a'", engine=engine)
    assert index.stats()["misfits"] == {}
    index.match({"age": "x", "t": 5, "geo": {"zip": 7}}, on_error="null")
    index.match_many([{"age": "x"}, {"age": 1}, {"t": "x"}], on_error="null")
    index.top({"age": "x"}, on_error="null")
    with pytest.raises(mw.EventError):
        index.match({"age": "x"})
    assert index.stats()["misfits"] == {"age": 3, "t": 2, "geo.zip": 1}


# ------------------------------------------------------------------ NaN


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("nan", "expected"), [("value", [0]), ("null", [1, 2])])
def test_nan_is_the_same_for_every_kind_of_event(engine: str, nan: str, expected: list[int], tmp_path: Path) -> None:
    index = index_of("x > 5", "x is null", "y is null", engine=engine, nan=nan)
    index.save(tmp_path)
    event = {"x": NAN, "y": NAN}
    frames = [pd.DataFrame([event]), pd.DataFrame([event], dtype=object), pd.DataFrame([event], dtype="float32")]
    for asked in (index, mw.open(tmp_path)):
        assert every_way(asked, event) == [expected] * 5
        for frame in frames:
            assert asked.match_many(frame)["rule"].to_pylist() == expected
        assert asked.match_many([event] * 60)["rule"].to_pylist() == expected * 60


def test_nan_marks_what_is_missing_in_pandas_unless_said_otherwise() -> None:
    index = index_of("x > 5", "x is null")
    assert index.match_many(pd.DataFrame({"x": [NAN]}))["rule"].to_pylist() == [1]
    assert every_way(index, {"x": NAN}) == [[0]] * 5
    rows = pd.DataFrame({"x": [7.0, NAN]}).to_dict("records")
    assert index_of("x > 5", nan="null").match_many(rows)["event"].to_pylist() == [0]
    with pytest.raises(mw.InvalidArgument, match="nan must be 'value' or 'null'"):
        mw.Index(nan="missing")


# ------------------------------------------------------------------ conversions

CONVERTED = {"age": "int", "ok": "bool", "ts": "timestamp[ms]", "zip": "string", "day": "date", "f": "double"}
CONVERTED_RULES = (
    "age = 18",
    "ok",
    "ts >= timestamp '2023-11-14 00:00:00'",
    "zip = '7'",
    "day = date '2026-01-02'",
    "f > 1.5",
)
GIVEN: dict[str, list[Any]] = {
    "age": [" 18 ", "+18", 18, 18.0],
    "ok": ["TRUE", " 1", 1, True],
    "ts": [1_700_000_000_000, "1700000000000", 1.7e12, "2026-01-01"],
    "zip": [7, "7"],
    "day": [datetime.datetime(2026, 1, 2, 3), "2026-01-02", datetime.date(2026, 1, 2)],
    "f": ["2.5", "1e3", "inf", 2.5, 2],
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", GIVEN)
def test_what_coerce_reads(engine: str, name: str, tmp_path: Path) -> None:
    index = index_of(*CONVERTED_RULES, engine=engine, coerce=CONVERTED)
    assert index.types()[name] == CONVERTED[name].partition("[")[0]
    index.save(tmp_path)
    rule = list(CONVERTED).index(name)
    for asked in (index, mw.open(tmp_path)):
        for value in GIVEN[name]:
            assert every_way(asked, {name: value}) == [[rule]] * 5
            assert asked.match_many(pd.DataFrame({name: [value]}))["rule"].to_pylist() == [rule]
            assert asked.explain({name: value}, rule).verdict is True


def test_what_cannot_be_converted_does_not_fit() -> None:
    index = index_of(*CONVERTED_RULES, coerce=CONVERTED)
    for name, value in {"age": "18.5", "ok": "yes", "ts": "soon", "zip": 7.5, "day": "x", "f": "1,5"}.items():
        for events in ([{name: value}], pa.table({name: [value]})):
            with pytest.raises(mw.EventError, match=f"event 0: '{name}' must be"):
                index.match_many(events)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"coerce": {"age": "integre"}}, "coerce: 'age' cannot be converted to 'integre'"),
        ({"coerce": {"age": "timestamp[h]"}}, r"timestamp\[s\], timestamp\[ms\]"),
        ({"coerce": {"age": 5}}, "coerce: 'age' cannot be converted to 5"),
        ({"coerce": ["age"]}, "coerce must be a dict"),
        ({"coerce": {5: "int"}}, "a name must be a str"),
        ({"coerce": {"age": "int"}, "schema": {"age": "string"}}, "'age' is declared as string"),
    ],
)
def test_conversions_that_cannot_be(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(mw.InvalidArgument, match=told):
        mw.Index(**settings)


# ------------------------------------------------------------------ hints


@pytest.mark.parametrize(
    ("rule", "value", "told"),
    [
        ("x > 5", "18", "coerce={'x': 'double'}"),
        ("x > 5", datetime.datetime(2026, 1, 1), "write date '2026-01-31' or timestamp"),
        ("x > '2026-01-01'", datetime.date(2026, 1, 1), "rules compare it with text: write date '2026-01-31'"),
        ("x > timestamp '2026-01-01 00:00:00'", 1_700_000_000, "'timestamp[s]' or 'timestamp[ms]'"),
        ("x = '7'", 7, "coerce={'x': 'string'}"),
        ("x", "true", "coerce={'x': 'bool'}"),
        ("x", 1, "coerce={'x': 'bool'}"),
    ],
)
def test_errors_say_what_to_write(rule: str, value: Any, told: str) -> None:
    index = index_of(rule)
    for events in ([{"x": value}], pa.table({"x": [value]})):
        with pytest.raises(mw.EventError) as caught:
            index.match_many(events)
        assert caught.value.hint is not None
        assert told in caught.value.hint
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_no_hint_where_nothing_helps() -> None:
    with pytest.raises(mw.EventError, match=r"\(got 'x', a str\)$"):
        index_of("x > 5").match({"x": "x"})


# ------------------------------------------------------------------ lists of structs


@pytest.mark.parametrize("engine", ENGINES)
def test_a_path_into_a_list_of_structs_is_an_error(engine: str) -> None:
    index = index_of("items.sku = 'x'", "items.sku is null", engine=engine)
    event = {"items": [{"sku": "x"}]}
    for events in ([event], [event] * 60, pa.Table.from_pylist([event]), pd.DataFrame([event]), pl.DataFrame([event])):
        with pytest.raises(mw.EventError, match=r"'items\.sku' must be a field of a struct"):
            index.match_many(events)
    with pytest.raises(mw.EventError, match=r"'items\.sku' must be a field of a struct"):
        index.match(event)
    assert index.match(event, on_error="null") == [1]
    assert index.stats()["misfits"] == {"items.sku": 1}
    assert every_way(index, {"items": {"sku": "x"}}) == [[0]] * 5
    assert index.match({"items": []}) == [1]
    assert index.match_many(pa.table({"items": pa.array([[], None], pa.list_(pa.struct({"sku": pa.string()})))}))[
        "rule"
    ].to_pylist() == [1, 1]


def test_the_error_names_the_operators() -> None:
    with pytest.raises(mw.EventError) as caught:
        index_of("items.sku = 'x'").match({"items": [{"sku": "x"}]})
    assert str(caught.value) == (
        "event 0: 'items.sku' must be a field of a struct; lists are tested by 'one of', 'all of', 'none of': "
        "pass the field as a separate list (got a list of structs under 'items')"
    )
