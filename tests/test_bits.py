"""Instructions of the processor, held against Python's integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from matchwood.core import bits
from matchwood.core.bits import bit_count, highest_bit, lowest_bit
from matchwood.core.jit import bare_kernel, kernel


@kernel
def _both(words: Any, lowest: Any, counts: Any) -> None:
    for place in range(len(words)):
        lowest[place], counts[place] = lowest_bit(words[place]), bit_count(words[place])


def test_lowest_bits_and_counts() -> None:
    held = [0, *(1 << bit for bit in range(64)), *(2**64 - (1 << bit) for bit in range(64))]
    words = np.concatenate((np.array(held, np.uint64), np.random.default_rng(3).integers(0, 2**64, 1_000, np.uint64)))
    lowest, counts = np.empty((2, len(words)), np.int64)
    _both(words, lowest, counts)
    assert counts.tolist() == [word.bit_count() for word in words.tolist()]
    assert lowest.tolist() == [(word & -word).bit_length() - 1 if word else 64 for word in words.tolist()]


@kernel
def _highest(words: Any, highest: Any) -> None:
    for place in range(len(words)):
        highest[place] = highest_bit(words[place])


def test_highest_bits() -> None:
    held = [0, *(1 << bit for bit in range(64)), *((1 << bit) - 1 for bit in range(1, 65))]
    words = np.concatenate((np.array(held, np.uint64), np.random.default_rng(4).integers(0, 2**64, 1_000, np.uint64)))
    highest = np.empty(len(words), np.int64)
    _highest(words, highest)
    assert highest.tolist() == [word.bit_length() - 1 for word in words.tolist()]
    assert [int(highest_bit(word)) for word in words] == highest.tolist()


@bare_kernel
def _turned(words: Any, at: int) -> None:
    bits.transpose(words, at)


@pytest.mark.parametrize("at", [0, 3])
def test_bits_and_words_change_places(at: int) -> None:
    words = np.random.default_rng(at).integers(0, 2**64, 70, np.uint64)
    found, plain = words.copy(), words.copy()
    _turned(found, at)
    bits._plain_transpose(plain, at)
    before = [[int(words[at + word]) >> bit & 1 for bit in range(64)] for word in range(64)]
    after = [[int(found[at + word]) >> bit & 1 for bit in range(64)] for word in range(64)]
    assert after == [list(column) for column in zip(*before, strict=True)]
    assert np.array_equal(found, plain)
    assert np.array_equal(found[:at], words[:at])
    assert np.array_equal(found[at + 64 :], words[at + 64 :])
