"""The contract for ranking: the best rules, their scores to the bit, on every engine."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import matchwood
from matchwood.errors import InvalidArgument
from tests.cases import event, expression
from tests.conftest import SOAK
from tests.contract.engines import of_each_kind
from tests.contract.ranking import Ranking, event_weights, ranks, rule_options
from tests.contract.twin import SCHEMA
from tests.pools import palettes

pytestmark = pytest.mark.few


@pytest.mark.long(4)
@pytest.mark.parametrize("seed", range(20 if SOAK else 2))
def test_random_rules_score_as_the_oracle_says(engine: str, seed: int) -> None:
    rng = random.Random(f"ranking/{seed}")
    shared = palettes(rng)
    twin = Ranking(engine, SCHEMA, dnf_limit=rng.choice((2, 256)))
    for number in range(60 if SOAK else 24):
        rule = expression(rng, shared, leaves=rng.randint(1, 9))
        twin.put(number, rule, rule_options(rng, rule, shared))
    names = sorted(twin.index._encoder.schema.names())
    events = [event(rng, shared, missing=0.15) for _ in range(25 if SOAK else 8)]
    weights = [event_weights(rng, names) for _ in events]
    assert twin.check(events, 3, weights) > len(events)
    assert twin.check(events, 1000, weights) > 4 * len(events)


@pytest.mark.long(4)
@pytest.mark.parametrize("seed", range(20 if SOAK else 1))
def test_a_life_of_changes(engine: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"changes/{seed}")
    shared = palettes(rng)
    twin = Ranking(engine, {})
    for _ in range(40 if SOAK else 12):
        chance = rng.random()
        if chance < 0.3 and twin.rules:
            twin.remove(rng.choice(list(twin.rules)))
        else:
            for number in rng.sample(range(30), rng.randint(1, 4)):
                rule = expression(rng, shared, leaves=rng.randint(1, 6))
                twin.put(number, rule, rule_options(rng, rule, shared))
        if rng.random() < 0.15:
            twin.index.compact()
        if rng.random() < 0.1:
            twin.reopen(tmp_path)
        events = [event(rng, shared, missing=0.15) for _ in range(3)]
        names = sorted(twin.index._encoder.schema.names())
        twin.check(events, rng.choice((1, 5, 100)), [event_weights(rng, names) for _ in events])
    assert twin.index.audit() == []


def test_ties_are_in_rule_order(engine: str) -> None:
    index = matchwood.Index(engine=engine)
    index.insert_many([(number, "a = 1" if number % 3 else "a >= 1 and b = 1") for number in (7, 3, 9, 1, 0, 8)])
    assert index.top({"a": 1, "b": 1}, 3) == [(3, 2.0), (9, 2.0), (0, 2.0)]
    assert index.top({"a": 1, "b": 1}, 5) == [(3, 2.0), (9, 2.0), (0, 2.0), (7, 1.0), (1, 1.0)]
    index[9] = "a = 1 and b >= 1"
    del index[3]
    index[3] = "a = 1 and b <= 1"
    assert [rule for rule, _ in index.top({"a": 1, "b": 1}, 3)] == [9, 0, 3]


def test_the_papers_conjunctions(engine: str) -> None:
    """Figs. 1, 2 and 10 of VLDB 2009: the weights of the posting lists, and the best of them."""
    weights: dict[str, tuple[str, dict[str, Any]]] = {
        "c1": ("age in (3) and state in ('NY')", {"age": {3: 0.1}, "state": {"NY": 4.0}}),
        "c2": ("age in (3) and gender in ('F')", {"age": {3: 0.1}, "gender": {"F": 0.3}}),
        "c3": ("age in (3) and gender in ('M') and state not in ('CA')", {"age": {3: 0.2}, "gender": {"M": 0.5}}),
        "c4": ("state in ('CA') and gender in ('M')", {"state": {"CA": 1.5}, "gender": {"M": 0.9}}),
        "c5": ("age in (3, 4)", {"age": {3: 0.1, 4: 0.5}}),
        "c6": ("state is null or state not in ('CA', 'NY')", {}),
    }
    index = matchwood.Index(engine=engine)
    index.insert_many([(name, text, {"weights": given}) for name, (text, given) in weights.items()])
    event_weight = {"age": 0.8, "state": 1.0, "gender": 0.9}
    best = index.top({"age": 3, "state": "NY", "gender": "F"}, 6, event_weight)
    assert [(rule, round(score, 6)) for rule, score in best] == [("c1", 4.08), ("c2", 0.35), ("c5", 0.08)]
    assert index.top({"age": 4}, 1) == [("c5", 0.5)]
    assert index.top({"age": 5, "state": "TX"}) == [("c6", 0.0)]


def test_the_papers_disjunctions(engine: str) -> None:
    """Figs. 7, 8 and 13: a CNF adds what the best predicate of each disjunction scores."""
    rules: dict[str, tuple[str, dict[str, Any]]] = {
        "c1": ("(A in (1) or B in (1)) and (C in (1) or D in (1))", {"A": 0.1}),
        "c2": ("(A in (1) or C in (2)) and (B in (1) or D in (1))", {"A": 0.3, "C": 2.5}),
        "c3": ("(A in (1) or B in (1)) and (C in (2) or D in (1))", {"A": {1: 0.3}, "C": {2: 2.7}}),
        "c4": ("(A in (1) or B in (1)) and (A in (1, 2) or D in (1))", {"A": {1: 0.1}}),
        "c5": ("(A in (1) or B in (1)) and (C not in (1, 2) or D not in (1) or E in (1))", {"A": 0.1}),
    }
    index = matchwood.Index(engine=engine)
    index.insert_many([(name, text, {"weights": given}) for name, (text, given) in rules.items()])
    best = index.top({"A": 1, "C": 2}, 5, {"A": 0.1, "C": 0.9})
    assert [(rule, round(score, 6)) for rule, score in best] == [("c3", 2.46), ("c4", 0.02)]


@pytest.mark.parametrize(
    ("rule", "weights", "event", "score"),
    [
        ("a = 1", None, {"a": 1}, 1.0),
        ("a != 2 and b is null and not (c = 3)", None, {"a": 1, "c": 1}, 0.0),
        ("a not in (2) and a not between 3 and 4", None, {"a": 1}, 0.0),
        ("a = 1 xor b = 1", None, {"a": 1, "b": 2}, 0.0),
        ("a = 1 and (a = 1 xnor b = 1)", None, {"a": 1, "b": 1}, 1.0),
        ("a = 1 or b = 1", {"a": 0.5, "b": 0.7}, {"a": 1, "b": 1}, 0.7),
        ("a = 1 or b = 1", {"a": 0.5, "b": 0.7}, {"a": 1, "b": 2}, 0.5),
        ("a = 1 or (b = 1 and not c = 1)", {"b": 3}, {"a": 1, "b": 1, "c": 1}, 1.0),
        ("a = 1 or (b = 1 and (c = 1 xor d = 1))", {"b": 3}, {"a": 1, "b": 1, "c": 1, "d": 2}, 3.0),
        ("(a = 1 and b = 1) is true", None, {"a": 1, "b": 1}, 2.0),
        ("(a = 2) is not true and (a = 2) is false", None, {"a": 1}, 0.0),
        ("true", None, {}, 0.0),
        ("a = 1 or true", {"a": 4}, {"a": 1}, 4.0),
        ("a = 1 or true", {"a": 4}, {"a": 2}, 0.0),
        ("a = 1 and a < 5 and a in (1, 2)", None, {"a": 1}, 3.0),
        ("a between 1 and 9", {"a": {"3": 5, "20": 7}}, {"a": 3}, 5.0),
        ("a between 1 and 9", {"a": {"3": 5, "20": 7}}, {"a": 4}, 1.0),
        ("a > 0.5", {"a": {"1": 5, "2.5": 7}}, {"a": 2.5}, 7.0),
        ("a > 0.5 or b = 1", {"a": {"1": 5, "2.5": 7}}, {"a": 1.0}, 5.0),
        ("s like 'x%y'", {"s": {"xay": 5}}, {"s": "xay"}, 5.0),
        ("s like 'x%y'", {"s": {"xay": 5}}, {"s": "xby"}, 1.0),
        ("s like 'x%y' or a = 1", {"s": {"xay": 5, "z": 9}}, {"s": "z", "a": 1}, 1.0),
        ("s like 'x%'", {"s": {"xa": 0.25}}, {"s": "xa"}, 0.25),
        ("v", {"v": {"true": 3}}, {"v": True}, 3.0),
        ("v = false", {"v": {"true": 3}}, {"v": False}, 1.0),
        ("d >= date '2026-01-01'", {"d": {"2026-01-02": 3}}, {"d": "2026-01-02"}, 3.0),
        ("t one of ('x', 'y', 'z')", {"t": {"x": 2, "y": 0.5}}, {"t": ["x", "y"]}, 2.0),
        ("t one of ('x', 'y', 'z')", {"t": {"x": 2, "y": 0.5}}, {"t": ["y"]}, 0.5),
        ("t one of ('x', 'y', 'z')", {"t": {"x": 2, "y": 0.5}}, {"t": ["y", "z"]}, 1.0),
        ("t all of ('x', 'y')", {"t": {"x": 2, "y": 0.5}}, {"t": ["x", "y"]}, 2.0),
        ("'y' in t", {"t": {"x": 2, "y": 0.5}}, {"t": ["x", "y"]}, 0.5),
        ("t none of ('q') or 'q' not in t", {"t": 5}, {"t": ["x"]}, 0.0),
        ("n one of (1, 2)", {"n": {"2": 6}}, {"n": [2, 3]}, 6.0),
        ("a = 1", {"a": {"1": 0}}, {"a": 1}, 0.0),
    ],
)
def test_what_a_rule_scores(
    engine: str, rule: str, weights: dict[str, Any] | None, event: dict[str, Any], score: float
) -> None:
    index = matchwood.Index(engine=engine)
    report = index.insert_many([("r", rule, {"weight": 0.5, "weights": weights})])
    assert report.rejected.num_rows == 0, report.rejected.to_pylist()
    assert index.top(event) == [("r", score + 0.5)]
    assert ranks(index.top_many([event, event]), 2) == [[("r", score + 0.5)]] * 2


def test_sums_follow_the_text(engine: str) -> None:
    """Floating-point addition is not associative: parentheses show in the score."""
    weights = {"a": 0.1, "b": 0.2, "c": 0.3}
    index = matchwood.Index(engine=engine)
    rules = {
        "left": "a = 1 and b = 1 and c = 1",
        "right": "a = 1 and (b = 1 and c = 1)",
        "other": "c = 1 and b = 1 and a = 1",
    }
    index.insert_many([(name, text, {"weights": weights}) for name, text in rules.items()])
    found = dict(index.top({"a": 1, "b": 1, "c": 1}))
    assert found == {"left": (0.1 + 0.2) + 0.3, "right": 0.1 + (0.2 + 0.3), "other": (0.3 + 0.2) + 0.1}
    assert found["left"] != found["right"]


def test_events_of_every_kind(engine: str) -> None:
    index = matchwood.Index(engine=engine)
    index.insert_many(
        [(1, "a >= 2 or s = 'x'", {"weights": {"a": {"3": 5}}}), (2, "a >= 1 and t one of ('u')"), (3, "a > 0")]
    )
    events = [{"a": 3, "s": "x", "t": ["u"]}, {"a": 1, "s": None, "t": []}, {}, {"a": None, "s": "x", "t": None}]
    types = {"a": pa.int64(), "s": pa.string(), "t": pa.list_(pa.string())}
    table = pa.table({name: pa.array([event.get(name) for event in events], kind) for name, kind in types.items()})
    own = [{"a": 0.5}, None, {}, {"s": 2.0}]
    wanted = [[(1, 2.5), (2, 1.5), (3, 0.5)], [(3, 1.0)], [], [(1, 2.0)]]
    for given in (events, table, table.to_batches()[0], table.to_pandas()):
        assert ranks(index.top_many(given, 5, own), 4) == wanted
    maps = pa.array([weights and list(weights.items()) for weights in own], pa.map_(pa.string(), pa.float64()))
    structs = pa.array(
        [weights and {"a": None, "s": None, **weights} for weights in own],
        pa.struct([("a", pa.float32()), ("s", pa.int64())]),
    )
    for weights in (maps, pa.chunked_array([maps.slice(0, 1), maps.slice(1)]), structs):
        assert ranks(index.top_many(table, 5, weights), 4) == wanted
    assert ranks(index.top_many(table, 1, {"a": 0.0}), 4) == [[(1, 1.0)], [(3, 0.0)], [], [(1, 1.0)]]
    assert index.top_many([]).num_rows == 0


def test_an_empty_index_has_no_best_rule(engine: str) -> None:
    index = matchwood.Index(engine=engine)
    assert index.top({"a": 1}) == []
    assert index.top_many([{"a": 1}]).schema.names == ["event", "rank", "rule", "score"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"n": 0}, "n must be an integer of at least 1"),
        ({"n": True}, "n must be an integer"),
        ({"n": 1.5}, "n must be an integer"),
        ({"weights": {"age": -1}}, "at least 0"),
        ({"weights": {"age": float("nan")}}, "finite"),
        ({"weights": {"age": "1"}}, "a number"),
        ({"weights": {3: 1}}, "must be a str"),
        ({"weights": 3}, "must be a mapping"),
    ],
)
def test_what_cannot_be_ranked_by(engine: str, arguments: dict[str, Any], told: str) -> None:
    index = matchwood.Index(engine=engine)
    index["r"] = "age > 1"
    with pytest.raises(InvalidArgument, match=told):
        index.top({"age": 3}, **arguments)
    with pytest.raises(InvalidArgument, match=told):
        index.top_many([{"age": 3}], **arguments)


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ([{"age": 1}], "given for 1 event "),
        ([{"age": 1}] * 3, "given for 3 events"),
        ([{"age": 1}, 5], "event 1 must be a mapping"),
        ([{"age": 1}, {"age": -1}], r"weights\['age'\] of event 1"),
        (pa.array([1, 2]), "must be a mapping"),
        ("age", "must be a mapping"),
        (pa.array([{"age": "x"}, None]), "must be numbers"),
        (pa.array([{"age": 1.0}, {"age": float("inf")}]), r"weights\['age'\] of event 1 must be finite"),
    ],
)
def test_weights_of_events_that_cannot_be_used(engine: str, weights: Any, told: str) -> None:
    index = matchwood.Index(engine=engine)
    index["r"] = "age > 1"
    with pytest.raises(InvalidArgument, match=told):
        index.top_many([{"age": 3}, {"age": 4}], weights=weights)
    with pytest.raises(InvalidArgument, match="one event as a dict"):
        index.top([{"age": 3}])  # type: ignore[arg-type]


def test_weights_of_attributes_that_no_rule_names_are_passed_over_and_counted(engine: str) -> None:
    """Rules come and go: what is known today may be unknown tomorrow, to callers who cannot tell."""
    index = matchwood.Index(engine=engine)
    index.insert_many([("r", "age > 1"), ("s", "vip or age = 3", {"weights": {"vip": 9}})])
    event = {"age": 3, "vip": True}
    assert index.top(event, 2, {"age": 0.5, "aeg": 7, "b.c": 1}) == [("s", 9.0), ("r", 0.5)]
    assert index.stats()["matching"]["unknown_weights"] == 2
    index.top_many([event] * 3, 1, {"aeg": 1})
    assert index.stats()["matching"]["unknown_weights"] == 3
    found = index.top_many([event] * 3, 1, [{"aeg": 1, "vip": 2}, None, {"aeg": 1}])
    assert found["score"].to_pylist() == [18.0, 9.0, 9.0]
    assert index.stats()["matching"]["unknown_weights"] == 5
    del index["s"]
    assert index.top(event, 2, {"vip": 2.0}) == [("r", 1.0)]
    assert index.stats()["matching"]["unknown_weights"] == 6


@pytest.mark.parametrize(
    ("rule", "weights", "told"),
    [
        ("age > 1", {"age": {"NY": 1}}, r"weights\['age'\]\['NY'\]: no value of 'age', which is number"),
        ("age > 1", {"age": {"1": 1, "1.0": 2}}, "'1' and '1.0' are the same value"),
        ("v", {"v": {"yes": 1}}, "no value of 'v'"),
        ("n one of (1)", {"n": {"a": 1}}, "no value of 'n'"),
        ("d > date '2026-01-01'", {"d": {"soon": 1}}, "no value of 'd'"),
    ],
)
def test_weights_of_values_that_an_attribute_cannot_have(engine: str, rule: str, weights: Any, told: str) -> None:
    index = matchwood.Index(engine=engine)
    with pytest.raises(InvalidArgument, match=told):
        index.insert_many([("r", rule, {"weights": weights})], on_error="raise")


@pytest.mark.long(2)
@of_each_kind
def test_ranking_while_rules_change(engine: str) -> None:
    """Every answer is that of a moment: `keep` always scores the same, `other` as one of its two weights says."""
    index = matchwood.Index(engine=engine)
    index.insert_many([("keep", "a = 1 or b = 2"), ("other", "a = 1 and (b = 1 or c >= 0)")])
    stop, problems = threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            found = dict(index.top({"a": 1, "b": 1, "c": 3}, 100))
            rest = {rule: score for rule, score in found.items() if not rule.startswith("n")}
            if rest not in ({"keep": 1.0, "other": 2.0}, {"keep": 1.0, "other": 2.5}):
                problems.append(found)
            if any(score != 2.0 for rule, score in found.items() if rule.startswith("n")):
                problems.append(found)
            stop.wait(0.0 if SOAK else 0.001)  # otherwise the writer waits for the interpreter most of the time

    readers = [threading.Thread(target=read) for _ in range(3 if SOAK else 2)]
    for reader in readers:
        reader.start()
    for number in range(200 if SOAK else 10):
        weights = {"weight": 0.5} if number % 2 else {}
        index.insert_many([("other", "a = 1 and (b = 1 or c >= 0)", weights)], on_duplicate="replace")
        index.insert_many([(f"n{number}", f"a = 1 and (c < {number} or c >= {number - 5} or b = 1)")])
        if number % 7 == 6:
            del index[f"n{number - 3}"]
        if number % 10 == 9:
            index.compact()
    stop.set()
    for reader in readers:
        reader.join()
    assert problems == []
