"""An index on HDFS. Maven has a small cluster of HDFS, but not libhdfs, by which PyArrow reaches one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import fs

import matchwood as mw

ROOT = Path(__file__).parents[2]
NO_LIBRARY = """
from matchwood import MatchwoodError, storage
try:
    storage.location_of("hdfs://127.0.0.1:9000/rules")
except MatchwoodError as error:
    print(error)
"""


def test_without_the_library_the_error_says_what_is_missing() -> None:
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
    assert all(name in told.stdout for name in ("HADOOP_HOME", "ARROW_LIBHDFS_DIR", "hadoop classpath --glob"))
    assert len(told.stdout.splitlines()) == 1


def test_an_index_on_hdfs() -> None:
    """For those who have Hadoop: HDFS_URI names a folder that may be written."""
    uri = os.environ.get("HDFS_URI")
    if uri is None:
        pytest.skip("no HDFS: libhdfs.so comes with Hadoop alone, not with Maven's jars (HDFS_URI names a cluster)")
    assert isinstance(fs.FileSystem.from_uri(uri)[0], fs.HadoopFileSystem)
    index = mw.Index()
    index["r"] = "a = 1"
    version = index.save(uri)
    assert mw.open(uri).match({"a": 1}) == ["r"]
    index["r"] = "a = 2"
    assert index.save(uri) == version + 1
    assert (mw.open(uri).match({"a": 1}), mw.open(uri, version=version).match({"a": 1})) == ([], ["r"])
