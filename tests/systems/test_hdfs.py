"""An index on a real HDFS: saved, opened, published without a lock; of two writers one is told."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import fs

import matchwood as mw
from matchwood import storage
from matchwood.storage import version_log
from matchwood.storage.remote import RemoteLocation
from tests.systems.hdfs_cluster import HdfsCluster
from tests.systems.publisher_script import number_at, part_of

ROOT = Path(__file__).parents[2]
NO_LIBRARY = """
import sys
sys.modules["hdfs_native"] = None
from matchwood import MatchwoodError, storage
try:
    storage.location_of("hdfs://127.0.0.1:9000/rules")
except MatchwoodError as error:
    print(error)
"""


@pytest.fixture
def uri(hdfs: HdfsCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place of its own for each test, and a cache of this host that is empty."""
    pytest.importorskip("hdfs_native", reason="hdfs-native is not installed (the extra `hdfs`)")
    monkeypatch.setenv("MATCHWOOD_SNAPSHOTS_DIR", str(tmp_path / "cache"))
    return f"{hdfs.uri}/{tmp_path.name}/index"


def _writer(mode: str, uri: str, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.systems.publisher_script", mode, uri, str(number)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_without_any_client_the_error_says_what_is_missing() -> None:
    """In a process of its own, where no library can be found: PyArrow looks for it once."""
    nowhere = {
        "PATH": "/usr/bin:/bin",
        "ARROW_LIBHDFS_DIR": "/nowhere",
        "JAVA_HOME": "/nowhere",
        "PYTHONPATH": str(ROOT),
    }
    told = subprocess.run([sys.executable, "-c", NO_LIBRARY], env=nowhere, capture_output=True, text=True, timeout=300)
    if not told.stdout and not told.stderr:
        pytest.skip("Hadoop's libraries are in a place where PyArrow finds them whatever the environment says")
    assert "cannot use 'hdfs://127.0.0.1:9000/rules': Unable to load lib" in told.stdout, told.stderr
    needed = ("matchwood[hdfs]", "HADOOP_HOME", "ARROW_LIBHDFS_DIR", "hadoop classpath --glob")
    assert all(name in told.stdout for name in needed)
    assert len(told.stdout.splitlines()) == 1


def test_an_index_on_hdfs(uri: str) -> None:
    index = mw.Index()
    index["r"] = "a = 1"
    assert index.save(uri) == 1
    assert mw.open(uri).match({"a": 1}) == ["r"]
    index["r"] = "a = 2"
    assert index.save(uri) == 2
    assert (mw.open(uri).match({"a": 1}), mw.open(uri, version=1).match({"a": 1})) == ([], ["r"])
    with pytest.raises(mw.SnapshotNotFound, match="no snapshot is there"):
        mw.open(f"{uri}/nothing")


def test_history(uri: str) -> None:
    for number in range(3):
        storage.save(uri, {"0": part_of(number)}, {"n": number})
    assert storage.rollback(uri, 1) == 4
    assert number_at(uri) == 0
    assert [(info.version, info.restored_from) for info in storage.versions(uri)] == [
        (1, None),
        (2, None),
        (3, None),
        (4, 1),
    ]
    assert storage.vacuum(uri, keep=1, grace="0 seconds") == [1, 2, 3]
    assert (number_at(uri), storage.load(uri, verify="full").version) == (0, 4)
    assert storage.save(uri, {"0": part_of(9)}, {}) == 5


def test_a_location_travels(uri: str) -> None:
    """To a process that writes a part."""
    place = storage.location_of(uri, {"dfs.client.use.datanode.hostname": "false"})
    staging = pickle.loads(pickle.dumps(storage.begin(place)))
    assert staging.place == place
    staging.publish([staging.write_part("0", part_of(5))], {})
    assert number_at(uri) == 5


def test_two_processes_lose_nothing(uri: str) -> None:
    storage.save(uri, {"0": part_of(0)}, {})
    writers = [_writer("count", uri, 6) for _ in range(2)]
    for writer in writers:
        told = writer.communicate(timeout=300)
        assert writer.returncode == 0, told[1]
    assert number_at(uri) == 12
    assert len(storage.versions(uri)) == 13


def test_the_second_writer_is_told_whatever_its_clock_says(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.save(uri, {"0": part_of(0)}, {})
    first, second = storage.begin(uri), storage.begin(uri)
    described = [staging.write_part("0", part_of(number)) for number, staging in enumerate((first, second), 1)]
    first.publish(described[:1], {}, after=1)
    ahead = time.time() + 7200
    monkeypatch.setattr(time, "time", lambda: ahead)
    with pytest.raises(storage.Overtaken, match=r"version 1 of hdfs://.* was replaced"):
        second.publish(described[1:], {}, after=1)
    assert number_at(uri) == 1


def test_one_that_is_overtaken_between_its_last_look_and_its_rename(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.save(uri, {"0": part_of(0)}, {})
    quick = storage.begin(uri)
    described = [quick.write_part("0", part_of(1))]
    kind: Any = type(quick.place)
    real, is_first = kind._created, True

    def other_first(place: Any, name: str, data: bytes) -> bool:
        nonlocal is_first
        if name.startswith("publications/") and is_first:
            is_first = False
            quick.publish(described, {}, after=1)
        return bool(real(place, name, data))

    monkeypatch.setattr(kind, "_created", other_first)
    with pytest.raises(storage.Overtaken), storage.begin(uri) as slow:
        slow.publish([slow.write_part("0", part_of(7))], {}, after=1)
    assert number_at(uri) == 1
    assert [info.version for info in storage.versions(uri)] == [1, 2]


def test_a_rename_whose_answer_is_lost_counts(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind: Any = type(storage.location_of(uri))
    real = kind._appear

    def twice(place: Any, name: str, data: bytes, overwrite: bool) -> None:
        real(place, name, data, overwrite)
        real(place, name, data, overwrite)

    monkeypatch.setattr(kind, "_appear", twice)
    for number in range(3):
        assert storage.save(uri, {"0": part_of(number)}, {}) == number + 1
    assert number_at(uri) == 2


@pytest.mark.parametrize("step", range(5))
def test_a_writer_that_is_killed(uri: str, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the claim, the two arrays, the manifest, the publication."""
    storage.save(uri, {"0": part_of(1)}, {})
    killed = _writer("die", uri, step)
    told = killed.communicate(timeout=300)
    assert killed.returncode == 9, told[1]
    assert number_at(uri) == 1
    storage.save(uri, {"0": part_of(3)}, {})
    assert number_at(uri) == 3
    _check_leftovers(uri, monkeypatch)


def _check_leftovers(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a vacuum, nothing is there but the version that counts, and what was published."""
    monkeypatch.setattr(version_log, "_UNFINISHED", timedelta(0))
    time.sleep(0.1)
    storage.vacuum(uri, keep=1, grace="0 seconds")
    (left,) = [info.version for info in storage.versions(uri)]
    assert set(storage.location_of(uri).names()) == {"CURRENT", "publications", f"v{left:06d}"}


def test_a_cluster_that_is_killed_meanwhile(uri: str, hdfs: HdfsCluster) -> None:
    """Whoever was saving is told whether it was, and readers find the old version or the new one."""
    storage.save(uri, {"0": part_of(1)}, {})
    arrays = {f"a{number}": np.full(200_000, number) for number in range(12)}
    outcome: list[str] = []

    def save() -> None:
        try:
            storage.save(uri, {"0": storage.SavedPart({}, {"number": np.array([2]), **arrays})}, {})
            outcome.append("saved")
        except OSError as error:
            outcome.append(type(error).__name__)

    saving = threading.Thread(target=save)
    saving.start()
    while "v000002" not in storage.location_of(uri).names():
        assert saving.is_alive()
    hdfs.kill()
    hdfs.start()
    saving.join()
    assert number_at(uri) == (2 if outcome == ["saved"] else 1)
    assert storage.load(uri, verify="full").version == storage.current_version(uri)
    storage.save(uri, {"0": part_of(3)}, {})
    assert number_at(uri) == 3


def test_publications_of_long_ago_are_forgotten(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from matchwood.storage.hdfs import location as hdfs

    monkeypatch.setattr(hdfs, "_KEPT", 2)
    for number in range(3):
        storage.save(uri, {"0": part_of(number)}, {})
    place = storage.location_of(uri)
    assert len(place.files("publications")) == 3  # none of them is an hour older than the last
    monkeypatch.setattr(hdfs, "_KEPT_MS", 0)
    storage.save(uri, {"0": part_of(3)}, {})
    assert sorted(place.files("publications")) == ["000000000003", "000000000004"]
    assert number_at(uri) == 3


def test_a_copy_of_the_files_opens(uri: str, hdfs: HdfsCluster, tmp_path: Path) -> None:
    """As `hdfs dfs -get` makes one: CURRENT is a file there, as everywhere."""
    for number in (1, 2):
        storage.save(uri, {"0": part_of(number)}, {})
    place: Any = storage.location_of(uri)
    for file in place.files(""):
        (tmp_path / "copy" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / file).write_bytes(place._read(file, 2**20))
    assert number_at(str(tmp_path / "copy")) == 2


def test_errors_are_short_and_of_the_systems_kind(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.save(uri, {"0": part_of(1)}, {})
    monkeypatch.setenv("HADOOP_USER_NAME", "nobody")
    stranger = storage.location_of(uri, {"dfs.client.socket-timeout": "60001"})  # another connection, another user
    with pytest.raises(PermissionError) as told:
        storage.save(stranger, {"0": part_of(2)}, {})
    assert "nobody" in str(told.value)
    assert "\n" not in str(told.value)
    assert number_at(uri) == 1


def test_what_is_published_so_is_not_published_otherwise(tmp_path: Path) -> None:
    """Through PyArrow there is a lock, which hdfs-native does not look at."""
    (tmp_path / "publications").mkdir()
    place = RemoteLocation(fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "")
    with pytest.raises(mw.MatchwoodError, match=r"is published through hdfs-native.*matchwood\[hdfs\]"), place.alone():
        pytest.fail("it is alone")


def test_spark_builds_updates_and_matches(uri: str) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed (the extra `spark`)")
    told = subprocess.run(
        [sys.executable, "-m", "tests.systems.spark_on_hdfs", uri],
        cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr[-3000:]
    assert told.stdout.splitlines()[-1] == "as expected"
