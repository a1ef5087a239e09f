"""BEGen: the matching probability that was asked for, and the shapes of Tables II to IV."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from matchwood.errors import InvalidArgument
from matchwood.workloads.begen import begen
from matchwood.workloads.shared.base import BETWEEN, EQUAL, IN, NOT_IN, OPERATORS, WEAK_NOT_IN, Rules
from matchwood.workloads.shared.brute import hits, matched
from matchwood.workloads.widen import widened

RULES = 20_000


@pytest.mark.parametrize(
    "settings",
    [
        {"matching": 0.01},
        {"matching": 0.5},
        {"matching": 0.3, "distribution": "zipf"},
        {"matching": 0.01, "distribution": "zipf", "expressiveness": "high"},
        {"matching": 0.001, "distribution": "zipf"},
        {"matching": 0.0001},
        {"matching": 0.0001, "distribution": "zipf", "expressiveness": "low"},
        {"matching": 0.01, "expressiveness": "minimum"},
        {"matching": 0.01, "dimensions": 50, "cardinality": 1_000},
    ],
    ids=lambda settings: " ".join(f"{value}" for value in settings.values()),
)
def test_the_measured_matching_probability_is_the_wanted_one(settings: dict[str, Any]) -> None:
    work = begen(rules=RULES, events=100, seed=11, **settings)
    measured = np.mean([len(found) for found in hits(work, range(100))]) / RULES
    assert measured == pytest.approx(settings["matching"], rel=0.3)


def test_the_papers_defaults() -> None:
    work = begen(rules=RULES, events=500)
    said = work.describe()
    assert said["dimensions"] == 400
    assert said["predicates_per_rule"] == pytest.approx(7, rel=0.03)
    assert said["pairs_per_event"] == pytest.approx(15, rel=0.03)
    assert np.mean(work.rules.operators == EQUAL) == pytest.approx(0.3, abs=0.01)
    assert work.events.values.min() == 1
    assert work.events.values.max() == 48
    assert len(set(work.rules_text())) > 0.999 * RULES
    widths = between_widths(work.rules)
    assert np.mean(widths) / 48 == pytest.approx(0.12, rel=0.1)


def between_widths(rules: Rules) -> np.ndarray:
    starts = rules.constant_offsets[:-1][rules.operators == BETWEEN]
    return rules.constants[starts + 1] - rules.constants[starts] + 1


LEVELS = {
    "minimum": {"="},
    "low": {"=", "in"},
    "medium": {"<", "<=", "=", ">=", ">", "in", "between"},
    "high": {"<", "<=", "=", "!=", ">=", ">", "in", "not in", "between"},
}


@pytest.mark.parametrize("level", LEVELS)
def test_levels_of_expressiveness(level: str) -> None:
    rules = begen(rules=2_000, events=1, expressiveness=level).rules
    assert {OPERATORS[code] for code in np.unique(rules.operators)} == LEVELS[level]


def test_zipf_has_popular_attributes() -> None:
    shares = {}
    for distribution in ("uniform", "zipf"):
        uses = np.bincount(begen(rules=5_000, events=1, distribution=distribution).rules.attributes, minlength=400)
        shares[distribution] = np.sort(uses)[-5:].sum() / uses.sum()
    assert shares["uniform"] < 0.1
    assert shares["zipf"] > 0.3


def test_events_hit_through_their_base_whatever_the_noise() -> None:
    """With half of the rules from each base, every event matches nearly half, none matches all."""
    work = begen(rules=2_000, events=60, matching=0.5)
    counts = [len(found) for found in hits(work, range(60))]
    assert min(counts) >= 990
    assert max(counts) <= 1_020


def test_fewer_hits_than_one_an_event() -> None:
    work = begen(rules=500, events=2_000, matching=0.0005)
    counts = np.array([len(found) for found in hits(work, range(2_000))])
    assert counts.mean() / 500 == pytest.approx(0.0005, rel=0.3)
    assert (counts == 0).mean() > 0.5


def test_every_widened_predicate_holds_for_its_value() -> None:
    random = np.random.default_rng(2)
    operators = np.repeat(np.arange(WEAK_NOT_IN, dtype=np.int8), 600)  # only contracts have what comes after
    cardinality = random.choice([2, 3, 7, 48, 1_000], len(operators))
    values = np.where(random.random(len(operators)) < 0.3, cardinality, random.integers(1, cardinality + 1))
    offsets, constants = widened(random, operators, values, cardinality, 0.12)
    numbers = np.arange(len(operators))
    rules = Rules(np.arange(len(operators) + 1), numbers.astype(np.int32), operators, offsets, constants)
    assert matched(rules, values, np.ones(len(values), dtype=bool)).all()
    assert constants.min() >= 0
    assert (constants <= np.repeat(cardinality, np.diff(offsets)) + 1).all()
    for code, shortest in ((IN, 2), (NOT_IN, 1)):
        chosen = operators == code
        lengths = np.diff(offsets)[chosen]
        assert lengths.min() == shortest
        assert lengths.max() == 6
        for number in np.flatnonzero(chosen):
            elements = constants[offsets[number] : offsets[number + 1]]
            assert (np.diff(elements) > 0).all()
            assert (values[number] in elements) == (code == IN)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"matching": 0}, "matching must be"),
        ({"matching": 1.5}, "matching must be"),
        ({"distribution": "normal"}, "uniform, zipf"),
        ({"expressiveness": "most"}, "minimum, low, medium, high"),
        ({"expressiveness": "minimum", "equality": 0.5}, "only equalities"),
        ({"rule_size": 14}, "rule_size must be from 1 to event_size - 2"),
        ({"dimensions": 15}, "dimensions must be"),
        ({"cardinality": 1}, "cardinality must be"),
        ({"rules": 0}, "at least 1"),
        ({"range_width": 0.0}, "range_width"),
        ({"equality": 1.1}, "equality"),
        ({"matching": 1e-5, "dimensions": 20, "cardinality": 3, "rules": 2_000}, "accidents"),
        (
            {"matching": 0.001, "rule_size": 5, "event_size": 7, "distribution": "zipf", "rules": 50_000, "seed": 7},
            "accidents",
        ),
        ({"matching": 1.0, "dimensions": 20, "cardinality": 2, "events": 5_000, "rules": 10}, "different events"),
    ],
)
def test_settings_that_cannot_be_met(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        begen(**{"rules": 100, "events": 10, **settings})
