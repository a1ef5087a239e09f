"""One broker and one session for all tests of this room; where they cannot be had, the tests skip and say why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.systems.kafka.spark_with_kafka import jars, kafka_session
from tests.systems.kafka_broker import KafkaBroker, NotAvailable
from tests.systems.lake.conftest import WARNINGS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            for warning in WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    try:
        jars()
        started = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    except NotAvailable as missing:
        pytest.skip(str(missing))
    with started:
        yield started


@pytest.fixture(scope="session")
def spark(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    session = kafka_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
