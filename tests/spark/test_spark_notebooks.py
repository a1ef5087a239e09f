"""The notebooks on Spark run: each in a process and a session of its own, in the short form with the tests' session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import SOAK
from tests.notebook_support import SPARK_NOTEBOOKS, executed, pictures, pictures_here

pytestmark = pytest.mark.long


@pytest.mark.parametrize("name", sorted(SPARK_NOTEBOOKS))
def test_a_notebook_runs_and_has_pictures(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if SOAK:
        assert pictures(executed(name, tmp_path)) >= 1
        return
    session = request.getfixturevalue("spark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(session), "stop", lambda session: None)  # others need it
        assert pictures_here(name, tmp_path) >= 1
