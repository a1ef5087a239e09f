"""Settings of the tests of A-Trees."""

from __future__ import annotations

from pathlib import Path

import numba
import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Kernels let integers wrap around; without compilation NumPy warns of it."""
    if numba.config.DISABLE_JIT:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"))
