"""The index as a mapping: order, replacement, deletion, iteration, ids."""

from __future__ import annotations

import json
import random
from collections.abc import MutableMapping
from typing import Any

import numpy as np
import pytest

import matchwood as mw
from matchwood.matching import entries


def filled(engine: str = "auto", **rules: str) -> mw.Index:
    index = mw.Index(engine=engine)
    for rule_id, text in rules.items():
        index[rule_id] = text
    return index


def test_it_is_a_mutable_mapping() -> None:
    index = filled(a="x = 1")
    assert isinstance(index, MutableMapping)
    assert bool(index)
    assert not mw.Index()
    assert index == {"a": "x = 1"}
    assert index != {"a": "x = 2"}


def test_a_replacement_keeps_its_place_and_a_new_rule_goes_last(engine: str) -> None:
    index = filled(engine, a="x = 1", b="x = 1", c="x = 1")
    index["b"] = "x >= 1"
    assert list(index) == ["a", "b", "c"]
    assert index.match({"x": 1}) == ["a", "b", "c"]
    del index["a"]
    index["a"] = "x = 1"
    assert list(index) == ["b", "c", "a"]
    assert index.match({"x": 1}) == ["b", "c", "a"]
    index.compact()
    assert list(index) == ["b", "c", "a"]
    index["c"] = "x = 1 or x is null"
    assert index.match({"x": 1}) == ["b", "c", "a"]
    assert index.match_many([{}, {"x": 1}]).to_pydict() == {"event": [0, 1, 1, 1], "rule": ["c", "b", "c", "a"]}


def test_texts_come_back_as_given(engine: str) -> None:
    index = mw.Index(engine=engine)
    text = "  X  =  1\n AND (y='é😀')  "
    as_json = {"and": [{"attr": "x", "op": "=", "value": 1}, {"not": {"attr": "v", "op": "=", "value": True}}]}
    index["text"] = text
    index["expression"] = mw.attr("age") >= 18
    index["dict"] = as_json
    index["json"] = json.dumps(as_json, indent=2)
    index["str"] = np.str_("x = 2")
    assert index["text"] == text
    assert index["expression"] == "age >= 18"
    assert mw.parse(index["dict"]) == mw.parse(as_json)
    assert index["json"] == json.dumps(as_json, indent=2)
    assert index["str"] == "x = 2"
    assert type(index["str"]) is str
    assert index.match({"x": 1, "v": False}) == ["dict", "json"]
    assert mw.parse(index["expression"]) == (mw.attr("age") >= 18)


@pytest.mark.parametrize("bad", [None, 5, b"x = 1", ["x = 1"], object()])
def test_what_is_no_rule(bad: Any, engine: str) -> None:
    index = filled(engine, a="x = 1")
    for rule_id in ("a", "b"):
        with pytest.raises(mw.InvalidArgument, match="text, JSON or an Expression"):
            index[rule_id] = bad
    assert dict(index) == {"a": "x = 1"}


def test_deletion_and_unknown_rules(engine: str) -> None:
    index = filled(engine, a="x = 1", b="x = 1")
    del index["a"]
    assert ("a" in index, "b" in index, len(index)) == (False, True, 1)
    for ask in (index.__getitem__, index.__delitem__, lambda rule_id: index.explain({}, rule_id), index.pop):
        with pytest.raises(mw.UnknownRule, match="no rule has the id 'a'"):
            ask("a")
        with pytest.raises(KeyError):
            ask("a")
    for strange in (None, 1.5, True, b"b", ("b",), 2**80, [], {}, "\ud800", 5):
        assert strange not in index
        with pytest.raises(mw.UnknownRule):
            index[strange]
        with pytest.raises(mw.UnknownRule):
            del index[strange]
    assert index.get("a") is None
    assert index.get("a", "gone") == "gone"
    assert index.get("b") == "x = 1"


def test_pop_update_setdefault_popitem_clear(engine: str) -> None:
    index = filled(engine, a="x = 1", b="x = 2")
    assert index.pop("a") == "x = 1"
    assert index.pop("a", None) is None
    index.update({"c": "x = 3", "b": "x = 4"}, d="x = 5")
    assert list(index.items()) == [("b", "x = 4"), ("c", "x = 3"), ("d", "x = 5")]
    assert index.setdefault("b", "y = 1") == "x = 4"
    assert index.setdefault("e", "y = 1") == "y = 1"
    assert index.popitem() == ("b", "x = 4")
    assert list(index.values()) == ["x = 3", "x = 5", "y = 1"]
    assert ("c", "x = 3") in index.items()
    assert ("c", "x = 4") not in index.items()
    assert "x = 5" in index.values()
    assert index.keys() == {"c", "d", "e"}
    assert (len(index.items()), len(index.values()), len(index.keys())) == (3, 3, 3)
    index.clear()
    assert (len(index), list(index), index.match({"x": 3, "y": 1}), index.types()) == (0, [], [], {})
    with pytest.raises(KeyError):
        index.popitem()
    assert index.audit() == []
    index[1] = "x = 'text'"
    assert index.match({"x": "text"}) == [1]


def test_clear_of_many_rules_is_one_step(engine: str) -> None:
    index = mw.Index(engine=engine, schema={"k": "int"})
    index.insert_many(
        {number: f"x = {number} or s like '%{number}%' or tags one of ('t{number}')" for number in range(2000)}
    )
    index.clear()
    assert len(index) == 0
    assert index.audit() == []
    assert index.types() == {"k": "int"}
    assert index.stats()["encoding"]["numbers"] == 0
    with pytest.raises(mw.TypeConflict, match="as declared"):
        index["a"] = "k = 'text'"


def test_iteration_goes_on_while_rules_change(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "PIECE", 2)
    index = filled(engine, a="x = 1", b="x = 2", c="x = 3", d="x = 4", e="x = 5")
    seen = []
    for rule_id in index:
        seen.append(rule_id)
        del index[rule_id]
        index[rule_id + rule_id] = "x = 9"
    assert seen == ["a", "b", "c", "d", "e"]
    assert list(index) == ["aa", "bb", "cc", "dd", "ee"]
    walked = []
    for rule_id, text in index.items():
        walked.append((rule_id, text))
        index.pop("dd", None)
        index["ee"] = "x = 10"
        index["ff"] = "x = 11"
        index.compact()
    assert walked == [("aa", "x = 9"), ("bb", "x = 9"), ("cc", "x = 9"), ("ee", "x = 10")]


@pytest.mark.parametrize(
    ("first", "second"),
    [("a", 1), (1, "a"), (1, "1"), ("1", 1)],
    ids=["str-int", "int-str", "int-digits", "digits-int"],
)
def test_one_kind_of_id(first: Any, second: Any, engine: str) -> None:
    index = mw.Index(engine=engine)
    assert index.id_kind is None
    index[first] = "x = 1"
    assert index.id_kind is type(first)
    with pytest.raises(mw.InvalidArgument, match="one kind of id"):
        index[second] = "y = 1"
    report = index.insert_many([(second, "y = 1"), (first, "x = 2")], on_duplicate="replace")
    assert (report.replaced, report.rejected.num_rows) == (1, 1)
    assert second not in index
    assert list(index) == [first]
    assert index.types() == {"x": "number"}
    report = mw.Index(engine=engine).insert_many([(first, "x = 1"), (second, "x = 1")])
    assert (report.inserted, report.rejected.num_rows) == (1, 1)


def test_numpy_ids_unwrap(engine: str) -> None:
    index = mw.Index(engine=engine)
    index[np.int32(7)] = "x = 1"
    index[np.uint64(8)] = "x = 1"
    assert [(rule_id, type(rule_id)) for rule_id in index.match({"x": 1})] == [(7, int), (8, int)]
    assert (7 in index, np.int64(8) in index, index[np.int8(7)]) == (True, True, "x = 1")
    index[7] = "x = 2"
    assert len(index) == 2


def test_repr_and_engine(engine: str) -> None:
    index = filled(engine, a="x = 1")
    assert repr(index) == f"<matchwood.Index: 1 rule, engine {engine!r}>"
    assert index.engine == engine
    assert mw.Index().engine == "pstbloom"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"engine": "fast"}, "no engine 'fast'"),
        ({"engine": None}, "engine"),
        ({"engine": ["scan"]}, "engine"),
        ({"options": {"speed": 11}}, "no option 'speed'"),
        ({"options": 5}, "options must be a dict"),
        ({"options": {"spaces": "nope"}}, "spaces"),
        ({"engine": "oracle", "options": {"speed": 11}}, "no option 'speed'"),
        ({"dnf_limit": 0}, "dnf_limit"),
        ({"dnf_limit": True}, "dnf_limit"),
        ({"dnf_limit": 2.5}, "dnf_limit"),
        ({"timezone": "Mars/Olympus"}, "Mars/Olympus"),
        ({"timezone": 5}, "timezone|time zone"),
        ({"schema": 5}, "schema"),
        ({"schema": {"a": "complex"}}, "complex"),
        ({"strict_schema": "yes"}, "strict_schema"),
    ],
)
def test_wrong_settings(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(mw.MatchwoodError, match=told):
        mw.Index(**arguments)


@pytest.mark.parametrize("event", [None, 5, "x", [{"x": 1}], (("x", 1),)])
def test_match_takes_one_mapping(event: Any, engine: str) -> None:
    index = filled(engine, a="x = 1")
    with pytest.raises(mw.InvalidArgument, match="a dict"):
        index.match(event)
    with pytest.raises(mw.InvalidArgument, match="a dict"):
        index.explain(event, "a")


def test_against_a_dict(engine: str) -> None:
    """Random changes: the index is what a dict would be, whose replaced keys keep their places."""
    rng = random.Random(f"mapping {engine}")
    index, model = mw.Index(engine=engine), {}
    for step in range(300):
        rule_id, text = rng.randrange(12), f"x = {rng.randrange(5)} or y = {rng.randrange(3)}"
        chance = rng.random()
        if chance < 0.5:
            index[rule_id] = model[rule_id] = text
        elif chance < 0.9:
            assert index.pop(rule_id, None) == model.pop(rule_id, None)
        elif chance < 0.95:
            rules = {rng.randrange(12): text for _ in range(5)}
            index.insert_many(rules, on_duplicate="replace")
            model.update(rules)
        else:
            index.compact()
        assert list(index.items()) == list(model.items())
        assert index.match({"x": 1}) == [each for each in model if model[each].startswith("x = 1 ")], step
    assert index.audit() == []
