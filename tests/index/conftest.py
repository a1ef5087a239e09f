"""Tests that ask for `engine` run once for each way to match."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["oracle", "scan", "counting", "atree"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)
