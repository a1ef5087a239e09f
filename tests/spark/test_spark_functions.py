"""SQL functions: any index by its path, and one index under a name."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import matchwood as mw
from matchwood import spark as mws
from matchwood.errors import InvalidArgument

ROWS = [(10, 20, "US"), (11, 40, None), (12, None, "US"), (13, 10, "FR")]
EXPECTED = [(10, ["adult"]), (11, ["old"]), (12, []), (13, ["minor"])]


@pytest.fixture
def saved(path: str) -> str:
    index = mw.Index()
    index["adult"], index["old"], index["minor"] = "age >= 18 and country = 'US'", "age > 30", "age < 18"
    index.save(path)
    return path


@pytest.fixture
def events(spark: Any) -> Any:
    frame = spark.createDataFrame(ROWS, "event_id bigint, age int, country string")
    frame.createOrReplaceTempView("function_events")
    return frame


def lists(spark: Any, call: str) -> list[tuple[int, list[Any]]]:
    rows = spark.sql(f"SELECT event_id, {call} AS rules FROM function_events ORDER BY event_id").collect()
    return [(row["event_id"], row["rules"]) for row in rows]


@pytest.mark.everywhere
def test_functions_for_any_index(spark: Any, events: Any, saved: str) -> None:
    made = mws.register(spark)
    assert made == ("match_rules_array", "match_rules", None)
    assert lists(spark, f"match_rules_array('{saved}', struct(age, country))") == EXPECTED
    rows = spark.sql(f"SELECT * FROM match_rules(TABLE(function_events), '{saved}', 'event_id')")
    assert dict(rows.dtypes) == {"key": "string", "rule": "string"}
    assert sorted(map(tuple, rows.collect())) == [("10", "adult"), ("11", "old"), ("13", "minor")]


@pytest.mark.everywhere
def test_functions_for_one_index(spark: Any, events: Any, path: str) -> None:
    index = mw.Index()
    index[1], index[2] = "age > 30 and geo.city is null", "country = 'US'"
    index.save(path)
    made = mws.register(spark, path=path, name="campaigns")
    assert made == ("campaigns_array", "campaigns", ["age", "country", "geo", "geo.city"])
    index[3] = "true"
    index.save(path)  # the functions stay with the version that they were made for
    assert lists(spark, "campaigns_array(struct(*))") == [(10, [2]), (11, [1]), (12, [2]), (13, [])]
    rows = spark.sql("SELECT * FROM campaigns(TABLE(SELECT age, event_id FROM function_events), 'event_id')")
    assert dict(rows.dtypes) == {"key": "string", "rule": "bigint"}
    assert [tuple(row) for row in rows.collect()] == [("11", 1)]


def test_the_current_version_of_any_index(spark: Any, events: Any, saved: str) -> None:
    mws.register(spark)
    index = mw.open(saved)
    index["all"] = "true"
    index.save(saved)
    told = lists(spark, f"match_rules_array('{saved}', named_struct('age', age))")
    assert told == [(10, ["all"]), (11, ["old", "all"]), (12, ["all"]), (13, ["minor", "all"])]
    assert lists(spark, f"match_rules_array('{saved}', if(event_id = 10, NULL, struct(age)))")[0] == (10, ["all"])


def test_what_is_refused(spark: Any, events: Any, saved: str) -> None:
    with pytest.raises(InvalidArgument, match="both path= and name="):
        mws.register(spark, path=saved)
    with pytest.raises(InvalidArgument, match="identifier"):
        mws.register(spark, path=saved, name="a b")
    mws.register(spark)
    for query, told in {
        f"SELECT match_rules_array('{saved}', age) FROM function_events": "an event must be a struct",
        f"SELECT * FROM match_rules(TABLE(function_events), '{saved}', 'no')": "the table has no column 'no'",
        "SELECT match_rules_array(country, struct(age)) FROM function_events": "the path must be one text",
    }.items():
        with pytest.raises(Exception, match=told):
            spark.sql(query).collect()


MISFITS = "SELECT * FROM VALUES (1, 20, '2026-02-01'), (2, 10, 'never'), (3, 40, 'x'), (4, 40, NULL) AS t(k, age, seen)"


@pytest.fixture
def dated(path: str) -> str:
    index = mw.Index()
    index[1], index[2] = "age > 30", "seen > timestamp '2026-01-01 00:00:00'"
    index.save(path)
    return path


def test_a_value_that_does_not_fit_fails_the_query(spark: Any, dated: str) -> None:
    mws.register(spark)
    mws.register(spark, path=dated, name="strict", missing="error")
    for query in (
        f"SELECT match_rules_array('{dated}', struct(*)) FROM ({MISFITS})",
        f"SELECT * FROM match_rules(TABLE({MISFITS}), '{dated}', 'k')",
        f"SELECT strict_array(struct(*)) FROM ({MISFITS})",
        f"SELECT * FROM strict(TABLE({MISFITS}), 'k')",
    ):
        with pytest.raises(Exception, match="'seen' must be timestamp"):
            spark.sql(query).collect()
    with pytest.raises(Exception, match="'seen' must be given, because rules name it"):
        spark.sql(f"SELECT strict_array(struct(age)) FROM ({MISFITS})").collect()


def test_misfits_count_as_null_where_asked(spark: Any, dated: str) -> None:
    mws.register(spark, path=dated, name="lenient", on_error="null")
    rows = spark.sql(f"SELECT lenient_array(struct(*)) AS rules FROM ({MISFITS}) ORDER BY k").collect()
    assert [row["rules"] for row in rows] == [[2], [], [1], [1]]
    hits = spark.sql(f"SELECT * FROM lenient(TABLE({MISFITS}), 'k') ORDER BY ALL").collect()
    assert [tuple(row) for row in hits] == [("1", 2), ("3", 1), ("4", 1)]


@pytest.mark.everywhere
def test_misfits_are_told_and_counted(spark: Any, dated: str) -> None:
    mws.register(spark, path=dated, name="telling", on_error="report")
    asked = f"SELECT k, telling_array(struct(*)) AS told FROM ({MISFITS})"
    rows = spark.sql(f"SELECT told.rules, told.match_error FROM ({asked}) ORDER BY k").collect()
    never, x = (
        f"'seen' must be timestamp (got {word!r}, a str that is not an ISO 8601 timestamp)" for word in ("never", "x")
    )
    assert [tuple(row) for row in rows] == [([2], None), ([], never), ([1], x), ([1], None)]
    assert spark.sql(f"SELECT count(told.match_error) AS misfits FROM ({asked})").first()["misfits"] == 2
    hits = spark.sql(f"SELECT * FROM telling(TABLE({MISFITS}), 'k') ORDER BY ALL").collect()
    assert [tuple(row) for row in hits] == [("1", 2, None), ("2", None, never), ("3", 1, x), ("4", 1, None)]


def test_functions_read_values_by_the_index_settings(spark: Any, path: str) -> None:
    index = mw.Index(nan="null", coerce={"age": "int"})
    index[1], index[2] = "age > 30", "score is null"
    index.save(path)
    mws.register(spark, path=path, name="reading")
    rows = spark.sql("SELECT reading_array(struct(' 40 ' AS age, CAST('NaN' AS DOUBLE) AS score)) AS rules").collect()
    assert rows[0]["rules"] == [1, 2]


def test_words_that_register_does_not_know(spark: Any, dated: str) -> None:
    with pytest.raises(InvalidArgument, match="on_error must be one of 'raise', 'null', 'report'"):
        mws.register(spark, on_error="ignore")
    with pytest.raises(InvalidArgument, match="missing must be one of 'null', 'error'"):
        mws.register(spark, path=dated, name="strict", missing="raise")


# ------------------------------------------------------------- ranking, versions


def weighed(path: str) -> str:
    index = mw.Index()
    index.insert_many([(1, "age > 10", {"weight": 1.0}), (2, "age > 10"), (3, "country = 'US'", {"weight": 5.0})])
    index.save(path)
    return path


def test_functions_rank(spark: Any, events: Any, path: str) -> None:
    mws.register(spark, path=weighed(path), name="ranked", top=2, weights={"age": 2.0})
    ranked = lists(spark, "ranked_array(struct(age, country))")
    assert [tuple(map(tuple, rules)) for _, rules in ranked] == [
        ((1, 3, 6.0), (2, 1, 3.0)),
        ((1, 1, 3.0), (2, 2, 2.0)),
        ((1, 3, 6.0),),
        (),
    ]
    rows = spark.sql("SELECT * FROM ranked(TABLE(function_events), 'event_id') WHERE rank = 1 ORDER BY key")
    assert dict(rows.dtypes) == {"key": "string", "rank": "int", "rule": "bigint", "score": "double"}
    assert [tuple(row) for row in rows.collect()] == [("10", 1, 3, 6.0), ("11", 1, 1, 3.0), ("12", 1, 3, 6.0)]


def test_weights_of_each_event_and_constant_weights_alone(spark: Any, events: Any, path: str) -> None:
    mws.register(spark, path=weighed(path), name="own", top=1, weights="mine")
    call = "own_array(struct(age, country, map('country', if(event_id = 10, 0D, 9D)) AS mine))"
    assert [rules[0].score if rules else None for _, rules in lists(spark, call)] == [5.0, 2.0, 14.0, None]
    mws.register(spark, top=3, weight="only")
    told = lists(spark, f"match_rules_array('{path}', struct(age, country))")[0][1]
    assert [(row.rule, row.score) for row in told] == [("3", 5.0), ("1", 1.0), ("2", 0.0)]
    with pytest.raises(Exception, match="an event has no field 'mine'"):
        lists(spark, "own_array(struct(age))")
    with pytest.raises(InvalidArgument, match="give top= as well"):
        mws.register(spark, weights={"age": 1})


@pytest.mark.long
def test_functions_for_another_version(spark: Any, events: Any, path: str) -> None:
    for number in (1, 2):
        index = mw.Index()
        index[number] = "true"
        index.save(path)
    mws.register(spark, path=path, name="older", version=1)
    assert lists(spark, "older_array(struct(age))")[0][1] == [1]
    mws.register(spark)
    for version, rules in ((1, ["1"]), (2, ["2"])):
        assert lists(spark, f"match_rules_array('{path}', struct(age), {version})")[0][1] == rules
        query = f"SELECT DISTINCT rule FROM match_rules(TABLE(function_events), '{path}', 'event_id', {version})"
        assert [row["rule"] for row in spark.sql(query).collect()] == rules
    assert lists(spark, f"match_rules_array('{path}', struct(age))")[0][1] == ["2"]
    with pytest.raises(InvalidArgument, match="as their last argument"):
        mws.register(spark, version=1)
    with pytest.raises(InvalidArgument, match="no version 9"):
        mws.register(spark, path=path, name="none", version=9)


def publishing(path: str) -> Any:
    """The second task publishes a version once the first one has begun to match, and only then has events."""

    def hold(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            end = time.monotonic() + 20
            if batch.column(0)[0].as_py():
                while not Path(path, "queries").exists() and time.monotonic() < end:
                    time.sleep(0.02)
                index = mw.Index()
                index["second"] = "true"
                index.save(path)
            yield batch

    return hold


def test_all_tasks_of_a_query_use_one_version(spark: Any, path: str) -> None:
    index = mw.Index()
    index["first"] = "true"
    index.save(path)
    mws.register(spark)
    held = spark.range(0, 2, numPartitions=2).mapInArrow(publishing(path), "id bigint")
    rows = held.selectExpr("id", f"match_rules_array('{path}', struct(id)) AS rules").collect()
    assert {row["id"]: row["rules"] for row in rows} == {0: ["first"], 1: ["first"]}
    later = spark.range(1).selectExpr(f"match_rules_array('{path}', struct(id)) AS rules").collect()
    assert later[0]["rules"] == ["second"]
