"""What `auto` alone takes keeps the contract as well: `grouped`, called by its name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import matchwood as mw
from matchwood.engines import GROUPED, Grouped, registered
from matchwood.errors import InvalidArgument
from tests.contract.test_contract_basics import *  # noqa: F403 - their tests run here with the engine below
from tests.contract.test_contract_planted import *  # noqa: F403
from tests.contract.test_contract_random import *  # noqa: F403
from tests.contract.test_contract_snapshots import *  # noqa: F403


@pytest.fixture
def engine() -> Iterator[str]:
    with registered(Grouped):
        yield GROUPED


def test_nobody_asks_for_it_by_its_name() -> None:
    with pytest.raises(InvalidArgument, match="no engine 'grouped'"):
        mw.Index(GROUPED)
