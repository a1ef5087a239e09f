"""SQL functions: any index by its path, and one index under a name."""

from __future__ import annotations

from typing import Any

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
