"""Memory read as fast as one core can: in sequence, and at random places whose misses overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel
from matchwood.engines.pst._match_kernels import probe_spaces


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


@kernel
def in_lists(lists: Any, events: Any, spaces: Any, attributes: Any, levels: Any) -> Any:
    """The candidates in the lists of all these events: those that lie apart, and those that are packed."""
    apart, packed = np.int64(0), np.int64(0)
    for event in range(len(events.offsets) - 1):
        for place in range(probe_spaces(lists, events, event, spaces, attributes, levels)):
            found = spaces[place]
            apart += lists.counts[found]
            packed += lists.packed_starts[found + 1] - lists.packed_starts[found]
    return apart, packed
