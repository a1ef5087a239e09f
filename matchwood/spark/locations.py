"""Where an index lies, with the credentials that the Spark session has for it.

What Hadoop's connectors are told (`spark.hadoop.fs.s3a.access.key` and so on) counts before the environment, and
travels to the executors with the location, as Spark sends them its own settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pyspark.errors import PySparkException

from matchwood import storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HADOOP = "spark.hadoop."
_S3A = {
    "access.key": "access_key_id",
    "secret.key": "secret_access_key",
    "session.token": "session_token",
    "endpoint.region": "region",
}
_GOOGLE_KEYS = ("fs.gs.auth.service.account.json.keyfile", "google.cloud.auth.service.account.json.keyfile")


def location_for(session: SparkSession, path: storage.Path) -> storage.Location:
    """The place that a path names; a location is taken as it is."""
    if not isinstance(path, str):
        return storage.location_of(path)
    return storage.location_of(path, _settings(session, path))


def _settings(session: SparkSession, uri: str) -> dict[str, Any]:
    """What the session says of an object store, in obstore's words, or of HDFS, in Hadoop's."""
    parts = urlsplit(uri)
    if parts.scheme in storage.S3:
        return _of_s3(session, parts.netloc.rpartition("@")[2])
    if parts.scheme in storage.GOOGLE:
        file = next((found for name in _GOOGLE_KEYS if (found := _hadoop(session, name))), None)
        return {"service_account": file} if file else {}
    if parts.scheme in storage.AZURE:
        host = parts.netloc.rpartition("@")[2]
        key = _hadoop(session, f"fs.azure.account.key.{host}")
        return {"account_key": key} if key else {}
    return _of_hdfs(session) if parts.scheme in storage.HDFS else {}


def _of_hdfs(session: SparkSession) -> dict[str, Any]:
    """What the session says of clusters, before Hadoop's own files do."""
    try:
        told = session.conf.getAll
    except (PySparkException, AttributeError):
        return {}
    named = {name.removeprefix(_HADOOP): value for name, value in told.items() if name.startswith(_HADOOP)}
    return {name: value for name, value in named.items() if name.startswith("dfs.") or name == "fs.defaultFS"}


def _of_s3(session: SparkSession, bucket: str) -> dict[str, Any]:
    """A bucket's own settings count before those of all."""

    def told(name: str) -> str | None:
        return _hadoop(session, f"fs.s3a.bucket.{bucket}.{name}") or _hadoop(session, f"fs.s3a.{name}")

    settings: dict[str, Any] = {ours: value for name, ours in _S3A.items() if (value := told(name))}
    endpoint = told("endpoint")
    if endpoint:
        scheme = "http" if told("connection.ssl.enabled") == "false" else "https"
        settings["endpoint"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
    return settings


def _hadoop(session: SparkSession, name: str) -> str | None:
    """None where a platform does not tell."""
    try:
        value: str | None = session.conf.get(f"{_HADOOP}{name}", None)
    except PySparkException:
        return None
    return value
