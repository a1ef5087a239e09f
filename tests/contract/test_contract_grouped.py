"""What `auto` alone takes keeps the contract as well: `grouped`, called by its name."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import matchwood as mw
from matchwood.engines import GROUPED, Grouped, registered
from matchwood.errors import InvalidArgument
from tests.contract.test_contract_basics import *  # noqa: F403 - their tests run here with the engine below
from tests.contract.test_contract_planted import COMPILED, STEPS, test_without_a_bug_none_is_found  # noqa: F401
from tests.contract.test_contract_random import *  # noqa: F403
from tests.contract.test_contract_snapshots import *  # noqa: F403
from tests.contract.twin import Twin, script


@pytest.fixture
def engine() -> Iterator[str]:
    with registered(Grouped):
        yield GROUPED


@pytest.fixture
def engines(engine: str) -> list[str]:
    return [engine]


def test_nobody_asks_for_it_by_its_name() -> None:
    with pytest.raises(InvalidArgument, match="no engine 'grouped'"):
        mw.Index(GROUPED)


@pytest.mark.parametrize("bug", COMPILED)
def test_a_planted_bug_is_found(engine: str, bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    COMPILED[bug](monkeypatch, Grouped)
    with pytest.raises(AssertionError):
        script(Twin(engine), random.Random("planted"), STEPS)
