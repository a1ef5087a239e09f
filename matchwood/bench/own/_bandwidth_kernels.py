"""Memory read as fast as one core can: in sequence, and at random places whose misses overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel


@kernel
def stream(words: Any) -> Any:
    """All words, one after the other."""
    seen = np.int64(0)
    for place in range(len(words)):
        seen ^= words[place]
    return seen


@kernel
def gather(words: Any, places: Any) -> Any:
    """The words at these places: no load waits for another."""
    seen = np.int64(0)
    for place in places:
        seen ^= words[np.uint64(place)]
    return seen
