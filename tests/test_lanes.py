"""One test of many numbers at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from matchwood.core.jit import kernel
from matchwood.core.lanes import (
    LANES,
    PIECES,
    both_in_pieces,
    both_within,
    lanes_in_pieces,
    lanes_within,
    long_lanes_within,
    pieces_around,
)

EDGES = [(0, 0), (0, 1), (7, 5), (65_000, 536), (0, 65_535), (65_535, 1)]


@kernel
def lanes_of(numbers: Any, at: int, low: int, count: int) -> Any:
    return lanes_within(numbers, at, np.uint64(low), np.uint64(count))


@kernel
def both_of(numbers: Any, at: int, low: int, count: int) -> Any:
    return both_within(numbers, at, np.uint64(low), np.uint64(count))


@kernel
def long_lanes_of(numbers: Any, at: int, low: int, count: int) -> Any:
    return long_lanes_within(numbers, at, np.uint64(low), np.uint64(count))


@kernel
def lanes_in(numbers: Any, at: int, pieces: Any, first: int, count: int, left: int) -> Any:
    return lanes_in_pieces(numbers, at, pieces, first, count, np.uint64(left))


@kernel
def both_in(numbers: Any, at: int, pieces: Any, first: int, count: int, left: int) -> Any:
    return both_in_pieces(numbers, at, pieces, first, count, np.uint64(left))


@kernel
def around(pieces: Any, at: int, number: int, left: int) -> Any:
    return pieces_around(pieces, at, np.uint64(number), np.uint64(left))


def numbers_of(seed: int) -> np.ndarray:
    numbers = np.random.default_rng(seed).integers(0, 2**16, 4 * LANES).astype(np.uint16)
    numbers[::5], numbers[1::7], numbers[2::9] = 8, 2**16 - 1, 0
    return numbers


def bits(held: list[bool]) -> int:
    return sum(1 << lane for lane, each in enumerate(held) if each)


@pytest.mark.parametrize("at", [0, 1, 32])
@pytest.mark.parametrize(("low", "count"), EDGES)
def test_every_lane_has_its_bit(at: int, low: int, count: int) -> None:
    numbers = numbers_of(low)
    held = [low <= int(number) < low + count for number in numbers[at : at + 2 * LANES]]
    assert int(lanes_of(numbers, at, low, count)) == bits(held[:LANES])
    assert int(both_of(numbers, at, low, count)) == bits(held)


@pytest.mark.parametrize(
    ("low", "count"), [(0, 0), (0, 1), (2**31 - 2, 1), (70_000, 5), (0, 2**31 - 1), (2**30, 2**20)]
)
def test_numbers_of_32_bits(low: int, count: int) -> None:
    numbers = np.random.default_rng(low % 97).integers(0, 2**31, 3 * LANES).astype(np.int32)
    numbers[::5], numbers[1::7], numbers[2::9], numbers[3::4] = low, -1, low + count - 1, 70_002
    held = [low <= int(number) < low + count for number in numbers[3 : 3 + LANES]]
    assert int(long_lanes_of(numbers, 3, low, count)) == bits(held)


@pytest.mark.parametrize("left", [1, 5, 8, 13, 15])
def test_numbers_in_one_of_several_pieces(left: int) -> None:
    rng = np.random.default_rng(left)
    for count in (0, 1, 4, 9):
        most = 1 << left
        firsts, more = rng.integers(0, 1 << 16 - left, count), rng.integers(0, min(most, 1 << 16 - left), count)
        more = np.minimum(more, (1 << 16 - left) - 1 - firsts)
        pieces = np.concatenate([[7], firsts << left | more, [3]]).astype(np.uint16)
        numbers = numbers_of(count)
        for first, some in zip(firsts.tolist(), more.tolist(), strict=True):
            numbers[rng.integers(0, len(numbers), 9)] = (first << left) + int(rng.integers(0, (some + 1) << left))
        spans = [(first << left, (first + some + 1) << left) for first, some in zip(firsts, more, strict=True)]
        held = [any(a <= n < b for a, b in spans) and n != 2**16 - 1 for n in numbers[2 : 2 + 2 * LANES].tolist()]
        assert int(lanes_in(numbers, 2, pieces, 1, count, left)) == bits(held[:LANES])
        assert int(both_in(numbers, 2, pieces, 1, count, left)) == bits(held)


@pytest.mark.parametrize("left", [1, 5, 8, 13, 15])
def test_the_pieces_around_one_number(left: int) -> None:
    rng, ranks = np.random.default_rng(left), 1 << 16 - left
    firsts = rng.integers(0, ranks, PIECES + 3)
    more = np.minimum(rng.integers(0, 1 << left, len(firsts)), ranks - 1 - firsts)
    pieces = (firsts << left | more).astype(np.uint16)
    edges = np.concatenate([firsts, firsts - 1, firsts + more, firsts + more + 1, [0, ranks - 1]])
    for number in edges[(edges >= 0) & (edges < ranks)].tolist():
        for at in (0, 1, 3):
            spans = zip(firsts[at:][:PIECES].tolist(), more[at:][:PIECES].tolist(), strict=True)
            held = bits([first <= number <= first + some for first, some in spans])
            assert int(around(pieces, at, number, left)) == held
            assert int(pieces_around(pieces, at, number, left)) == held
