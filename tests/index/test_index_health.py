"""`index.stats()["health"]`: what keeps an index from being fast, and what its events are like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import matchwood as mw
from matchwood.engines import engine_names
from matchwood.insight.health import report as health_report

RULES = {
    1: "age >= 18 and country in ('US', 'CA')",
    2: "age  >=  18",
    3: "x = 1 or y = 2",
    4: "a = 1 or b = 1 or c = 1",
    5: "z is null",
    6: "true",
    7: "tags one of ('a', 'b') and age >= 18",
    8: "(u is null or u > 5) and w is null",
}
OVER_CONJUNCTIONS = engine_names("conjunctions")


def health(index: mw.Index) -> dict[str, Any]:
    found: dict[str, Any] = index.stats()["health"]
    return found


def filled(engine: str) -> mw.Index:
    index = mw.Index(engine, dnf_limit=2)
    index.insert_many(RULES)
    return index


@pytest.mark.parametrize("engine", OVER_CONJUNCTIONS)
def test_rules_that_every_event_looks_at_and_rules_of_the_fall_back(engine: str) -> None:
    index = filled(engine)
    found = health(index)
    assert (found["always"]["rules"], found["always"]["ids"]) == (3, [5, 6, 8])
    assert found["always"]["why"] == {"true of every event": 1, "NULL satisfies each of their predicates": 2}
    told = {"rules": 1, "ids": [4], "why": {"more than 2 conjunctions (dnf_limit)": 1}}
    none = {"rules": 0, "ids": [], "why": {}}
    assert found["fallback"] == (none if engine == "kindex" else told)
    for rule_id in (4, 5, 6, 8):
        del index[rule_id]
    assert (health(index)["always"], health(index)["fallback"]) == (none, none)


@pytest.mark.parametrize("engine", [*OVER_CONJUNCTIONS, "auto"])
def test_hot_predicates_are_told_in_words(engine: str) -> None:
    index = filled(engine)
    first, *others = health(index)["hot_predicates"]
    assert first == {"predicate": "age >= 18", "units": 3}
    assert {"predicate": "country in ('CA', 'US')", "units": 1} in others
    assert {"predicate": "z is null", "units": 1} in others
    index.match_many([{"age": 10 + number, "country": "US", "x": number % 2} for number in range(16)])
    found = {each["predicate"]: each["share"] for each in health(index)["hot_predicates"]}
    assert (found["age >= 18"], found["country in ('CA', 'US')"], found["x = 1"]) == (0.5, 1.0, 0.5)
    assert found["z is null"] == 1.0
    assert "y = 2" not in found


@pytest.mark.parametrize("engine", [*engine_names(), "auto"])
def test_hits_by_rule_are_those_of_the_sample(engine: str) -> None:
    index = filled(engine)
    assert health(index)["hits"] == {"events": 0, "rules_hit": 0, "top": []}
    asked: list[dict[str, Any]] = [{"age": 10 + number, "country": "US", "b": number % 4} for number in range(16)]
    before = index.match_many(asked)
    work = index.stats()["matching"]
    found = health(index)["hits"]
    assert (found["events"], found["rules_hit"]) == (16, 6)
    shares = {each["rule"]: each["share"] for each in found["top"]}
    assert shares == {5: 1.0, 6: 1.0, 8: 1.0, 1: 0.5, 2: 0.5, 4: 0.25}
    assert [each["share"] for each in found["top"]] == sorted(shares.values(), reverse=True)
    assert index.stats()["matching"] == work
    assert index.match_many(asked).equals(before)


def test_skew_names_attributes_and_weighs_hits() -> None:
    index = filled("counting")
    for number in range(100, 300):
        index[number] = f"rare = {number}"
    index.match_many([{"age": 30, "rare": 100 + number} for number in range(10)])
    found = health(index)["skew"]
    assert found["attributes"][0] == {"attribute": "rare", "share": round(200 / 208, 4)}
    assert {"attribute": "age", "share": round(3 / 208, 4)} in found["attributes"]
    # Three rules of 208 are one in a hundred: 5, 6 and 8 have 30 of 50 hits, 2 has 10, and ten others one each.
    assert found["top_percent_of_hits"] == round(30 / 50, 4)


def test_of_many_units_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_report, "MOST_UNITS", 50)
    index = mw.Index("counting")
    index.insert_many({number: f"kind = 1 and number = {number}" for number in range(1_000)})
    assert health(index)["hot_predicates"][0] == {"predicate": "kind = 1", "units": 1_000}
    assert health(index)["skew"]["attributes"][0] == {"attribute": "kind", "share": 1.0}


def test_the_sample_is_bounded_and_begins_anew_when_codes_change() -> None:
    index = filled("counting")
    for start in range(0, 3_000, 500):
        index.match_many([{"age": start + number} for number in range(500)])
    assert 0 < health(index)["hits"]["events"] <= 1_280
    index.compact()
    assert health(index)["hits"]["events"] == 0


def test_an_opened_index_tells_the_same(tmp_path: Path) -> None:
    index = filled("pstbloom")
    index.save(tmp_path / "index")
    assert health(mw.open(tmp_path / "index", read_only=True)) == health(index)
