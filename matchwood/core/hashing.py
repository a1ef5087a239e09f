"""Hashes that are the same in every process and on every machine, so they may be stored in files."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel


@kernel
def mix64(value: Any) -> Any:
    """Spread the bits of a 64-bit integer; a bijection (the finaliser of splitmix64)."""
    mixed = np.uint64(value)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@kernel
def combine64(accumulated: Any, value: Any) -> Any:
    """Fold one more integer into a hash; the order of the integers matters."""
    return mix64(np.uint64(accumulated) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(value))


@kernel
def hash_bytes(data: Any, start: int, stop: int) -> Any:
    """The hash of the bytes data[start:stop], taken eight at a time."""
    accumulated = mix64(np.uint64(stop - start) + np.uint64(0x9E3779B97F4A7C15))
    position = start
    while position < stop:
        word = np.uint64(0)
        for shift in range(min(8, stop - position)):
            word |= np.uint64(data[position + shift]) << np.uint64(8 * shift)
        accumulated = combine64(accumulated, word)
        position += 8
    return accumulated
