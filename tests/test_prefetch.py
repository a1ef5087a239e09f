"""Memory that is asked for ahead of its use: an instruction that changes nothing."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

from matchwood.core.jit import kernel
from matchwood.core.prefetch import prefetch


@kernel
def total(array: Any, indices: Any, ahead: int) -> int:
    found = 0
    for place in range(len(indices)):
        prefetch(array, indices[place] + ahead)
        found += array[indices[place]]
    return found


@pytest.mark.parametrize("ahead", [0, 5, -1, 10**9, -(10**9)])
def test_any_index_may_be_asked_for(ahead: int) -> None:
    array, indices = np.arange(1000, dtype=np.int32), np.array([3, 999, 0, 500])
    assert total(array, indices, ahead) == 1502


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_the_processor_is_really_asked() -> None:
    fresh = numba.njit(total.py_func)  # type: ignore[attr-defined]  # what comes from the cache cannot be read
    fresh(np.arange(10, dtype=np.int32), np.arange(10), 1)
    assert "llvm.prefetch" in next(iter(fresh.inspect_llvm().values()))
