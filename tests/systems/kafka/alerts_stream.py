"""Rules from a compacted topic, events from another, hits to Delta, what cannot be used to a table of its own.

python -m tests.systems.kafka.alerts_stream HOME BROKER [EXECUTORS]

runs both streams until it is killed, or HOME/stop is there: in one JVM, or under executors in JVMs of their own.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from matchwood import spark as mws
from tests.systems.kafka.spark_with_kafka import kafka_session

EVENTS, RULES = "purchases", "purchase-rules"


def messages(spark: Any, broker: str, topic: str, **more: str) -> Any:
    """A topic as a stream, its keys and values as text."""
    options = {"kafka.bootstrap.servers": broker, "subscribe": topic, "startingOffsets": "earliest", **more}
    stream = spark.readStream.format("kafka").options(**options).load()
    return stream.selectExpr("CAST(key AS string) AS key", "CAST(value AS string) AS value", "partition", "offset")


def appended(home: Path, table: str) -> Any:
    """A writer that appends to a Delta table, and of a batch that comes again leaves out what it wrote before."""

    def write(rows: Any, batch_id: int, version: int) -> None:
        once = {"txnAppId": f"{home}/{table}", "txnVersion": str(batch_id)}
        from pyspark.sql import functions as sf

        told = rows.withColumn("version", sf.lit(version)).withColumn("batch", sf.lit(batch_id))
        told.write.format("delta").mode("append").options(**once).save(f"{home}/{table}")

    return write


def follow_rules(spark: Any, home: Path, broker: str, **options: Any) -> Any:
    """The stream of changes to rules, under way."""
    where = {"order": "offset", "checkpointLocation": f"{home}/rules-checkpoint", **options}
    changes = messages(spark, broker, RULES)
    return mws.update_stream(changes, f"{home}/index", "key", "value", queryName=f"rules {home.name}", **where)


def match_events(spark: Any, home: Path, broker: str, **options: Any) -> Any:
    """The stream of events, under way, in small batches."""
    events = messages(spark, broker, EVENTS, maxOffsetsPerTrigger="40")
    where = {"checkpointLocation": f"{home}/events-checkpoint", "queryName": f"events {home.name}", **options}
    write, poison = appended(home, "hits"), appended(home, "poison")
    return mws.match_stream(events, f"{home}/index", write, poison=poison, event="value", keep=["key"], **where)


def session_with(home: Path, executors: int) -> Any:
    """However many executors are lost, others take their place."""
    if not executors:
        return kafka_session(home)
    apart = {"spark_executor_memory": "512m", "spark_deploy_maxExecutorRetries": "-1"}
    return kafka_session(home, f"local-cluster[{executors},1,1024]", **apart)


def main(home: Path, broker: str, executors: int = 0) -> None:
    spark = session_with(home, executors)
    queries = [follow_rules(spark, home, broker), match_events(spark, home, broker)]
    while not (home / "stop").exists():
        for query in queries:
            if not query.isActive:
                raise SystemExit(f"{query.name} stopped: {query.exception()}")
        time.sleep(0.1)
    for query in queries:
        query.processAllAvailable()
        query.stop()
    print("finished", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:]))
