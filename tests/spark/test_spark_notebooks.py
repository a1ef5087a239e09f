"""The notebooks on Spark run, each in a process and a session of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notebook_support import SPARK_NOTEBOOKS, executed, pictures


@pytest.mark.parametrize("name", sorted(SPARK_NOTEBOOKS))
def test_a_notebook_runs_and_has_pictures(name: str, tmp_path: Path) -> None:
    assert pictures(executed(name, tmp_path)) >= 1
