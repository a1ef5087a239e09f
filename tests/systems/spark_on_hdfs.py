"""Spark with an index on HDFS, in a session of its own.

python -m tests.systems.spark_on_hdfs URI     builds, updates and matches there; says `as expected` if all was
"""

from __future__ import annotations

import sys

from matchwood import spark as mws
from matchwood import storage


def main(uri: str) -> None:
    spark = mws.session(master="local[2]", spark_sql_shuffle_partitions=2, spark_ui_enabled="false")
    rules = spark.createDataFrame(
        [(n, f"a = {n % 50} and b > {n % 7}") for n in range(2000)], "id long, expression string"
    )
    report = mws.build(rules, uri, shards=3, engine="counting")
    assert (report.rules, report.shards, report.version) == (2000, 3, 1), report
    events = spark.createDataFrame([(1, 3, 100), (2, 999, 0)], "event long, a long, b long")
    assert mws.match(events, uri, output="count").collect()[0].rule_count == 40
    changes = spark.createDataFrame([(3, "a = 999"), (53, None)], "id long, expression string")
    assert mws.update(changes, uri).version == 2
    found = {row.event: row.rule_count for row in mws.match(events, uri, output="count").collect()}
    assert found == {1: 38, 2: 1}, found
    place = storage.location_of(uri)
    assert {row.event for row in mws.match(events, place, keep=["event"], version=1).collect()} == {1}
    assert mws.plan(events, place).version == 2
    assert [info.version for info in mws.versions(uri)] == [1, 2]
    spark.stop()
    print("as expected")


if __name__ == "__main__":
    main(sys.argv[1])
