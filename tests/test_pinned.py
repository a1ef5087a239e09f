"""Arrays that kernels find by where they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from matchwood.core import Pinned
from matchwood.core.jit import kernel
from matchwood.core.pinned import readable, writable


@kernel
def moved(table: Any) -> Any:
    """Add the first array to the second, and tell how long the third is."""
    added, total = readable(table, 0, np.int32), writable(table, 1, np.int64)
    for place in range(len(added)):
        total[place] += added[place]
    return len(readable(table, 2, np.uint8))


@pytest.mark.parametrize("length", [0, 1, 5])
def test_a_kernel_reads_and_writes_arrays_where_they_lie(length: int) -> None:
    added, total = np.arange(length, dtype=np.int32), np.full(length, 10, np.int64)
    added.flags.writeable = False
    pinned = Pinned((added, total, np.zeros(3 * length, np.uint8)))
    assert moved(pinned.table) == 3 * length
    assert moved(pinned.table) == 3 * length
    assert total.tolist() == [10 + 2 * place for place in range(length)]


def test_pinned_arrays_live_as_long_as_what_pins_them() -> None:
    totals = [np.zeros(1_000, np.int64) for _ in range(20)]
    nothing = np.zeros(0, np.uint8)
    pins = [Pinned((np.full(1_000, number, np.int32), total, nothing)) for number, total in enumerate(totals)]
    for pinned in pins:
        moved(pinned.table)
    assert [int(total.sum()) for total in totals] == [1_000 * number for number in range(20)]
