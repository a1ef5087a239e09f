"""An index on a real HDFS: saved, opened, published without a lock; of two writers one is told."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import fs

import matchwood as mw
from matchwood import storage
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


def test_an_index_on_hdfs(hdfs_uri: str) -> None:
    index = mw.Index()
    index["r"] = "a = 1"
    assert index.save(hdfs_uri) == 1
    assert mw.open(hdfs_uri).match({"a": 1}) == ["r"]
    index["r"] = "a = 2"
    assert index.save(hdfs_uri) == 2
    assert (mw.open(hdfs_uri).match({"a": 1}), mw.open(hdfs_uri, version=1).match({"a": 1})) == ([], ["r"])
    with pytest.raises(mw.SnapshotNotFound, match="no snapshot is there"):
        mw.open(f"{hdfs_uri}/nothing")


def test_a_location_travels(hdfs_uri: str) -> None:
    """To a process that writes a part."""
    place = storage.location_of(hdfs_uri, {"dfs.client.use.datanode.hostname": "false"})
    staging = pickle.loads(pickle.dumps(storage.begin(place)))
    assert staging.place == place
    staging.publish([staging.write_part("0", part_of(5))], {})
    assert number_at(hdfs_uri) == 5


def test_one_that_is_overtaken_between_its_last_look_and_its_rename(
    hdfs_uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.save(hdfs_uri, {"0": part_of(0)}, {})
    quick = storage.begin(hdfs_uri)
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
    with pytest.raises(storage.Overtaken), storage.begin(hdfs_uri) as slow:
        slow.publish([slow.write_part("0", part_of(7))], {}, after=1)
    assert number_at(hdfs_uri) == 1
    assert [info.version for info in storage.versions(hdfs_uri)] == [1, 2]


def test_a_rename_whose_answer_is_lost_counts(hdfs_uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind: Any = type(storage.location_of(hdfs_uri))
    real = kind._appear

    def twice(place: Any, name: str, data: bytes, overwrite: bool) -> None:
        real(place, name, data, overwrite)
        real(place, name, data, overwrite)

    monkeypatch.setattr(kind, "_appear", twice)
    for number in range(3):
        assert storage.save(hdfs_uri, {"0": part_of(number)}, {}) == number + 1
    assert number_at(hdfs_uri) == 2


def test_a_cluster_that_is_killed_meanwhile(hdfs_uri: str, hdfs: HdfsCluster) -> None:
    """Whoever was saving is told whether it was, and readers find the old version or the new one."""
    storage.save(hdfs_uri, {"0": part_of(1)}, {})
    arrays = {f"a{number}": np.full(200_000, number) for number in range(12)}
    outcome: list[str] = []

    def save() -> None:
        try:
            storage.save(hdfs_uri, {"0": storage.SavedPart({}, {"number": np.array([2]), **arrays})}, {})
            outcome.append("saved")
        except OSError as error:
            outcome.append(type(error).__name__)

    saving = threading.Thread(target=save)
    saving.start()
    while "v000002" not in storage.location_of(hdfs_uri).names():
        assert saving.is_alive()
    hdfs.kill()
    hdfs.start()
    saving.join()
    assert number_at(hdfs_uri) == (2 if outcome == ["saved"] else 1)
    assert storage.load(hdfs_uri, verify="full").version == storage.current_version(hdfs_uri)
    storage.save(hdfs_uri, {"0": part_of(3)}, {})
    assert number_at(hdfs_uri) == 3


def test_publications_of_long_ago_are_forgotten(hdfs_uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from matchwood.storage.hdfs import location as hdfs

    monkeypatch.setattr(hdfs, "_KEPT", 2)
    for number in range(3):
        storage.save(hdfs_uri, {"0": part_of(number)}, {})
    place = storage.location_of(hdfs_uri)
    assert len(place.files("publications")) == 3  # none of them is an hour older than the last
    monkeypatch.setattr(hdfs, "_KEPT_MS", 0)
    storage.save(hdfs_uri, {"0": part_of(3)}, {})
    assert sorted(place.files("publications")) == ["000000000003", "000000000004"]
    assert number_at(hdfs_uri) == 3


def test_a_copy_of_the_files_opens(hdfs_uri: str, hdfs: HdfsCluster, tmp_path: Path) -> None:
    """As `hdfs dfs -get` makes one: CURRENT is a file there, as everywhere."""
    for number in (1, 2):
        storage.save(hdfs_uri, {"0": part_of(number)}, {})
    place: Any = storage.location_of(hdfs_uri)
    for file in place.files(""):
        (tmp_path / "copy" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / file).write_bytes(place._read(file, 2**20))
    assert number_at(str(tmp_path / "copy")) == 2


def test_errors_are_short_and_of_the_systems_kind(hdfs_uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.save(hdfs_uri, {"0": part_of(1)}, {})
    monkeypatch.setenv("HADOOP_USER_NAME", "nobody")
    stranger = storage.location_of(hdfs_uri, {"dfs.client.socket-timeout": "60001"})  # another connection, another user
    with pytest.raises(PermissionError) as told:
        storage.save(stranger, {"0": part_of(2)}, {})
    assert "nobody" in str(told.value)
    assert "\n" not in str(told.value)
    assert number_at(hdfs_uri) == 1


def test_what_is_published_so_is_not_published_otherwise(tmp_path: Path) -> None:
    """Through PyArrow there is a lock, which hdfs-native does not look at."""
    (tmp_path / "publications").mkdir()
    place = RemoteLocation(fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "")
    with pytest.raises(mw.MatchwoodError, match=r"is published through hdfs-native.*matchwood\[hdfs\]"), place.alone():
        pytest.fail("it is alone")


def test_spark_builds_updates_and_matches(hdfs_uri: str) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed (the extra `spark`)")
    told = subprocess.run(
        [sys.executable, "-m", "tests.systems.spark_on_hdfs", hdfs_uri],
        cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr[-3000:]
    assert told.stdout.splitlines()[-1] == "as expected"
