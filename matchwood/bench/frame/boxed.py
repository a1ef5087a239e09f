"""Work in a box: a process of its own that is ended when its time or its memory is over, so that nothing hopeless eats
a run."""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

from matchwood.errors import LimitExceeded

Result = TypeVar("Result")

MEMORY_SHARE = 0.8
"""A box may take so much of the memory that is free when it begins."""


class Ended(Enum):
    """Why a box has no result."""

    TIME = "timeout"
    MEMORY = "out of memory"


def boxed(action: Callable[[], Result], seconds: float) -> Result | Ended:
    """What an action returns, or why it was ended; it sees all that is in memory, and changes none of it."""
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(action, theirs))
    process.start()
    theirs.close()
    try:
        if not mine.poll(seconds):
            return Ended.TIME
        found: Result | BaseException = mine.recv()
    except EOFError:
        # The system ends a process without a word when memory runs out.
        return Ended.MEMORY
    finally:
        process.kill()
        process.join()
        mine.close()
    if isinstance(found, MemoryError | LimitExceeded):
        return Ended.MEMORY
    if isinstance(found, BaseException):
        raise found
    return found


def _send(action: Callable[[], Result], pipe: Connection) -> None:
    try:
        _limit_memory()
        pipe.send(action())
    except Exception as error:
        pipe.send(error)


def _limit_memory() -> None:
    """Let allocations fail before the machine has none left for others; where the system does not tell, nothing."""
    with suppress(OSError, ValueError, ImportError):
        import resource

        free = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"))
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        if free is not None:
            most = pages * resource.getpagesize() + int(MEMORY_SHARE * 1024 * int(free[1]))
            resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
