"""`auto` and rules that have too many conjunctions: as clauses where these are few, whole otherwise, always exactly."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from auto_support import CHOOSABLE, change_mind, matcher_of, obey

import matchwood as mw
from matchwood.choosing import auto
from matchwood.engines import ConjunctionStore
from matchwood.errors import CorruptSnapshot
from matchwood.workloads.contracts import contracts
from tests.conftest import SOAK

LIMIT = 8


def live_of(index: mw.Index) -> tuple[int, int, int]:
    """Units that are conjunctions, clauses and whole expressions."""
    conjunctions, clauses, whole = (part.store.live for part in matcher_of(index).parts)
    return conjunctions, clauses, whole


def predicate(rng: random.Random) -> str:
    return f"a{rng.randrange(12)} {rng.choice(('=', '!=', '<', '>='))} {rng.randrange(9)}"


def rule(rng: random.Random) -> str:
    """A few conjunctions; or few clauses of many predicates; or too many of both."""
    chance = rng.random()
    if chance < 0.3:
        return " and ".join(predicate(rng) for _ in range(3))
    clauses = [f"({' or '.join(predicate(rng) for _ in range(4))})" for _ in range(rng.randint(2, 4))]
    both = " and ".join(clauses)
    if chance < 0.7:
        return both
    return f"({both}) or ({' and '.join(f'({predicate(rng)} or {predicate(rng)})' for _ in range(9))})"


def event(rng: random.Random) -> dict[str, Any]:
    return {f"a{number}": rng.randrange(10) for number in range(12) if rng.random() < 0.8}


def hits(index: mw.Index, asked: list[dict[str, Any]]) -> list[list[Any]]:
    found = index.match_many(asked)
    return [found["event"].to_pylist(), found["rule"].to_pylist()]


def two(rng: random.Random, count: int) -> tuple[mw.Index, mw.Index]:
    index, oracle = mw.Index(dnf_limit=LIMIT), mw.Index("oracle")
    rules = {number: rule(rng) for number in range(count)}
    for each in (index, oracle):
        each.insert_many(rules)
    return index, oracle


def test_rules_are_conjunctions_clauses_or_whole() -> None:
    index, oracle = two(random.Random(1), 400)
    assert min(live_of(index)) > 50
    assert not matcher_of(index).parts[0].store.has_clauses()
    stats = index.stats()
    assert stats["fallback_rules"] > 200
    assert stats["health"]["fallback"]["rules"] == stats["fallback_rules"]
    assert stats["units"] == sum(live_of(index))
    assert index.audit() == []
    asked = [event(random.Random(f"one {n}")) for n in range(60 if SOAK else 15)]
    assert hits(index, asked) == hits(oracle, asked)
    assert [index.match(each) for each in asked] == [oracle.match(each) for each in asked]


def test_equal_clauses_are_one_unit_for_all_their_rules() -> None:
    index = mw.Index(dnf_limit=1)
    index.insert_many({"a": "(x = 1 or y = 2)", "b": "y = 2 or x = 1", "c": "x = 1 or y = 3"})
    assert live_of(index)[1] == 2
    assert index.match({"x": 1}) == ["a", "b", "c"]
    del index["a"]
    assert (live_of(index)[1], index.match({"x": 1})) == (2, ["b", "c"])
    del index["b"]
    assert (live_of(index)[1], index.match({"y": 2})) == (1, [])


def test_a_life_with_changes_of_mind_snapshots_and_compaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    obey(monkeypatch, list(CHOOSABLE))
    monkeypatch.setattr(auto, "LEAST_SAMPLE", 1)
    rng = random.Random("life")
    index, oracle = two(rng, 120)
    for step in range(15 if SOAK else 8):
        for number in rng.sample(range(160), 25):
            if number in oracle and rng.random() < 0.5:
                del index[number], oracle[number]
            else:
                text = rule(rng)
                index[number] = oracle[number] = text
        if step % 4 == 1:
            index.compact()
        if step % 5 == 2:
            index.save(tmp_path / "saved")
            index = mw.open(tmp_path / "saved")
        asked = [event(rng) for _ in range(12)]
        wanted = hits(oracle, asked)
        assert hits(index, asked) == wanted
        change_mind(index)
        assert hits(index, asked) == wanted
        assert index.audit() == []
    assert min(live_of(index)[1:]) > 10
    index.clear()
    assert (sum(live_of(index)), hits(index, [event(rng)])) == (0, [[], []])


def test_what_was_deleted_and_comes_again_is_found_again() -> None:
    rng = random.Random(7)
    index, oracle = two(rng, 200)
    kept = dict(index)
    asked = [event(rng) for _ in range(40)]
    for number in range(0, 200, 2):
        del index[number]
    index.insert_many({number: kept[number] for number in range(0, 200, 2)})
    assert sorted(map(str, index)) == sorted(map(str, oracle))
    assert [sorted(index.match(each)) for each in asked] == [sorted(oracle.match(each)) for each in asked]
    assert index.audit() == []


def test_labels_that_run_out_are_rewritten_in_clauses_too(monkeypatch: pytest.MonkeyPatch) -> None:
    rewritten: list[int] = []
    relabel = ConjunctionStore.relabel

    def noted(store: ConjunctionStore, attribute: int, old: Any, new: Any) -> None:
        relabel(store, attribute, old, new)
        rewritten.extend([attribute] * store.clauses)

    monkeypatch.setattr(ConjunctionStore, "relabel", noted)
    index, oracle = mw.Index(dnf_limit=1), mw.Index("oracle")
    low, high = 0.0, 1.0
    for number in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if number % 2 else (low, middle)
        index[number] = oracle[number] = f"x < {middle!r} or y = {number % 5}"
    asked = [{"x": value, "y": y} for value in (low, high, (low + high) / 2, 0.1, 0.9) for y in (1, 7)]
    assert [index.match(each) for each in asked] == [oracle.match(each) for each in asked]
    assert live_of(index)[1] == 50
    assert rewritten


def test_ranking_finding_and_linting_see_rules_as_clauses() -> None:
    index, oracle = two(random.Random(3), 150)
    asked = [event(random.Random(f"rank {n}")) for n in range(10)]
    weights = {"a1": 2.0, "a2": 1.0, "a5": 3.0}
    for each in asked:
        assert index.top(each, 5, weights=weights) == oracle.top(each, 5, weights=weights)
    clauses = "(a1 = 1 or a2 = 2) and (a3 = 3 or a4 = 4 or a5 = 5) and (a6 = 6 or a7 = 7)"
    some = mw.Index(dnf_limit=LIMIT)
    some.insert_many({"one": clauses, "same": clauses, "other": "a1 = 1 or a3 = 3"})
    assert live_of(some)[1] == 1
    assert some.find("a1 = 1 and a3 = 3 and a7 = 7", "implied_by") == ["one", "same", "other"]
    assert any("same" in str(each) and "one" in str(each) for each in some.lint().to_pylist())


def test_clauses_beyond_the_numbers_are_refused(tmp_path: Path) -> None:
    index, _ = two(random.Random(5), 60)
    matcher = matcher_of(index)
    arrays, header = matcher.arrays(), matcher.header()
    broken = {**arrays, "forms.clauses.cnf0.units": arrays["forms.clauses.cnf0.units"] + 10_000}
    matcher.restore(broken, header)
    with pytest.raises(CorruptSnapshot):
        matcher.check()


def test_contracts_in_cnf_need_no_tree() -> None:
    workload = contracts(rules=1_500 if SOAK else 500, events=40 if SOAK else 20, form="cnf", months=4, seed=2)
    index, kindex = mw.Index(), mw.Index("kindex")
    for each in (index, kindex):
        each.insert_many(workload.rules_table())
    assert live_of(index)[2] == 0 < live_of(index)[1]
    assert hits(index, workload.events_dicts()) == hits(kindex, workload.events_dicts())
