"""Fewer searches for garbage while a kernel is compiled.

Numba makes a million small objects for a kernel, most of which live until it is done. Python looks through the young
ones after each 700 of them, in vain: that was a twelfth of the time of all compiling.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

OBJECTS = 100_000
"""How many new objects make Python look for garbage meanwhile: some tens of megabytes."""


@contextlib.contextmanager
def fewer_collections() -> Iterator[None]:
    """Look for garbage seldom; who has switched that off, or changes it meanwhile, is left alone."""
    before = gc.get_threshold()
    meanwhile = OBJECTS, *before[1:]
    if not 0 < before[0] < OBJECTS:
        yield
        return
    gc.set_threshold(*meanwhile)
    try:
        yield
    finally:
        if gc.get_threshold() == meanwhile:
            gc.set_threshold(*before)
