"""A process that follows a table is killed anywhere on its way: the next one goes on, and no change counts twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import matchwood as mw
from matchwood import storage
from matchwood.storage import version_log
from tests.systems.lake.follow_script import POINTS
from tests.systems.lake.spark_with_lake import SYSTEMS, environment

PUBLISHED = ("published", "compacted")


def _killed(warehouse: Path, table: str, index: Path, point: str) -> None:
    script = [sys.executable, "-m", "tests.systems.lake.follow_script", str(warehouse), table, str(index), point]
    done = subprocess.run(script, env=environment(), cwd=SYSTEMS.parent, capture_output=True, text=True, timeout=600)
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]


def _check_versions(lake: Any, table: str, index: Path) -> list[int]:
    """Each version has the rules that the table had in the version that it names; returns these."""
    followed = []
    for info in storage.versions(index):
        assert info.follows is not None
        followed.append(info.follows["version"])
        rows = lake.read.option("versionAsOf", followed[-1]).table(table).collect()
        opened = mw.open(index, version=info.version)
        assert {rule_id: opened[rule_id] for rule_id in opened} == {row["id"]: row["expression"] for row in rows}
    return followed


def test_killed_anywhere(lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matchwood import spark as mws

    table, index = f"delta.`{tmp_path / 'table'}`", tmp_path / "index"
    feed = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    lake.sql(f"CREATE TABLE {table} (id string, expression string) USING delta {feed}")
    lake.sql(f"INSERT INTO {table} VALUES ('counter', 'x = 0'), ('other', 'x = 1')")
    mws.follow(lake, table, index)
    expected = 1
    for number, point in enumerate(POINTS, 2):
        lake.sql(f"UPDATE {table} SET expression = 'x = {number}' WHERE id = 'counter'")
        _killed(tmp_path / "warehouse", table, index, point)
        expected = number if point in PUBLISHED else expected
        _check_versions(lake, table, index)
        assert [info.follows["version"] for info in storage.versions(index) if info.current] == [expected]
    assert mws.follow(lake, table, index).steps == []  # all of it was published by those that were killed
    lake.sql(f"DELETE FROM {table} WHERE id = 'other'")
    assert mws.follow(lake, table, index).deleted == 1
    followed = _check_versions(lake, table, index)
    assert followed == sorted(followed)
    assert set(followed) == {1, 4, 5, 6, 7}  # the fourth has a manifest, and was never current
    monkeypatch.setattr(version_log, "_UNFINISHED", timedelta(0))
    storage.vacuum(index, keep=1, grace="0 seconds")
    left = {entry.name for entry in index.iterdir() if not entry.name.startswith(".")}
    assert left == {"CURRENT", f"v{storage.current_version(index):06d}"}
