"""Which URIs are those of object stores or of HDFS, and what their clients must be told to reach them.

obstore takes credentials from the environment and from the machine it runs on, as the stores' own tools do: AWS_…,
GOOGLE_…, AZURE_…. PyArrow's spelling of settings within an S3 URI is understood as well:

    s3://key:secret@bucket/path?region=eu-central-1&scheme=http&endpoint_override=localhost:9000
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from matchwood.errors import InvalidArgument
from matchwood.storage.location import Location

S3, GOOGLE, AZURE = ("s3", "s3a", "s3n"), ("gs",), ("abfs", "abfss", "wasb", "wasbs", "az", "adl", "azure")
HDFS = ("hdfs", "viewfs")
_RETRIES = {"max_retries": 8, "retry_timeout": timedelta(seconds=60)}


def mounted(uri: str) -> str | None:
    """The local path of what Databricks mounts: `dbfs:/x` at `/dbfs/x`, `dbfs:/Volumes/x` at `/Volumes/x`."""
    if not uri.startswith("dbfs:/"):
        return None
    path = "/" + uri.removeprefix("dbfs:").strip("/")
    mount = "/Volumes" if path.startswith("/Volumes/") else "/dbfs"
    if not os.path.isdir(mount):
        raise InvalidArgument(f"cannot use {uri!r}: nothing is mounted at {mount} here, as it is on Databricks")
    return path if mount == "/Volumes" else f"/dbfs{path}"


def object_location(uri: str, given: Mapping[str, Any]) -> Location | None:
    """The location of an object store's URI; None for other URIs, and where obstore is not installed."""
    scheme = urlsplit(uri).scheme.lower()
    if scheme not in (*S3, *GOOGLE, *AZURE) or importlib.util.find_spec("obstore") is None:
        return None
    from obstore import exceptions
    from obstore.store import from_url

    from matchwood.storage.objects import ObjectLocation

    try:
        address, told = _address(uri, scheme)
        settings = {**given, **told}
        options = {"allow_http": True} if str(settings.get("endpoint", "")).startswith("http://") else None
        store = from_url(address, config=settings or None, client_options=options, retry_config=_RETRIES)
    except (exceptions.BaseError, ValueError, TypeError) as error:
        raise InvalidArgument(f"cannot use {_without_secret(uri)!r}: {error}") from error
    return ObjectLocation(store, _without_secret(uri))


def hdfs_location(uri: str, given: Mapping[str, Any]) -> Location | None:
    """The location of a URI of HDFS; None for other URIs, and where hdfs-native is not installed.

    Without a host it is the cluster that Hadoop's files name, in HADOOP_CONF_DIR; `given` are settings by their names.
    """
    parts = urlsplit(uri)
    if parts.scheme.lower() not in HDFS or importlib.util.find_spec("hdfs_native") is None:
        return None
    from matchwood.storage.hdfs.location import HdfsLocation

    settings = tuple(sorted((str(name), str(value)) for name, value in given.items()))
    return HdfsLocation(f"{parts.scheme.lower()}://{parts.netloc}", unquote(parts.path).rstrip("/"), uri, settings)


def _address(uri: str, scheme: str) -> tuple[str, dict[str, Any]]:
    """The URI as obstore spells it, and the settings that were in it."""
    parts = urlsplit(uri)
    path = parts.path.rstrip("/")
    if scheme in S3:
        bucket = parts.netloc.rpartition("@")[2]
        return f"s3://{bucket}{path}", _arrow_settings(parts.username, parts.password, dict(parse_qsl(parts.query)))
    if scheme in GOOGLE:
        return f"gs://{parts.netloc.rpartition('@')[2]}{path}", {}
    if scheme in ("wasb", "wasbs"):  # the older name of the same container
        return f"abfss://{parts.netloc.replace('.blob.', '.dfs.')}{path}", {}
    return f"{scheme}://{parts.netloc}{path}", {}


def _arrow_settings(key: str | None, secret: str | None, query: dict[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if key and secret:
        settings = {"access_key_id": unquote(key), "secret_access_key": unquote(secret)}
    if "region" in query:
        settings["region"] = query["region"]
    if "endpoint_override" in query:
        endpoint = query["endpoint_override"]
        settings["endpoint"] = endpoint if "://" in endpoint else f"{query.get('scheme', 'https')}://{endpoint}"
    unknown = query.keys() - {"region", "scheme", "endpoint_override", "allow_bucket_creation", "allow_bucket_deletion"}
    if unknown:
        raise ValueError(f"unknown settings in the URI: {', '.join(sorted(unknown))}")
    return settings


def _without_secret(uri: str) -> str:
    """The URI as messages may show it."""
    parts = urlsplit(uri)
    if parts.password is None:
        return uri
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
