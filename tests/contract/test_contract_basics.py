"""The contract, one small promise a test: what matches, what does not, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

import matchwood
from matchwood.errors import MatchwoodError, ParseError, TypeConflict, UnknownRule
from tests.contract.twin import Twin, hits


def matching(engine: str, rule: str, *events: dict[str, Any]) -> list[bool]:
    """Which of the events one rule matches, on its own in an index; the oracle agrees."""
    twin = Twin(engine)
    twin.put("rule", rule)
    twin.check(events)
    return [twin.index.match(event) == ["rule"] for event in events]


def test_empty_index(engine: str) -> None:
    index = matchwood.Index(engine=engine)
    assert index.match({}) == []
    assert index.match({"x": 1}) == []
    assert index.match_many([{"x": 1}, {}]).num_rows == 0
    assert index.match_many([]).column_names == ["event", "rule"]
    assert len(index) == 0
    assert list(index) == []
    assert index.audit() == []
    assert isinstance(index.stats(), dict)


@pytest.mark.parametrize(
    "rule", ["true", "x = 1 or x != 1 or x is null", "(x > 5) is not unknown or x is null", "not false"]
)
def test_always_true(engine: str, rule: str) -> None:
    assert matching(engine, rule, {}, {"x": None}, {"x": 1}, {"x": 6}, {"y": "a"}) == [True] * 5


@pytest.mark.parametrize(
    "rule",
    [
        "false",
        "x = 1 and x = 2",
        "x in (1, 2) and not x in (1, 2)",
        "x is null and x = 1",
        "x between 3 and 1",
        "not true",
    ],
)
def test_never_true(engine: str, rule: str) -> None:
    assert matching(engine, rule, {}, {"x": None}, {"x": 1}, {"x": 2}) == [False] * 4


@pytest.mark.parametrize("rule", ["not x = 1", "x != 1", "not (x = 1)", "x not in (1)", "not x between 1 and 1"])
def test_pure_negation(engine: str, rule: str) -> None:
    assert matching(engine, rule, {"x": 1}, {"x": 2}, {}, {"x": None}) == [False, True, False, False]


def test_a_contradiction_inside_a_negation_keeps_its_null(engine: str) -> None:
    assert matching(engine, "not (x = 1 and x != 1)", {"x": 1}, {"x": 2}, {}) == [True, True, False]
    assert matching(engine, "x = 1 or x != 1", {"x": 1}, {"x": 2}, {}) == [True, True, False]


def test_missing_is_null(engine: str) -> None:
    events: list[dict[str, Any]] = [{}, {"x": None}, {"x": 0}]
    assert matching(engine, "x is null", *events) == [True, True, False]
    assert matching(engine, "x is not null", *events) == [False, False, True]
    assert matching(engine, "(x = 1) is unknown", *events) == [True, True, False]
    assert matching(engine, "(x = 1) is not true", *events) == [True, True, True]
    assert matching(engine, "(x = 1) is false", *events) == [False, False, True]


def test_strong_and_weak_not_in(engine: str) -> None:
    events: list[dict[str, Any]] = [{"x": 1}, {"x": 3}, {}]
    assert matching(engine, "x not in (1, 2)", *events) == [False, True, False]
    assert matching(engine, "x is null or x not in (1, 2)", *events) == [False, True, True]


def test_null_in_xor(engine: str) -> None:
    events: list[dict[str, Any]] = [{"a": True, "b": False}, {"a": True}, {"a": True, "b": True}, {"b": False}]
    assert matching(engine, "a xor b", *events) == [True, False, False, False]
    assert matching(engine, "a xnor b", *events) == [False, False, True, False]
    assert matching(engine, "(a xor b) is unknown", *events) == [False, True, False, True]


def test_unknown_fields_and_case(engine: str) -> None:
    assert matching(engine, "x = 1", {"x": 1, "other": object}, {"X": 1}, {"y": 1}) == [True, False, False]


def test_names(engine: str) -> None:
    assert matching(engine, "a.b = 1", {"a": {"b": 1}}, {"a.b": 1}, {"a": {"c": 1}}, {"a": None}) == [
        True,
        True,
        False,
        False,
    ]
    assert matching(engine, "`a.b` = 1", {"a": {"b": 1}}, {"a.b": 1}) == [False, True]
    assert matching(engine, '"odd name" = 1', {"odd name": 1}, {"odd": 1}) == [True, False]
    twin = Twin(engine)
    twin.put("rule", "a.b = 1")
    with pytest.raises(matchwood.EventError, match=r"a\.b"):
        twin.index.match({"a": {"b": 1}, "a.b": 1})


@pytest.mark.parametrize(
    ("rule", "event"),
    [
        ("x = 1", {"x": "1"}),
        ("x = 1", {"x": True}),
        ("x = 'a'", {"x": 1}),
        ("x", {"x": 1}),
        ("x = date '2026-01-01'", {"x": "yesterday"}),
        ("x = date '2026-01-01'", {"x": 5}),
        ("x one of (1)", {"x": 1}),
        ("x one of (1)", {"x": ["a"]}),
        ("x one of ('a')", {"x": "a"}),
        ("x = 'a'", {"x": ["a"]}),
        ("x = 1 or y = 2", {"y": 2, "x": "1"}),
        ("x = 1", {"x": {"y": 1}}),
    ],
)
def test_a_value_of_the_wrong_type_is_an_error(engine: str, rule: str, event: dict[str, Any]) -> None:
    twin = Twin(engine)
    twin.put("rule", rule)
    for ask in (twin.model.match, twin.index.match, lambda each: twin.index.match_many([{}, each])):
        with pytest.raises(matchwood.EventError, match="'x'"):
            ask(event)


def test_rule_order(engine: str) -> None:
    twin = Twin(engine)
    for rule_id in (5, -3, 9, 0):
        twin.put(rule_id, "x > 0")
    assert twin.index.match({"x": 1}) == [5, -3, 9, 0]
    twin.put(-3, "x >= 1")
    assert twin.index.match({"x": 1}) == [5, -3, 9, 0]
    twin.remove(5)
    twin.put(5, "x > 0")
    assert twin.index.match({"x": 1}) == [-3, 9, 0, 5]
    twin.index.compact()
    twin.check([{"x": 1}, {"x": 0}, {}])


def test_replacement(engine: str) -> None:
    twin = Twin(engine)
    twin.put("a", "x = 1")
    twin.put("b", "x = 1")
    twin.put("a", "x = 2")
    assert (twin.index.match({"x": 1}), twin.index.match({"x": 2})) == (["b"], ["a"])
    assert twin.index["a"] == "x = 2"
    assert len(twin.index) == 2


def test_a_failed_replacement_leaves_the_old_rule(engine: str) -> None:
    index = matchwood.Index(engine=engine)
    index["a"] = "x = 1"
    index["b"] = "x = 2"
    with pytest.raises(ParseError):
        index["a"] = "x = "
    with pytest.raises(TypeConflict):
        index["a"] = "x = 'text'"
    assert index["a"] == "x = 1"
    assert index.match({"x": 1}) == ["a"]
    assert index.audit() == []


def test_duplicate_ids_in_bulk(engine: str) -> None:
    index = matchwood.Index(engine=engine)
    report = index.insert_many([("a", "x = 1"), ("b", "x = 1"), ("a", "x = 2")])
    assert (report.inserted, report.rejected["id"].to_pylist()) == (2, ["a"])
    assert index.match({"x": 2}) == []
    report = index.insert_many([("a", "x = 2"), ("c", "x = 2")], on_duplicate="replace")
    assert (report.inserted, report.replaced, report.rejected.num_rows) == (1, 1, 0)
    assert (index.match({"x": 1}), index.match({"x": 2})) == (["b"], ["a", "c"])


def test_bad_rules_in_bulk(engine: str) -> None:
    rules = [("a", "x = 1"), ("b", "x = "), ("c", "x = 'text'"), ("d", "x = 1")]
    index = matchwood.Index(engine=engine)
    with pytest.raises(MatchwoodError):
        index.insert_many(rules, on_error="raise")
    assert (len(index), index.match({"x": 1})) == (0, [])
    report = index.insert_many(rules, on_error="collect")
    assert report.rejected["id"].to_pylist() == ["b", "c"]
    assert report.rejected.column_names == ["id", "expression", "error", "line", "column"]
    assert index.match({"x": 1}) == ["a", "d"]


def test_unknown_rules(engine: str) -> None:
    index = matchwood.Index(engine=engine)
    index["a"] = "true"
    del index["a"]
    with pytest.raises(UnknownRule):
        del index["a"]
    with pytest.raises(KeyError):
        index["a"]
    assert "a" not in index
    assert index.match({}) == []


@pytest.mark.parametrize("ids", [[0, -1, 2**63 - 1, -(2**63)], ["", "a", "ä", "😀", "0", "a" * 1000]])
def test_id_kinds(engine: str, ids: list[Any]) -> None:
    twin = Twin(engine)
    for rule_id in ids:
        twin.put(rule_id, "true")
    assert twin.index.match({}) == ids
    assert hits(twin.index.match_many([{}]), 1) == [ids]
    assert [rule_id in twin.index for rule_id in ids] == [True] * len(ids)
    twin.remove(ids[1])
    twin.check([{}])


@pytest.mark.parametrize("bad", [None, True, 1.5, 2**63, b"a", ("a",), "text"])
def test_refused_ids(engine: str, bad: Any) -> None:
    index = matchwood.Index(engine=engine)
    index[1] = "true"
    with pytest.raises(MatchwoodError):
        index[bad] = "true"
    report = index.insert_many([(bad, "true")])
    assert (report.inserted, report.rejected.num_rows) == (0, 1)
    assert index.match({}) == [1]


def test_mapping(engine: str) -> None:
    index = matchwood.Index(engine=engine)
    index["b"] = "x  =  1"
    index["a"] = matchwood.attr("x") == 2
    assert list(index) == ["b", "a"]
    assert dict(index) == {"b": "x  =  1", "a": "x = 2"}
    assert index.pop("b") == "x  =  1"
    assert index.match({"x": 2}) == ["a"]
    index.clear()
    assert (len(index), index.match({"x": 2})) == (0, [])
