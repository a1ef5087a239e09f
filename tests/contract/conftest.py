"""Every test of the contract that asks for `engine` runs once for each engine; `auto` changes engines all the time."""

from __future__ import annotations

import pytest

from tests.contract.engines import ENGINES
from tests.contract.restless import make_restless


@pytest.fixture
def engines() -> list[str]:
    """For tests that hold all engines against the same answers of the oracle."""
    return ENGINES


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "auto":
        make_restless(monkeypatch)
    return str(request.param)
