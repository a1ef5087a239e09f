"""The tests marked `everywhere`, again through Spark Connect and, those that executors matter to, under real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forms
from tests.conftest import SOAK

pytestmark = pytest.mark.long

ROOM = Path(__file__).parent
NESTED = "MATCHWOOD_SPARK_MASTER" in os.environ
MARKED = "everywhere or everywhere_in_soak" if SOAK else "everywhere"

ON_EXECUTORS = (
    "test_spark_build.py::test_a_build_equals_an_index_of_the_same_rules",
    "test_spark_faults.py::test_an_index_on_another_file_system",
    "test_spark_functions.py::test_functions_for_one_index",
    "test_spark_match.py::test_arrays_of_every_strategy[partitioned]",
    "test_spark_match_stream.py::test_match_stream_hands_each_batch_to_the_writer",
    "test_spark_session.py",
    "test_spark_update.py::test_insert_replace_delete",
    "test_spark_verify.py::test_right_hits_in_either_form",
)
"""What runs on executors differs by what is sent there and who finds the files: one test for each way. Starting Python
on four of them takes longer than the tests; the long form runs all."""


@pytest.mark.skipif(NESTED, reason="this is one of the runs that the test starts")
@pytest.mark.parametrize("master", ["cluster", "connect"])
def test_the_same_tests_pass_elsewhere(master: str) -> None:
    environment = {**os.environ, "MATCHWOOD_SPARK_MASTER": master, forms.VARIABLE: forms.Form.WHOLE.value}
    tests = [f"{ROOM}/{test}" for test in ON_EXECUTORS] if master == "cluster" and not SOAK else [str(ROOM)]
    command = [sys.executable, "-m", "pytest", "-m", MARKED, "-p", "no:cacheprovider", *tests]
    run = subprocess.run(command, env=environment, cwd=ROOM.parent.parent, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-5_000:]
    assert " passed" in run.stdout
