"""Rows of many units at once, where units are in the order of their rows and have one each.

Rules that came in bulk have such units. Nobody has to say so: it shows in what is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel
from matchwood.rules._bitset_kernels import walk_all

_ONE, _LOW = np.uint64(1), np.uint64(63)
_ASTRAY = -1


@kernel
def rows_in_order(units: Any, start: Any, hits: Any, heads: Any, rows: Any, bits: Any, out: Any, filled: Any) -> Any:
    """Write the rows of units[start : start + hits] to out[filled:], which has room, in order; returns where they end.

    Below 0 if they are not in order, repeat, or lead astray, or if a unit has several rows or none: what was written is
    worth nothing then. If a unit is none, some stay marked.
    """
    if len(heads) > 64 * len(bits):
        return np.int64(_ASTRAY)
    for place in range(np.uint64(start), np.uint64(start + hits)):
        unit = np.uint64(units[place])  # one below 0 is beyond all
        if unit >= np.uint64(len(heads)):
            return np.int64(_ASTRAY)
        bits[unit >> np.uint64(6)] |= _ONE << (unit & _LOW)
    end = walk_all(bits, out, filled)
    last, ordered = np.int32(-1), True
    for place in range(np.uint64(filled), np.uint64(end)):
        row = heads[np.uint64(out[place])]
        ordered &= row > last
        out[place] = last = row
    return end if ordered and last < rows else np.int64(_ASTRAY)
