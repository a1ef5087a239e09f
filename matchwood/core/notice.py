"""One line for whoever sits at a terminal and waits for a compiler, so that the wait is not a riddle."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Callable

from matchwood.core.machine_code.kept import Loaded, loading

PATIENCE = 1.0
"""Seconds of compiling before the line is shown; most of it is over sooner where machine code was kept."""

LINE = (
    "matchwood: compiling kernels for their first use; this takes about half a minute per engine, once per machine "
    "(`matchwood warmup` does it in advance). Small indexes answer meanwhile\n"
)


_for_good = contextlib.ExitStack()


class CompileNotice:
    """Shows the line once, when compiling has gone on for a while."""

    def __init__(self, write: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._write, self._clock, self._lock = write, clock, threading.Lock()
        self._began: float | None = None
        self._shown = False

    def hear(self, kernel: Loaded) -> None:
        """A kernel was loaded, or is about to be compiled."""
        if kernel.path is not None or kernel.interpreted or self._shown:
            return
        with self._lock:
            now = self._clock()
            self._began = now if self._began is None else self._began
            due = now - self._began >= PATIENCE and not self._shown
            self._shown |= due
        if due:
            # A closed or broken standard error is no reason to fail.
            with contextlib.suppress(OSError, ValueError):
                self._write(LINE)


@functools.cache
def tell_of_compiling() -> None:
    """Show the line in this process, from now on, if somebody at a terminal would see it."""
    if sys.stderr is not None and sys.stderr.isatty():
        _for_good.enter_context(loading(CompileNotice(sys.stderr.write).hear))
