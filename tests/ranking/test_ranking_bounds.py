"""No rule scores more than its bound: clauses that leave a unit, values that no constraint accepts, random rules."""

from __future__ import annotations

import random
from typing import Any

import pytest

import matchwood as mw
from matchwood.ranking import bounds
from tests.conftest import SOAK
from tests.ranking import absorbing

ROUNDS = 400 if SOAK else 3

OPTIONS: list[dict[str, Any]] = [
    {},
    {"form": "cnf"},
    {"form": "dnf"},
    {"direct": False},
    {"form": "cnf", "direct": False},
    {"form": "dnf", "direct": False, "compressed": True},
    {"as_published": True},
]

LEFT_THE_UNIT: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, float], float]] = [
    # The second clause is absorbed by the first, and c is tested by the third.
    (
        "(a = 1 or b = 1) and (a = 1 or b = 1 or c = 0) and (c = 4 or e = 1)",
        {"c": 50},
        {"a": 1, "c": 0, "e": 1},
        {},
        52.0,
    ),
    # The second clause is always true, and c is tested by the first.
    ("(e != 2 or c = 4) and (d is null or d != 5 or c = 0 or d != 1)", {"c": 20}, {"c": 0, "d": 6, "e": 0}, {}, 20.0),
    # What the event weighs counts, too.
    (
        "(c = 4 or e = 0) and (f = 1 or g = 1) and (d is null or d != 5 or d != 1 or c = 0)",
        {},
        {"c": 0, "d": 6, "e": 0, "f": 1},
        {"c": 19.0, "f": 0.5, "e": 0.5},
        20.0,
    ),
    # d alone leads to the always true clause, and d = 2 to the other one.
    (
        "(d in (2, 1, 5) or c != 3 or d is null or d != 2) and (f in (1, 4) or d = 2)",
        {"d": 30},
        {"d": 1, "f": 1},
        {},
        31.0,
    ),
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(("rule", "weights", "event", "by_event", "score"), LEFT_THE_UNIT)
def test_a_clause_that_left_the_unit_still_scores(
    options: dict[str, Any], rule: str, weights: Any, event: dict[str, Any], by_event: dict[str, float], score: float
) -> None:
    """The rule beside is found first, and promises more than all that the unit itself tests."""
    index = mw.Index("kindex", options=options)
    beside = [(f"beside {name}", f"{name} is not null", {"weight": 15.0}) for name in event]
    index.insert_many([("wanted", rule, {"weights": weights}), *beside])
    assert index.top(event, 1, by_event or None) == [("wanted", score)]
    assert index.audit() == []


@pytest.mark.parametrize("direct", [True, False])
def test_an_audit_finds_bounds_that_are_too_low(direct: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once as they were before values outside of all constraints counted, and once damaged."""
    index = mw.Index("kindex", options={"direct": direct})
    rule, weights, *_ = LEFT_THE_UNIT[0]
    with monkeypatch.context() as before:
        before.setattr(bounds, "_outside", lambda _: {})
        index.insert_many([("wanted", rule, {"weights": weights}), ("beside", "a = 1 and b = 2")])
    (told,) = index.audit()
    assert "rule 'wanted' scores" in told
    index = mw.Index("kindex", options={"direct": direct})
    index.insert_many([(1, "a = 1 and b > 2"), (2, "a = 1", {"weight": 3.0}), (3, "b in (1, 7)")])
    assert index.audit() == []
    index._matcher.parts[0].bounds._constants.writable()[:] = 0.0  # type: ignore[attr-defined]
    (told,) = index.audit()
    assert told == "rule 2 scores 3 more than its bound"


@pytest.mark.long(1)
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_random_rules_that_absorb_their_own_parts(seed: int) -> None:
    """One index of each kind through insertions, replacements and deletions, against the oracle."""
    rng = random.Random(f"absorbing/{seed}")
    rules = [(number, absorbing.rule(rng), absorbing.weights(rng)) for number in range(60)]
    every = [mw.Index("oracle"), *(mw.Index("kindex", options=options) for options in OPTIONS)]
    for index in every:
        assert index.insert_many(rules[:40], on_error="raise").inserted == 40
        index.insert_many(rules[40:], on_error="raise")
    for number in rng.sample(range(60), 12):
        again = (number, absorbing.rule(rng), absorbing.weights(rng))
        for index in every:
            del index[number]
            index.insert_many([again] if number % 3 else [], on_error="raise")
    for _ in range(20):
        event, n, weights = absorbing.event(rng), rng.choice([1, 2, 4, 50]), absorbing.event_weights(rng)
        wanted = every[0].top(event, n, weights)
        for index, options in zip(every[1:], OPTIONS, strict=True):
            assert index.top(event, n, weights) == wanted, (options, event, n, weights)
    assert [index.audit() for index in every] == [[] for _ in every]


def test_random_rules_would_find_bounds_that_are_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "_outside", lambda _: {})
    rng, index = random.Random("absorbing"), mw.Index("kindex", options={"form": "cnf"})
    index.insert_many([(number, absorbing.rule(rng), absorbing.weights(rng)) for number in range(300)])
    assert index.audit() != []
