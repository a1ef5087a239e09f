"""Paths as Spark users write them: which place they name, and what is told of a store."""

from __future__ import annotations

import pytest

from matchwood.errors import InvalidArgument
from matchwood.storage import location_of
from matchwood.storage.local import LocalLocation
from matchwood.storage.uris import _address

pytest.importorskip("obstore", reason="obstore is not installed (the extra `objects`)")

from matchwood.storage.objects import ObjectLocation


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("s3://bucket/a/b", "s3://bucket/a/b"),
        ("s3a://bucket/a/b/", "s3://bucket/a/b"),
        ("s3n://bucket/a", "s3://bucket/a"),
        ("gs://bucket/a", "gs://bucket/a"),
        ("abfss://box@account.dfs.core.windows.net/a", "abfss://box@account.dfs.core.windows.net/a"),
        ("wasbs://box@account.blob.core.windows.net/a", "abfss://box@account.dfs.core.windows.net/a"),
    ],
)
def test_the_same_place_by_other_names(given: str, meant: str) -> None:
    assert _address(given, given.split(":")[0]) == (meant, {})


def test_object_stores_are_reached_by_conditional_puts() -> None:
    place = location_of("s3a://bucket/rules")
    assert isinstance(place, ObjectLocation)
    assert str(place) == "s3a://bucket/rules"
    assert not place.is_local


def test_settings_within_a_uri_count_and_secrets_are_not_told() -> None:
    uri = "s3://key:se%2Fcret@bucket/rules?region=eu-central-1&scheme=http&endpoint_override=localhost:9000"
    assert _address(uri, "s3") == (
        "s3://bucket/rules",
        {
            "access_key_id": "key",
            "secret_access_key": "se/cret",
            "region": "eu-central-1",
            "endpoint": "http://localhost:9000",
        },
    )
    assert "cret" not in str(location_of(uri))


def test_a_setting_that_nobody_knows() -> None:
    with pytest.raises(InvalidArgument, match=r"cannot use 's3://bucket/x\?zone=1': unknown settings in the URI: zone"):
        location_of("s3://bucket/x?zone=1")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("dbfs:/rules/x", "/dbfs/rules/x"),
        ("dbfs:/Volumes/a/b/c", "/Volumes/a/b/c"),
        ("/Volumes/a/b/c", "/Volumes/a/b/c"),
    ],
)
def test_what_is_mounted_is_local(given: str, meant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.isdir", lambda path: True)
    assert location_of(given) == LocalLocation(meant)


def test_what_is_not_mounted_here_is_no_directory() -> None:
    with pytest.raises(InvalidArgument, match=r"cannot use 'dbfs:/rules': nothing is mounted at /dbfs here"):
        location_of("dbfs:/rules")
