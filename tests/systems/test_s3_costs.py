"""What a change costs on an object store: requests and bytes in proportion to it, whatever the index's size."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import matchwood as mw
from matchwood import storage
from matchwood.matching import index_part, index_settings
from matchwood.sharding import layout_of, open_shards, summary_of
from tests.systems.s3_server import S3Server

pytest.importorskip("obstore", reason="obstore is not installed (the extra `objects`)")

SHARDS, RULES = 4, 2000


def _build(uri: str) -> int:
    """An index of several shards, as a Spark build writes it; returns its bytes."""
    described, summaries, settings = [], [], {}
    with storage.begin(uri) as staging:
        for shard in range(SHARDS):
            index = mw.Index("counting")
            index.insert_many([(SHARDS * n + shard, f"a = {n % 97} and c > {n}") for n in range(RULES)])
            described.append(staging.write_part(f"base-{shard}", index_part(index)))
            summaries.append(summary_of(index, "int64"))
            settings = index_settings(index)
        layout = layout_of([each["name"] for each in described], summaries)
        staging.publish(described, layout.header(settings))
    return open_shards(uri).bytes


def _change(uri: str) -> None:
    """Publish a version with the same shards and one small part more, as an update does."""
    base = storage.load(uri)
    with storage.begin(uri) as staging:
        described = base.link_parts([f"base-{shard}" for shard in range(SHARDS)], staging)
        described.append(
            staging.write_part("tombstones", storage.SavedPart({}, {"base-0": np.arange(3, dtype=np.int32)}))
        )
        staging.publish(described, base.header, after=base.version)


def test_a_change_writes_what_changed(uri: str, s3: S3Server) -> None:
    size = _build(uri)
    before = s3.objects()
    s3.forget()
    _change(uri)
    new = {key: bytes_ for key, bytes_ in s3.objects().items() if key not in before}
    counts = s3.counts()
    assert sum(new.values()) - _manifest_bytes(new) < 100 < size
    assert "CopyObject" not in counts
    assert counts["PutObject"] == 4  # the claim, one array, the manifest, CURRENT
    assert counts["ListObjectsV2"] == 2  # which number is free, and whether all was written
    assert s3.fetched(".bin") == 0


def test_a_host_fetches_what_it_lacks(uri: str, s3: S3Server) -> None:
    size = _build(uri)
    s3.forget()
    first = [shard.matcher for shard in open_shards(uri).walk()]
    assert len(first) == SHARDS
    assert s3.fetched(".bin") > size / SHARDS / 2  # what two shards have in common comes once
    _change(uri)
    s3.forget()
    shards = open_shards(uri)
    assert sum(shard.dead.sum() for shard in shards.walk() if shard.dead is not None) == 3
    assert s3.fetched(".bin") == 12
    assert s3.counts() == {"GetObject": 3}  # CURRENT, the manifest, the tombstones


def test_planning_reads_a_manifest(uri: str, s3: S3Server) -> None:
    _build(uri)
    s3.forget()
    shards = open_shards(uri, version=1)
    assert (len(shards), shards.attributes, shards.types()) == (
        SHARDS * RULES,
        {"a": "number", "c": "number"},
        shards.types(),
    )
    assert s3.counts() == {"GetObject": 1}


def test_planning_for_an_index_alone_reads_a_manifest(uri: str, s3: S3Server) -> None:
    index = mw.Index("counting")
    index.insert_many([(n, f"a = {n}") for n in range(100)])
    index.save(uri)
    s3.forget()
    shards = open_shards(uri)
    assert (len(shards), shards.attributes) == (100, {"a": "number"})
    assert s3.counts() == {"GetObject": 2}


def test_looking_for_rules_fetches_no_engine(uri: str, s3: S3Server) -> None:
    size = _build(uri)
    s3.forget()
    shards = open_shards(uri)
    assert [table.find(5) >= 0 for table in shards.tables()] == [False, True, False, False]
    fetched = {request.key for request in s3.requests() if request.key.endswith(".bin")}
    assert fetched
    assert all("-rules_" in key and "-rules_texts" not in key for key in fetched)
    assert s3.fetched(".bin") < size / 2


def _index_of_texts(uri: str) -> mw.Index:
    """An index whose rules' texts are a large part of it."""
    index = mw.Index("counting")
    index.insert_many([(n, f"a = {n} and c > {n} and b in ({n}, {n + 1}, {n + 2}, {n + 3})") for n in range(2000)])
    index.save(uri)
    return index


def _fetched_arrays(s3: S3Server) -> set[str]:
    return {request.key.rpartition("/")[2][5:] for request in s3.requests() if request.key.endswith(".bin")}


def test_a_host_that_only_matches_does_not_fetch_what_matching_never_reads(uri: str, s3: S3Server) -> None:
    whole = _index_of_texts(uri)
    size = s3.objects()
    of_texts = sum(bytes_ for key, bytes_ in size.items() if uri.split("/")[3] in key and "-rules_texts_" in key)
    s3.forget()
    index = mw.open(uri)
    assert index.match({"a": 7, "c": 9, "b": 8}) == [7]
    assert of_texts > 100_000
    assert not [name for name in _fetched_arrays(s3) if name.startswith(("rules_texts", "rules_ids_slots", "rules_w"))]
    s3.forget()
    assert index[7] == whole[7]
    assert _fetched_arrays(s3) == {
        f"rules_{name}.bin" for name in ("texts_data", "texts_start", "texts_length", "ids_slots")
    }
    assert s3.fetched(".bin") >= of_texts > 0
    s3.forget()
    assert (index[8], index.stats()["rules"]) == (whole[8], 2000)
    assert not s3.requests()


def test_what_is_fetched_later_may_be_gone_and_then_says_so(uri: str, s3: S3Server) -> None:
    _index_of_texts(uri)
    index = mw.open(uri)
    assert index.match({"a": 7, "c": 9, "b": 8}) == [7]
    other = mw.Index()
    other["r"] = "a = 1"
    other.save(uri)
    assert storage.vacuum(uri, keep=1, grace="0 seconds") == [1]
    assert index.match({"a": 7, "c": 9, "b": 8}) == [7]
    with pytest.raises(
        mw.CorruptSnapshot, match=r"version 1 has been vacuumed since it was opened.*open the index again"
    ):
        index[7]


def test_opening_a_named_version_lists_nothing(uri: str, s3: S3Server) -> None:
    for number in range(8):
        storage.save(uri, {"0": storage.SavedPart({}, {"it": np.full(9, number)})}, {})
    s3.forget()
    assert storage.load(uri, version=3).parts["0"].arrays["it"][0] == 2
    assert s3.counts() == {"GetObject": 2}
    s3.forget()
    assert len(storage.versions(uri)) == 8
    assert s3.counts() == {"ListObjectsV2": 1, "GetObject": 9}


def test_saving_an_index_again_shares_what_stays(uri: str, s3: S3Server, tmp_path: Path) -> None:
    index = mw.Index("counting")
    index.insert_many([(n, f"a = {n} and b > {n}") for n in range(5000)])
    index.save(uri)
    before = s3.objects()
    index.save(uri)
    new = [key for key in s3.objects() if key not in before]
    assert sorted(key.rpartition("/")[2] for key in new) == ["claim", "manifest.json"]
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    assert mw.open(uri, verify="full").match({"a": 7, "b": 9}) == [7]


def _manifest_bytes(objects: dict[str, int]) -> int:
    return sum(size for key, size in objects.items() if key.endswith(("manifest.json", "CURRENT", "claim")))
