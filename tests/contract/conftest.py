"""Every test of the contract that asks for `engine` runs once for each registered engine."""

from __future__ import annotations

import pytest

from tests.contract.engines import ENGINES


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)
