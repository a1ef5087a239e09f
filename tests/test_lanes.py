"""One test of many numbers at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from matchwood.core.jit import kernel
from matchwood.core.lanes import LANES, lanes_within


@kernel
def lanes_of(codes: Any, at: int, low: int, count: int) -> Any:
    return lanes_within(codes, at, np.uint64(low), np.uint64(count))


@pytest.mark.parametrize("at", [0, 1, 32])
@pytest.mark.parametrize(("low", "count"), [(0, 0), (0, 1), (7, 5), (65_000, 536), (0, 65_535), (65_535, 1)])
def test_every_lane_has_its_bit(at: int, low: int, count: int) -> None:
    codes = np.random.default_rng(low).integers(0, 2**16, 3 * LANES).astype(np.uint16)
    codes[::5], codes[1::7], codes[2::9] = 8, 2**16 - 1, 0
    wanted = sum(1 << lane for lane in range(LANES) if low <= int(codes[at + lane]) < low + count)
    assert int(lanes_of(codes, at, low, count)) == wanted
