"""Compiled writing of the columns that users get: each hit's event, and the id of its rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel


@kernel
def take_integers(ids: Any, rows: Any, out: Any) -> Any:
    """Write the ids of rows to out; False, and some of them, if a row lies outside."""
    for place in range(np.uint64(len(rows))):
        row = np.uint64(rows[place])  # one below 0 is beyond all
        if row >= np.uint64(len(ids)):
            return False
        out[place] = ids[row]
    return True


@kernel
def count_on(first: Any, count: Any, rows: Any, out: Any) -> Any:
    """The same for ids that are first, first + 1, …: nothing is looked up, and one loop does it for many at once."""
    most = np.uint32(0)
    for place in range(np.uint64(len(rows))):
        out[place] = first + np.int64(rows[place])
        most = max(most, np.uint32(rows[place]))
    return len(rows) == 0 or np.int64(most) < count


@kernel
def repeat_positions(first: Any, offsets: Any, out: Any) -> None:
    """Write first + i to out[offsets[i] : offsets[i + 1]], for every i."""
    for event in range(len(offsets) - 1):
        for place in range(np.uint64(offsets[event]), np.uint64(offsets[event + 1])):
            out[place] = first + event
