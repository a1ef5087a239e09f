"""What Spark makes of a match: filters of users reach the files, and events are matched once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from match_support import EVENTS_DDL, index_of, plan_of, save_shards, some_events, some_rules

from matchwood.spark.match.match import match

OUTPUTS = ["rows", "array", "count"]
FOUND = {"rows": "rule = 3", "array": "size(rules) > 1", "count": "rule_count > 1"}


@pytest.fixture(scope="module")
def stored(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Events in files, one directory a day."""
    path = str(tmp_path_factory.mktemp("stored") / "events")
    frame = spark.createDataFrame(some_events(80, seed=5), EVENTS_DDL).selectExpr("*", "cast(id % 4 as int) AS day")
    frame.write.partitionBy("day").parquet(path)
    return spark.read.parquet(path)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("indexes") / "index")
    save_shards(path, some_rules(40, seed=6), 2)
    return path


@pytest.mark.few
@pytest.mark.parametrize("options", [{}, {"top": 2}, {"on_error": "report"}], ids=["plain", "top", "report"])
@pytest.mark.parametrize("strategy", ["broadcast", "sharded"])
@pytest.mark.parametrize("output", OUTPUTS)
def test_filters_on_events_reach_the_files(
    stored: Any, index: str, output: str, strategy: str, options: dict[str, Any]
) -> None:
    told = plan_of(
        match(stored, index, output, keep=["id", "day"], strategy=strategy, **options).where("day = 2 AND id > 7")
    )
    assert re.search(r"PartitionFilters: \[isnotnull\(day#\d+\), \(day#\d+ = 2\)\]", told), told
    assert "GreaterThan(id,7)" in told.split("PushedFilters: ")[1].split("]")[0]
    assert told.count("ArrowEvalPython") == 1


@pytest.mark.parametrize("output", OUTPUTS)
def test_filters_on_rules_match_once(stored: Any, index: str, output: str) -> None:
    frame = match(stored, index, output)
    told = plan_of(frame.where(FOUND[output]).where("day = 1").where(FOUND[output]))
    assert told.count("ArrowEvalPython") == 1
    assert "= 1)]" in told.split("PartitionFilters: ")[1]
    expected = [row for row in frame.collect() if row["day"] == 1 and _is_found(row, output)]
    found = frame.where(FOUND[output]).where("day = 1").collect()
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert expected


def _is_found(row: Any, output: str) -> bool:
    tests = {"rows": lambda: row["rule"] == 3, "array": lambda: len(row["rules"]) > 1}
    return bool(tests.get(output, lambda: row["rule_count"] > 1)())


def test_a_join_reads_only_the_days_it_needs(spark: Any, stored: Any, index: str) -> None:
    """Pruning by what a join finds passes a match as well."""
    days = spark.createDataFrame([(3, "wanted")], "day int, what string").where("what = 'wanted'")
    told = plan_of(match(stored, index, "array").join(days.hint("broadcast"), "day"))
    assert "dynamicpruning" in told.lower()


def test_only_what_is_asked_for_is_read(stored: Any, tmp_path: Path) -> None:
    index_of({1: "age > 3"}).save(tmp_path / "narrow")
    told = plan_of(match(stored, str(tmp_path / "narrow"), "array").select("id", "rules"))
    assert "ReadSchema: struct<id:bigint,age:int>" in told


def test_partitioned_shuffles_twice_into_few_tasks(spark: Any, stored: Any, index: str) -> None:
    """Copies of events go to their shards, and hits come together; a shard has as few tasks as cores need."""
    told = plan_of(match(stored, index, "array", strategy="partitioned", key="id", keep=["id"]))
    assert len(re.findall(r"^\W*Exchange ", told, re.MULTILINE)) == 2
    local = spark.conf.get("spark.master", "") == "local[2]"
    assert not local or ", 2), REPARTITION" in told
