"""Hashes of bytes, eight at a time, held against the definition; and comparing bytes."""

from __future__ import annotations

import numpy as np
import pytest

from matchwood.core.hashing import combine64, hash_bytes, mix64, same_bytes
from matchwood.core.words import word_at

DATA = np.random.default_rng(5).integers(0, 256, 64, np.uint8)


def defined(data: bytes) -> int:
    """Each eight bytes as one number, the last ones with zeros above."""
    value = int(mix64(len(data) + 0x9E3779B97F4A7C15))
    for start in range(0, len(data), 8):
        word = np.uint64(int.from_bytes(data[start : start + 8], "little"))
        value = int(combine64(np.uint64(value), word))
    return value


@pytest.mark.parametrize("length", range(20))
def test_hashes_are_those_of_the_bytes_alone_wherever_they_lie(length: int) -> None:
    for start in (0, 1, 7, 64 - length):
        assert int(hash_bytes(DATA, start, start + length)) == defined(DATA[start : start + length].tobytes())


def test_hashes_stay_as_they_are_in_files() -> None:
    text = np.frombuffer(b"process.command_line", np.uint8)
    assert int(hash_bytes(text, 0, 20)) == 6376653262218611772


@pytest.mark.parametrize("length", range(1, 20))
def test_bytes_are_compared_to_the_last(length: int) -> None:
    copy = DATA.copy()
    assert same_bytes(DATA, 3, copy, 3, length)
    for place in range(length):
        copy[:] = DATA
        copy[3 + place] ^= 1
        assert not same_bytes(DATA, 3, copy, 3, length)
    copy[3 + length] ^= 1
    copy[2] ^= 1
    copy[3 : 3 + length] = DATA[3 : 3 + length]
    assert same_bytes(DATA, 3, copy, 3, length)


def test_a_word_is_eight_bytes() -> None:
    assert int(word_at(DATA, 5)) == int.from_bytes(DATA[5:13].tobytes(), "little")
