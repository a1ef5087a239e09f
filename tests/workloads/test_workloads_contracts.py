"""Contracts: Table 1 of VLDB 2009 comes out, and rules match as often as in the paper."""

from __future__ import annotations

import numpy as np
import pytest

from matchwood.errors import InvalidArgument
from matchwood.language import parse
from matchwood.workloads.contracts import contracts
from matchwood.workloads.shared.base import WEAK_NOT_IN, Workload
from matchwood.workloads.shared.brute import hits


def parts(work: Workload) -> tuple[float, float]:
    """Conjunctions or disjunctions a rule, and predicates of each."""
    assert work.trees is not None
    inner = int(work.trees.levels[2] - work.trees.levels[1])
    return inner / work.rules.count, float(np.diff(work.trees.offsets)[:inner].mean())


@pytest.mark.parametrize(("exponent", "size"), [(3.0, 1.6), (2.5, 2.3), (2.0, 3.5)])
def test_table_1_in_dnf(exponent: float, size: float) -> None:
    work = contracts(rules=20_000, events=100, exponent=exponent, seed=1)
    conjunctions, predicates = parts(work)
    assert conjunctions == pytest.approx(size, rel=0.05)
    assert predicates == pytest.approx(3.65, rel=0.03)
    said = work.describe()
    assert said["dimensions"] == 1_461
    assert said["pairs_per_event"] == pytest.approx(91, rel=0.03)
    month_free = work.rules.attributes != 0
    assert np.mean(work.rules.operators[month_free] == WEAK_NOT_IN) == pytest.approx(0.1, abs=0.01)


def test_disjunctions_have_the_month_apart() -> None:
    work = contracts(rules=20_000, events=5, form="cnf", months=3, seed=1)
    _, predicates = parts(work)
    assert predicates == pytest.approx(2.65, rel=0.05)
    assert all(text.endswith("(a0 = 1)") or "(a0 = " in text for text in work.rules_text()[:200])


@pytest.mark.parametrize(("months", "form", "share"), [(1, "dnf", 0.1191), (4, "dnf", 0.1191 / 4), (7, "cnf", 0.0516)])
def test_rules_match_as_often_as_in_the_paper(months: int, form: str, share: float) -> None:
    work = contracts(rules=20_000, events=60, months=months, form=form, seed=2)
    found = hits(work, range(work.events.count))
    assert np.mean([len(each) for each in found]) / 20_000 == pytest.approx(share, rel=0.15)


def test_texts_are_those_of_the_columns_and_events_differ() -> None:
    work = contracts(rules=50, events=30, dimensions=120, event_size=20, seed=3)
    assert all(str(parse(text)) for text in work.rules_text())
    assert any("is not true" in text for text in work.rules_text())
    assert len({tuple(sorted(event.items())) for event in work.events_dicts()}) == work.events.count
    assert contracts(rules=50, events=30, dimensions=120, event_size=20, seed=3).rules_text() == work.rules_text()


@pytest.mark.parametrize(
    "settings", [{"form": "xnf"}, {"months": 13}, {"rules": 0}, {"event_size": 2_000}, {"matching": 1.0}]
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        contracts(**settings)
