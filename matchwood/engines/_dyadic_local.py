from __future__ import annotations
from typing import Any
import numpy as np
from matchwood._jit import kernel


@kernel
def block_count(low: int, high: int) -> int:
    low, high = np.int64(low), np.int64(high)
    if high == 2**31 - 1:
        high = 2**31
    count = 0
    while low < high:
        level = 0
        while level < 31 and (low >> level) & 1 == 0 and low + (2 << level) <= high:
            level += 1
        low += 1 << level
        count += 1
    return count


@kernel
def fill_blocks(low: int, high: int, levels: Any, blocks: Any, used: int) -> int:
    low, high = np.int64(low), np.int64(high)
    if high == 2**31 - 1:
        high = 2**31
    while low < high:
        level = 0
        while level < 31 and (low >> level) & 1 == 0 and low + (2 << level) <= high:
            level += 1
        levels[used], blocks[used] = level, low >> level
        low += 1 << level
        used += 1
    return used
