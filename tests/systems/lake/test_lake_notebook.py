"""The notebook on a Delta table runs, in a process and a session of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notebook_support import LAKE_NOTEBOOKS, executed, pictures
from tests.systems.lake.spark_with_lake import JARS, missing


@pytest.mark.parametrize("name", sorted(LAKE_NOTEBOOKS))
def test_a_notebook_runs_and_has_pictures(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = missing()
    if lacking:
        pytest.skip(lacking)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf spark.jars.ivy={JARS} pyspark-shell")  # what was downloaded
    assert pictures(executed(name, tmp_path)) >= 1
