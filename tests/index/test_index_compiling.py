"""Nobody waits for a compiler: whatever kernels need is loaded or compiled while no lock of an index is held."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import matchwood

_SCRIPT = Path(__file__).with_name("compiling_script.py")


@pytest.mark.parametrize(
    ("engine", "tried", "taken"),
    [
        ("scan", [], []),
        ("auto", ["counting", "scan"], ["counting", "scan"]),
        ("auto", ["load", "counting"], ["counting"]),
    ],
    ids=["changes", "trials", "a large load"],
)
def test_no_kernel_is_loaded_or_compiled_by_a_thread_that_holds_a_lock(
    engine: str, tried: list[str], taken: list[str]
) -> None:
    """In a process that has loaded nothing yet, with readers and a writer; loading stands for compiling."""
    command = [sys.executable, str(_SCRIPT), engine, *tried]
    paths = {"PYTHONPATH": str(Path(matchwood.__file__).parent.parent)}
    done = subprocess.run(command, env={**os.environ, **paths}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["within"] == []
    assert told["outside"] > 10
    assert told["engines"] == taken
    assert min(told["matches"], told["changes"]) > 0
