"""explain, why_not and diff: the same as the embedded index says, event by event."""

from __future__ import annotations

from typing import Any

import pytest

import matchwood as mw
from matchwood import spark as mws
from matchwood.errors import InvalidArgument, UnknownRule

RULES = {
    "adult": "age >= 18 and country = 'US'",
    "odd": "not vip or geo.city like 'P%' xor tags one of ('a')",
    "never": "false and age = 1",
    "known": "(age < 30) is not unknown and Age is null",
}
ROWS = [
    (1, 20, None, "US", True, ("Paris",), ["a"]),
    (2, 40, 1, None, False, ("Rome",), []),
    (3, None, None, "US", None, None, None),
    (4, 10, None, "FR", True, (None,), ["b", None]),
    (5, 18, 3, "US", False, ("Pisa",), ["a", "b"]),
]
SCHEMA = "`event.id` int, age int, Age int, country string, vip boolean, geo struct<city:string>, tags array<string>"


@pytest.fixture
def events(spark: Any) -> Any:
    return spark.createDataFrame(ROWS, SCHEMA)


@pytest.fixture
def index(path: str) -> mw.Index:
    made = mw.Index()
    made.insert_many(RULES)
    made.save(path)
    return made


def as_dicts(events: Any) -> dict[int, dict[str, Any]]:
    rows = {row[0]: dict(zip(events.columns, row, strict=True)) for row in events.collect()}
    return {key: {**row, "geo": row["geo"] and row["geo"].asDict()} for key, row in rows.items()}


@pytest.mark.everywhere
def test_explanations_are_those_of_the_index(events: Any, index: mw.Index, path: str) -> None:
    told = mws.explain(events, path, rules=list(RULES), key="event.id")
    assert told.columns == ["key", "rule", "verdict", "decided_by"]
    found = {(row["key"], row["rule"]): (row["verdict"], row["decided_by"]) for row in told.collect()}
    assert len(found) == len(ROWS) * len(RULES)
    for key, event in as_dicts(events).items():
        for rule in RULES:
            explanation = index.explain(event, rule)
            assert found[key, rule] == (explanation.verdict, explanation.decided_by)
    assert {verdict for verdict, _ in found.values()} == {True, False, None}


@pytest.mark.everywhere
def test_why_not_counts_reasons(events: Any, index: mw.Index, path: str) -> None:
    told = mws.why_not(events, path, rules=["adult", "known", "never"])
    assert told.columns == ["rule", "predicate", "alone_false", "alone_null", "among_several", "events"]
    assert [tuple(row) for row in told.collect()] == [
        ("adult", "age >= 18", 0, 1, 1, 5),
        ("adult", "country = 'US'", 0, 1, 1, 5),
        ("known", "age < 30", 0, 1, 0, 5),
        ("known", "Age is null", 2, 0, 0, 5),
        ("never", "age = 1", 0, 0, 5, 5),
    ]


def test_why_not_agrees_with_explanations(events: Any, index: mw.Index, path: str) -> None:
    """An event is counted for some predicate of a rule exactly if the rule is not TRUE of it and has predicates."""
    rows = mws.why_not(events.repartition(3), path, rules=["odd"]).collect()
    failing = [event for event in as_dicts(events).values() if "odd" not in index.match(event)]
    alone = sum(row["alone_false"] + row["alone_null"] for row in rows)
    several = max(row["among_several"] for row in rows)
    assert alone + several <= len(failing) <= alone + sum(row["among_several"] for row in rows)
    assert failing
    assert [row["predicate"] for row in rows] == ["vip = true", "geo.city like 'P%'", "tags one of ('a')"]


def test_no_events_and_no_columns(spark: Any, events: Any, index: mw.Index, path: str) -> None:
    none = mws.why_not(events.limit(0), path, rules=["adult"]).collect()
    assert [row["events"] for row in none] in ([], [0, 0])
    bare = spark.range(3)
    assert [tuple(row) for row in mws.why_not(bare, path, rules=["adult"]).collect()] == [
        ("adult", "age >= 18", 0, 0, 3, 3),
        ("adult", "country = 'US'", 0, 0, 3, 3),
    ]
    told = mws.explain(bare, path, rules=["adult"], key="id").collect()
    assert [(row["key"], row["verdict"]) for row in told] == [(0, None), (1, None), (2, None)]


def test_a_value_that_does_not_fit_counts_as_missing(spark: Any, index: mw.Index, path: str) -> None:
    events = spark.createDataFrame([(1, "forty", "US")], "id int, age string, country string")
    row = mws.explain(events, path, rules=["adult"], key="id").collect()[0]
    assert (row["verdict"], row["decided_by"]) == (None, ["age >= 18", "country = 'US'"])
    assert [tuple(row) for row in mws.why_not(events, path, rules=["adult"]).collect()] == [
        ("adult", "age >= 18", 0, 1, 0, 1),
        ("adult", "country = 'US'", 0, 0, 0, 1),
    ]


def test_integer_ids(spark: Any, path: str) -> None:
    index = mw.Index()
    index[7] = "id > 1"
    index.save(path)
    assert mws.why_not(spark.range(3), path, rules=[7]).collect() == [(7, "id > 1", 2, 0, 0, 3)]
    told = mws.explain(spark.range(3), path, rules=[7], key="id")
    assert dict(told.dtypes)["rule"] == "bigint"
    assert [row["verdict"] for row in told.collect()] == [False, False, True]


def test_unknown_rules_and_keys(events: Any, index: mw.Index, path: str) -> None:
    with pytest.raises(UnknownRule):
        mws.explain(events, path, rules=["no such"], key="age")
    with pytest.raises(InvalidArgument, match="no column 'no'"):
        mws.explain(events, path, rules=["adult"], key="no")
    with pytest.raises(InvalidArgument, match="list of ids"):
        mws.why_not(events, path, rules="adult")
    with pytest.raises(InvalidArgument, match="no column 'no'"):
        mws.diff(events, path, 1, 1, key="no")


@pytest.mark.everywhere
def test_diff_of_two_versions(events: Any, index: mw.Index, path: str) -> None:
    index["adult"] = "age >= 40"
    index["new"] = "vip"
    del index["known"]
    index.save(path)
    before = mw.Index()
    before.insert_many(RULES)
    expected = {}
    for key, event in as_dicts(events).items():
        old, new = before.match(event), index.match(event)
        if old != new:
            expected[key] = ([rule for rule in new if rule not in old], [rule for rule in old if rule not in new])
    told = mws.diff(events, path, 1, 2, key="event.id")
    assert told.columns == ["key", "gained", "lost"]
    assert {row["key"]: (row["gained"], row["lost"]) for row in told.collect()} == expected
    assert 0 < len(expected) < len(ROWS)
    assert mws.diff(events, path, 2, 2, key="event.id").collect() == []
