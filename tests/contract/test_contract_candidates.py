"""The work, not only the answer: an index that stops filtering fails here."""

from __future__ import annotations

from typing import Any

import pytest

import matchwood
from tests.conftest import SOAK
from tests.contract.engines import CLAUSES, EXHAUSTIVE, WHOLE

RULES = 1_000 if SOAK else 200

SMALL_LEAVES = {"max_cap": 5}
"""By default a leaf of a BE-Tree is not cut below some hundreds of rules."""


def filtering(engine: str) -> matchwood.Index:
    """An empty index that tells a few hundred rules apart."""
    return matchwood.Index(engine=engine, options=SMALL_LEAVES if engine == "betree" else None)


def work_of(index: matchwood.Index, events: list[dict[str, Any]]) -> dict[str, int]:
    """What matching these events added to the counters."""
    before = index.stats()["matching"]
    index.match_many(events)
    return {name: count - before[name] for name, count in index.stats()["matching"].items()}


@pytest.mark.parametrize(
    ("rule", "event"),
    [
        ("k = {0}", {"k": 5}),
        ("k = {0} and j = {0}", {"k": 5, "j": 5}),
        ("k in ({0}, {0}.5) and j is null", {"k": 5}),
        ("k between {0} and {0}.25", {"k": 5.2}),
        ("name = 'n{0}'", {"name": "n5"}),
        ("name like 'n{0}x%'", {"name": "n5xyz"}),
        ("tags one of ('t{0}')", {"tags": ["t5", "other"]}),
    ],
)
def test_candidates_are_few(engine: str, rule: str, event: dict[str, Any]) -> None:
    index = filtering(engine)
    index.insert_many([(number, rule.format(number)) for number in range(RULES)])
    work = work_of(index, [event] * 3)
    assert (work["events"], work["matched"]) == (3, 3)
    assert max(work["matched"], work["verified"]) <= work["candidates"]
    if engine in EXHAUSTIVE:
        assert work["candidates"] == 3 * RULES
    else:
        assert work["candidates"] <= 3 * 10


def test_an_event_without_the_rules_attributes_has_no_candidates(engine: str) -> None:
    index = filtering(engine)
    index.insert_many([(number, f"k > {number}") for number in range(RULES)])
    work = work_of(index, [{}, {"other": 1}])
    assert work["matched"] == 0
    assert work["candidates"] == (2 * RULES if engine in EXHAUSTIVE else 0)


def test_identical_rules_are_looked_at_once(engine: str) -> None:
    index = matchwood.Index(engine=engine)
    index.insert_many([(number, "k = 1 and j = 2" if number % 2 else "j=2 AND k=1") for number in range(RULES)])
    assert len(index.match({"k": 1, "j": 2})) == RULES
    stats = index.stats()
    if engine != "oracle":
        assert stats["units"] == 1
        assert work_of(index, [{"k": 1, "j": 2}])["candidates"] == 1


def test_rules_over_the_limit_are_counted(engine: str) -> None:
    index = matchwood.Index(engine=engine, dnf_limit=4)
    index["small"] = "(a = 1 or b = 1) and (c = 1 or d = 1)"
    index["large"] = "(a = 1 or b = 1) and (c = 1 or d = 1) and (e = 1 or f = 1)"
    assert index.stats()["fallback_rules"] == (0 if engine in WHOLE | CLAUSES else 1)
    assert index.match({"a": 1, "c": 1, "e": 1}) == ["small", "large"]
