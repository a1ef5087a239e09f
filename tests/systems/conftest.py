"""Real systems, started once for all tests of this room; where one cannot be had, its tests skip and say why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.systems.hdfs_cluster import HdfsCluster
from tests.systems.s3_server import BUCKET, NotAvailable, S3Server


@pytest.fixture(scope="session")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    try:
        server = S3Server(tmp_path_factory.mktemp("s3"))
    except NotAvailable as missing:
        pytest.skip(str(missing))
    yield server
    server.kill()


@pytest.fixture
def s3(one_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The server, with the settings that reach it in the environment, and a cache of this host that is empty."""
    for name, value in one_server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MATCHWOOD_SNAPSHOTS_DIR", str(tmp_path / "cache"))
    one_server.forget()
    return one_server


@pytest.fixture
def uri(s3: S3Server, tmp_path: Path) -> str:
    """A place of its own for each test."""
    return f"s3://{BUCKET}/{tmp_path.name}/index"


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    try:
        cluster = HdfsCluster(tmp_path_factory.mktemp("hdfs"))
    except NotAvailable as missing:
        pytest.skip(str(missing))
    yield cluster
    cluster.kill()


@pytest.fixture
def hdfs_uri(hdfs: HdfsCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place of its own for each test, and a cache of this host that is empty."""
    pytest.importorskip("hdfs_native", reason="hdfs-native is not installed (the extra `hdfs`)")
    monkeypatch.setenv("MATCHWOOD_SNAPSHOTS_DIR", str(tmp_path / "cache"))
    return f"{hdfs.uri}/{tmp_path.name}/index"


@pytest.fixture(params=["uri", "hdfs_uri"], ids=["S3", "HDFS"])
def either_uri(request: pytest.FixtureRequest) -> str:
    """A place on each of the systems."""
    found: str = request.getfixturevalue(request.param)
    return found
