"""The notebook with Kafka runs, in a process and a session of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notebook_support import KAFKA_NOTEBOOKS, executed, pictures
from tests.systems.kafka.spark_with_kafka import jars
from tests.systems.kafka_broker import KafkaBroker


@pytest.mark.parametrize("name", sorted(KAFKA_NOTEBOOKS))
def test_a_notebook_runs_and_has_pictures(
    name: str, broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for topic in ("measurements", "alerts"):
        broker.create(topic, 1)
    broker.create("alert-rules", 1, cleanup_policy="compact")
    monkeypatch.setenv("KAFKA_BROKERS", broker.address)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--jars {','.join(map(str, jars()))} pyspark-shell")
    assert pictures(executed(name, tmp_path)) >= 1
