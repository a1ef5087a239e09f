"""One session with Delta and Iceberg for all tests of this room; where they cannot be had, tests skip and say why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.systems.lake.spark_with_lake import lake_session, missing

WARNINGS = (
    "ignore:unclosed <socket:ResourceWarning",
    "ignore:unclosed file:ResourceWarning",
    "ignore:subprocess .* is still running:ResourceWarning",
    "ignore::DeprecationWarning:pyspark",
    "ignore::FutureWarning:pyspark",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            for warning in WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    lacking = missing()
    if lacking:
        pytest.skip(lacking)
    folder = tmp_path_factory.mktemp("lake")
    os.environ["MATCHWOOD_SNAPSHOTS_DIR"] = str(folder / "copies")
    session = lake_session(folder)
    yield session
    session.stop()
    del os.environ["MATCHWOOD_SNAPSHOTS_DIR"]


@pytest.fixture
def table(lake: Any, request: pytest.FixtureRequest) -> Iterator[str]:
    """A new Delta table of three rules, with a change data feed."""
    name = "rules_" + request.node.name.replace("[", "_").replace("]", "")
    make_table(lake, name)
    yield name
    lake.sql(f"DROP TABLE IF EXISTS {name}")


def make_table(lake: Any, name: str, feed: bool = True) -> None:
    properties = f"TBLPROPERTIES (delta.enableChangeDataFeed = {str(feed).lower()})"
    lake.sql(f"CREATE TABLE {name} (id string, expression string) USING delta {properties}")
    lake.sql(f"INSERT INTO {name} VALUES ('a', 'x = 1'), ('b', 'x = 2'), ('c', 'x = 3')")


@pytest.fixture
def rules_of() -> Callable[[Any], dict[Any, str]]:
    """The rules of an index, by their ids."""
    import matchwood as mw

    def read(path: Any) -> dict[Any, str]:
        index = mw.open(path)
        return {rule_id: str(index[rule_id]) for rule_id in index}

    return read
