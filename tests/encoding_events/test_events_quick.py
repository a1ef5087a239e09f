"""Pairs that are remembered by key, type and value: values that Python takes for equal, and labels that change."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import matchwood as mw
from matchwood.encoding import event_plan, sorted_pairs
from matchwood.encoding.events import quick


def index_of(rules: dict[str, str], **settings: Any) -> mw.Index:
    index = mw.Index("pstbloom", **settings)
    index.insert_many(rules)
    return index


def test_values_that_are_equal_to_python_are_told_apart_by_their_types() -> None:
    index = index_of({"one": "a = 1"}, schema={"a": "int"})
    assert index.match({"a": 1}) == ["one"]
    for wrong in (True, 1.0, "1"):
        with pytest.raises(mw.EventError, match="'a' must be int"):
            index.match({"a": wrong})
        assert index.match({"a": wrong}, on_error="null") == []
    for right in (np.int8(1), np.int64(1), Decimal(1), 1):
        assert index.match({"a": right}) == ["one"]


def test_doubles_and_integers_share_a_number() -> None:
    index = index_of({"one": "a = 1", "more": "a > 1"}, schema={"a": "double"})
    for value in (1, 1.0, np.float32(1), Decimal("1")):
        assert index.match({"a": value}) == ["one"]
    assert index.match({"a": 2**60}) == index.match({"a": float("nan")}) == ["more"]
    assert index.match({"a": None}) == index.match({"b": 1}) == []


def test_what_does_not_fit_is_never_remembered() -> None:
    index = index_of({"big": "a > 5", "text": "t >= 'a'"}, schema={"a": "int", "t": "string"})
    for _ in range(2):
        with pytest.raises(mw.EventError, match="'a' must be int"):
            index.match({"a": 2**63})
        with pytest.raises(mw.EventError, match="'t' must be"):
            index.match({"t": "\ud800"})
    assert index.match({"a": 2**63 - 1, "t": "é"}) == ["big", "text"]


@pytest.mark.parametrize("given", [float("nan"), np.float64("nan"), np.float32("nan"), None])
def test_null_values_of_any_type_are_left_out(given: Any) -> None:
    index = index_of({"none": "a is null", "some": "a > 0", "other": "b = 2"}, nan="null")
    assert index.match({"a": 1.5, "b": 2}) == ["some", "other"]
    assert index.match({"a": given, "b": 2}) == ["none", "other"]
    assert index.match({"a": given, "b": np.int32(3)}) == ["none"]


def test_labels_are_forgotten_when_boundaries_come_and_go() -> None:
    index = index_of({"low": "a < 10", "text": "t = 'm'"})
    assert index.match({"a": 5, "t": "m"}) == ["low", "text"]
    index["lower"] = "a < 5"
    index["after"] = "t > 'b'"
    assert index.match({"a": 5, "t": "m"}) == ["low", "text", "after"]
    del index["low"], index["text"]
    assert index.match({"a": 5, "t": "m"}) == ["after"]
    assert index.match({"a": 4, "t": "m"}) == ["lower", "after"]


def test_attributes_that_get_other_numbers() -> None:
    index = index_of({"a": "a = 1", "b": "b = 1"})
    assert index.match({"a": 1, "b": 1}) == ["a", "b"]
    del index["a"]
    index.compact()
    assert index.match({"a": 1, "b": 1}) == ["b"]


def test_events_with_many_more_keys_than_rules_name() -> None:
    index = index_of({"a": "a = 1", "nested": "n.m = 2"})
    wide = {f"k{number}": number for number in range(50)}
    assert index.match({**wide, "a": 1, "n": {"m": 2}}) == ["a", "nested"]
    assert index.match({**wide, "n.m": 2, "a": None}) == ["nested"]
    assert index.match(wide) == []


def test_so_many_values_are_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "MEMO_SIZE", 10)
    index = index_of({"a": "a >= 7", "t": "t >= 'x'"})
    plan = event_plan(index._encoder)
    for value in range(100):
        assert len(sorted_pairs(plan, {"a": value, "t": "y" * value}) or ()) == 2
        assert index.match({"a": value}) == (["a"] if value >= 7 else [])
        assert 0 < len(plan.quick["a"][int]) <= 10
    monkeypatch.setattr(quick, "MEMO_LENGTH", 4)
    before = dict(plan.quick["t"][str])
    assert index.match({"t": "z" * 5}) == ["t"]
    assert plan.quick["t"][str] == before
