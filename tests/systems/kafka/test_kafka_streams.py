"""Kafka to Kafka and to Delta: rules from a compacted topic, hits once, and one poison message that stops nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from matchwood import spark as mws
from matchwood import storage
from tests.systems.kafka import alerts_stream
from tests.systems.kafka_broker import KafkaBroker

NOW = {"trigger": {"availableNow": True}}


def send(spark: Any, broker: KafkaBroker, topic: str, *rows: tuple[str | None, Any]) -> None:
    values = [(key, None if value is None else bytearray(encoded(value))) for key, value in rows]
    frame = spark.createDataFrame(values, "key string, value binary")
    frame.coalesce(1).write.format("kafka").options(**broker.options(topic=topic)).save()


def encoded(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode()


def empty_index(spark: Any, path: str) -> None:
    mws.build(spark.createDataFrame([], "id string, expression string"), path, allow_empty=True)


def run(spark: Any, broker: KafkaBroker, home: Path) -> None:
    """All changes of rules, then all events."""
    alerts_stream.follow_rules(spark, home, broker.address, **NOW).awaitTermination()
    alerts_stream.match_events(spark, home, broker.address, **NOW).awaitTermination()


def rows_of(spark: Any, home: Path, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.read.format("delta").load(f"{home}/{table}").select(*columns).collect())


def test_rules_and_events_from_topics_and_hits_to_delta(spark: Any, broker: KafkaBroker, tmp_path: Path) -> None:
    broker.create(alerts_stream.RULES, 1, cleanup_policy="compact")
    broker.create(alerts_stream.EVENTS, 2)
    empty_index(spark, f"{tmp_path}/index")
    send(
        spark,
        broker,
        alerts_stream.RULES,
        ("large", "amount > 100"),
        ("small", "amount < 1"),
        ("large", "amount > 1000"),
    )
    events = [("e1", {"amount": 5000}), ("e2", b'{"amount": "\xff'), ("e3", {"amount": "much"}), ("e4", {"amount": 0})]
    send(spark, broker, alerts_stream.EVENTS, *events)
    run(spark, broker, tmp_path)
    assert rows_of(spark, tmp_path, "hits", "key", "rule") == [("e1", "large"), ("e4", "small")]
    assert rows_of(spark, tmp_path, "poison", "key", "problem") == [("e2", "unreadable"), ("e3", "unreadable")]
    offsets = {row[2] for row in rows_of(spark, tmp_path, "poison", "partition", "reason", "offset")}
    assert all(isinstance(offset, int) for offset in offsets)
    before = storage.current_version(f"{tmp_path}/index")
    run(spark, broker, tmp_path)
    assert storage.current_version(f"{tmp_path}/index") == before
    send(spark, broker, alerts_stream.RULES, ("large", None), ("vip", "vip"))
    send(spark, broker, alerts_stream.EVENTS, ("e5", {"amount": 5000, "vip": True}))
    run(spark, broker, tmp_path)
    assert rows_of(spark, tmp_path, "hits", "key", "rule")[2:] == [("e5", "vip")]


def test_kafka_to_kafka(spark: Any, broker: KafkaBroker, tmp_path: Path) -> None:
    """Hits as messages: `match` writes a stream, and `match_stream` a batch."""
    for topic in ("in", "pinned", "followed"):
        broker.create(topic, 1)
    rules = spark.createDataFrame([("large", "amount > 1000"), ("any", "amount is not null")], "id string, rule string")
    path = str(tmp_path / "index")
    mws.build(rules, path, expression="rule")
    send(spark, broker, "in", ("e1", {"amount": 5000}), ("e2", {"amount": 1}))
    stream = alerts_stream.messages(spark, broker.address, "in")
    hits = mws.match(stream, path, event="value", keep=["key"]).withColumnRenamed("rule", "value")
    writer = hits.writeStream.format("kafka").options(**broker.options(topic="pinned"))
    writer = writer.option("checkpointLocation", str(tmp_path / "pinned")).trigger(availableNow=True)
    writer.start().awaitTermination()

    def write(found: Any, batch_id: int, version: int) -> None:
        messages = found.selectExpr("key", f"concat(rule, ' {version}') AS value")
        messages.write.format("kafka").options(**broker.options(topic="followed")).save()

    where = {"checkpointLocation": str(tmp_path / "followed"), **NOW}
    mws.match_stream(stream, path, write, event="value", keep=["key"], **where).awaitTermination()
    assert _values(spark, broker, "pinned") == [("e1", "any"), ("e1", "large"), ("e2", "any")]
    assert _values(spark, broker, "followed") == [("e1", "any 1"), ("e1", "large 1"), ("e2", "any 1")]


def _values(spark: Any, broker: KafkaBroker, topic: str) -> list[tuple[str, str]]:
    found = spark.read.format("kafka").options(**broker.options(subscribe=topic)).load()
    return sorted(tuple(row) for row in found.selectExpr("CAST(key AS string)", "CAST(value AS string)").collect())
