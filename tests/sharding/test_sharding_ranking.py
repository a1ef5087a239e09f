"""The best rules of a version of several shards are those of one index with all of its live rules."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from sharding_support import write_shards

import matchwood
from matchwood.errors import InvalidArgument
from tests.cases import event, expression
from tests.conftest import SOAK
from tests.contract.ranking import event_weights, ranks, rule_options
from tests.contract.tables import COLUMNAR, arrow_table
from tests.pools import palettes


def weighted_rules(rng: random.Random, count: int) -> dict[int, tuple[str, Any]]:
    shared = palettes(rng, COLUMNAR)
    index, rules = matchwood.Index(), {}
    while len(rules) < count:
        rule = expression(rng, shared, COLUMNAR, leaves=rng.randint(1, 5))
        options = rule_options(rng, rule, shared)
        if not index.insert_many([(len(rules), str(rule), options)]).rejected.num_rows:
            rules[len(rules)] = (str(rule), options)
    return rules


@pytest.mark.parametrize("engine", ["counting", "atree", "oracle"])
def test_shards_rank_as_one_index_does(tmp_path: Path, engine: str) -> None:
    rng = random.Random("ranked shards")
    rules = weighted_rules(rng, 90 if SOAK else 54)
    whole = matchwood.Index()
    live = [number for number in rules if number % 9]
    whole.insert_many([(number, *rules[number]) for number in live], on_error="raise")
    groups = [{number: rules[number] for number in rules if number % 3 == part} for part in range(3)]
    dead = {part: [number for number in groups[part] if number % 9 == 0] for part in range(3)}
    write_shards(tmp_path, groups, {part: ids for part, ids in dead.items() if ids}, engine=engine)
    index = matchwood.open(tmp_path, read_only=True)
    shared = palettes(random.Random("ranked shards"), COLUMNAR)
    events = [event(rng, shared, COLUMNAR, missing=0.1) for _ in range(40 if SOAK else 15)]
    names = sorted(whole._encoder.schema.names())
    weights = [event_weights(rng, names) for _ in events]
    for n in (1, 4, 200):
        wanted = ranks(whole.top_many(events, n, weights), len(events))
        assert sum(map(len, wanted)) > len(events) // 2
        assert ranks(index.top_many(events, n, weights), len(events)) == wanted
        assert ranks(index.top_many(arrow_table(events), n, weights), len(events)) == wanted
        assert [index.top(each, n, own) for each, own in zip(events, weights, strict=True)] == wanted


def test_ties_between_shards_go_by_id(tmp_path: Path) -> None:
    write_shards(tmp_path, [{"b": "x = 1", "d": "x = 1"}, {"a": "x = 1", "c": "x > 0"}])
    index = matchwood.open(tmp_path)
    assert index.top({"x": 1}, 3) == [("a", 1.0), ("b", 1.0), ("c", 1.0)]
    assert index.top_many([{"x": 1}, {"x": 3}], 2).to_pydict() == {
        "event": [0, 0, 1],
        "rank": [1, 2, 1],
        "rule": ["a", "b", "c"],
        "score": [1.0] * 3,
    }
    assert index.top({"x": 1}, 1, weights={"X": 2}) == [("a", 1.0)]
    assert index.top_many([{"x": 1}] * 2, 1, [{"X": 2}, {"x": 3}])["score"].to_pylist() == [1.0, 3.0]
    assert index.stats()["matching"]["unknown_weights"] == 2
    with pytest.raises(InvalidArgument, match="given for 1 event "):
        index.top_many([{"x": 1}] * 2, weights=[{"x": 2}])
    index["e"] = "x = 1 and x < 5"
    assert index.top({"x": 1}, 2) == [("e", 2.0), ("a", 1.0)]
