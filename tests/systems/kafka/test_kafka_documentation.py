"""The page on Kafka is executed, with a real broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.documentation_support import run_page
from tests.systems.kafka_broker import KafkaBroker

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "kafka.md"


def test_the_page_runs(spark: Any, broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.create("rules", 1, cleanup_policy="compact")
    for topic in ("events", "hits"):
        broker.create(topic, 1)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KAFKA_BROKERS", broker.address)
    assert run_page(PAGE) >= 4
