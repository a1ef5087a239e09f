"""`build`: what an embedded index would be, made on executors and published whole or not at all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from build_support import EVENTS, embedded, frame, same_answers, sound_rules

import matchwood as mw
from matchwood import spark as mws
from matchwood.errors import InvalidArgument, LimitExceeded, MatchwoodError
from matchwood.sharding import ShardedIndex, open_shards

BAD = [(1001, "age >"), (1002, None), (1003, "city rlike '('"), (1004, "age > 5 and age = 'x'")]


@pytest.mark.long(1)
@pytest.mark.parametrize(
    "shards",
    [pytest.param("auto", marks=pytest.mark.everywhere_in_soak), pytest.param(3, marks=pytest.mark.everywhere)],
)
def test_a_build_equals_an_index_of_the_same_rules(spark: Any, path: str, shards: Any) -> None:
    rules = sound_rules(200)
    report = mws.build(frame(spark, rules), path, shards=shards)
    expected, _ = embedded(rules)
    opened = mw.open(path)
    assert isinstance(opened, ShardedIndex) == (shards == 3)
    same_answers(opened, expected)
    assert opened.types() == expected.types()
    assert (report.rules, report.rejected, report.version) == (200, 0, 1)
    assert report.shards == (1 if shards == "auto" else 3)
    assert report.bytes == open_shards(path).bytes
    assert str(report).startswith("version 1: 200 rules, 0 rejected; ")
    assert mws.rejects(spark, path).collect() == []


@pytest.mark.long(1)
@pytest.mark.parametrize(
    "shards", [pytest.param(1, marks=pytest.mark.everywhere), pytest.param(3, marks=pytest.mark.everywhere_in_soak)]
)
def test_rejected_rules_become_a_table(spark: Any, path: str, shards: int) -> None:
    rules = [*sound_rules(50), *BAD]
    report = mws.build(frame(spark, rules), path, shards=shards)
    expected, told = embedded(rules)
    same_answers(mw.open(path), expected)
    rejected = {row["id"]: row.asDict() for row in mws.rejects(spark, path).collect()}
    wanted = {row["id"]: row for row in told.rejected.to_pylist()}
    assert rejected == wanted
    assert report.rejected == len(BAD)
    assert (rejected[1001]["line"], rejected[1001]["column"]) == (1, 6)
    assert mws.rejects(spark, path).schema.simpleString() == (
        "struct<id:bigint,expression:string,error:string,line:bigint,column:bigint>"
    )


def test_on_error_fail_publishes_nothing(spark: Any, path: str) -> None:
    mws.build(frame(spark, sound_rules(5)), path)
    with pytest.raises(MatchwoodError, match=r"4 rules were rejected[\s\S]*rule 1001: line 1, column 6"):
        mws.build(frame(spark, [*sound_rules(9), *BAD]), path, on_error="fail")
    assert [info.version for info in mws.versions(path)] == [1]
    assert len(mw.open(path)) == 5
    assert sorted(name.name for name in Path(path).iterdir()) == ["CURRENT", "v000001"]


@pytest.mark.few(0)
@pytest.mark.parametrize("shards", [1, 4])
def test_rules_that_contradict_each_other(spark: Any, path: str, shards: int) -> None:
    """Rule 2 gives way to rule 1, so it cannot stand against rule 3, whatever the shards they fall into."""
    rules = [(1, "x = 1"), (2, "x = 'a' and y = 'a'"), (3, "y = 5"), (4, "y = 'b'"), (5, "x = 7 and z"), (6, "z = 1")]
    mws.build(frame(spark, [*rules, (7, "w = 'a'"), (8, "w is null")]), path, shards=shards)
    expected, told = embedded([*rules, (7, "w = 'a'"), (8, "w is null")])
    assert dict(mw.open(path).items()) == dict(expected.items())
    errors = {row["id"]: row["error"] for row in mws.rejects(spark, path).collect()}
    assert errors == {row["id"]: row["error"] for row in told.rejected.to_pylist()}
    assert "as in rule 1 " in errors[2]
    assert "as in rule 3 " in errors[4]
    assert mw.open(path).types() == expected.types()


@pytest.mark.few(0)
@pytest.mark.parametrize("shards", [1, 3])
def test_duplicate_ids_fail_and_are_listed(spark: Any, path: str, shards: int) -> None:
    rules = [*sound_rules(30), (7, "vip"), (7, "age = 1"), (9, "vip")]
    with pytest.raises(InvalidArgument, match=r"nothing was published: ids occur more than once .*: (7, 9|9, 7)"):
        mws.build(frame(spark, rules), path, shards=shards)
    with pytest.raises(OSError, match="not a snapshot"):
        mw.open(path)


def test_the_last_of_several_rules_counts(spark: Any, path: str) -> None:
    rules = [
        (1, "age = 1", 5),
        (1, "age = 2", 7),
        (1, "age = 3", 6),
        (2, "age > 0", 1),
        (3, "broken =", 1),
        (3, "vip", 2),
    ]
    table = frame(spark, rules, "id long, expression string, updated_at int")
    mws.build(table, path, on_duplicate="last", order="updated_at")
    assert dict(mw.open(path).items()) == {1: "age = 2", 2: "age > 0", 3: "vip"}
    tied = frame(spark, [*rules, (1, "age = 9", 7)], "id long, expression string, updated_at int")
    with pytest.raises(InvalidArgument, match="with the same order, so none is the last: 1"):
        mws.build(tied, path, on_duplicate="last", order="updated_at")


@pytest.mark.everywhere
def test_columns_types_and_settings(spark: Any, path: str) -> None:
    rows = [
        ("b", "seen >= date '2026-01-01'", 2.5, {"age": 1.0}),
        ("a", '{"attr": "n", "op": "=", "value": 1}', None, None),
    ]
    table = spark.createDataFrame(rows, "name string, `the rule` string, w double, ws map<string,double>")
    report = mws.build(
        table,
        path,
        id="name",
        expression="the rule",
        weight="w",
        weights="ws",
        engine="scan",
        schema="n int, seen date",
    )
    opened = mw.open(path)
    assert list(opened) == ["a", "b"]
    assert opened.engine == "scan"
    assert opened.types() == {"n": "int", "seen": "date"}
    assert opened._table.weight(1) == 2.5
    assert opened._table.weights_json(1) == '{"age": 1.0}'
    assert opened.match({"n": 1, "seen": "2026-03-01"}) == ["a", "b"]
    assert report.rules == 2


def test_the_time_zone_is_the_sessions(spark: Any, path: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        mws.build(frame(spark, [(1, "t >= timestamp '2026-01-01 00:00:00'")]), path)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert open_shards(path).timezone == "Asia/Tokyo"
    assert mw.open(path).match({"t": "2025-12-31T15:00:00+00:00"}) == [1]


@pytest.mark.few(0)
@pytest.mark.parametrize("shards", [1, 2])
def test_no_rules(spark: Any, path: str, shards: int) -> None:
    with pytest.raises(MatchwoodError, match=r"nothing was published: the table has no rules \(allow_empty=True"):
        mws.build(frame(spark, []), path, shards=shards)
    report = mws.build(frame(spark, []), path, shards=shards, allow_empty=True)
    assert (report.rules, report.shards) == (0, 1)
    assert mw.open(path).match(EVENTS[0]) == []


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"id": "ID"}, "no column 'ID'"),
        ({"expression": "id"}, "column 'id' must be string"),
        ({"weight": "expression"}, "column 'expression' must be"),
        ({"weights": "id"}, "must be JSON text"),
        ({"shards": 0}, "shards must be"),
        ({"on_error": "collect"}, "on_error must be"),
        ({"on_duplicate": "last"}, "go together"),
        ({"order": "id"}, "go together"),
        ({"engine": "btree"}, "btree"),
        ({"options": {"fast": True}}, "fast"),
        ({"schema": "x binary"}, "binary"),
    ],
)
def test_slips_are_told_before_any_work(spark: Any, path: str, settings: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidArgument, match=told.replace("(", r"\(")):
        mws.build(frame(spark, [(1, "vip")]), path, **settings)


def test_a_null_id_is_rejected(spark: Any, path: str) -> None:
    mws.build(frame(spark, [(None, "vip"), (None, "age = 1"), (1, "vip")]), path)
    assert list(mw.open(path)) == [1]
    assert [row["id"] for row in mws.rejects(spark, path).collect()] == [None, None]


@pytest.mark.few(0)
@pytest.mark.parametrize("shards", [1, 3])
def test_one_mistyped_rule_evicts_nobody(spark: Any, path: str, shards: int) -> None:
    rules = [(0, "age = '18'"), *((number, f"age >= {number}") for number in range(1, 31))]
    report = mws.build(frame(spark, rules), path, shards=shards)
    assert (report.rules, report.rejected) == (30, 1)
    errors = [row["error"] for row in mws.rejects(spark, path).collect()]
    assert errors == [
        "rule 0: 'age' must be number, as in rule 1 and 29 other rules "
        "(got a comparison with a string: age = '18'; write 18 without quotes)"
    ]


def test_the_events_decide_types(spark: Any, path: str) -> None:
    events = spark.createDataFrame([], "age string, photo binary, geo struct<zip: int>")
    rules = [
        (0, "age = '18'"),
        (1, "age >= 1"),
        (2, "age >= 2"),
        (3, "geo.zip = 'a'"),
        (4, "geo.zip = 5"),
        (5, "x = 1"),
    ]
    for given in (events, events.schema):
        report = mws.build(frame(spark, rules), path, events=given)
        assert dict(mw.open(path).items()) == {0: "age = '18'", 4: "geo.zip = 5", 5: "x = 1"}
        errors = {row["id"]: row["error"] for row in mws.rejects(spark, path, report.version).collect()}
        assert "'age' must be string, as in the events' column (string)" in errors[1]
        assert "'geo.zip' must be number, as in the events' column (int)" in errors[3]
    with pytest.raises(InvalidArgument, match="events must be a DataFrame, or a schema"):
        mws.build(frame(spark, rules), path, events=5)


@pytest.mark.long
def test_beyond_the_limit_nothing_is_published(spark: Any, path: str) -> None:
    mws.build(frame(spark, sound_rules(5)), path)
    rules = [*sound_rules(20), *((number, "age >") for number in range(1000, 1011))]
    with pytest.raises(
        LimitExceeded, match=r"nothing was published: 11 of 31 rules were rejected[\s\S]*max_rejected=11"
    ):
        mws.build(frame(spark, rules), path)
    with pytest.raises(LimitExceeded, match="2 of 22 rules"):
        mws.build(frame(spark, rules[:22]), path, max_rejected=1)
    with pytest.raises(LimitExceeded, match="2 of 22 rules"):
        mws.update(frame(spark, rules[:22]), path, max_rejected=0.05)
    with pytest.raises(MatchwoodError, match=r"all 2 rules were rejected \(allow_empty=True"):
        mws.build(frame(spark, rules[-2:]), path)
    assert [info.version for info in mws.versions(path)] == [1]
    assert mws.build(frame(spark, rules), path, max_rejected=0.5).rules == 20
    assert mws.build(frame(spark, rules[-2:]), path, allow_empty=True).rules == 0


def test_too_many_shards_are_refused_before_the_work(spark: Any, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = frame(spark, sound_rules(3))
    with pytest.raises(InvalidArgument, match=r"a number from 1 to 50,000 \(got 50001\)"):
        mws.build(rules, path, shards=50_001)
    monkeypatch.setattr(sys.modules["matchwood.spark.build.build"], "shards_for", lambda *_: 90_000)
    with pytest.raises(LimitExceeded, match="would take 90,000 shards"):
        mws.build(rules, path)
    assert not Path(path).exists()


@pytest.mark.long
def test_many_shards_describe_themselves(spark: Any, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Built, matched, updated, compacted: as the same rules in one index."""
    monkeypatch.setattr(sys.modules["matchwood.spark.build.build"], "APART_FROM", 3)
    rules = sound_rules(60)
    report = mws.build(frame(spark, [*rules, (99, "age >")]), path, shards=3)
    assert (report.rules, report.rejected, report.shards) == (60, 1, 3)
    assert report.bytes == sum(file.stat().st_size for file in Path(path).rglob("part-base-*/*.bin"))
    assert len(list(Path(path).glob("v000001/*/part.json"))) == 4
    assert [row["id"] for row in mws.rejects(spark, path).collect()] == [99]
    same_answers(mw.open(path), embedded(rules)[0])
    changed = {**dict(rules), 7: "vip", 8: None, 100: "age < 9"}
    assert not mws.update(frame(spark, [(rule, changed[rule]) for rule in (7, 8, 100)]), path).compacted
    assert mws.update(frame(spark, [(rule, "vip and age = 3") for rule in range(20)]), path).compacted
    expected = {**changed, **dict.fromkeys(range(20), "vip and age = 3")}
    same_answers(mw.open(path), embedded([(rule, text) for rule, text in expected.items() if text])[0])
    events = spark.createDataFrame([(30, "Rome", True)], "age int, city string, vip boolean")
    for strategy in ("broadcast", "sharded", "partitioned"):
        found = mws.match(events, path, "array", strategy=strategy, key="age").first()["rules"]
        assert found == mw.open(path).match({"age": 30, "city": "Rome", "vip": True})
