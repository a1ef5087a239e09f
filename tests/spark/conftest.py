"""One Spark session for all tests of this room.

A process can hold only one master. Everything runs under `local[2]`; tests marked `everywhere`, at least one for each
function, run again through Spark Connect and, as far as executors matter to them, under real ones, in processes of
their own that `test_spark_masters.py` starts; so do those marked `everywhere_in_soak`, in the long form of the tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from quick_session import SETTINGS

MASTERS: dict[str, dict[str, str]] = {
    "local": {"master": "local[2]", "spark.python.daemon.module": "ready_daemon"},
    "cluster": {"master": "local-cluster[2,1,1024]"},
    # Its writers are workers that Spark waits for no longer than 10 s: nothing large is loaded beside them.
    "connect": {"remote": "local[2]", "spark.python.daemon.module": "pyspark.daemon"},
}
MASTER = os.environ.get("MATCHWOOD_SPARK_MASTER", "local")

PYSPARK_WARNINGS = [
    "ignore:unclosed <socket:ResourceWarning",
    "ignore:unclosed file:ResourceWarning",
    "ignore:subprocess .* is still running:ResourceWarning",
    # What PySpark itself calls without need, whatever the caller does.
    "ignore::DeprecationWarning:pyspark",
    "ignore::FutureWarning:pyspark",
]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "everywhere: also run under a local cluster and through Spark Connect")
    config.addinivalue_line("markers", "everywhere_in_soak: so only with MATCHWOOD_SOAK=1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for warning in PYSPARK_WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from matchwood import spark as mws

    # Workers import the functions of test files by name, as they are pickled.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    os.environ["SPARK_WORKER_DIR"] = str(tmp_path_factory.mktemp("workers"))  # where local clusters keep logs
    warehouse = tmp_path_factory.mktemp("warehouse").as_uri()
    session = mws.session(
        spark_driver_memory="1g",
        spark_executor_memory="512m",
        spark_sql_session_timeZone="UTC",
        **{**SETTINGS, **MASTERS[MASTER], "spark.sql.warehouse.dir": warehouse},
    )
    yield session
    session.stop()


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where an index may be built."""
    return str(tmp_path / "index")
