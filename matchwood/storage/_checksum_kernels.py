"""XXH64 as one compiled kernel: four independent lanes over 64-bit words, then the few bytes left over."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel

_PRIME_1 = np.uint64(0x9E3779B185EBCA87)
_PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_PRIME_3 = np.uint64(0x165667B19E3779F9)
_PRIME_4 = np.uint64(0x85EBCA77C2B2AE63)
_PRIME_5 = np.uint64(0x27D4EB2F165667C5)


@kernel
def _rotated(value: Any, bits: int) -> Any:
    return (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))


@kernel
def _advanced(lane: Any, word: Any) -> Any:
    return _rotated(lane + word * _PRIME_2, 31) * _PRIME_1


@kernel
def _merged(total: Any, lane: Any) -> Any:
    return (total ^ _advanced(np.uint64(0), lane)) * _PRIME_1 + _PRIME_4


@kernel
def xxh64(words: Any, tail: Any) -> Any:
    """XXH64 (seed 0) of the bytes of `words` (little-endian uint64) followed by `tail` (under 8 bytes)."""
    count = len(words)
    position = 0
    total = _PRIME_5
    if count >= 4:
        first, second = _PRIME_1 + _PRIME_2, _PRIME_2
        third, fourth = np.uint64(0), np.uint64(0) - _PRIME_1
        while position + 4 <= count:
            first = _advanced(first, words[position])
            second = _advanced(second, words[position + 1])
            third = _advanced(third, words[position + 2])
            fourth = _advanced(fourth, words[position + 3])
            position += 4
        total = _rotated(first, 1) + _rotated(second, 7) + _rotated(third, 12) + _rotated(fourth, 18)
        total = _merged(_merged(_merged(_merged(total, first), second), third), fourth)
    total += np.uint64(count * 8 + len(tail))
    while position < count:
        total = _rotated(total ^ _advanced(np.uint64(0), words[position]), 27) * _PRIME_1 + _PRIME_4
        position += 1
    rest = 0
    if len(tail) >= 4:
        half = np.uint64(0)
        for shift in range(4):
            half |= np.uint64(tail[shift]) << np.uint64(8 * shift)
        total = _rotated(total ^ (half * _PRIME_1), 23) * _PRIME_2 + _PRIME_3
        rest = 4
    while rest < len(tail):
        total = _rotated(total ^ (np.uint64(tail[rest]) * _PRIME_5), 11) * _PRIME_1
        rest += 1
    total = (total ^ (total >> np.uint64(33))) * _PRIME_2
    total = (total ^ (total >> np.uint64(29))) * _PRIME_3
    return total ^ (total >> np.uint64(32))
