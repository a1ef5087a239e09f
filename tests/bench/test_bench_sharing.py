"""Weighing the workers of a host: the processes that are found, and the arithmetic; the claim itself in the soak."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from matchwood.bench.frame.processes import descendants, proportional_bytes
from matchwood.bench.spark import sharing
from tests.conftest import SOAK

WAITING = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True); input()'])"


def test_descendants_and_their_memory() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", WAITING], **pipes) as child:  # type: ignore[call-overload]
        assert child.stdout.readline() == b"1\n"
        mine = descendants(os.getpid())
        (grandchild,) = [each for each in mine if each.parent == child.pid]
        assert child.pid in [each.number for each in mine]
        assert b"input()" in grandchild.command
        assert grandchild in descendants(child.pid)
        assert 1e5 < proportional_bytes(grandchild.number) < 1e9
        child.communicate(b"\n")
    assert grandchild not in descendants(os.getpid())


def test_one_shared_copy_counts_as_one() -> None:
    told = {"few": [100.0e6] * 4, "many": [125.0e6] * 4, "bytes": 100e6}
    assert sharing._bounds(told)["copies"] == 1.0
    assert sharing._bounds({**told, "many": [200.0e6] * 4})["copies"] == 4.0


@pytest.mark.skipif(not SOAK, reason="a million rules, ten minutes: make soak")
def test_four_workers_share_a_million_rules() -> None:
    (row,) = sharing.run("full")["rows"]
    assert row["copies"] <= sharing.AIM
