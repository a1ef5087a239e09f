"""What changed between two states of an array: the blocks of 4 KiB that differ, in a file of their own.

A patch is made against the whole file that the array was last written as, never against another patch, so that reading
needs two files at most. It holds the numbers of its blocks (int64, ascending), then their bytes; the array's last
block may be short.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Octets = NDArray[np.uint8]

BLOCK = 4096
"""A page: what a private map of the file copies when one byte of it is written."""

_COMPARED_AT_ONCE = 16 * 2**20


def changed_blocks(new: Octets, old: Octets) -> NDArray[np.int64]:
    """The blocks of `new` that `old` does not have at the same place."""
    common = min(len(new), len(old)) // BLOCK * BLOCK
    found = [np.empty(0, np.int64)]
    for start in range(0, common, _COMPARED_AT_ONCE):
        stop = min(start + _COMPARED_AT_ONCE, common)
        differs = (new[start:stop].view(np.uint64) != old[start:stop].view(np.uint64)).reshape(-1, BLOCK // 8)
        found.append(np.flatnonzero(differs.any(axis=1)) + start // BLOCK)
    if len(new) != len(old) or not np.array_equal(new[common:], old[common:]):
        found.append(np.arange(common // BLOCK, _block_count(len(new))))
    return np.concatenate(found)


def patch_of(array: Octets, blocks: NDArray[np.int64]) -> Octets:
    """The contents of a patch file."""
    pages = array[: len(array) // BLOCK * BLOCK].reshape(-1, BLOCK)
    rest = array[pages.size :] if len(blocks) and blocks[-1] == len(pages) else array[:0]
    whole = blocks[: len(blocks) - bool(len(rest))]
    return np.concatenate([blocks.astype("<i8").view(np.uint8), pages[whole].reshape(-1), rest])


def apply_patch(target: Octets, patch: Octets, count: int) -> None:
    """Write the blocks of a patch into an array's bytes; a ValueError says why they do not fit."""
    blocks, data = patch[: 8 * count].view("<i8"), patch[8 * count :]
    last = _block_count(len(target)) - 1
    if count and (blocks[0] < 0 or blocks[-1] > last or np.any(np.diff(blocks) <= 0)):
        raise ValueError("the numbers of its blocks do not ascend within the array")
    short = last * BLOCK + BLOCK - len(target) if count and blocks[-1] == last else 0
    if len(data) != count * BLOCK - short:
        raise ValueError(f"has {len(data)} bytes of blocks where {count * BLOCK - short} are needed")
    whole = count - (1 if short else 0)
    pages = target[: len(target) // BLOCK * BLOCK].reshape(-1, BLOCK)
    pages[blocks[:whole]] = data[: whole * BLOCK].reshape(-1, BLOCK)
    if short:
        target[last * BLOCK :] = data[whole * BLOCK :]


def _block_count(size: int) -> int:
    return -(-size // BLOCK)
