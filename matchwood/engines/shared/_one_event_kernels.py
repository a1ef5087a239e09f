"""Kernels for one event at a time: its pairs from the integers that they come as."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel

_LABEL_BITS = 32


@bare_kernel
def unpack(packed: Any, count: int, offsets: Any, attributes: Any, labels: Any) -> None:
    """Write the attribute and the label of each packed pair, and where the only event ends."""
    for pair in range(count):
        attributes[pair] = packed[pair] >> _LABEL_BITS
        labels[pair] = np.int32(packed[pair] & np.int64(2**_LABEL_BITS - 1))
    offsets[1] = count
