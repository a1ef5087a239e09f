"""The page on lakehouse tables is executed, with an index on the S3 server as well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.documentation_support import run_page
from tests.systems.s3_server import KEY, REGION, SECRET, S3Server

pytest.importorskip("obstore", reason="obstore is not installed (the extra `objects`)")

DOCS = Path(__file__).parents[3] / "docs"
TABLES = ("campaigns", "hits", "appended", "events", "daily_hits", "hits_v3", "live_hits")


@pytest.fixture
def reaching(lake: Any, one_server: S3Server) -> Iterator[None]:
    """The settings by which Spark users reach a store, while a test lasts."""
    of_all = {"access.key": KEY, "secret.key": SECRET, "endpoint": f"127.0.0.1:{one_server.port}"}
    settings = {**of_all, "endpoint.region": REGION, "connection.ssl.enabled": "false"}
    for name, value in settings.items():
        lake.conf.set(f"spark.hadoop.fs.s3a.{name}", value)
    yield
    for name in settings:
        lake.conf.unset(f"spark.hadoop.fs.s3a.{name}")
    for table in TABLES:
        lake.sql(f"DROP TABLE IF EXISTS {table}")


def test_the_page_runs(reaching: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MATCHWOOD_SNAPSHOTS_DIR", str(tmp_path / "copies"))
    assert run_page(DOCS / "lakehouse.md") >= 8
