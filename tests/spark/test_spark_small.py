"""Small tables of rules, built in one job: as all others are, and given up when they turn out not to be small."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from build_support import embedded, same_answers, sound_rules

import matchwood as mw
from matchwood import spark as mws
from matchwood.errors import InvalidArgument, LimitExceeded, MatchwoodError
from matchwood.spark.build import reading, small

building = sys.modules["matchwood.spark.build.build"]
COLUMNS = "id long, expression string"


def local(spark: Any, rules: Any, **types: pa.DataType) -> Any:
    """From Arrow: of tuples of Python's, Spark makes a table of a size that it does not know."""
    schema = pa.schema({"id": pa.int64(), "expression": pa.string(), **types})
    rows = [dict(zip(schema.names, rule, strict=True)) for rule in rules]
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema))


def files(spark: Any, rules: Any, tmp_path: Path) -> Any:
    local(spark, rules).repartition(3).write.parquet(str(tmp_path / "rules"))
    return spark.read.parquet(str(tmp_path / "rules"))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is not built in one job fails."""
    monkeypatch.setattr(building, "_in_steps", lambda *given: pytest.fail("not built at once"))


@pytest.mark.parametrize("shards", ["auto", 1])
def test_one_job_builds_what_several_do(spark: Any, path: str, tmp_path: Path, at_once: None, shards: Any) -> None:
    rules = [*sound_rules(60), (100, "age = 'x'"), (101, "age >")]
    table = files(spark, rules, tmp_path)
    held = spark.sparkContext._jsc.getPersistentRDDs().size()
    report = mws.build(table.filter("id != 7").union(local(spark, [(7, "vip")])), path, shards=shards)
    kept = [(rule, "vip" if rule == 7 else text) for rule, text in rules]
    expected, told = embedded(kept)
    assert (report.rules, report.rejected, report.shards, report.version) == (60, 2, 1, 1)
    assert dict(report.misfits) == {"age": 1}
    assert list(mw.open(path)) == list(expected)
    same_answers(mw.open(path), expected)
    errors = {row["id"]: row["error"] for row in mws.rejects(spark, path).collect()}
    assert errors == {row["id"]: row["error"] for row in told.rejected.to_pylist()}
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == held


def test_ids_are_ordered_as_spark_orders_them(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text by its bytes, whatever the language; and rules of weights."""
    ids = ["b", "B", "a", "ä", "", "Z", "aa", "\U0001f600", "\uff5e", "10", "9"]
    random.Random(3).shuffle(ids)
    rules = [(rule, f"age > {number}", float(number % 3)) for number, rule in enumerate(ids)]
    table = local(spark, rules, id=pa.string(), w=pa.float64())
    orders = []
    for name, is_small in (("once", small.is_small), ("steps", lambda rules: False)):
        monkeypatch.setattr(building, "is_small", is_small)
        mws.build(table, str(tmp_path / name), weight="w")
        opened = mw.open(str(tmp_path / name))
        orders.append((list(opened), opened.top({"age": 99}, 20)))
    assert orders[0] == orders[1]
    assert orders[0][0] == sorted(ids, key=str.encode)


def test_what_is_refused_is_refused_in_one_job(spark: Any, path: str, at_once: None) -> None:
    with pytest.raises(InvalidArgument, match=r"ids occur more than once .*: 7"):
        mws.build(local(spark, [(7, "vip"), (3, "vip"), (7, "age = 1")]), path)
    with pytest.raises(MatchwoodError, match="the table has no rules"):
        mws.build(local(spark, []), path)
    with pytest.raises(LimitExceeded):
        mws.build(local(spark, [(number, "age >") for number in range(40)]), path)
    with pytest.raises(MatchwoodError, match="asks for none"):
        mws.build(local(spark, [(1, "vip"), (2, "age >")]), path, on_error="fail")
    assert mws.versions(path) == []
    assert mws.build(local(spark, [(None, "vip"), (2, "vip")]), path).rejected == 1
    assert mws.build(local(spark, []), path, allow_empty=True).rules == 0


@pytest.mark.parametrize("limit", ["rules", "bytes"])
def test_what_turns_out_large_is_built_in_steps(
    spark: Any, path: str, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if limit == "rules":
        monkeypatch.setattr(building, "most_at_once", lambda: 39)
    else:
        monkeypatch.setattr(building, "shard_bytes", lambda session: 40 * 150)
    tried: list[Any] = []
    real = building._at_once
    monkeypatch.setattr(building, "_at_once", lambda *given: tried.append(real(*given)))
    report = mws.build(local(spark, sound_rules(40)), path)
    assert tried == [None]
    assert (report.rules, report.version) == (40, 1)
    same_answers(mw.open(path), embedded(sound_rules(40))[0])


def test_ids_and_weights_count_among_what_the_task_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of rules may be short beside them, and no column of Arrow takes more than 2 GiB."""
    monkeypatch.setattr(small, "MOST_HELD", 10_000)
    weights = ['{"age": 2' + " " * 400 + "}"]
    batches = [pa.record_batch({"expression": ["vip"], "weights": weights}) for _ in range(40)]
    task = small.SmallTask(None, 100, 2**30)  # type: ignore[arg-type]
    (told,) = task(batches)
    with pytest.raises(small.TooLarge) as caught:
        small.refuse_too_large([SimpleNamespace(**row) for row in told.to_pylist()])
    assert caught.value.totals == (40, 40 * 3)


def test_as_many_rules_as_cores_would_share_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "READ_FROM", 50)
    assert reading.most_at_once() == 49


def test_which_tables_are_small(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are read row by row, as far as Spark knows their size."""
    table = files(spark, sound_rules(30), tmp_path)
    other = local(spark, [(1, "a")]).withColumnRenamed("expression", "a")

    def as_they_are(batches: Any) -> Any:
        yield from batches

    assert small.is_small(table)
    assert small.is_small(table.filter("id > 3").union(local(spark, sound_rules(3))))
    assert not small.is_small(table.mapInArrow(as_they_are, COLUMNS))
    assert not small.is_small(table.join(other, "id"))
    assert not small.is_small(table.repartition(3))
    assert not small.is_small(table.groupBy("id").agg({"expression": "max"}))
    assert not small.is_small(object())
    monkeypatch.setattr(small, "SMALL_BYTES", 10)
    assert not small.is_small(table)


@pytest.mark.everywhere
def test_small_tables_are_built_everywhere(spark: Any, path: str) -> None:
    rules = sound_rules(20)
    assert mws.build(local(spark, rules), path).rules == 20
    same_answers(mw.open(path), embedded(rules)[0])
