"""The generated cases cover what they claim: operators × types, truth values, extremes, shapes."""

from __future__ import annotations

import math
import random
from collections import Counter

from hypothesis import given, settings

from matchwood.language import parse
from matchwood.language.tree import OPERATORS, Expression, Predicate, postorder
from matchwood.semantics.evaluation import evaluate
from tests import strategies
from tests.cases import PAIRS, workload, workloads
from tests.pools import ATTRIBUTES


def test_every_operator_and_type_is_listed() -> None:
    assert {operator for operator, _ in PAIRS} == set(OPERATORS)
    assert {kind for _, kind in PAIRS} == set(ATTRIBUTES.values())
    assert len(PAIRS) == 6 * 12 + 18 + 2 * 7


def test_the_same_seed_gives_the_same_cases() -> None:
    first, second = (workload(random.Random(9), 20, 5) for _ in range(2))
    assert list(map(str, first.rules)) == list(map(str, second.rules))
    assert repr(first.events) == repr(second.events)
    assert repr(workload(random.Random(10), 20, 5).events) != repr(first.events)


def test_rules_survive_printing_and_parsing() -> None:
    for work in workloads(seed=2, count=4, rules=100, events=0):
        for rule in work.rules:
            assert parse(str(rule)) == rule


def test_values_include_the_extremes() -> None:
    events = [event for work in workloads(seed=3, count=40, rules=0, events=12) for event in work.events]
    values = [value for event in events for value in event.values()]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    assert any(math.isnan(value) for value in numbers)
    assert any(value == 0 and math.copysign(1, value) < 0 for value in numbers if isinstance(value, float))
    assert {math.inf, -math.inf, 2**63 - 1, -(2**63), 2**53 + 1} <= {value for value in numbers if value == value}
    assert [] in values
    assert any(isinstance(value, list) and None in value for value in values)
    texts = [value for value in values if isinstance(value, str)]
    assert {"", "😀", "e\u0301"} <= set(texts)
    assert any(getattr(value, "tzinfo", None) for value in values)


def test_shapes_include_every_node_and_deep_ones() -> None:
    rules = [rule for work in workloads(seed=4, count=5, rules=100, events=0) for rule in work.rules]
    kinds = Counter(type(node).__name__ for rule in rules for node in postorder(rule))
    assert {"And", "Or", "Xor", "Xnor", "Not", "Truth", "Constant", "Predicate"} == set(kinds)
    assert max(map(depth, rules)) >= 20


def depth(rule: Expression) -> int:
    heights: list[int] = []
    for node in postorder(rule):
        below = [heights.pop() for _ in node.operands]
        heights.append(1 + max(below, default=0))
    return heights[0]


@settings(max_examples=30, deadline=None)
@given(strategies.deep_expressions(), strategies.events())
def test_deep_expressions_are_read_back(rule: Expression, event: dict[str, object]) -> None:
    assert evaluate(parse(str(rule)), event) is evaluate(rule, event)


@settings(max_examples=50, deadline=None)
@given(strategies.predicates(operator="like"), strategies.expressions())
def test_strategies_keep_to_what_is_asked(predicate: Predicate, rule: Expression) -> None:
    assert (predicate.op, ATTRIBUTES[predicate.attr]) == ("like", "string")
    assert sum(not node.operands for node in postorder(rule)) <= 7
