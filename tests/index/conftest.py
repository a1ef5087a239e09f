"""Tests that ask for `engine` run once for each way to match."""

from __future__ import annotations

import pytest

ENGINES = ("oracle", "scan", "counting", "atree")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)
