"""Builds that are killed, tasks that fail and come again, and indexes that live elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from build_support import embedded, frame, same_answers, sound_rules
from pyarrow import fs

import matchwood as mw
from matchwood import spark as mws
from matchwood import storage
from matchwood.storage.remote import RemoteLocation

SCRIPT = Path(__file__).with_name("build_kill_script.py")


@pytest.mark.long
def test_a_build_that_is_killed_leaves_the_last_version(spark: Any, path: str) -> None:
    """As soon as the first of two shards is there; the second takes a while."""
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), path], start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    begun = Path(path, "v000002")
    try:
        deadline = time.monotonic() + 240
        while not _has_a_part(begun) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert process.poll() is None, process.communicate(timeout=10)[0]
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert _has_a_part(begun)
    assert dict(mw.open(path, verify="full").items()) == {1: "vip"}
    assert mws.build(frame(spark, [(2, "vip")]), path).version == 3
    assert [info.version for info in mws.versions(path)] == [1, 3]


def _has_a_part(version: Path) -> bool:
    return version.is_dir() and any(child.is_dir() for child in version.iterdir())


def test_a_task_that_fails_and_comes_again_leaves_no_trace(spark: Any, path: str) -> None:
    """Both attempts write their parts; the one that is described counts."""
    from matchwood.spark.build.build import Job
    from matchwood.spark.build.rule_columns import RuleColumns, checked_rules

    rules = sound_rules(60)
    mws.build(frame(spark, rules), path, shards=2)
    version = storage.begin(path)
    plain = checked_rules(frame(spark, rules), RuleColumns("id", "expression"))
    job = Job(plain, _settings(path), 2)
    job._run(_task(version, path), [])  # an attempt that nobody hears of
    published, told = job.publish(version)
    parts = [name for name in Path(path, f"v{published:06d}").iterdir() if name.is_dir()]
    assert len(parts) == len(told) == 2
    same_answers(mw.open(path, verify="full"), embedded(rules)[0])


def _settings(path: str) -> Any:
    from matchwood.sharding import open_shards
    from matchwood.spark.build.shard_task import settings_of

    shards = open_shards(path)
    return settings_of(shards.snapshot, shards.layout.bases[0])


def _task(staging: Any, path: str) -> Any:
    from matchwood.spark.build.shard_task import ShardTask

    return ShardTask(staging, _settings(path), "int64", keeps_last=False, alone=False)


@pytest.mark.everywhere
def test_an_index_on_another_file_system(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reached through PyArrow by driver and executors, and copied to this host before it is mapped."""
    monkeypatch.setenv("MATCHWOOD_CACHE_DIR", str(tmp_path / "cache"))
    place = RemoteLocation(fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "index", f"test://{tmp_path}")
    rules = dict(sound_rules(150))
    mws.build(frame(spark, [*rules.items(), (1000, "age =")]), place, shards=2)
    assert [row["id"] for row in mws.rejects(spark, place).collect()] == [1000]
    report = mws.update(frame(spark, [(3, None), (2000, "vip")]), place)
    del rules[3]
    rules[2000] = "vip"
    same_answers(mw.open(place), embedded(rules.items())[0])
    assert report.version == 2
    assert mws.rollback(place, 1) == 3
    assert 3 in mw.open(place)


def _explosive(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        raise ValueError("the rules' own source fails")
    yield from ()


def test_rules_that_cannot_be_read_publish_nothing(spark: Any, path: str) -> None:
    from pyspark.errors import PySparkException

    mws.build(frame(spark, [(1, "vip")]), path)
    broken = frame(spark, [(2, "vip")]).mapInArrow(_explosive, "id long, expression string")
    with pytest.raises(PySparkException, match="the rules' own source fails"):
        mws.build(broken, path)
    assert list(mw.open(path)) == [1]
    assert sorted(child.name for child in Path(path).iterdir()) == ["CURRENT", "v000001"]
