"""Arbitrary expressions as columns: truth, texts, leaves and counts are what the language reads in the texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from matchwood.language import parse, postorder
from matchwood.language.tree import Predicate
from matchwood.semantics.evaluation import evaluate
from matchwood.workloads.abegen import abegen
from matchwood.workloads.ads_arbitrary import ads_arbitrary
from matchwood.workloads.shared.base import Workload
from matchwood.workloads.shared.brute import hits
from matchwood.workloads.shared.trees import leaves, occurrences, restricted, sizes

GENERATORS = {
    "abegen": lambda **more: abegen(**{"rules": 400, "events": 30, "dimensions": 40, **more}),
    "abegen 5": lambda **more: abegen(**{"rules": 60, "events": 30, "depth": 5, "children": 3, **more}),
    "ads": lambda **more: ads_arbitrary(**{"rules": 1_500, "events": 30, "matching": 0.01, **more}),
}


@pytest.fixture(params=GENERATORS.values(), ids=GENERATORS.keys())
def generate(request: pytest.FixtureRequest) -> Callable[..., Workload]:
    return request.param


def predicates_of(text: str) -> list[str]:
    return [str(node) for node in postorder(parse(text)) if isinstance(node, Predicate)]


def test_brute_force_agrees_with_the_oracle(generate: Callable[..., Workload]) -> None:
    work = generate(seed=3)
    rules = [parse(text) for text in work.rules_text()[:300]]
    found = 0
    for event, matching in zip(work.events_dicts(), hits(work, range(30)), strict=True):
        expected = [number for number, rule in enumerate(rules) if evaluate(rule, event) is True]
        assert [number for number in matching.tolist() if number < 300] == expected
        found += len(expected)
    assert found > 5


def test_rules_are_the_predicates_of_their_texts(generate: Callable[..., Workload]) -> None:
    work = generate(seed=3)
    offsets, numbers = leaves(work.trees)
    written = [predicates_of(text) for text in work.rules_text()]
    assert np.diff(offsets).tolist() == np.diff(work.rules.offsets).tolist() == list(map(len, written))
    assert sizes(work.trees)[work.trees.roots].tolist() == np.diff(offsets).tolist()
    names = [int(text.split()[0].removeprefix("a")) for texts in written for text in texts]
    assert work.rules.attributes.tolist() == work.trees.predicates.attributes[numbers].tolist() == names


def test_descriptions_are_counted(generate: Callable[..., Workload]) -> None:
    work = generate(seed=3)
    said, uses = work.describe(), Counter(text for rule in work.rules_text() for text in predicates_of(rule))
    assert said["predicates_per_rule"] * work.rules.count == pytest.approx(sum(uses.values()))
    assert said["sharing"] == pytest.approx(sum(uses.values()) / len(uses))
    assert len(said["sharing_by_level"]) == said["depth"] == work.trees.depth
    assert occurrences(work.trees)[: work.trees.levels[1]].sum() == sum(uses.values())


def test_a_seed_gives_the_same_workload_again(generate: Callable[..., Workload]) -> None:
    assert generate(seed=4).rules_table().equals(generate(seed=4).rules_table())
    assert generate(seed=4).events_dicts() == generate(seed=4).events_dicts()
    assert generate(seed=4).rules_text() != generate(seed=5).rules_text()
    assert generate(events=5).rules_text() == generate(events=200).rules_text()


def test_no_two_events_are_equal(generate: Callable[..., Workload]) -> None:
    events = generate(events=2_000).events_dicts()
    assert len({tuple(event.items()) for event in events}) == 2_000


def test_tables_and_dicts_say_the_same(generate: Callable[..., Workload]) -> None:
    work = generate()
    rows = [
        {name: value for name, value in row.items() if value is not None} for row in work.events_table().to_pylist()
    ]
    assert rows == work.events_dicts()
    assert work.rules_table()["expression"].to_pylist() == work.rules_text()


def test_a_part_of_the_trees_says_the_same(generate: Callable[..., Workload]) -> None:
    work = generate()
    chosen = work.trees.roots[[5, 3, 17, 3]]
    small, left = restricted(work.trees, chosen)
    assert small.levels[-1] < work.trees.levels[-1] / 2
    offsets, numbers = leaves(small)
    whole_offsets, whole = leaves(work.trees)
    for position, rule in enumerate([5, 3, 17, 3]):
        old = whole[whole_offsets[rule] : whole_offsets[rule + 1]]
        assert left[numbers[offsets[position] : offsets[position + 1]]].tolist() == old.tolist()
