"""What operators see: names in plans and jobs, metrics, plans in words, what executors run."""

from __future__ import annotations

import io
import platform
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from match_support import EVENTS_DDL, index_of, plan_of, save_shards, some_events, some_rules
from pyspark.sql import Observation

import matchwood
from matchwood import InvalidArgument, MatchwoodError
from matchwood import spark as mws
from matchwood.spark.jobs import described

everywhere = pytest.mark.everywhere


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    return spark.createDataFrame(some_events(200, seed=7), EVENTS_DDL)


@pytest.fixture
def index(tmp_path: Path) -> str:
    path = str(tmp_path / "my campaigns.v2")
    save_shards(path, some_rules(40, seed=8), 2)
    return path


# ------------------------------------------------------------------- metrics


@everywhere
@pytest.mark.few
@pytest.mark.parametrize("strategy", ["broadcast", "sharded", "partitioned"])
@pytest.mark.parametrize("output", ["rows", "array", "count"])
def test_metrics(frame: Any, index: str, output: str, strategy: str) -> None:
    seen = Observation("seen")
    options = {"keep": ["id"], "strategy": strategy, "key": "id"}
    found = mws.match(frame, index, output, metrics=seen, **options).collect()
    hits = {"rows": lambda: len(found), "array": lambda: sum(len(row["rules"]) for row in found)}
    told = seen.get
    assert told["events"] == 200
    assert told["hits"] == hits.get(output, lambda: sum(row["rule_count"] for row in found))()
    assert told["candidates"] > 0
    assert told["engine"] == "auto"
    assert all(told[f"seconds.{step}"] > 0 for step in ("encode", "match", "emit"))
    assert told["misfits"] == 0


def test_candidates_are_those_of_the_engine(frame: Any, path: str) -> None:
    """A scan looks at every rule; what it finds are fewer."""
    index = matchwood.Index("scan")
    index.insert_many([(number, f"age = {number}") for number in range(50)])
    index.save(path)
    seen = Observation("scan")
    mws.match(frame, path, "count", keep=[], metrics=seen).collect()
    assert (seen.get["candidates"], seen.get["engine"]) == (50 * 200, "scan")


def test_a_report_prints_metrics(
    spark: Any, frame: Any, path: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    index_of({1: "age >= 0", 2: "seen > timestamp '2026-01-01 00:00:00'"}).save(path)
    odd = frame.selectExpr("id", "age", "'never' AS seen")
    seen = Observation("told")
    mws.match(odd, path, "array", on_error="null", metrics=seen).collect()
    text = mws.report(seen)
    assert capsys.readouterr().out == text + "\n"
    assert text.startswith("200 events, ")
    assert "engine auto" in text
    assert "200 values did not fit: seen 200" in text
    odd.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(odd.schema).parquet(str(tmp_path / "in"))
    hits = mws.match(stream, path, "array", on_error="null", metrics="of_stream")
    query = hits.writeStream.format("noop").trigger(availableNow=True).start()
    query.awaitTermination()
    assert mws.report(query).split(",")[0] == "200 events"
    assert mws.report(query, name="of_stream").split(",")[0] == "200 events"
    with pytest.raises(InvalidArgument, match="name must be one of 'of_stream'"):
        mws.report(query, name="other")


def test_what_report_refuses() -> None:
    with pytest.raises(InvalidArgument, match="report takes the Observation"):
        mws.report(5)
    with pytest.raises(InvalidArgument, match="no 'events' among them"):
        mws.report({"rows": 1})


# --------------------------------------------------------------------- names


@everywhere
def test_plans_name_index_and_version(frame: Any, index: str) -> None:
    assert "matchwood_my_campaigns_v2_v1(" in plan_of(mws.match(frame, index))


def test_jobs_are_described(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of the jobs is what the thread says while they run; what users said before comes back."""
    path, told = str(tmp_path / "i"), list[str]()
    real = sys.modules["matchwood.spark.jobs"]._is_watched

    def asked() -> bool:
        told.append(spark.sparkContext.getLocalProperty("spark.job.description"))
        return bool(real())

    monkeypatch.setattr(sys.modules["matchwood.spark.jobs"], "_is_watched", asked)
    spark.sparkContext.setJobDescription("mine")
    mws.build(spark.createDataFrame([(1, "age > 3")], "id bigint, expression string"), path)
    mws.update(spark.createDataFrame([(2, "age > 4")], "id bigint, expression string"), path)
    after = spark.sparkContext.getLocalProperty("spark.job.description")
    spark.sparkContext.setJobDescription(None)
    assert told[:2] == [f"matchwood: building {path}", f"matchwood: updating {path}"]
    assert told[2] == f"matchwood: rebuilding all shards of {path}, version 2"
    assert after == "mine"


def test_progress_is_for_people(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Shown:
        def __init__(self, what: str, unit: str, look: Any) -> None:
            shown.append(f"{what}, {unit}")

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(sys.modules["matchwood.spark.jobs"], "Progress", Shown)
    monkeypatch.setattr(sys.modules["matchwood.spark.jobs"], "_is_watched", lambda: False)
    with described(spark, "quiet"):
        pass
    monkeypatch.setattr(sys.modules["matchwood.spark.jobs"], "_is_watched", lambda: True)
    with described(spark, "watched"):
        pass
    assert shown == ["watched, tasks"]


@pytest.mark.parametrize(
    ("shell", "watched"), [(None, False), (SimpleNamespace(), False), (SimpleNamespace(kernel=1), True)]
)
def test_a_notebook_is_watched_and_a_library_that_knows_notebooks_is_not(
    shell: Any, watched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert sys.modules["matchwood.spark.jobs"]._is_watched() is watched


# ------------------------------------------------------------- plans in words


def test_a_plan_in_words(spark: Any, path: str) -> None:
    index_of({1: "age > 5 and geo.city = 'Rome'", 2: "vip", 3: "Score > 1"}).save(path)
    events = spark.sql("SELECT 1 AS id, 'x' AS age, named_struct('city', 'Rome', 'big', 1) AS geo, 1 AS score")
    told = str(mws.plan(events, path, top=3))
    first = told.splitlines()[0]
    assert first.startswith("index ")
    assert first.endswith(f"{path}, version 1, engine auto, the best 3 of an event")
    assert "broadcast: the index takes" in told
    assert "mapped once for all of its workers" in told
    assert "age, geo.city" in told
    assert "Score (but score)" in told
    assert "'age' must be number, and its column is string (write events.withColumn('age'" in told
    with pytest.raises(matchwood.EventError, match="'age' must be number"):
        mws.match(events, path)
    assert "one of 1 shards" in str(mws.plan(events, path, strategy="partitioned", key="id"))
    assert "one more shard at a time" in str(mws.plan(events, path, strategy="sharded"))
    empty = str(path) + "-empty"
    index_of({}).save(empty)
    assert "no column: no rule asks" in str(mws.plan(events, empty))


# ------------------------------------------------------------------ executors


@everywhere
def test_executors_run_the_same_matchwood(spark: Any) -> None:
    (versions, *_) = mws.check_executors(spark, tasks=2).values()
    assert versions["matchwood"] == matchwood.__version__
    assert versions["pyarrow"]


def test_another_matchwood_on_executors_is_an_error(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    own = re.escape(matchwood.__version__)
    monkeypatch.setattr(matchwood, "__version__", "0.0.1")
    with pytest.raises(MatchwoodError, match=rf"Matchwood {own} instead of 0\.0\.1 on .*spark-executors\.md"):
        mws.check_executors(spark, tasks=1)
    monkeypatch.undo()
    monkeypatch.setattr(platform, "python_version_tuple", lambda: ("3", "7", "0"))
    with pytest.raises(MatchwoodError, match=r"Python 3\.\d+ instead of 3.7"):
        mws.check_executors(spark, tasks=1)
    with pytest.raises(InvalidArgument, match="tasks must be"):
        mws.check_executors(spark, tasks=0)


def test_the_ui_is_on_unless_told_otherwise() -> None:
    from matchwood.spark.session import _defaults

    assert "spark.ui.enabled" not in _defaults()
