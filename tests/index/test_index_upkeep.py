"""Explanations, statistics, audits and compaction through the index."""

from __future__ import annotations

import datetime
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import matchwood as mw
from matchwood.matching import engine_matcher as compiled
from tests.cases import event, expression
from tests.conftest import SOAK
from tests.pools import palettes

PAGE = Path(__file__).parent.parent.parent / "docs" / "index.md"


# ---------------------------------------------------------------------- explain


def test_explain_agrees_with_match(engine: str) -> None:
    rng = random.Random(3)
    shared = palettes(rng)
    index = mw.Index(engine=engine)
    index.insert_many((number, expression(rng, shared, leaves=4)) for number in range(30))
    seen: set[bool | None] = set()
    for _ in range(10):
        each = event(rng, shared)
        matched = index.match(each)
        verdicts = {rule_id: index.explain(each, rule_id).verdict for rule_id in index}
        assert [rule_id for rule_id, verdict in verdicts.items() if verdict is True] == matched
        seen.update(verdicts.values())
    assert seen == {True, False, None}


def test_explain_uses_types_and_timezone(engine: str) -> None:
    index = mw.Index(engine=engine, schema={"day": "date"}, timezone="America/New_York")
    index["a"] = "day = date '2026-01-01' and seen >= timestamp '2026-01-01 00:00:00'"
    late = datetime.datetime(2026, 1, 1, 4, 59, tzinfo=datetime.UTC)
    explanation = index.explain({"day": "2026-01-01", "seen": late}, "a")
    assert explanation.verdict is False
    assert explanation.decided_by == ["seen >= timestamp '2026-01-01 00:00:00'"]
    assert index.explain({"day": "2026-01-01", "seen": late + datetime.timedelta(minutes=1)}, "a").verdict is True
    assert index.explain({"seen": late}, "a").verdict is False
    assert index.explain({"day": datetime.date(2026, 1, 1)}, "a").verdict is None
    with pytest.raises(mw.EventError, match="'day' must be date"):
        index.explain({"day": "soon"}, "a")


def test_explain_knows_what_other_rules_say_of_a_type(engine: str) -> None:
    index = mw.Index(engine=engine)
    index["null"] = "x is null"
    assert index.explain({"x": 5}, "null").verdict is False
    index["text"] = "x = 'a'"
    with pytest.raises(mw.EventError, match="'x' must be string"):
        index.explain({"x": 5}, "null")


def test_explain_as_text_and_data(engine: str) -> None:
    index = mw.Index(engine=engine)
    index[7] = "age >= 18 and (country = 'US' or vip)"
    explanation = index.explain({"age": 20, "country": "FR"}, 7)
    assert "age = 20" in str(explanation)
    assert json.dumps(explanation.to_dict())
    with pytest.raises(mw.UnknownRule, match="8"):
        index.explain({}, 8)


# ---------------------------------------------------------------------- stats


def keys_of(stats: dict[str, Any]) -> set[str]:
    """Names as the page has them; the options of engines are documented on their own pages."""
    groups = {name: value for name, value in stats.items() if isinstance(value, dict) and name != "options"}
    return (stats.keys() - groups.keys()) | {f"{name}.{inner}" for name, value in groups.items() for inner in value}


def test_stats_are_plain_and_documented(engine: str) -> None:
    rows = re.findall(r"^\| (`[\w.`, ]+`) \|", PAGE.read_text(), re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"[\w.]+", row)}
    index = mw.Index(engine=engine)
    for _ in range(2):
        stats = index.stats()
        assert json.loads(json.dumps(stats)) == stats
        assert keys_of(stats) <= documented
        index.insert_many({1: "x = 1", 2: "s like '%a%'", 3: "(a or b) and (c or d)"})
    always = {"rules", "engine", "units", "fallback_rules", "always_candidates", "bytes_index", "bytes_verify"}
    assert {*always, "bytes_shared", "bytes_text", "bytes_rules", "holes", "matching.events"} <= keys_of(stats)


def test_stats_count(engine: str) -> None:
    index = mw.Index(engine=engine, dnf_limit=2)
    index.insert_many({1: "x = 1", 2: "x  =  1", 3: "x = 1 or y = 2", 4: "a = 1 or b = 1 or c = 1", 5: "z is null"})
    stats = index.stats()
    assert (stats["rules"], stats["engine"], stats["holes"]) == (5, engine, 0)
    if engine != "oracle":
        assert (stats["units"], stats["fallback_rules"]) == (4, 0 if engine == "atree" else 1)
        assert stats["always_candidates"] == 1
        assert (stats["encoding"]["attributes"], stats["encoding"]["derived_attributes"]) == (6, 0)
    index.match({"x": 1})
    index.match_many([{"x": 1}, {}])
    work = index.stats()["matching"]
    assert work["events"] == 3
    assert work["matched"] <= work["verified"] + 9
    del index[5]
    assert index.stats()["holes"] == 1
    index.compact()
    assert index.stats()["holes"] == 0


# ---------------------------------------------------------------------- audit


@pytest.mark.few
@pytest.mark.parametrize("limit", [1, 4])
def test_the_audit_finds_nothing_after_any_operation(limit: int, engine: str, tmp_path: Path) -> None:
    rng = random.Random(f"audit {limit}")
    shared = palettes(rng)
    index = mw.Index(engine=engine, dnf_limit=limit)
    for step in range(60 if SOAK else 16):
        chance = rng.random()
        rule_id = rng.randrange(25)
        if chance < 0.45:
            index[rule_id] = expression(rng, shared, leaves=rng.randint(1, 5))
        elif chance < 0.65:
            index.pop(rule_id, None)
        elif chance < 0.8:
            rules = [(rng.randrange(25), expression(rng, shared, leaves=3)) for _ in range(8)]
            index.insert_many(rules, on_duplicate="replace")
        elif chance < 0.9:
            index.compact()
        elif chance < 0.93:
            index.clear()
        else:
            index.save(tmp_path / "index")
            index = mw.open(tmp_path / "index")
        assert index.audit() == [], step


def test_the_audit_can_fail() -> None:
    index = mw.Index()
    index.insert_many({"a": "x = 1", "b": "y = 2"})
    index._matcher.engine.remove(np.array([0], np.int32))
    assert index.audit() != []


# ---------------------------------------------------------------------- compaction


@pytest.mark.long(2)
def test_compaction_gives_room_back_and_changes_no_answer(engine: str) -> None:
    rng = random.Random(8)
    index = mw.Index(engine=engine, dnf_limit=4)
    texts = {n: f"k{n} = {n} or s like '%{n}%x' or tags one of ('t{n}') and x > {n}" for n in range(400)}
    texts |= {n: " and ".join(f"(k{n} = {i} or x < {n + i})" for i in range(4)) for n in range(400, 440)}
    index.insert_many(texts)
    kept = sorted(rng.sample(range(440), 40))
    for number in set(texts) - set(kept):
        del index[number]
    events: list[dict[str, Any]] = [{f"k{n}": n, "s": f"{n}yx", "tags": [f"t{n}"], "x": 250} for n in kept]
    before, stats = index.match_many(events), index.stats()
    index.compact()
    after = index.stats()
    assert index.match_many(events).equals(before)
    assert before.num_rows >= 30
    assert list(index) == kept
    assert index.audit() == []
    assert after["holes"] == 0
    assert after["encoding"]["attributes"] == stats["encoding"]["attributes"]
    if engine != "oracle":
        assert after["encoding"]["numbers"] == after["encoding"]["attributes"] + after["encoding"]["derived_attributes"]
        assert after["encoding"]["numbers"] < stats["encoding"]["numbers"] / 4
        assert after["bytes_verify"] < stats["bytes_verify"] / 4
        stores = (index._matcher.parts[0].store, index._matcher.parts[-1].store)
        assert max(store.attributes for store in stores) == after["encoding"]["numbers"]
    index.insert_many({number: texts[number] for number in range(0, 400, 50) if number not in index})
    assert index.audit() == []
    assert index.match({"k50": 50}) == [50]


def test_compaction_after_types_changed(engine: str) -> None:
    """An attribute with two numbers, one for each type it had, keeps working."""
    index = mw.Index(engine=engine)
    index["null"] = "x is null"
    index["a"] = "x = 5"
    index.insert_many([("a", "x = 'five'"), ("b", "x = 'six'")], on_duplicate="replace")
    for _ in range(2):
        assert index.match({"x": "five"}) == ["a"]
        assert index.match({"x": "six"}) == ["b"]
        assert index.match({}) == ["null"]
        index.compact()
        assert index.audit() == []


def test_many_deletions_compact_by_themselves(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "WASTE_LEAST", 20)
    index = mw.Index(engine=engine)
    index.insert_many({number: f"x = {number}" for number in range(100)})
    for number in range(90):
        del index[number]
        assert index.match({"x": 95}) == [95]
    if engine != "oracle":
        assert index.stats()["holes"] < 60
        assert index._matcher.parts[0].store.count < 60
    assert list(index) == list(range(90, 100))
    assert index.audit() == []


@pytest.mark.long(2)
def test_many_replacements_compact_by_themselves(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "WASTE_LEAST", 20)
    index = mw.Index(engine=engine, dnf_limit=1)
    for number in range(100):
        index["a"] = f"x = {number}"
        index["b"] = f"x = {number} or k{number} = 1"
        index.insert_many({"a": f"y = {number}", "c": f"x > {number}"}, on_duplicate="replace")
    assert index.match({"x": 99, "y": 99}) == ["a", "b"]
    if engine != "oracle":
        assert index._matcher.parts[0].store.count < 60
        assert index._matcher.parts[-1].store.count < 60
        assert index.stats()["encoding"]["numbers"] < 60
    assert index.audit() == []


def test_equal_rules_that_come_and_go_leave_no_holes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "WASTE_LEAST", 20)
    index = mw.Index()
    index["kept"] = "x = 1"
    for number in range(200):
        index[f"r{number}"] = "x = 1"
        del index[f"r{number}"]
    assert index.stats()["holes"] <= 40
    assert index.match({"x": 1}) == ["kept"]
