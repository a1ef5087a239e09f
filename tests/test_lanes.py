"""One test of many numbers at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from matchwood.core.jit import kernel
from matchwood.core.lanes import LANES, lanes_masked, lanes_within


@kernel
def lanes_of(codes: Any, at: int, low: int, count: int) -> Any:
    return lanes_within(codes, at, np.uint64(low), np.uint64(count))


@kernel
def masked_lanes_of(codes: Any, at: int, low: int, count: int, shift: int, bits: Any) -> Any:
    return lanes_masked(codes, at, np.uint64(low), np.uint64(count), np.uint64(shift), bits)


@pytest.mark.parametrize("at", [0, 1, 32])
@pytest.mark.parametrize(("low", "count"), [(0, 0), (0, 1), (7, 5), (65_000, 536), (0, 65_535), (65_535, 1)])
def test_every_lane_has_its_bit(at: int, low: int, count: int) -> None:
    codes = np.random.default_rng(low).integers(0, 2**16, 3 * LANES).astype(np.uint16)
    codes[::5], codes[1::7], codes[2::9] = 8, 2**16 - 1, 0
    wanted = sum(1 << lane for lane in range(LANES) if low <= int(codes[at + lane]) < low + count)
    assert int(lanes_of(codes, at, low, count)) == wanted


@pytest.mark.parametrize("bits", [0, 1, 2**63, 2**32, 2**31, 0x5555_0F0F_8001_00FF, 2**64 - 1])
@pytest.mark.parametrize(("low", "shift"), [(0, 0), (7, 0), (65_000, 3), (100, 8), (2_000, 10), (0, 12), (40_000, 16)])
def test_every_lane_has_the_bit_of_its_step(low: int, shift: int, bits: int) -> None:
    codes = np.random.default_rng(bits % 97).integers(0, 2**16, 2 * LANES).astype(np.uint16)
    codes[::3] = low + np.arange(len(codes[::3])) * 2 & 0xFFFF
    codes[1::7], codes[2::9] = 2**16 - 1, 0
    count = min(64 << shift, 2**16 - 1 - low)
    wanted = 0
    for lane in range(LANES):
        step = int(codes[3 + lane]) - low
        wanted |= (0 <= step < count and bits >> (step >> shift) & 1) << lane
    assert int(masked_lanes_of(codes, 3, low, count, shift, np.uint64(bits))) == wanted
