"""The tests marked `everywhere`, again under real executors and through Spark Connect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SOAK

ROOM = Path(__file__).parent
NESTED = "MATCHWOOD_SPARK_MASTER" in os.environ
MARKED = "everywhere or everywhere_in_soak" if SOAK else "everywhere"


@pytest.mark.skipif(NESTED, reason="this is one of the runs that the test starts")
@pytest.mark.parametrize("master", ["cluster", "connect"])
def test_the_same_tests_pass_elsewhere(master: str) -> None:
    environment = {**os.environ, "MATCHWOOD_SPARK_MASTER": master}
    command = [sys.executable, "-m", "pytest", "-m", MARKED, "-p", "no:cacheprovider", str(ROOM)]
    run = subprocess.run(command, env=environment, cwd=ROOM.parent.parent, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-5_000:]
    assert " passed" in run.stdout
