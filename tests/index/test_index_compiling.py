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

_SCRIPT, _SECOND_READER, _INSIGHT = (
    Path(__file__).with_name(f"{name}_script.py") for name in ("compiling", "second_reader", "insight")
)


@pytest.mark.long(1)
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


@pytest.mark.few(0)
@pytest.mark.parametrize("engine", ["auto", "scan"])
def test_with_nothing_kept_a_small_index_is_read_and_changed_while_its_kernels_are_compiled_beside(
    engine: str, tmp_path: Path
) -> None:
    told = _told_by([engine], {"MATCHWOOD_CACHE_DIR": str(tmp_path), "MATCHWOOD_INTERPRET": "1"})
    assert told["within"] == []
    assert told["interpreted"] > 10
    assert min(told["matches"], told["changes"]) >= 20


def test_a_second_reader_finds_all_that_it_needs_and_a_writer_gets_ready_alone() -> None:
    told = _told_by(["auto"], {}, _SECOND_READER)
    _check_service(told)
    assert told["compiled"] == 0
    assert told["changes"] >= 50


def test_with_nothing_kept_readers_go_on_while_a_writer_compiles(tmp_path: Path) -> None:
    """An index that is too large to be interpreted: what the writer needs takes minutes, and only the writer waits."""
    told = _told_by(["auto", str(tmp_path)], {}, _SECOND_READER)
    _check_service(told)
    assert told["compiled"] > 0
    assert told["changes"] == 0


@pytest.mark.few(0)
@pytest.mark.parametrize("engine", ["auto", "atree"])
def test_questions_about_rules_hold_no_lock_either_while_kernels_are_loaded(engine: str, tmp_path: Path) -> None:
    told = _told_by([engine, str(tmp_path / "saved")], {}, _INSIGHT)
    assert told["within"] == []
    assert told["outside"] > 10
    assert told["found"] == {"enclosure": 200, "implies": 50, "lint": 1_992, "audit": 0, "version": 1}


def _check_service(told: dict[str, Any]) -> None:
    assert told["within"] == []
    assert set(told["kernels"]) == {"writer"}, "readers had nothing to load or to compile"
    assert told["rehearsed"] == [["writer", "changes"]]
    assert told["beside"] >= 50


def _told_by(arguments: list[str], environment: dict[str, str], script: Path = _SCRIPT) -> dict[str, Any]:
    paths = {"PYTHONPATH": str(Path(matchwood.__file__).parent.parent)}
    command, given = [sys.executable, str(script), *arguments], {**os.environ, **paths, **environment}
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told
