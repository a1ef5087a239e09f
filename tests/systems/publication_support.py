"""Writers in processes of their own, and what they may leave behind."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from matchwood import storage
from matchwood.storage import version_log

ROOT = Path(__file__).parents[2]


def writer(mode: str, uri: str, number: int) -> subprocess.Popen[str]:
    """One of `publisher_script.py`, under way."""
    command = [sys.executable, "-m", "tests.systems.publisher_script", mode, uri, str(number)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check_leftovers(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a vacuum, nothing is there but the version that counts; on HDFS also what was published."""
    monkeypatch.setattr(version_log, "_UNFINISHED", timedelta(0))
    time.sleep(1.1)  # times on S3 are whole seconds
    storage.vacuum(uri, keep=1, grace="0 seconds")
    (left,) = [info.version for info in storage.versions(uri)]
    assert set(storage.location_of(uri).names()) - {"publications"} == {"CURRENT", f"v{left:06d}"}
