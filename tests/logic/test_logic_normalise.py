"""Trees to forms: true for the same events, small, canonical, and without recursion."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logic_support import bind, events_for, form_text, trees, verdict

from matchwood.language import parse
from matchwood.language.tree import And, Expression, Not, Or, Predicate, Truth, Xnor, Xor, postorder
from matchwood.logic import AND, FALSE, LEAF, OR, TRUE, Form, builder, dnf_size, evaluate, normalise
from matchwood.logic import cuts as sets
from tests.conftest import SOAK, examples

DEEP = 10_000 if SOAK else 4_000
assert 2 * sys.getrecursionlimit() < DEEP


def equal(attribute: str, value: int) -> Expression:
    return Predicate(attribute, "=", value)


def height(form: Form) -> int:
    heights: list[int] = []
    for children in form.children:
        heights.append(1 + max((heights[child] for child in children), default=-1))
    return heights[-1]


@examples(400)
@given(trees)
def test_a_form_holds_exactly_where_the_tree_is_true(tree: Expression) -> None:
    form = normalise(tree, bind)
    for event in events_for(tree):
        assert evaluate(form, event) == (verdict(tree, event) is True), event


@examples(200)
@given(trees)
def test_a_form_is_well_made(tree: Expression) -> None:
    form = normalise(tree, bind)
    count = len(form.leaves)
    assert form.kinds[:count] == (LEAF,) * count
    assert list(form.leaves) == sorted(set(form.leaves))
    assert all(leaf.cuts or leaf.null for leaf in form.leaves)
    assert not any(leaf.null and leaf.cuts == sets.FULL for leaf in form.leaves)
    if form.kinds[-1] in (TRUE, FALSE):
        assert len(form.kinds) == 1
        return
    for number in range(count, len(form.kinds)):
        children = form.children[number]
        assert form.kinds[number] in (AND, OR)
        assert len(children) > 1
        assert list(children) == sorted(set(children))
        assert children[-1] < number
        assert all(form.kinds[child] != form.kinds[number] for child in children)
        attributes = [form.leaves[child].attribute for child in children if child < count]
        assert len(attributes) == len(set(attributes))
    inner = list(zip(form.kinds, form.children, strict=True))[count:]
    assert len(inner) == len(set(inner))
    assert {child for _, children in inner for child in children} == set(range(len(form.kinds) - 1))


@given(trees, st.randoms(use_true_random=False))
def test_the_order_of_and_and_or_operands_does_not_matter(tree: Expression, shuffle: random.Random) -> None:
    assert normalise(_shuffled(tree, shuffle), bind) == normalise(tree, bind)


def _shuffled(tree: Expression, source: random.Random) -> Expression:
    built: list[Expression] = []
    for node in postorder(tree):
        operands = [built.pop() for _ in node.operands][::-1]
        if isinstance(node, And | Or):
            source.shuffle(operands)
        built.append(_with_operands(node, operands))
    return built[0]


def _with_operands(node: Expression, operands: list[Expression]) -> Expression:
    if isinstance(node, Truth):
        return Truth(operands[0], node.test, node.negated)
    return type(node)(*operands) if operands else node


def test_predicates_are_bound_once_each_in_the_order_of_the_text() -> None:
    bound = []

    def recorded(predicate: Predicate) -> object:
        bound.append(str(predicate))
        return bind(predicate)

    normalise(parse("x = 1 and (false and y = 2 or not z = 3) xor x = 4 and x = 4"), recorded)
    assert bound == ["x = 1", "y = 2", "z = 3", "x = 4", "x = 4"]


def test_a_long_xor_chain_is_a_small_and_flat_dag() -> None:
    form = normalise(Xor(*(equal(f"a{number}", 1) for number in range(DEEP))), bind)
    assert len(form.kinds) < 8 * DEEP
    assert height(form) <= 28
    for ones in (0, 1, DEEP // 2 - 1, DEEP // 2):
        event = {f"a{number}": int(number < ones) for number in range(DEEP)}
        assert evaluate(form, event) == (ones % 2 == 1)
    assert not evaluate(form, {f"a{number}": 1 for number in range(DEEP - 1)})


def test_an_xor_chain_over_few_attributes_folds_into_few_leaves() -> None:
    chain = Xor(*(Predicate(f"a{number % 3}", "<", number) for number in range(3_000)))
    form = normalise(chain, bind)
    assert len(form.leaves) == 6
    event = {"a0": 1_000, "a1": 2_000, "a2": None}
    assert not evaluate(form, event)
    event["a2"] = 1_501.5
    assert evaluate(form, event) == (verdict(chain, event) is True)


NESTS: dict[str, Callable[[Expression, Expression, int], Expression]] = {
    "xor": lambda nest, leaf, _: Xor(nest, leaf),
    "xnor on the right": lambda nest, leaf, _: Xnor(leaf, nest),
    "and in or": lambda nest, leaf, level: (And if level % 2 else Or)(nest, leaf),
    "and": lambda nest, leaf, _: And(leaf, nest),
    "not": lambda nest, _, __: Not(nest),
    "not and": lambda nest, leaf, _: Not(And(nest, leaf)),
    "is not true": lambda nest, leaf, _: Truth(Or(nest, leaf), "true", negated=True),
    "is unknown": lambda nest, _, level: Truth(nest, "unknown", negated=level % 3 == 0),
    "and is unknown": lambda nest, leaf, _: Truth(And(nest, leaf), "unknown"),
    "xor in and": lambda nest, leaf, level: Xor(And(nest, leaf), equal(f"b{level}", 1)),
}


@pytest.mark.parametrize("name", NESTS)
def test_deep_nests_stay_linear(name: str) -> None:
    nest = equal("a0", 1)
    for level in range(1, DEEP):
        nest = NESTS[name](nest, equal(f"a{level}", 1), level)
    form = normalise(nest, bind)
    assert len(form.kinds) <= 12 * DEEP
    for value in (None, 0, 1):
        event = {f"{letter}{level}": value for letter in "ab" for level in range(DEEP)}
        assert evaluate(form, event) == (verdict(nest, event) is True)


def test_a_deep_text_is_normalised() -> None:
    depth = 5_000
    text = "".join(f"x{level} = 1 and not (" for level in range(depth)) + "y = 1" + ")" * depth
    form = normalise(parse(text), bind)
    assert len(form.leaves) == depth + 1


@pytest.mark.parametrize("kinds", [(And, Or), (And, Or, Xor)], ids=["and in or", "with xor"])
def test_a_nest_on_one_attribute_does_not_grow_without_bound(kinds: tuple[type, ...]) -> None:
    nest: Expression = Predicate("x", ">", 0)
    for level in range(1, 3_000):
        nest = kinds[level % len(kinds)](nest, Predicate("x", "!=" if level % 2 else "=", level))
    form = normalise(nest, bind)
    for value in (None, 0.5, 1, 2, 3, 1_500, 2_999, 2_999.5):
        assert evaluate(form, {"x": value}) == (verdict(nest, {"x": value}) is True)
    assert len(form.leaves) == 1


def test_sets_stay_apart_when_merging_them_would_cost_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "MERGE_BUDGET", 2_000)
    nest: Expression = Predicate("x", ">", 0)
    for level in range(1, 400):
        nest = (And if level % 2 else Or)(nest, Predicate("x", "!=" if level % 2 else "=", level))
    form = normalise(nest, bind)
    assert len(form.leaves) > 1
    for value in (None, *range(401)):
        assert evaluate(form, {"x": value}) == (verdict(nest, {"x": value}) is True)


@pytest.mark.parametrize("kind", [And, Or, Xor])
def test_shared_operands_are_answered_once(kind: type) -> None:
    """Each level uses the one below twice: 2**100 paths, but two hundred nodes."""
    shared = equal("x", 1)
    for level in range(100):
        shared = kind(And(shared, equal(f"b{level}", 1)), Or(shared, equal(f"c{level}", 1)))
    form = normalise(shared, bind)
    assert len(form.kinds) < 2_000
    names = ["x", *(f"{letter}{level}" for letter in "bc" for level in range(100))]
    assert evaluate(form, dict.fromkeys(names, 1))
    assert not evaluate(form, dict.fromkeys(names, 0))


def test_shared_operands_of_one_kind_are_not_copied_without_end() -> None:
    shared = equal("x", 1)
    for level in range(100):
        shared = And(shared, And(shared, equal(f"b{level}", 1)))
    form = normalise(shared, bind)
    assert len(form.leaves) == 101
    assert evaluate(form, {"x": 1, **{f"b{level}": 1 for level in range(100)}})
    assert not evaluate(form, {"x": 1, **{f"b{level}": 1 for level in range(99)}})


def test_a_thousand_alternatives_on_one_attribute_are_one_leaf() -> None:
    form = normalise(parse(" or ".join(f"x = {number}" for number in range(1_000))), bind)
    assert form_text(form) == f"x in {tuple(range(1_000))}"
    assert dnf_size(form) == 1
