"""Matching tables: all outputs and strategies give what the embedded Index gives, from the named columns alone."""

from __future__ import annotations

import datetime
import logging
import re
import sys
from decimal import Decimal
from typing import Any

import pytest
from match_support import EVENTS_DDL, expected, index_of, plan_of, save_shards, some_events, some_rules

from matchwood import EventError, Index, InvalidArgument
from matchwood.spark.match.match import match, plan

STRATEGIES = ["broadcast", "sharded", "partitioned", "auto"]
everywhere = pytest.mark.everywhere


@pytest.fixture(scope="module")
def rules() -> dict[Any, str]:
    return some_rules(120, seed=1)


@pytest.fixture(scope="module")
def events() -> list[dict[str, Any]]:
    return some_events(300, seed=2)


@pytest.fixture(scope="module")
def answers(rules: dict[Any, str], events: list[dict[str, Any]]) -> dict[int, list[Any]]:
    return expected(index_of(rules), events)


@pytest.fixture(scope="module")
def frame(spark: Any, events: list[dict[str, Any]]) -> Any:
    return spark.createDataFrame(events, EVENTS_DDL).repartition(3)


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory, rules: dict[Any, str]) -> str:
    path = str(tmp_path_factory.mktemp("indexes") / "sharded")
    save_shards(path, rules, 3)
    return path


def one_rule(path: str, text: str = "age >= 18") -> str:
    Index.save(index_of({1: text}), path)
    return path


# ------------------------------------------------------------------- answers


@everywhere
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_arrays_of_every_strategy(frame: Any, sharded: str, answers: dict[int, list[Any]], strategy: str) -> None:
    found = match(frame, sharded, "array", keep=["id"], strategy=strategy, key="id").collect()
    assert {row["id"]: row["rules"] for row in found} == answers


@pytest.mark.few(0)
@pytest.mark.everywhere_in_soak
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_of_every_strategy(frame: Any, sharded: str, answers: dict[int, list[Any]], strategy: str) -> None:
    found = match(frame, sharded, "rows", keep=["id"], strategy=strategy, key="id").collect()
    pairs = sorted((row["id"], row["rule"]) for row in found)
    assert pairs == [(event, rule) for event, rules in sorted(answers.items()) for rule in rules]


@pytest.mark.few(0)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_counts_of_every_strategy(frame: Any, sharded: str, answers: dict[int, list[Any]], strategy: str) -> None:
    found = match(frame, sharded, "count", keep=["id"], strategy=strategy, key="id")
    assert found.schema["rule_count"].dataType.simpleString() == "bigint"
    assert {row["id"]: row["rule_count"] for row in found.collect()} == {id: len(hits) for id, hits in answers.items()}


def test_text_ids_keep_the_order_of_rules(spark: Any, path: str) -> None:
    index = index_of({"b": "age > 1", "a": "age > 2", "é": "age > 0"})
    index.save(path)
    one = spark.createDataFrame([(5,)], "age int")
    for strategy in STRATEGIES:
        found = match(one, path, "array", strategy=strategy, key="age").collect()
        assert found[0]["rules"] == ["b", "a", "é"]


def test_a_batch_with_many_hits_comes_in_pieces(spark: Any, path: str) -> None:
    """More hits in a batch than one call of the kernels returns."""
    index_of({number: f"age >= {number % 7}" for number in range(3_000)}).save(path)
    found = match(spark.range(1_000).selectExpr("id", "id % 9 as age").coalesce(1), path, "count").collect()
    assert {row["id"]: row["rule_count"] for row in found} == {
        id: sum(number % 7 <= id % 9 for number in range(3_000)) for id in range(1_000)
    }


# ------------------------------------------------------------------- columns


def test_only_named_columns_travel(frame: Any, sharded: str) -> None:
    told = plan_of(match(frame, sharded, "array"))
    (arguments,) = re.findall(r"ArrowEvalPython \[matchwood_sharded_v1\((.*?)\)#", told)
    names = re.findall(r"([a-z_]\w*)#", arguments)
    assert sorted(names) == ["age", "country", "score", "tags"]


@pytest.mark.few
@pytest.mark.parametrize("output", ["rows", "array", "count"])
@pytest.mark.parametrize("on_error", ["null", "report"])
def test_events_are_matched_once(frame: Any, sharded: str, output: str, on_error: str) -> None:
    """Also below a filter on what was found, which Spark would move below the matching and do twice."""
    hits = match(frame, sharded, output, on_error=on_error)
    column = hits.columns[-1 - (on_error == "report")]
    for each in (hits, hits.filter(hits[column].isNotNull()), hits.filter("age > 5")):
        assert plan_of(each).count("ArrowEvalPython") == 1


def test_fields_of_structs_travel_alone(spark: Any, path: str) -> None:
    index_of({1: "a.b = 5", 2: "a is null", 3: "m.k = 'v'", 4: "`a.b` = 'top'", 5: "a.c.d > 1"}).save(path)
    data = [
        (1, (5, (2, 0), "big"), {"k": "v"}, "top"),
        (2, None, None, None),
        (3, (6, None, "big"), {"l": "v"}, "x"),
    ]
    ddl = "id int, a struct<b: int, c: struct<d: int, e: int>, big: string>, m map<string, string>"
    frame = spark.createDataFrame([row[:3] for row in data], ddl)
    hits = match(frame, path, "array", keep=["id"])
    assert [row["rules"] for row in hits.orderBy("id").collect()] == [[1, 3, 5], [2], []]
    assert ".big" not in plan_of(hits)
    with_top = spark.createDataFrame([(row[0], row[3]) for row in data], "id int, `a.b` string")
    hits = match(with_top, path, "array", keep=["id"], on_error="null")
    assert hits.orderBy("id").first()["rules"] == [2, 4]


def test_names_are_case_sensitive_whatever_spark_says(spark: Any, path: str) -> None:
    index_of({1: "age > 10", 2: "AGE > 10", 3: "s.b = 1", 4: "s.B = 1", 5: "Age > 10"}).save(path)
    frame = spark.range(1).selectExpr("20 as age", "5 as AGE", "named_struct('b', 1, 'B', 2) as s")
    assert match(frame, path, "array", keep=[]).first()["rules"] == [1, 3]
    assert match(frame.select("s"), path, "array", keep=[]).first()["rules"] == [3]


def test_types_that_arrow_carries(spark: Any, path: str) -> None:
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5)
    index_of(
        {
            1: "t >= timestamp '2026-01-02 03:04:05'",
            2: "n = timestamp '2026-01-02 03:04:05'",
            3: "d = date '2026-01-02'",
            4: "dec = 1.5",
            5: "by = 7 and sh = 7 and f = 0.5 and bo",
            6: "ints one of (3)",
            7: "bin is not null and iv is not null",
            8: "bin2 = 'x' or iv2 = 'x'",
        }
    ).save(path)
    frame = spark.createDataFrame(
        [(moment, moment, moment.date(), Decimal("1.5"), 7, 7, 0.5, True, [1, 3], b"x")],
        "t timestamp, n timestamp_ntz, d date, dec decimal(10,2), by tinyint, sh smallint, f float, bo boolean, "
        "ints array<int>, bin binary",
    ).selectExpr("*", "bin as bin2", "interval '1' month as iv", "make_interval(1) as iv2")
    hits = match(frame, path, "array", keep=[], on_error="report").first()
    assert hits["rules"] == [1, 2, 3, 4, 5, 6, 7]
    assert hits["match_error"].count("must be string") == 2
    with pytest.raises(Exception, match="'bin2' must be string"):
        match(frame, path, "array", on_error="fail").collect()


# ---------------------------------------------------------------- keep, names


def test_keep(frame: Any, sharded: str) -> None:
    assert match(frame, sharded).columns == [*frame.columns, "rule"]
    assert match(frame, sharded, keep=[]).columns == ["rule"]
    for strategy in STRATEGIES:
        kept = match(frame, sharded, "array", keep=["extra", "id"], strategy=strategy, key="id", on_error="report")
        assert kept.columns == ["extra", "id", "rules", "match_error"]
        assert all(row["extra"] == f"not for rules {row['id']}" for row in kept.collect())
    with pytest.raises(InvalidArgument, match="no column 'Extra', but 'extra'"):
        match(frame, sharded, keep=["Extra"])


def test_a_clash_of_names(spark: Any, path: str) -> None:
    one_rule(path)
    frame = spark.createDataFrame([(20, "own", 1)], "age int, rule string, RULES int")
    with pytest.raises(InvalidArgument, match="already have a column 'rule'"):
        match(frame, path)
    with pytest.raises(InvalidArgument, match="already have a column 'RULES'"):
        match(frame, path, "array")
    assert match(frame, path, prefix="my_").first().asDict() == {"age": 20, "rule": "own", "RULES": 1, "my_rule": 1}
    assert match(frame, path, keep=["age"]).columns == ["age", "rule"]


# ------------------------------------------------------------------- missing


def test_missing_attributes(spark: Any, path: str, caplog: pytest.LogCaptureFixture) -> None:
    index_of({1: "country = 'US' or age > 3", 2: "country is null"}).save(path)
    frame = spark.createDataFrame([(5, "US")], "age int, Country string")
    with caplog.at_level(logging.WARNING, logger="matchwood.spark"):
        assert match(frame, path, "array", keep=[]).first()["rules"] == [1, 2]
    assert "no 'country', but 'Country'" in caplog.text
    assert plan(frame, path).missing == {"country": ["Country"]}
    with pytest.raises(EventError, match="no 'country', but 'Country'"):
        match(frame, path, missing="error")


def test_no_rules_and_no_columns_and_no_events(spark: Any, path: str) -> None:
    Index().save(path)
    frame = spark.range(3)
    assert [row["rules"] for row in match(frame, path, "array").collect()] == [[], [], []]
    assert match(frame, path, "rows").count() == 0
    assert [row["rule_count"] for row in match(frame, path, "count", keep=[]).collect()] == [0, 0, 0]
    index_of({7: "x is null"}).save(path)
    assert [row["rules"] for row in match(frame, path, "array").collect()] == [[7], [7], [7]]
    assert match(spark.range(0), path, "rows").collect() == []
    for strategy in STRATEGIES:
        assert match(spark.range(0), path, "array", strategy=strategy, key="id").collect() == []


# ------------------------------------------------------------------ versions


def test_the_version_is_pinned_when_match_is_called(spark: Any, path: str) -> None:
    frame = spark.createDataFrame([(20,)], "age int")
    index_of({1: "age >= 18"}).save(path)
    before = match(frame, path)
    index_of({2: "age >= 18"}).save(path)
    assert [row["rule"] for row in before.collect()] == [1]
    assert [row["rule"] for row in match(frame, path).collect()] == [2]
    assert [row["rule"] for row in match(frame, path, version=1).collect()] == [1]
    with pytest.raises(InvalidArgument, match="no version 9"):
        match(frame, path, version=9)


# ---------------------------------------------------------------- strategies


def test_auto_chooses_by_size(frame: Any, sharded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = plan(frame, sharded, key="id")
    assert chosen.strategy == "broadcast"
    assert "3 shards" in chosen.estimate
    monkeypatch.setattr(sys.modules["matchwood.spark.match.strategy"], "worker_memory", lambda session: 1_000)
    assert plan(frame, sharded, key="id").strategy == "partitioned"
    assert plan(frame, sharded).strategy == "sharded"


def test_partitioned_needs_a_key_whose_values_are_distinct(spark: Any, sharded: str) -> None:
    frame = spark.createDataFrame([(1, 5), (1, 6)], "id int, age int")
    with pytest.raises(InvalidArgument, match=r"needs key=.*MiB in 3 shards"):
        match(frame, sharded, strategy="partitioned")
    for output in ("rows", "array", "count"):
        with pytest.raises(Exception, match="same value in several events"):
            match(frame, sharded, output, keep=[], strategy="partitioned", key="id").collect()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"output": "lists"}, "output must be one of"),
        ({"strategy": "magic"}, "strategy must be one of"),
        ({"on_error": "ignore"}, "on_error must be one of"),
        ({"metrics": 5}, "metrics must be a name or a pyspark.sql.Observation"),
        ({"missing": "fail"}, "missing must be one of"),
        ({"top": 0}, "top must be an integer of at least 1"),
        ({"weights": {"age": 1.0}}, "give top="),
        ({"top": 3, "weights": {"age": -1.0}}, "at least 0"),
        ({"top": 3, "weights": "tags"}, "must be a struct, or a map"),
        ({"keep": "id"}, "keep must be a list"),
        ({"event": "id"}, "must be a struct, a map"),
        ({"event": "Tags"}, "no column 'Tags', but 'tags'"),
        ({"version": True}, "whole number"),
        ({"strategy": "partitioned", "key": "nothing"}, "no column 'nothing'"),
    ],
)
def test_options_that_cannot_be_used(frame: Any, sharded: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        match(frame, sharded, **options)
