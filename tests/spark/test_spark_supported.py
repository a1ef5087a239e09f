"""Which Spark is needed, told before anything else fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import matchwood
from matchwood import MatchwoodError
from matchwood import spark as mws
from matchwood.spark.supported import check_server


def failed(code: str, *paths: Path) -> str:
    """The last line of what a process says that fails to run this."""
    found = os.pathsep.join(map(str, [*paths, Path(matchwood.__file__).parent.parent]))
    environment = {**os.environ, "PYTHONPATH": found}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    return run.stderr.strip().splitlines()[-1]


def test_an_older_pyspark_is_told(tmp_path: Path) -> None:
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text("__version__ = '4.0.5'")
    told = failed("import matchwood.spark", tmp_path)
    assert told == (
        "ImportError: matchwood.spark needs PySpark 4.1 or later (found 4.0.5): pip install 'matchwood[spark]'"
    )


def test_no_pyspark_is_told() -> None:
    told = failed("import sys; sys.modules['pyspark'] = None; import matchwood.spark")
    assert told == "ImportError: matchwood.spark needs PySpark: pip install 'matchwood[spark]'"


class Session:
    """A client that is newer than its server."""

    def __init__(self, version: str) -> None:
        self.version = version


def test_an_older_server_is_told(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    events = spark.range(3)
    monkeypatch.setattr(type(events), "sparkSession", Session("3.5.1"))
    with pytest.raises(MatchwoodError, match=r"runs on Spark 3\.5\.1, and Matchwood needs 4\.1 or later"):
        mws.match(events, "nowhere")
    with pytest.raises(MatchwoodError, match="upgrade the cluster"):
        mws.build(events, "nowhere")
    check_server(Session("4.1.0"))
    check_server(spark)
