"""Hashes that are the same in every process and on every machine, so they may be stored in files."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.core.words import word_at


@bare_kernel
def mix64(value: Any) -> Any:
    """Spread the bits of a 64-bit integer; a bijection (the finaliser of splitmix64)."""
    mixed = np.uint64(value)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@bare_kernel
def combine64(accumulated: Any, value: Any) -> Any:
    """Fold one more integer into a hash; the order of the integers matters."""
    return mix64(np.uint64(accumulated) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(value))


@bare_kernel
def _last_word(data: Any, position: int, stop: int) -> Any:
    """The bytes from a position on, fewer than eight, as a word."""
    if position + 8 <= len(data):
        return word_at(data, position) & ((np.uint64(1) << np.uint64(8 * (stop - position))) - np.uint64(1))
    word = np.uint64(0)
    for shift in range(stop - position):
        word |= np.uint64(data[position + shift]) << np.uint64(8 * shift)
    return word


@bare_kernel
def hash_bytes(data: Any, start: int, stop: int) -> Any:
    """The hash of the bytes data[start:stop], taken eight at a time."""
    accumulated = mix64(np.uint64(stop - start) + np.uint64(0x9E3779B97F4A7C15))
    position = start
    while position + 8 <= stop:
        accumulated = combine64(accumulated, word_at(data, position))
        position += 8
    if position >= stop:
        return accumulated
    return combine64(accumulated, _last_word(data, position, stop))


@bare_kernel
def _folded(accumulated: Any, word: Any) -> Any:
    mixed = (accumulated ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(32))


@bare_kernel
def quick_hash(data: Any, start: int, stop: int) -> Any:
    """Another hash of bytes, in a third of the time and less even: for tables that are not stored."""
    accumulated, position = np.uint64(stop - start), start
    while position + 8 <= stop:
        accumulated = _folded(accumulated, word_at(data, position))
        position += 8
    if position < stop:
        accumulated = _folded(accumulated, _last_word(data, position, stop))
    return _folded(accumulated, accumulated >> np.uint64(29))


@bare_kernel
def same_bytes(left: Any, left_start: int, right: Any, right_start: int, length: int) -> Any:
    """Whether so many bytes from two positions on are the same."""
    place = 0
    while place + 8 <= length and word_at(left, left_start + place) == word_at(right, right_start + place):
        place += 8
    rest = length - place
    if 0 < rest < 8 and left_start + place + 8 <= len(left) and right_start + place + 8 <= len(right):
        differing = word_at(left, left_start + place) ^ word_at(right, right_start + place)
        return differing << np.uint64(64 - 8 * rest) == np.uint64(0)
    while place < length and left[left_start + place] == right[right_start + place]:
        place += 1
    return place == length
