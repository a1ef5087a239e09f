"""Nobody waits for a compiler: whatever kernels need is loaded or compiled while no lock of an index is held."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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
    told = _told_by([engine, *tried], {})
    assert told["within"] == []
    assert told["outside"] > 10
    assert told["interpreted"] == 0
    assert told["engines"] == taken
    assert min(told["matches"], told["changes"]) > 0


@pytest.mark.parametrize("engine", ["auto", "scan"])
def test_with_nothing_kept_a_small_index_is_read_and_changed_while_its_kernels_are_compiled_beside(
    engine: str, tmp_path: Path
) -> None:
    told = _told_by([engine], {"MATCHWOOD_CACHE_DIR": str(tmp_path), "MATCHWOOD_INTERPRET": "1"})
    assert told["within"] == []
    assert told["interpreted"] > 10
    assert min(told["matches"], told["changes"]) >= 20


def _told_by(arguments: list[str], environment: dict[str, str]) -> dict[str, Any]:
    paths = {"PYTHONPATH": str(Path(matchwood.__file__).parent.parent)}
    command, given = [sys.executable, str(_SCRIPT), *arguments], {**os.environ, **paths, **environment}
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told
