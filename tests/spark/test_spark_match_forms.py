"""Events in one column - struct, map, JSON - and values that do not fit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from match_support import expected, index_of, plan_of, save_shards, some_events, some_rules

from matchwood.spark.match.match import match

everywhere = pytest.mark.everywhere
RULES = {
    1: "age >= 18",
    2: "vip",
    3: "score > 0.5",
    4: "day = date '2026-01-02'",
    5: "tags one of ('x')",
    6: "age is null",
    7: "a.b = 'n'",
    8: "nums all of (1, 2)",
    9: "code = '007'",
}


@pytest.fixture
def index(path: str) -> str:
    index_of(RULES).save(path)
    return path


@everywhere
def test_events_as_structs_maps_and_json_are_the_events_as_columns(spark: Any, path: str) -> None:
    rules, events = some_rules(60, seed=5), some_events(80, seed=6)
    save_shards(path, rules, 2)
    answers = expected(index_of(rules), events)
    texts = spark.createDataFrame([(event["id"], json.dumps(event)) for event in events], "id bigint, event string")
    ddl = "age int, score double, country string, tags array<string>, extra string"
    struct = texts.selectExpr("id", f"from_json(event, '{ddl}') as event")
    maps = spark.createDataFrame(
        [(event["id"], as_text(event)) for event in events], "id bigint, event map<string,string>"
    )
    for frame in (texts, struct, maps):
        found = match(frame, path, "array", keep=["id"], event="event", on_error="fail").collect()
        assert {row["id"]: row["rules"] for row in found} == answers
    assert (
        "extra"
        not in plan_of(match(struct.select("event"), path, event="event")).split("ArrowEvalPython")[1].split("]")[0]
    )


def as_text(event: dict[str, Any]) -> dict[str, str]:
    shown = {"tags": json.dumps(event["tags"])} if event["tags"] is not None else {}
    return {name: str(event[name]) for name in ("age", "score", "country") if event[name] is not None} | shown


def test_text_becomes_the_types_that_rules_ask_for(spark: Any, index: str) -> None:
    event = {
        "age": " 20",
        "vip": "TRUE",
        "score": "+.75e0",
        "day": "2026-01-02",
        "tags": '["x", null]',
        "a.b": "n",
        "nums": "[1, 2]",
        "code": "007",
    }
    frame = spark.createDataFrame([(event,), (None,), ({},)], "event map<string,string>")
    hits = match(frame, index, "array", event="event", on_error="report").collect()
    assert [row["rules"] for row in hits] == [[1, 2, 3, 4, 5, 7, 8, 9], [6], [6]]
    assert [row["match_error"] for row in hits] == [None, None, None]


def test_integers_beyond_a_double_are_exact(spark: Any, path: str) -> None:
    large = 2**53 + 1
    index_of({1: f"n = {large}", 2: f"n = {large - 1}", 3: "n = 0.5"}).save(path)
    frame = spark.createDataFrame(
        [({"n": str(large)},), ({"n": "0.5"},), ({"n": "9" * 30},)], "event map<string,string>"
    )
    hits = match(frame, path, "array", event="event", on_error="null").collect()
    assert [row["rules"] for row in hits] == [[1], [3], []]


def test_decimals_beyond_a_double_are_exact(spark: Any, path: str) -> None:
    index_of({1: "n = 10.05", 2: "n > 10.05"}).save(path)
    texts = ["10.05", "10.0500000000000000001", "10.0499999999999999999"]
    maps = spark.createDataFrame([({"n": text},) for text in texts], "event map<string,string>")
    documents = spark.createDataFrame([(f'{{"n": {text}}}',) for text in texts], "event string")
    for frame in (maps, documents):
        assert [row["rules"] for row in match(frame, path, "array", event="event").collect()] == [[1], [2], []]


@pytest.mark.few(0)
@pytest.mark.parametrize("strategy", ["broadcast", "sharded", "partitioned"])
def test_reported_values_that_do_not_fit(spark: Any, path: str, strategy: str) -> None:
    save_shards(path, RULES, 3)
    maps = [
        (1, {"age": "many", "vip": "perhaps", "code": "007"}),
        (2, {"age": "1.5", "tags": "[", "score": ""}),
        (3, {"age": "3"}),
    ]
    frame = spark.createDataFrame(maps, "id int, event map<string,string>")
    options: dict[str, Any] = {"event": "event", "keep": ["id"], "strategy": strategy, "key": "id"}
    hits = match(frame, path, "array", on_error="report", **options).orderBy("id").collect()
    assert [row["rules"] for row in hits] == [[6, 9], [], []]
    assert hits[0]["match_error"] == (
        "'age' must be number (got 'many', a str); 'vip' must be bool (got 'perhaps', a str)"
    )
    assert hits[1]["match_error"].startswith("'score' must be number (got '', a str); 'tags' must be list<string>")
    assert hits[2]["match_error"] is None
    rows = match(frame, path, "rows", on_error="report", **options).orderBy("id", "rule").collect()
    assert [(row["id"], row["rule"], row["match_error"] is None) for row in rows] == [
        (1, 6, False),
        (1, 9, False),
        (2, None, False),
    ]
    quiet = match(frame, path, "rows", on_error="null", **options).orderBy("rule").collect()
    assert [(row["id"], row["rule"]) for row in quiet] == [(1, 6), (1, 9)]
    with pytest.raises(Exception, match=r"'(age|score)' must be number"):
        match(frame, path, "rows", on_error="fail", **options).collect()


@pytest.mark.everywhere_in_soak
def test_malformed_json_fails_the_job_only_if_asked_to(spark: Any, index: str) -> None:
    texts = ['{"age": 20}', "{oops", "[1]", "", None, "[" * 5_000, '{"age": "x", "vip": true}', '{"a": {"b": "n"}}']
    frame = spark.createDataFrame([(number, text) for number, text in enumerate(texts)], "id int, event string")
    hits = match(frame, index, "array", event="event", on_error="report").orderBy("id").collect()
    assert [row["rules"] for row in hits] == [[1], [6], [6], [6], [6], [6], [2, 6], [6, 7]]
    errors = [row["match_error"] for row in hits]
    assert [error is None for error in errors] == [True, False, False, False, True, False, False, True]
    assert errors[1].startswith("'event' must be a JSON object (got '{oops' (")
    assert errors[6] == "'age' must be number (got 'x', a str)"
    assert match(frame, index, "rows", event="event", on_error="null").count() == 10
    with pytest.raises(Exception, match="must be a JSON object"):
        match(frame, index, "rows", event="event", on_error="fail").collect()


def test_columns_that_do_not_fit(spark: Any, index: str) -> None:
    frame = spark.createDataFrame([("20", True), (None, True)], "age string, vip boolean")
    hits = match(frame, index, "array", on_error="report").collect()
    assert [row["rules"] for row in hits] == [[2, 6], [2, 6]]
    assert [row["match_error"] for row in hits] == [
        "'age' must be number (got '20', a str): "
        "convert it, or read such text with coerce={'age': 'double'} on the index",
        None,
    ]
    assert match(frame, index, "count", on_error="null").agg({"rule_count": "sum"}).first()[0] == 4
    with pytest.raises(Exception, match="'age' must be number"):
        match(frame, index, on_error="fail").collect()


def test_missing_keys_of_one_event(spark: Any, path: str) -> None:
    index_of({1: "age > 3", 2: "country = 'US'"}).save(path)
    whole, lacking = {"age": "5", "country": "US"}, {"age": "5"}
    for frame in (
        spark.createDataFrame([(whole,), (lacking,)], "event map<string,string>"),
        spark.createDataFrame([(json.dumps(whole),), (json.dumps(lacking),)], "event string"),
    ):
        with pytest.raises(Exception, match="'country' must be given"):
            match(frame, path, event="event", missing="error", on_error="null").collect()
        first = frame.coalesce(1).limit(1)  # of several partitions, any may come first
        assert match(first, path, "count", event="event", missing="error", on_error="null").count() == 1
