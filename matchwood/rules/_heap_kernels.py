"""Copying scattered strings of a heap next to each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel


@kernel
def gather(data: Any, starts: Any, lengths: Any, rows: Any, targets: Any, out: Any) -> Any:
    """Copy the string of rows[i] to out[targets[i]:]; returns the first i that lies outside, or -1.

    The bounds are looked at here, not once for the whole heap, so that a heap of ten million
    strings can be opened without reading it.
    """
    count = len(starts)
    for i in range(len(rows)):
        row = rows[i]
        if row < 0 or row >= count:
            return i
        start, length, target = starts[row], np.int64(lengths[row]), targets[i]
        if start < 0 or length < 0 or start > len(data) - length or target > len(out) - length:
            return i
        for k in range(length):
            out[target + k] = data[start + k]
    return -1
