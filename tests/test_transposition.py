"""A square of bits turned round: compiled and interpreted, it is the same."""

from __future__ import annotations

import numpy as np
import pytest

from matchwood.core import transposition
from matchwood.core.jit import bare_kernel


@bare_kernel
def turned(words: np.ndarray, at: int) -> None:
    transposition.transpose(words, at)


@pytest.mark.parametrize("at", [0, 3])
def test_bits_and_words_change_places(at: int) -> None:
    words = np.random.default_rng(at).integers(0, 2**64, 70, np.uint64)
    found, plain = words.copy(), words.copy()
    turned(found, at)
    transposition._plain(plain, at)
    before = [[int(words[at + word]) >> bit & 1 for bit in range(64)] for word in range(64)]
    after = [[int(found[at + word]) >> bit & 1 for bit in range(64)] for word in range(64)]
    assert after == [list(column) for column in zip(*before, strict=True)]
    assert np.array_equal(found, plain)
    assert np.array_equal(found[:at], words[:at])
    assert np.array_equal(found[at + 64 :], words[at + 64 :])
