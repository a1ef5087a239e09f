"""Several shards give what one index with the same rules gives."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sharding_support import write_shards

import matchwood as mw
from matchwood.encoding import Strictness
from matchwood.errors import EventError, UnknownRule
from matchwood.sharding import ShardSet, open_shards


def _rules(count: int, seed: int, text_ids: bool = False) -> dict[Any, str]:
    rng = random.Random(seed)
    tests = [
        "age >= {}",
        "age < {}",
        "age between {} and 70",
        "age = {} or vip",
        "age > {} and city in ('Rome', 'Oslo')",
    ]
    more = ["tags one of ('a', 'b')", "city like '%o%'", "city is null", "vip is not null and age != {}"]
    picks = [rng.choice(tests + more).format(rng.randrange(80)) for _ in range(count)]
    return {(f"r{number * 7919 % 1000}-{number}" if text_ids else number): text for number, text in enumerate(picks)}


def _events(count: int, seed: int) -> pa.Table:
    rng = random.Random(seed)
    return pa.table(
        {
            "age": [rng.choice([None, *range(80)]) for _ in range(count)],
            "city": [rng.choice([None, "Rome", "Oslo", "Bonn"]) for _ in range(count)],
            "vip": [rng.choice([None, True, False]) for _ in range(count)],
            "tags": [rng.choice([None, [], ["a"], ["b", "c"]]) for _ in range(count)],
        }
    )


def _grouped(rules: dict[Any, str], count: int) -> list[dict[Any, str]]:
    return [{key: rules[key] for place, key in enumerate(rules) if place % count == group} for group in range(count)]


def _whole(rules: dict[Any, str]) -> mw.Index:
    index = mw.Index()
    index.insert_many(sorted(rules.items()), on_error="raise")
    return index


def _lists(index: mw.Index, events: pa.Table) -> list[list[Any]]:
    hits = index.match_many(events)
    lists: list[list[Any]] = [[] for _ in range(len(events))]
    for event, rule in zip(hits["event"].to_pylist(), hits["rule"].to_pylist(), strict=True):
        lists[event].append(rule)
    return lists


@pytest.mark.parametrize("shards", [1, 2, 5])
@pytest.mark.parametrize("text_ids", [False, True])
@pytest.mark.parametrize("room", [0, None])
def test_shards_together_match_as_one_index(tmp_path: Path, shards: int, text_ids: bool, room: int | None) -> None:
    rules, events = _rules(120, 1, text_ids), _events(300, 2)
    write_shards(tmp_path, _grouped(rules, shards))
    opened = open_shards(tmp_path, room=room)
    assert opened.match_lists(events).to_pylist() == _lists(_whole(rules), events)
    assert opened.match_lists(events).type.value_type == opened.id_type
    assert len(opened) == 120
    assert opened.attributes == {"age": "number", "city": "string", "tags": "list<string>", "vip": "bool"}


def test_tombstones_hide_rules_and_names(tmp_path: Path) -> None:
    old = {1: "x = 'text'", 2: "age > 5", 3: "age > 7"}
    write_shards(tmp_path, [old, {3: "age < 7"}], dead={0: [3]})
    opened = open_shards(tmp_path)
    assert opened.match_lists([{"age": 8}, {"age": 6}]).to_pylist() == [[2], [2, 3]]
    assert opened.text(3) == "age < 7"
    with pytest.raises(UnknownRule):
        opened.text(4)


def test_an_index_alone_opens_as_one_shard(tmp_path: Path) -> None:
    index = mw.Index()
    index.insert_many([("b", "age > 5"), ("a", "age > 6 and city = 'Rome'")])
    index.save(tmp_path)
    opened = open_shards(tmp_path)
    assert opened.match_lists([{"age": 9, "city": "Rome"}]).to_pylist() == [["b", "a"]]
    assert (len(opened), opened.id_type, opened.version) == (2, pa.string(), 1)
    assert opened.attributes == {"age": "number", "city": "string"}
    assert opened.bytes > 0


def _answered(shards: ShardSet, events: Any, **options: str) -> tuple[list[Any], list[tuple[int, str]]]:
    lists, told, first = [], [], 0
    for answered in shards.answers(events, Strictness(**options)):
        ids = answered.ids.to_pylist()
        lists += [ids[low:high] for low, high in zip(answered.offsets, answered.offsets[1:], strict=False)]
        told += [(first + row, message) for row, message in answered.errors]
        first += len(answered.offsets) - 1
    return lists, told


@pytest.mark.parametrize("groups", [[{1: "age > 5", 2: "age is null"}], [{1: "age > 5"}, {2: "age is null"}]])
def test_values_that_do_not_fit(tmp_path: Path, groups: list[dict[int, str]]) -> None:
    """The second shard only tests age for NULL, and still knows that it is a number."""
    write_shards(tmp_path, groups)
    events = pa.table({"age": ["7", None, "x"]})
    opened = open_shards(tmp_path)
    with pytest.raises(EventError, match="event 0: 'age' must be number"):
        opened.match_lists(events)
    assert opened.match_lists(events, on_error="null").to_pylist() == [[2], [2], [2]]
    lists, told = _answered(opened, events, on_error="report")
    assert lists == [[2], [2], [2]]
    assert [row for row, _ in told] == [0, 2]
    assert "'age' must be number (got 'x'" in told[1][1]


@pytest.mark.parametrize("shards", [1, 2])
def test_missing_columns_are_refused_when_asked(tmp_path: Path, shards: int) -> None:
    write_shards(tmp_path, _grouped({1: "age > 5", 2: "city = 'Rome'"}, shards))
    with pytest.raises(EventError, match="no 'city', but 'citi'"):
        open_shards(tmp_path).match_lists(pa.table({"age": [1], "citi": ["Rome"]}), missing="error")
    with pytest.raises(EventError, match="no 'age'"):
        open_shards(tmp_path).match_lists(pa.table({"city": pa.array([], pa.string())}), missing="error")


def test_more_hits_than_one_turn_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.rules.table.RuleTable.rows.__defaults__", (100, False))
    rules = {number: f"age >= {number % 10}" for number in range(300)}
    write_shards(tmp_path, _grouped(rules, 3))
    events = _events(200, 4)
    assert open_shards(tmp_path).match_lists(events).to_pylist() == _lists(_whole(rules), events)


def test_a_name_that_no_live_rule_asks_for_is_not_asked(tmp_path: Path) -> None:
    """A dead rule asks for text where the events have numbers now."""
    from dataclasses import replace

    from matchwood import storage
    from matchwood.sharding.layout import read_layout

    write_shards(tmp_path, [{1: "x = 'text'", 2: "age > 5"}, {1: "age > 7"}], dead={0: [1]})
    snapshot = storage.load(tmp_path)
    layout = read_layout(snapshot.header, "")
    header = replace(layout, attributes={"age": "number"}).header(snapshot.header)
    storage.save(tmp_path, {name: snapshot.parts[name] for name in snapshot.parts}, header)
    events = pa.table({"age": [6, 8], "x": [1, 2]})
    assert open_shards(tmp_path).match_lists(events, missing="error").to_pylist() == [[2], [1, 2]]


@pytest.mark.parametrize("shards", [1, 3])
def test_several_threads_answer_as_one(tmp_path: Path, shards: int) -> None:
    rules, events = _rules(120, 3), _events(300, 4)
    write_shards(tmp_path, _grouped(rules, shards))
    index = mw.open(tmp_path)
    expected, best = index.match_many(events), index.top_many(events, n=2)
    for threads in (2, 5, None):
        again = mw.open(tmp_path)
        assert again.match_many(events, threads=threads).equals(expected)
        assert again.match_batches(events, threads=threads).read_all().equals(expected)
        assert again.top_many(events, n=2, threads=threads).equals(best)
    with pytest.raises(mw.InvalidArgument, match="threads must be an integer"):
        index.match_batches(events, threads=0)
    with pytest.raises(EventError, match="event 250: 'age' must be"):
        index.match_many([*events.slice(0, 250).to_pylist(), {"age": "old"}], threads=3)
