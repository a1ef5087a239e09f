"""Trees that change: sound after every operation, as small as if built afresh, whatever the order."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from atree_support import flat_rule, random_event, random_rule, tree_of

import matchwood as mw
from matchwood.engines import ATree
from matchwood.engines.atree.layout import ID_MASK
from tests.conftest import SOAK


def checked(index: mw.Index, oracle: mw.Index, rng: random.Random, events: int = 6) -> None:
    assert index.audit() == []
    asked = [random_event(rng) for _ in range(events)]
    assert index.match_many(asked).to_pydict() == oracle.match_many(asked).to_pydict()


@pytest.mark.few
@pytest.mark.parametrize("make", [flat_rule, random_rule])
@pytest.mark.parametrize("seed", range(3 if SOAK else 2))
def test_sound_after_every_operation(seed: int, make: Any) -> None:
    rng = random.Random(f"life {seed}")
    index, oracle = mw.Index("atree"), mw.Index("oracle")
    for _ in range(120 if SOAK else 25):
        number = rng.randrange(30)
        if number in index and rng.random() < 0.5:
            del index[number]
            del oracle[number]
        elif rng.random() < 0.15:
            rules = {rng.randrange(30): make(rng) for _ in range(6)}
            index.insert_many(rules, on_duplicate="replace")
            oracle.insert_many(rules, on_duplicate="replace")
        else:
            index[number] = oracle[number] = make(rng)
        checked(index, oracle, rng)
    fresh = tree_of(dict(index))
    assert index.stats()["nodes"] == fresh.stats()["nodes"]
    for number in list(index):
        del index[number]
        assert index.audit() == []
    assert (index.stats()["nodes"], index.stats()["edges"]) == (0, 0)


@pytest.mark.parametrize("make", [flat_rule, random_rule])
def test_ten_orders_give_the_same_number_of_nodes(make: Any) -> None:
    rng = random.Random(5)
    rules = sorted({make(rng) for _ in range(150 if SOAK else 50)})
    counts, edges = [], []
    for _ in range(10):
        rng.shuffle(rules)
        index = mw.Index("atree")
        for number, rule in enumerate(rules):
            index[number] = rule
        counts.append(index.stats()["nodes"])
        edges.append(index.stats()["edges"])
    assert index.audit() == []
    assert max(counts) == min(counts) > 30
    assert max(edges) <= 1.1 * min(edges)


@pytest.mark.long(1)
@pytest.mark.parametrize("mask", [0, 3])
def test_ids_that_collide_do_not_mix_expressions_up(mask: int) -> None:
    """With two bits of an id left, or none, nodes are told apart by what they say."""
    rng = random.Random(f"mask {mask}")
    index, oracle = mw.Index("atree"), mw.Index("oracle")
    index._matcher.parts[-1].store.nodes.state[ID_MASK] = mask  # type: ignore[attr-defined]
    for number in range(60):
        index[number] = oracle[number] = random_rule(rng)
        if number % 3 == 2:
            del index[number - 1]
            del oracle[number - 1]
        checked(index, oracle, rng)
    fresh = tree_of(dict(index))
    assert index.stats()["nodes"] == fresh.stats()["nodes"]


def test_bulk_answers_like_one_by_one() -> None:
    rng = random.Random(8)
    rules = {number: random_rule(rng) for number in range(400 if SOAK else 150)}
    bulk, single, oracle = mw.Index("atree"), mw.Index("atree"), mw.Index("oracle")
    bulk.insert_many(rules)
    oracle.insert_many(rules)
    for number, rule in rules.items():
        single[number] = rule
    checked(bulk, oracle, rng, 40)
    checked(single, oracle, rng, 40)
    assert bulk.stats()["nodes"] == single.stats()["nodes"]


def test_compaction_and_rebuilding_change_no_answer() -> None:
    rng = random.Random(9)
    index, oracle = mw.Index("atree"), mw.Index("oracle")
    rules = {number: random_rule(rng) for number in range(200)}
    index.insert_many(rules)
    for number in range(0, 200, 3):
        del index[number]
    oracle.insert_many({number: rule for number, rule in rules.items() if number % 3})
    checked(index, oracle, rng, 30)
    nodes = index.stats()["nodes"]
    index._matcher.rebuild()
    checked(index, oracle, rng, 30)
    index.compact()
    checked(index, oracle, rng, 30)
    assert index.stats()["nodes"] == nodes
    index[1000] = oracle[1000] = "a1 = 1 and a2 = 1"
    checked(index, oracle, rng, 30)


COMMON = 3_000 if SOAK else 500


def test_very_wide_and_very_deep_rules() -> None:
    """Tens of thousands of operands, many rules with many operands in common, and a nest of thousands of levels."""
    index = mw.Index("atree")
    index["wide"] = " or ".join(f"w{number} = 1" for number in range(100_000 if SOAK else 10_000))
    for number in range(20):
        index[f"and {number}"] = " and ".join(f"w{each} = 1" for each in range(number, COMMON))
    index["deep"] = _nest(2_000)
    assert index.match({"w5": 1}) == ["wide"]
    assert index.match({f"w{each}": 1 for each in range(19, COMMON)}) == ["wide", "and 19"]
    assert "deep" in index.match({"d0": 1, **{f"d{each}": 1 for each in range(1, 2_000, 2)}})
    for rule in list(index):
        del index[rule]
    assert index.stats()["nodes"] == 0


def _nest(depth: int) -> str:
    """d0, joined in turn by and and or with other attributes."""
    text = "d0 = 1"
    for level in range(1, depth):
        text = f"({text}) {'and' if level % 2 else 'or'} d{level} = 1"
    return text


def test_thousands_of_one_sided_ranges() -> None:
    rng = np.random.default_rng(3)
    constants = rng.permutation(10_000)
    index = mw.Index("atree")
    index.insert_many({n: f"x {'<' if c % 2 else '>='} {c}" for n, c in enumerate(constants.tolist())})
    for value in (-1, 0, 4_321, 9_999, 10_000):
        odd = constants % 2 == 1
        expected = np.flatnonzero(np.where(odd, value < constants, value >= constants)).tolist()
        assert index.match({"x": value}) == expected
    assert index.stats()["postings"] < 10_000 * 32


class _History:
    """Events of which attribute 0 is nearly always there, and the others seldom."""

    events = 100

    def shares(self, attributes: Any, low: Any, high: Any) -> Any:
        return np.where(np.asarray(attributes) == 0, 0.9, 0.01)


def test_history_chooses_the_access_child() -> None:
    index = mw.Index("atree")
    index.insert_many({number: f"a = {number} and b > -1" for number in range(50)})
    tree: ATree = index._matcher.parts[-1].store  # type: ignore[attr-defined]
    before = {node.access for node in index.nodes() if node.kind == "and"}
    tree.event_statistics = _History()
    index._matcher.rebuild()
    after = {node.access for node in index.nodes() if node.kind == "and"}
    names = {node.number: node.attribute for node in index.nodes()}
    assert len(before) == 50
    assert {names[number] for number in after} == {"b"}
    assert index.match({"a": 7, "b": 0}) == [7]
    assert index.audit() == []
