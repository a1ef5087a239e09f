"""Processes that descend from one of ours, and the memory that is theirs; from Linux' /proc."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")


class Process(NamedTuple):
    number: int
    parent: int
    command: bytes


def descendants(number: int) -> list[Process]:
    """The living processes that this one has started, and those that they have started, by number."""
    known = {process.number: process for process in _living()}
    mine = {number}
    while more := {each.number for each in known.values() if each.parent in mine} - mine:
        mine |= more
    return [known[each] for each in sorted(mine - {number})]


def _living() -> list[Process]:
    found = []
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            # A process may end while it is looked at.
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                found.append(Process(int(entry.name), parent, (entry / "cmdline").read_bytes()))
    return found


def is_python_worker(command: bytes) -> bool:
    """Whether a command is that of Spark's Python workers, or of the process that they are forked from.

    Whichever module forks them, it is told the name of the one that works.
    """
    return b"pyspark.worker" in command


def proportional_bytes(number: int) -> int:
    """The memory of a process, in which a page that n processes share counts as the n-th part of one (its PSS)."""
    lines = (_PROC / str(number) / "smaps_rollup").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith("Pss:"))
    return 1024 * int(kilobytes)
