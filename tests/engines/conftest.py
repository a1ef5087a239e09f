"""Settings of the engines' tests."""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np
import pytest


@pytest.fixture(scope="session", autouse=True)
def _wrapping_integers() -> Iterator[None]:
    """Kernels let integers wrap around; without compilation NumPy would warn of it."""
    with np.errstate(over="ignore" if numba.config.DISABLE_JIT else "warn"):
        yield
