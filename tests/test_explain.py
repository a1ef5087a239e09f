"""Explanations: verdicts, the minimal deciding sets (by flipping every other predicate), drawing, data, size."""

from __future__ import annotations

import datetime
import itertools
import json
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchwood.errors import EventError, LimitExceeded
from matchwood.insight.explain import Explanation, explain_expression, flat
from matchwood.insight.explain.flat import FlatTree
from matchwood.insight.explain.minimal import Reduction
from matchwood.insight.explain.truth import FALSE, NULL, TRUE, mask_of, possible
from matchwood.language import And, Constant, Expression, Not, Or, Predicate, Truth, Xnor, Xor, parse
from matchwood.semantics.evaluation import evaluate, evaluate_predicate
from tests.conftest import examples

VERDICTS = (True, False, None)
Event = dict[str, bool | None]


def explained(source: str | Expression, **event: Any) -> Explanation:
    return explain_expression(parse(source), event, evaluate_predicate)


def named(texts: Iterable[str]) -> list[str]:
    """`a = true` as `a`."""
    return [text.removesuffix(" = true") for text in texts]


def decides(expression: Expression, event: Event, fixed: Iterable[str]) -> bool:
    """By trying everything: whether the verdict is the same for all verdicts of the attributes not fixed."""
    verdict, free = evaluate(expression, event), [name for name in event if name not in fixed]
    flips = itertools.product(VERDICTS, repeat=len(free))
    return all(evaluate(expression, {**event, **dict(zip(free, flip, strict=True))}) is verdict for flip in flips)


def assert_minimal(expression: Expression, event: Event) -> list[str]:
    found = explain_expression(expression, event, evaluate_predicate)
    names = named(found.decided_by)
    assert found.verdict is evaluate(expression, event)
    assert found.minimal
    assert decides(expression, event, names), f"{names} do not decide {expression} of {event}"
    for name in names:
        rest = [other for other in names if other != name]
        assert not decides(expression, event, rest), f"{rest} decide {expression} of {event}, so {name} is not needed"
    return names


def operators(operands: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.lists(operands, min_size=2, max_size=4)
    tests = st.tuples(operands, st.sampled_from(["true", "false", "unknown"]), st.booleans())
    joined = [several.map(lambda found, kind=kind: kind(*found)) for kind in (And, Or, Xor, Xnor)]
    return st.one_of(*joined, operands.map(Not), tests.map(lambda parts: Truth(*parts)))


def trees(names: str) -> st.SearchStrategy[Expression]:
    leaves = st.sampled_from(names).map(lambda name: Predicate(name, "=", True))
    leaf = st.one_of(leaves, leaves, leaves, leaves, st.booleans().map(Constant))
    return st.recursive(leaf, operators, max_leaves=10)


def events(names: str) -> st.SearchStrategy[Event]:
    return st.fixed_dictionaries({name: st.sampled_from(VERDICTS) for name in names})


@examples(300)
@given(trees("abcde"), events("abcde"))
def test_decided_by_is_minimal_with_repeated_predicates(expression: Expression, event: Event) -> None:
    assert_minimal(expression, event)


@examples(200)
@given(trees("ab"), events("ab"))
def test_decided_by_is_minimal_when_nearly_all_repeat(expression: Expression, event: Event) -> None:
    assert_minimal(expression, event)


@examples(150)
@given(trees("a"), events("abcdef"))
def test_without_repetition_no_smaller_set_decides(shape: Expression, event: Event) -> None:
    expression = with_distinct_leaves(shape, "abcdef")
    found = assert_minimal(expression, event)
    used = sorted({node.attr for node in FlatTree(expression).predicates})
    for smaller in itertools.combinations(used, max(len(found) - 1, 0)):
        assert not decides(expression, event, smaller) or not found


def with_distinct_leaves(shape: Expression, names: str) -> Expression:
    """The same tree, its predicates named one after the other; those beyond the names are constants."""
    fresh, done = iter(names), []
    tree = FlatTree(shape)
    for node, operands in zip(tree.nodes, tree.operands, strict=True):
        inside = [done[operand] for operand in operands]
        if isinstance(node, Predicate):
            name = next(fresh, None)
            done.append(Predicate(name, "=", True) if name else Constant(True))
        elif isinstance(node, Truth):
            done.append(Truth(inside[0], node.test, node.negated))
        else:
            done.append(type(node)(*inside) if inside else node)
    return done[-1]


@pytest.mark.parametrize(
    ("text", "event", "decided_by"),
    [
        ("a and b and c", {"a": True, "b": False, "c": None}, ["b"]),
        ("a and b and c", {"a": True, "b": True, "c": True}, ["a", "b", "c"]),
        ("a and b and c", {"a": True, "b": None, "c": None}, ["a", "b", "c"]),
        ("a or b or c", {"a": False, "b": None, "c": True}, ["c"]),
        ("a or b", {"a": False, "b": None}, ["a", "b"]),
        ("(a and b) or c", {"a": True, "b": True, "c": True}, ["c"]),
        ("a xor b xor c", {"a": True, "b": True, "c": None}, ["c"]),
        ("a xor b", {"a": True, "b": False}, ["a", "b"]),
        ("a xnor b", {"a": None, "b": False}, ["a"]),
        ("(a) is not true", {"a": None}, ["a"]),
        ("(a and b) is not true", {"a": None, "b": True}, ["a"]),
        ("(a and b) is not true", {"a": False, "b": None}, ["a"]),
        ("(a and b) is unknown", {"a": None, "b": True}, ["a", "b"]),
        ("(a and b) is not unknown", {"a": False, "b": None}, ["a"]),
        ("(a xor b) is not true", {"a": None, "b": True}, ["a"]),
        ("(a or b) is not false", {"a": None, "b": False}, ["a"]),
        ("(a) is true or (a) is not true", {"a": None}, []),
        ("a or not a", {"a": True}, ["a"]),
        ("(a and b) or (a and c)", {"a": False, "b": True, "c": True}, ["a"]),
        ("(a or b) and (b or c)", {"a": True, "b": True, "c": True}, ["b"]),
        ("true or a", {"a": False}, []),
        ("false", {}, []),
    ],
)
def test_known_cases(text: str, event: Event, decided_by: list[str]) -> None:
    assert assert_minimal(parse(text), event) == decided_by


def test_identical_predicates_are_one() -> None:
    found = explained("x = 1 and (y = 2 or x = 1)", x=1, y=3)
    assert (found.verdict, found.decided_by) == (True, ["x = 1"])
    assert [node["decides"] for node in found.to_dict()["nodes"] if "decides" in node] == [True, False, True]


def test_predicates_are_listed_as_they_appear() -> None:
    assert explained("z = 1 and a = 2 and m > 3", z=1, a=2, m=4).decided_by == ["z = 1", "a = 2", "m > 3"]


def test_each_predicate_is_judged_once() -> None:
    judged = []

    def evaluate_and_note(predicate: Predicate, event: Any) -> bool:
        judged.append(str(predicate))
        return True

    explain_expression(parse("a and b and (a or not a)"), {}, evaluate_and_note)
    assert judged == ["a = true", "b = true"]


def test_an_event_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(EventError):
        explained("age > 5", age="old")


def test_drawing() -> None:
    found = explained(
        "(age >= 18 or vip) and not user.country in ('US', 'CA') and (score > 0.5) is not true",
        age=20,
        user={"country": "FR"},
    )
    assert str(found).splitlines() == [
        "✓ and",
        "├─ ✓ or",
        "│  ├─ ✓ age >= 18                     age = 20  ◄",
        "│  └─ ? vip = true                    vip is null",
        "├─ ✓ not",
        "│  └─ ✗ user.country in ('US', 'CA')  user.country = 'FR'  ◄",
        "└─ ✓ is not true",
        "   └─ ? score > 0.5                   score is null  ◄",
        "TRUE, decided by ◄",
    ]
    assert str(explained("true")) == "✓ true\nTRUE for every event"
    assert str(explained("`odd name` = 'x'")) == "? `odd name` = 'x'  `odd name` is null  ◄\nNULL, decided by ◄"


def test_long_texts_and_values_are_cut_in_the_drawing_only() -> None:
    found = explained(f"x in ({', '.join(map(str, range(1000)))})", x=7)
    assert max(map(len, str(found).splitlines())) < 250
    assert "999)" in found.decided_by[0]
    lines = str(explained("note = 'a\nb'", note="line\nbreak")).splitlines()
    assert lines == ["✗ note = 'a\\nb'  note = 'line\\nbreak'  ◄", "FALSE, decided by ◄"]


def test_data_is_plain_json() -> None:
    data = json.loads(json.dumps(explained("a = 1 and not b", a=1).to_dict()))
    assert (data["verdict"], data["decided_by"], data["minimal"]) == (None, ["a = 1", "b = true"], True)
    assert data["fails"] == ["b = true"]
    assert data["expression"] == "a = 1 and not b = true"
    assert data["nodes"] == [
        {"text": "and", "verdict": None, "parent": None},
        {"text": "a = 1", "verdict": True, "parent": 0, "attribute": "a", "value": 1, "decides": True, "fails": False},
        {"text": "not", "verdict": None, "parent": 0},
        {"text": "b = true", "verdict": None, "parent": 2, "attribute": "b", "value": None}
        | {"decides": True, "fails": True},
    ]


@pytest.mark.parametrize(
    ("text", "value", "written"),
    [
        ("x >= date '2026-01-01'", datetime.datetime(2026, 2, 1, tzinfo=datetime.UTC), "2026-02-01T00:00:00+00:00"),
        ("x >= date '2026-01-01'", datetime.date(2026, 2, 1), "2026-02-01"),
        ("x = 1", np.float64(1.5), 1.5),
        ("x = 1", Decimal("0.5"), "0.5"),
        ("x = 1", math.nan, "NaN"),
        ("x = 1", -math.inf, "-Infinity"),
        ("x one of ('a')", ("a", None), ["a", None]),
    ],
)
def test_values_that_json_does_not_know_become_plain(text: str, value: object, written: object) -> None:
    data = json.loads(json.dumps(explained(text, x=value).to_dict(), allow_nan=False))
    assert data["nodes"][0]["value"] == written


def nested(depth: int, distinct: bool) -> Expression:
    expression: Expression = Predicate("x0", "=", True)
    for level in range(1, depth):
        leaf = Predicate(f"x{level if distinct else level % 7}", "=", True)
        expression = (And if level % 2 else Or)(leaf, Not(expression))
    return expression


@pytest.mark.parametrize("distinct", [True, False])
def test_depth_10_000(distinct: bool) -> None:
    depth = 5_000
    expression = nested(depth, distinct)
    event = {f"x{level}": VERDICTS[level % 3] for level in range(depth)}
    found = explain_expression(expression, event, evaluate_predicate)
    assert found.verdict is evaluate(expression, event)
    assert found.minimal
    assert found.decided_by
    assert max(map(len, str(found).splitlines())) < 300
    assert "more nodes, too deep or too many to draw" in str(found)
    assert len(json.dumps(found.to_dict())) > 100_000


@pytest.mark.long(2)
@pytest.mark.parametrize("kind", [And, Or, Xor, Xnor])
@pytest.mark.parametrize("repeated", [False, True])
def test_a_node_of_10_000_predicates(kind: Any, repeated: bool) -> None:
    count = 10_000
    leaves = [Predicate(f"x{number}", "=", True) for number in range(count)]
    leaves += leaves[:1] if repeated else []
    event = {f"x{number}": kind is not Or for number in range(count)}
    found = explain_expression(kind(*leaves), event, evaluate_predicate)
    assert found.verdict is evaluate(kind(*leaves), event)
    assert (found.minimal, len(found.decided_by)) == (True, count)


def test_expressions_shared_beyond_any_size_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flat, "MAX_NODES", 1_000)
    expression = parse("a = 1 and b = 2")
    for _ in range(60):
        expression = Xor(expression, Not(expression))
    with pytest.raises(LimitExceeded, match="more than 1,000 nodes"):
        explain_expression(expression, {}, evaluate_predicate)


def test_out_of_budget_the_set_still_decides_and_says_that_it_may_not_be_minimal() -> None:
    expression, event = parse("(a or b) and (b or c)"), {"a": True, "b": True, "c": True}
    tree = FlatTree(expression)
    reduction = Reduction(tree, tree.judged(event, evaluate_predicate), [0, 1, 2], budget=0)
    reduction.run()
    assert (reduction.deciding, reduction.proven) == ({0, 1, 2}, False)


@pytest.mark.parametrize("kind", [And, Or, Xor, Xnor])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_what_a_node_can_be_is_what_some_choice_makes_it(kind: Any, size: int) -> None:
    node = kind(*(Predicate(f"x{number}", "=", True) for number in range(size)))
    for masks in itertools.product(range(1, 8), repeat=size):
        choices = itertools.product(*([each for each in (TRUE, FALSE, NULL) if each & mask] for mask in masks))
        reached = {possible(node, choice) for choice in choices}
        assert possible(node, masks) == sum(reached)


@pytest.mark.parametrize("verdicts", list(itertools.product(VERDICTS, repeat=3)))
@pytest.mark.parametrize("kind", [And, Or, Xor, Xnor])
def test_single_verdicts_combine_as_the_oracle_says(kind: Any, verdicts: tuple[bool | None, ...]) -> None:
    node = kind(*(Predicate(name, "=", True) for name in "abc"))
    expected = evaluate(node, dict(zip("abc", verdicts, strict=True)))
    assert possible(node, [mask_of(verdict) for verdict in verdicts]) == mask_of(expected)


def test_every_predicate_that_fails_is_marked() -> None:
    """One of two FALSE operands decides an `and`; whoever repairs the rule wants to know of both."""
    found = explained("age >= 18 and country = 'US' and (vip or plan = 'gold')", age=3, country="FR", vip=True)
    assert (found.verdict, found.decided_by, found.fails) == (False, ["age >= 18"], ["age >= 18", "country = 'US'"])
    assert str(found).splitlines() == [
        "✗ and",
        "├─ ✗ age >= 18         age = 3  ◄",
        "├─ ✗ country = 'US'    country = 'FR'  ◁",
        "└─ ✓ or",
        "   ├─ ✓ vip = true     vip = True",
        "   └─ ? plan = 'gold'  plan is null",
        "FALSE, decided by ◄; ◁ fails as well",
    ]
    nodes = {node["text"]: node["fails"] for node in found.to_dict()["nodes"] if "fails" in node}
    assert nodes == {"age >= 18": True, "country = 'US'": True, "vip = true": False, "plan = 'gold'": False}


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("a = 1 and b = 1", []),
        ("a = 2 or b = 2", ["a = 2", "b = 2"]),
        ("not (a = 1 and b = 1)", ["a = 1", "b = 1"]),
        ("a = 1 and (b = 2 or c = 1)", ["b = 2", "c = 1"]),
        ("a = 1 xor b = 1", ["a = 1", "b = 1"]),
        ("a = 1 xor c = 1", ["c = 1"]),
        ("a = 1 and c is not null", ["c is not null"]),
    ],
)
def test_what_stands_in_the_way(text: str, fails: list[str]) -> None:
    assert explained(text, a=1, b=1).fails == fails
