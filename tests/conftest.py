"""Settings that all tests share."""

from __future__ import annotations

import gc
import os

import numba
import pytest
from hypothesis import HealthCheck, settings

from tests import forms, thinning

SOAK = os.environ.get("MATCHWOOD_SOAK") == "1"
"""`make soak` sets it: the longest forms of tests that have a short one for every day."""
FORM = forms.asked()
"""Which tests there are: all but those marked `long`, those alone (`make test-long`), or both (`make soak`)."""

# Kernels compile on first use, so the first example of a property may take seconds.
settings.register_profile(
    "matchwood",
    deadline=None,
    derandomize=not SOAK,
    max_examples=1_000 if SOAK else 50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("matchwood")


def examples(most: int) -> settings:
    """For a property that has its own number of examples: that many in the long form, a third in the short one."""
    return settings(max_examples=most if SOAK else most // 3)


# What is tested is compiled code: whether a small index finds it loaded must not depend on a thread beside.
os.environ.setdefault("MATCHWOOD_INTERPRET", "0")

# No test cuts the power, and what a killed process has written others read: of saving small indexes in the tests,
# waiting for the disk took more than half of the time.
if not SOAK:
    os.fsync = lambda descriptor: None

# Deep trees and thousands of tests make many objects: looking for cycles as often as usual took a fifth of the time.
gc.set_threshold(50_000, 20, 10)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{thinning.MARK}: of a product of parameters a part, all with MATCHWOOD_SOAK=1")
    config.addinivalue_line("markers", f"{forms.MARK}: not in `make test` but in `make test-long` and `make soak`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Products are thinned, long tests left out. Kernels let integers wrap around; interpreted, NumPy warns of it."""
    spared = [] if SOAK else thinning.thin(items)
    spared += forms.leave_out(items, FORM)
    if spared:
        config.hook.pytest_deselected(items=spared)
    if numba.config.DISABLE_JIT:
        for item in items:
            item.add_marker(pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"))
