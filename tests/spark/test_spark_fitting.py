"""What does not fit is never lost in silence: told before the job, counted in its metrics, converted where asked."""

from __future__ import annotations

import logging
import math
from typing import Any

import pytest
from pyspark.sql import Observation

import matchwood as mw
from matchwood import spark as mws
from matchwood.errors import EventError


@pytest.fixture
def path(tmp_path: Any) -> str:
    return str(tmp_path / "index")


def saved(path: str, *rules: str, **settings: Any) -> str:
    index = mw.Index(**settings)
    index.insert_many(enumerate(rules, 1))
    index.save(path)
    return path


def rules_of(hits: Any) -> list[list[int]]:
    return [row["rules"] for row in hits.orderBy("id").collect()]


def test_a_column_that_never_fits_is_told_before_the_job(
    spark: Any, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    saved(path, "age > 5", "age is null", "geo.zip = 7")
    events = spark.createDataFrame([(1, "18", ("x",)), (2, None, None)], "id int, age string, geo struct<zip: string>")
    with pytest.raises(EventError) as caught:
        mws.match(events, path)
    assert str(caught.value) == (
        "the events' columns: 'age' must be number (got a column of string, none of whose values can fit "
        "(the same for 'geo.zip')): write events.withColumn('age', F.col('age').cast('double')), or build the index "
        "with coerce={'age': 'double'}; on_error='null' treats its values as NULL"
    )
    with caplog.at_level(logging.WARNING, "matchwood.spark"):
        hits = mws.match(events, path, output="array", on_error="null")
    assert "'age' must be number, and its column is string" in caplog.text
    assert "cast the field to double" in caplog.text
    assert rules_of(hits) == [[2], [2]]
    assert rules_of(mws.match(events.selectExpr("id", "cast(age as int) age"), path, output="array")) == [[1], [2]]


def test_text_is_read_where_the_index_asks(spark: Any, path: str) -> None:
    saved(path, "age > 5", "ts >= timestamp '2023-11-14 00:00:00'", coerce={"age": "int", "ts": "timestamp[s]"})
    rows = [(1, " 18 ", 1_700_000_000), (2, "3", 5), (3, None, None)]
    events = spark.createDataFrame(rows, "id int, age string, ts bigint")
    assert rules_of(mws.match(events, path, output="array")) == [[1, 2], [], []]


def test_lists_of_structs_name_the_operator(spark: Any, path: str) -> None:
    saved(path, "items.sku = 'x'")
    events = spark.createDataFrame([(1, [("x",)])], "id int, items array<struct<sku: string>>")
    with pytest.raises(EventError, match=r"'items.sku' must be a field of a struct; lists are tested by 'one of'"):
        mws.match(events, path)
    assert rules_of(mws.match(events, path, output="array", on_error="null")) == [[]]


@pytest.mark.long(1)
@pytest.mark.parametrize(("nan", "expected"), [(None, [[1], [2, 3]]), ("value", [[1], [2, 3]]), ("null", [[2, 3]] * 2)])
def test_nan_is_what_the_index_says(spark: Any, path: str, nan: str | None, expected: list[list[int]]) -> None:
    saved(path, "x > 5", "x is null", "y is null", nan=nan)
    events = spark.createDataFrame([(1, math.nan, math.nan), (2, None, None)], "id int, x double, y float")
    assert rules_of(mws.match(events, path, output="array")) == expected


@pytest.mark.few(0)
@pytest.mark.parametrize("strategy", ["broadcast", "partitioned"])
def test_misfits_are_counted_in_metrics(spark: Any, path: str, strategy: str) -> None:
    saved(path, "age > 5", "seen > timestamp '2026-01-01 00:00:00'", "vip")
    rows = [(1, "x", True), (2, "2026-02-01", None), (3, "never", False)]
    events = spark.createDataFrame(rows, "id int, seen string, vip boolean")
    seen = Observation("fit")
    hits = mws.match(events, path, output="array", on_error="null", strategy=strategy, key="id", metrics=seen)
    assert rules_of(hits) == [[3], [2], []]
    found = seen.get
    assert (found["events"], found["hits"], found["engine"]) == (3, 2, "auto")
    assert {name: found[name] for name in found if name.startswith("misfits")} == {"misfits": 2, "misfits.seen": 2}
    assert found["candidates"] >= 2
    assert all(found[f"seconds.{step}"] > 0 for step in ("encode", "match", "emit"))


def test_raise_is_the_default_everywhere(spark: Any, path: str) -> None:
    saved(path, "seen > timestamp '2026-01-01 00:00:00'")
    events = spark.createDataFrame([(1, "x")], "id int, seen string")
    for options in ({}, {"on_error": "raise"}, {"on_error": "fail"}):
        with pytest.raises(Exception, match="'seen' must be timestamp"):
            mws.match(events, path, **options).collect()


def test_settings_of_a_build_are_saved(spark: Any, path: str) -> None:
    rules = spark.createDataFrame([(1, "x > 5"), (2, "n = 3")], "id int, expression string")
    mws.build(rules, path, nan="null", coerce={"n": "int"}, shards=2)
    mws.update(spark.createDataFrame([(3, "x is null")], "id int, expression string"), path)
    opened = mw.open(path)
    assert opened.match({"x": math.nan, "n": "3"}) == [2, 3]
    assert (
        opened.match_many([{"n": "a"}], on_error="report").to_pylist()[0]["match_error"].startswith("'n' must be int")
    )
    assert opened.stats()["misfits"] == {"n": 1}
    assert rules_of(
        mws.match(spark.createDataFrame([(7, math.nan, "3")], "id int, x double, n string"), path, "array")
    ) == [[2, 3]]


@pytest.mark.long
def test_rules_that_do_not_fit_are_counted_by_attribute(spark: Any, path: str) -> None:
    texts = ["age = '18'", "age > 5", "age > 6 and vip", "vip = 1", "vip = 'x'", "age =>"]
    rules = spark.createDataFrame(list(enumerate(texts)), "id int, expression string")
    events = spark.createDataFrame([(1, True)], "age int, vip boolean")
    for shards in (1, 2):
        report = mws.build(rules, path, events=events, shards=shards)
        assert (report.rules, report.rejected, report.misfits) == (2, 4, {"age": 1, "vip": 2})
        assert "2 rules, 4 rejected (1 for the type of 'age', 2 for the type of 'vip'); " in str(report)
    changes = spark.createDataFrame([(1, "age = 'x'"), (9, "vip")], "id int, expression string")
    changed = mws.update(changes, path)
    assert (changed.inserted, changed.rejected, changed.misfits) == (1, 1, {"age": 1})


def test_a_build_warns_of_columns_that_never_fit_what_is_declared(
    spark: Any, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    rules = spark.createDataFrame([(1, "age > 5")], "id int, expression string")
    events = spark.createDataFrame([("18", 1.5)], "age string, score double")
    with caplog.at_level(logging.WARNING, "matchwood.spark"):
        mws.build(rules, path, schema={"age": "int", "score": "double"}, events=events)
    assert "'age' must be int, and its column is string" in caplog.text
    assert "score" not in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING, "matchwood.spark"):
        mws.build(rules, path, coerce={"age": "int"}, events=events.schema)
    assert caplog.text == ""


def test_a_single_rule_is_counted_as_one(spark: Any, path: str) -> None:
    rules = spark.createDataFrame([(1, "age =>")], "id int, expression string")
    with pytest.raises(mw.MatchwoodError, match="nothing was published: 1 rule was rejected, and on_error='fail'"):
        mws.build(rules, path, on_error="fail")
    with pytest.raises(mw.MatchwoodError, match="nothing was published: its only rule was rejected"):
        mws.build(rules, path)
    with pytest.raises(mw.MatchwoodError, match="nothing was published: 1 of 1 rule was rejected, and max_rejected"):
        mws.build(rules, path, max_rejected=0)
