"""When Python looks for garbage: not while many rules are prepared, and seldom while a kernel is compiled.

Whoever looks holds the interpreter lock, so all other threads wait: a microsecond and more for each object that is
garbage. A load that compiled kernels meanwhile left a million of them, and events waited for more than a second.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

OBJECTS = 100_000
"""How many new objects make Python look for garbage while a kernel is compiled: some tens of megabytes."""

AMONG_THREADS = 30_000, 50, 10_000
"""The same where others wait, with how many such turns make Python look at older objects, and at all that there are:
some ten milliseconds at a time, and never a quarter of a second for all."""

_YOUNG = 1
"""Generations that Python looks at where others wait: what is older than a kernel is not its garbage."""


class _Pause:
    """Loads that have Python look for no garbage at all; the first one knows whether it did before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loads = 0
        self._was_enabled = False

    def begin(self) -> None:
        with self._lock:
            if not self._loads:
                self._was_enabled = gc.isenabled()
            self._loads += 1
            gc.disable()

    def end(self) -> None:
        with self._lock:
            self._loads -= 1
            if not self._loads and self._was_enabled:
                gc.enable()

    def interrupt(self) -> None:
        """Python looks for garbage again, if nobody else has switched that off."""
        with self._lock:
            if self._loads and self._was_enabled:
                gc.enable()

    def resume(self) -> None:
        with self._lock:
            if self._loads:
                gc.disable()


_PAUSE = _Pause()


@contextlib.contextmanager
def without_collecting() -> Iterator[None]:
    """Trees of rules hold no cycles, and looking for them in 20,000 trees takes a quarter of the time."""
    _PAUSE.begin()
    try:
        yield
    finally:
        _PAUSE.end()


@contextlib.contextmanager
def fewer_collections() -> Iterator[None]:
    """Look for garbage seldom, also within a load; who has switched that off, or changes it meanwhile, is left alone.

    Numba makes a million small objects for a kernel, most of which live until it is done. Python looks through the
    young ones after each 700 of them, in vain: that was a twelfth of the time of all compiling. Where other threads go
    on, what a kernel leaves is looked for at once, some thousand objects: nobody waits for that of all kernels later.
    """
    before = gc.get_threshold()
    among_threads = threading.active_count() > 1
    meanwhile = AMONG_THREADS if among_threads else (OBJECTS, *before[1:])
    if 0 < before[0] < meanwhile[0]:
        gc.set_threshold(*meanwhile)
    _PAUSE.interrupt()
    try:
        yield
    finally:
        if among_threads and gc.isenabled():
            gc.collect(_YOUNG)
        _PAUSE.resume()
        if gc.get_threshold() == meanwhile:
            gc.set_threshold(*before)
