"""What a session says of stores and clusters, as their clients are told it; and all spellings of a path."""

from __future__ import annotations

from typing import Any

import pytest

from matchwood import storage
from matchwood.spark.locations import _settings, location_for
from matchwood.storage.local import LocalLocation

TOLD = {
    "fs.s3a.access.key": "key of all",
    "fs.s3a.secret.key": "secret of all",
    "fs.s3a.bucket.own.access.key": "key of own",
    "fs.s3a.endpoint": "localhost:9000",
    "fs.s3a.connection.ssl.enabled": "false",
    "fs.gs.auth.service.account.json.keyfile": "/keys/google.json",
    "fs.azure.account.key.account.dfs.core.windows.net": "of dfs",
    "fs.azure.account.key.account.blob.core.windows.net": "of blob",
    "fs.defaultFS": "hdfs://cluster",
    "dfs.nameservices": "cluster",
    "dfs.ha.namenodes.cluster": "nn1",
    "dfs.namenode.rpc-address.cluster.nn1": "127.0.0.1:8020",
}


class _Session:
    """Settings, as a session tells them."""

    class conf:  # noqa: N801
        getAll = {f"spark.hadoop.{name}": value for name, value in TOLD.items()} | {"spark.master": "local"}  # noqa: N815

        @classmethod
        def get(cls, name: str, default: str | None) -> str | None:
            return cls.getAll.get(name, default)


SESSION: Any = _Session()
ALL = {"access_key_id": "key of all", "secret_access_key": "secret of all", "endpoint": "http://localhost:9000"}


@pytest.mark.parametrize(
    ("uri", "settings"),
    [
        ("s3://bucket/x", ALL),
        ("s3a://bucket/x", ALL),
        ("s3a://own/x", {**ALL, "access_key_id": "key of own"}),
        ("gs://bucket/x", {"service_account": "/keys/google.json"}),
        ("abfss://box@account.dfs.core.windows.net/x", {"account_key": "of dfs"}),
        ("wasbs://box@account.blob.core.windows.net/x", {"account_key": "of blob"}),
        ("wasbs://box@other.blob.core.windows.net/x", {}),
        ("dbfs:/x", {}),
        ("/Volumes/a/b/c", {}),
    ],
)
def test_credentials_come_from_where_spark_has_them(uri: str, settings: dict[str, str]) -> None:
    assert _settings(SESSION, uri) == settings


@pytest.mark.parametrize("uri", ["hdfs://cluster/x", "hdfs:/x", "hdfs:///x", "viewfs://cluster/x"])
def test_clusters_are_named_by_the_session(uri: str) -> None:
    told = {name: value for name, value in TOLD.items() if name.startswith("dfs.") or name == "fs.defaultFS"}
    assert _settings(SESSION, uri) == told
    pytest.importorskip("hdfs_native", reason="hdfs-native is not installed (the extra `hdfs`)")
    from matchwood.storage.hdfs.location import HdfsLocation

    place = location_for(SESSION, uri)
    assert isinstance(place, HdfsLocation)
    assert (place.root, dict(place.settings), str(place)) == ("/x", told, uri)
    assert not place.is_local


def test_a_session_that_tells_nothing() -> None:
    class Silent:
        conf = object()

    silent: Any = Silent()
    assert _settings(silent, "hdfs://cluster/x") == {}


@pytest.mark.parametrize(
    "uri",
    [
        "s3://bucket/x",
        "s3a://bucket/x",
        "gs://bucket/x",
        "abfs://box@account.dfs.core.windows.net/x",
        "abfss://box@account.dfs.core.windows.net/x",
        "wasb://box@account.blob.core.windows.net/x",
        "wasbs://box@account.blob.core.windows.net/x",
    ],
)
def test_all_spellings_reach_a_store_with_conditional_puts(uri: str) -> None:
    pytest.importorskip("obstore", reason="obstore is not installed (the extra `objects`)")
    from matchwood.storage.objects import ObjectLocation

    place = storage.location_of(uri, {"account_key": "a2V5"} if "windows" in uri else None)
    assert isinstance(place, ObjectLocation)
    assert str(place) == uri


def test_a_location_is_taken_as_it_is(tmp_path: Any) -> None:
    place = storage.location_of(tmp_path)
    assert isinstance(place, LocalLocation)
    assert location_for(SESSION, place) is place
