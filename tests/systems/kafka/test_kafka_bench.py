"""`bench stream` measures the way through Kafka too, where a broker is named."""

from __future__ import annotations

from typing import Any

import pytest

from matchwood.bench.registry import SMOKE, experiment
from matchwood.bench.spark.streaming import BROKER
from tests.systems.kafka_broker import KafkaBroker


def test_a_stream_through_kafka_is_measured(spark: Any, broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BROKER, broker.address)
    rows = experiment("stream").run(SMOKE)["rows"]
    assert [row["workload"] for row in rows] == ["rate source to driver", "Kafka to Kafka"]
    assert all(0 < row["p50_ms"] <= row["p99_ms"] and row["rule_to_hit_ms"] > 0 for row in rows)
    assert all(row["checked"] and row["hits_per_event"] > 0 for row in rows)
