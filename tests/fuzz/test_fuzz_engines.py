"""Random lives of indexes, on every option of every engine, against a judge that shares nothing with them."""

from __future__ import annotations

from typing import Any

import pytest

import matchwood as mw
from tests.conftest import SOAK
from tests.fuzz.campaign import Campaign
from tests.fuzz.options import ENGINES, tried
from tests.fuzz.running import Failure
from tests.fuzz.shrinking import shrunk

SEED = 16
WORLDS = 4
"""Of the small form; each is run on two configurations of each engine."""
CASES = 1_000_000
"""Of the long form: pairs of a rule and an event on one configuration, and calls of `top`, `find` and `lint`."""


def told(campaign: Campaign) -> str:
    """The first failures of a campaign, made small."""
    shown = [
        f"# seed {campaign.seed}, case {case}\n{shrunk(failure).snippet()}" for case, failure in campaign.failures[:3]
    ]
    return "\n\n".join(["", *shown])


@pytest.mark.parametrize("engine", ENGINES)
def test_every_option_in_small(engine: str) -> None:
    campaign = Campaign(SEED, [engine], each=2)
    campaign.run_worlds(range(WORLDS))
    assert not campaign.failures, told(campaign)
    assert campaign.cases[engine] > 1_000
    if engine not in ("oracle", "auto"):
        covered = {pair[0] for pair in campaign.covered[engine] if isinstance(pair[0], str)}
        assert covered == set(tried(engine))


@pytest.mark.skipif(not SOAK, reason="a million cases: make soak")
def test_a_million_cases() -> None:
    campaign = Campaign("soak", ENGINES, each=2)
    campaign.run(CASES)
    assert not campaign.failures, told(campaign)
    assert campaign.cases.total() >= CASES


def test_a_case_has_the_same_configurations_wherever_one_begins() -> None:
    whole, late = (Campaign(SEED, ["betree", "oracle"], each=3) for _ in range(2))
    assert [whole._configurations(number) for number in range(4)][3] == late._configurations(3)


# ------------------------------------------------------------ the fuzz can fail


def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that forgets its last hit when there are two."""
    match = mw.Index.match

    def forget(self: mw.Index, event: Any) -> list[Any]:
        found = match(self, event)
        return found[:-1] if len(found) > 1 else found

    monkeypatch.setattr(mw.Index, "match", forget)


def test_a_wrong_answer_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    _forgetful(monkeypatch)
    small = shrunk(_first_failure())
    assert small.setup.options == {}
    rules = [rule for step in small.program.world.steps for rule in getattr(step, "rules", ())]
    assert len(rules) == 2
    snippet = small.snippet()
    with pytest.raises(AssertionError):
        exec(snippet, {})
    monkeypatch.undo()
    exec(snippet, {})


def _first_failure() -> Failure:
    campaign = Campaign(SEED, ["scan"])
    campaign.run(100_000, most_failures=1)
    return campaign.failures[0][1]
