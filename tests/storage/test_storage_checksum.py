"""The checksum is XXH64: published values, and a second implementation in Python's own integers."""

from __future__ import annotations

import numpy as np
import pytest

from matchwood.storage.checksum import checksum

PRIMES = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
ONES = 2**64 - 1


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "ef46db3751d8e999"),
        (b"a", "d24ec4f1a98c6e5b"),
        (b"abc", "44bc2cf5ad770999"),
        (b"Nobody inspects the spammish repetition", "fbcea83c8a378bf1"),
    ],
)
def test_published_values(data: bytes, expected: str) -> None:
    assert checksum(data) == expected


def test_every_length_agrees_with_plain_integers() -> None:
    data = np.random.default_rng(3).integers(0, 256, 200, dtype=np.uint8).tobytes()
    for length in range(len(data)):
        assert checksum(data[:length]) == f"{plain_xxh64(data[:length]):016x}", length


def test_arrays_are_hashed_in_c_order_whatever_their_layout() -> None:
    table = np.arange(12, dtype=np.int32).reshape(3, 4)
    assert checksum(np.asfortranarray(table)) == checksum(table) == checksum(table.tobytes())
    assert checksum(table[:, ::2]) == checksum(table[:, ::2].tobytes())


def test_every_single_bit_counts() -> None:
    data = bytearray(range(77))
    seen = {checksum(bytes(data))}
    for bit in range(len(data) * 8):
        data[bit // 8] ^= 1 << bit % 8
        seen.add(checksum(bytes(data)))
        data[bit // 8] ^= 1 << bit % 8
    assert len(seen) == 1 + len(data) * 8


def plain_xxh64(data: bytes) -> int:
    one, two, three, four, five = PRIMES
    stripes = len(data) // 32 * 32
    total = five
    if stripes:
        lanes = [(one + two) & ONES, two, 0, -one & ONES]
        for start in range(0, stripes, 8):
            word = int.from_bytes(data[start : start + 8], "little")
            lanes[start // 8 % 4] = step(lanes[start // 8 % 4], word)
        total = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & ONES
        for lane in lanes:
            total = ((total ^ step(0, lane)) * one + four) & ONES
    total = (total + len(data)) & ONES
    rest = data[stripes:]
    while len(rest) >= 8:
        total = (rotate(total ^ step(0, int.from_bytes(rest[:8], "little")), 27) * one + four) & ONES
        rest = rest[8:]
    if len(rest) >= 4:
        total = (rotate(total ^ int.from_bytes(rest[:4], "little") * one & ONES, 23) * two + three) & ONES
        rest = rest[4:]
    for octet in rest:
        total = rotate(total ^ octet * five & ONES, 11) * one & ONES
    total = (total ^ total >> 33) * two & ONES
    total = (total ^ total >> 29) * three & ONES
    return total ^ total >> 32


def step(lane: int, word: int) -> int:
    return rotate((lane + word * PRIMES[1]) & ONES, 31) * PRIMES[0] & ONES


def rotate(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & ONES
