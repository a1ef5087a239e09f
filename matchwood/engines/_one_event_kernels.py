"""Kernels that put one event where match kernels read it; all that they touch is pinned (`core/pinned.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel, kernel
from matchwood.core.pinned import readable, writable

_LABEL_BITS = 32
_LABEL_MASK = 2**_LABEL_BITS - 1


@bare_kernel
def unpack(packed: Any, count: int, offsets: Any, attributes: Any, labels: Any) -> None:
    """Write the attribute and the label of each packed pair, and where the only event ends."""
    for pair in range(count):
        attributes[pair] = packed[pair] >> _LABEL_BITS
        labels[pair] = np.int32(packed[pair] & np.int64(_LABEL_MASK))
    offsets[1] = count


@kernel
def place_event(table: Any, count: int) -> None:
    """Unpack the `count` packed pairs that stand in the buffers, and set the counters of work to 0.

    The table has the buffers of the event, and then the counters.
    """
    pairs = writable(table, 1, np.int64), writable(table, 2, np.int32), writable(table, 3, np.int32)
    unpack(readable(table, 0, np.int64), count, pairs[0], pairs[1], pairs[2])
    writable(table, 4, np.int64)[:] = 0
