"""Rules taken whole: the form of a rule, its binary shape, and the DAG that keeps not, xor and xnor."""

from __future__ import annotations

import random
from functools import reduce
from typing import Any

import pytest

from matchwood.encoding import Encoder
from matchwood.language import parse
from matchwood.language.tree import And, Not, Or, Predicate, Truth, Xnor, Xor
from matchwood.logic import ALWAYS, NEVER, binary, form_of_rule, normalise, unsuppressed
from matchwood.logic.form import AND, LEAF, NOT, OR, PREDICATE, TRUE, XNOR, XOR, Form
from matchwood.semantics.evaluation import evaluate

NAMES = ("a", "b", "c")


def random_tree(rng: random.Random, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.2:
        if rng.random() < 0.1:
            return parse(rng.choice(("true", "false")))
        name = rng.choice(NAMES)
        return rng.choice((Predicate(name, "=", 1), Predicate(name, ">", 1), Predicate(name, "is null")))
    kind = rng.choice((And, Or, Xor, Xnor, Not, Truth))
    if kind is Not:
        return Not(random_tree(rng, depth - 1))
    if kind is Truth:
        return Truth(random_tree(rng, depth - 1), rng.choice(("true", "false", "unknown")), rng.random() < 0.5)
    return kind(*(random_tree(rng, depth - 1) for _ in range(rng.randint(2, 4))))


def value(form: Form, event: dict[str, int]) -> bool | None:
    """The three-valued result of a DAG, by the definition of its kinds."""
    results: list[bool | None] = []
    for number, (kind, children) in enumerate(zip(form.kinds, form.children, strict=True)):
        below = [results[child] for child in children]
        if kind in (LEAF, PREDICATE):
            results.append(_leaf(form.leaves[number], event, kind))
        elif kind in (AND, OR):
            decisive = kind == OR
            results.append(decisive if decisive in below else None if None in below else not decisive)
        elif kind in (NOT, XOR, XNOR):
            odd = sum(map(bool, below)) % 2 == 1
            results.append(None if None in below else odd == (kind == XOR))
        else:
            results.append(kind == TRUE)
    return results[-1]


def _leaf(leaf: Any, event: dict[str, int], kind: int) -> bool | None:
    if event.get(leaf.attribute) is None:
        return None if kind == PREDICATE else leaf.null
    return sum(cut <= (event[leaf.attribute], 0) for cut in leaf.cuts) % 2 == 1


EVENTS = [{"a": 1, "b": 2}, {"a": 2, "b": 1, "c": 1}, {"a": 0, "b": 0, "c": 0}, {}, {"c": 2}, {"b": 1, "c": 2}]


@pytest.mark.parametrize("seed", range(60))
def test_each_shape_means_what_the_rule_says(seed: int) -> None:
    tree = random_tree(random.Random(seed), 4)
    bind = Encoder().bind
    three, form = unsuppressed(tree, bind), form_of_rule(tree, bind)
    for event in EVENTS:
        truth = evaluate(tree, event)
        assert value(three, event) is truth
        assert value(binary(three), event) is truth
        assert value(form, event) is (truth is True)
        assert value(binary(form), event) is (truth is True)
    for shape in (binary(three), binary(form)):
        assert all(len(children) <= 2 for children in shape.children)


PLAIN = [
    "a = 1 and b = 2",
    "b = 1 and a > 2 and a < 9",
    "a = 1 and a = 2",
    "a = 1",
    "c is null and a = 1",
    "a is null and a is not null",
    "a = 1 and a = 1",
]


@pytest.mark.parametrize("text", PLAIN)
def test_the_quick_way_for_plain_ands_leads_to_the_same_form(text: str) -> None:
    bind = Encoder().bind
    assert form_of_rule(parse(text), bind) == normalise(parse(text), bind)


def test_constants() -> None:
    bind = Encoder().bind
    assert (unsuppressed(parse("true or a = 1"), bind), unsuppressed(parse("not true"), bind)) == (ALWAYS, NEVER)
    assert (binary(ALWAYS), binary(NEVER)) == (ALWAYS, NEVER)


def test_what_comes_twice_in_a_parity_is_false_or_unknown() -> None:
    form = unsuppressed(parse("a = 1 xor a = 1"), Encoder().bind)
    assert [value(form, event) for event in ({"a": 1}, {"a": 2}, {})] == [False, False, None]


@pytest.mark.parametrize("word", ["xor", "xnor"])
def test_what_two_operands_a_node_make_equal_cancels(word: str) -> None:
    """`a and b and c` is joined as `(a and b) and c` is written: one node then, of which a parity has two."""
    tree = parse(f"(a = 1 and b = 1 and c = 1) {word} ((a = 1 and b = 1) and c = 1)")
    form = binary(unsuppressed(tree, Encoder().bind))
    events = [{"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 0, "c": 1}, {"a": 1, "b": 1}, {}]
    assert [value(form, event) for event in events] == [evaluate(tree, event) for event in events]
    assert all(len(set(children)) == len(children) for children in form.children)


def test_depth_and_width() -> None:
    bind, leaves = Encoder().bind, [Predicate(f"x{number % 100}", "=", number) for number in range(10_000)]
    nest = reduce(lambda node, leaf: Not(And(node, leaf)), leaves)
    assert len(unsuppressed(nest, bind).kinds) > 20_000
    wide = binary(form_of_rule(Or(*[Predicate(f"y{number}", "=", 1) for number in range(10_000)]), bind))
    depths = [0] * len(wide.kinds)
    for number, children in enumerate(wide.children):
        depths[number] = 1 + max((depths[child] for child in children), default=0)
    assert max(depths) < 200
