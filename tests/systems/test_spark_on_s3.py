"""Spark with an index on a real object store: paths and credentials as Spark users give them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from matchwood import storage
from tests.systems.s3_server import BUCKET, KEY, REGION, SECRET, S3Server

pytest.importorskip("obstore", reason="obstore is not installed (the extra `objects`)")
pytest.importorskip("pyspark", reason="PySpark is not installed (the extra `spark`)")

pytestmark = [
    pytest.mark.filterwarnings(warning)
    for warning in (
        "ignore:unclosed <socket:ResourceWarning",
        "ignore:unclosed file:ResourceWarning",
        "ignore:subprocess .* is still running:ResourceWarning",
        "ignore::DeprecationWarning:pyspark",
        "ignore::FutureWarning:pyspark",
    )
]


@pytest.fixture(scope="module")
def spark(one_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session whose settings alone know the server; its workers have a cache of their own."""
    from matchwood import spark as mws

    os.environ["MATCHWOOD_SNAPSHOTS_DIR"] = str(tmp_path_factory.mktemp("workers"))
    session = mws.session(master="local[2]", spark_sql_shuffle_partitions=2, spark_sql_session_timeZone="UTC")
    of_all = {"access.key": KEY, "secret.key": SECRET, "endpoint": f"127.0.0.1:{one_server.port}"}
    for name, value in {**of_all, "endpoint.region": REGION, "connection.ssl.enabled": "false"}.items():
        session.conf.set(f"spark.hadoop.fs.s3a.{name}", value)
    yield session
    session.stop()
    del os.environ["MATCHWOOD_SNAPSHOTS_DIR"]


def test_build_update_match(spark: Any, one_server: S3Server) -> None:
    from matchwood import spark as mws

    path = f"s3a://{BUCKET}/spark/index"
    rules = spark.createDataFrame(
        [(n, f"a = {n % 50} and b > {n % 7}") for n in range(4000)], "id long, expression string"
    )
    report = mws.build(rules, path, shards=3, engine="counting")
    assert (report.rules, report.shards, report.version) == (4000, 3, 1)
    events = spark.createDataFrame([(1, 3, 100), (2, 999, 0)], "event long, a long, b long")
    one_server.forget()
    assert mws.match(events, path, output="count").collect()[0].rule_count == 80
    assert not [request for request in one_server.requests() if "-rules_texts_" in request.key]  # nobody asked for them
    before = one_server.objects()
    one_server.forget()
    changes = spark.createDataFrame([(3, "a = 999"), (53, None)], "id long, expression string")
    assert mws.update(changes, path).version == 2
    written = sum(size for key, size in one_server.objects().items() if key not in before)
    assert written < report.bytes / 4
    fetched = [request.key for request in one_server.requests() if request.key.endswith(".bin")]
    assert one_server.fetched(".bin") < report.bytes
    assert (
        0 < len({key.split("/")[2:4][-1] for key in fetched if "-rules_texts_data" in key}) <= 2
    )  # of two rules' shards
    assert "CopyObject" not in one_server.counts()
    one_server.forget()
    found = {row.event: row.rule_count for row in mws.match(events, path, output="count").collect()}
    assert found == {1: 78, 2: 1}
    assert one_server.fetched(".bin") < report.bytes / 4


def test_a_location_works_as_a_path_does(spark: Any, one_server: S3Server) -> None:
    from matchwood import spark as mws

    settings = {"access_key_id": KEY, "secret_access_key": SECRET, "region": REGION, "endpoint": one_server.endpoint}
    place = storage.location_of(f"s3://{BUCKET}/spark/located", settings)
    mws.build(spark.createDataFrame([("r", "a = 1")], "id string, expression string"), place)
    events = spark.createDataFrame([(1,), (2,)], "a long")
    assert [row.rule for row in mws.match(events, place).collect()] == ["r"]
    assert mws.plan(events, place).version == 1
    changes = spark.createDataFrame([("s", "a = 2")], "id string, expression string")
    version = mws.update(changes, place).version
    assert sorted(row.rule for row in mws.match(events, place).collect()) == ["r", "s"]
    assert [row.rule for row in mws.match(events, place, version=1).collect()] == ["r"]
    assert [info.version for info in mws.versions(place) if info.current] == [version]
    made = mws.register(spark, path=place, name="located")
    assert spark.sql("SELECT located_array(struct(1 AS a)) AS rules").collect()[0].rules == ["r"]
    assert made.columns == ["a"]


def test_questions_take_the_sessions_credentials(spark: Any, one_server: S3Server) -> None:
    from matchwood import spark as mws

    path = f"s3a://{BUCKET}/spark/asked"
    rules = spark.createDataFrame([("r", "a = 1")], "id string, expression string")
    mws.build(rules, path)
    events = spark.createDataFrame([(1, 1), (2, 2)], "event_id long, a long")
    hits = mws.match(events, path)
    assert mws.verify(events, rules, hits, path=path).count() == 0
    verdicts = {row.key: row.verdict for row in mws.explain(events, path, rules=["r"], key="event_id").collect()}
    assert verdicts == {1: True, 2: False}
    assert mws.why_not(events, path, rules=["r"]).collect()[0].alone_false == 1
    mws.register(spark, path=path, name="asked")
    assert spark.sql("SELECT asked_array(struct(1 AS a)) AS rules").collect()[0].rules == ["r"]
