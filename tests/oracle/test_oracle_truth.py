"""The oracle's three-valued logic, table by table, and trees of any depth."""

from __future__ import annotations

import itertools
import random

import pytest

from matchwood.errors import UnknownRule
from matchwood.language import parse
from matchwood.language.tree import And, Not, Or, Predicate, Xnor, Xor
from matchwood.semantics.evaluation import Oracle, Verdict, evaluate
from tests.cases import chain

VERDICTS: tuple[Verdict, ...] = (True, None, False)
RANK = {True: 2, None: 1, False: 0}


def ask(text: str, **event: object) -> Verdict:
    return evaluate(parse(text), event)


@pytest.mark.parametrize(("a", "b"), list(itertools.product(VERDICTS, repeat=2)))
def test_connectives(a: Verdict, b: Verdict) -> None:
    """AND is the minimum and OR the maximum of FALSE < NULL < TRUE; xor and xnor are NULL when one is."""
    by_rank = {rank: verdict for verdict, rank in RANK.items()}
    assert ask("a and b", a=a, b=b) is by_rank[min(RANK[a], RANK[b])]
    assert ask("a or b", a=a, b=b) is by_rank[max(RANK[a], RANK[b])]
    assert ask("not a", a=a) is by_rank[2 - RANK[a]]
    unknown = a is None or b is None
    assert ask("a xor b", a=a, b=b) is (None if unknown else a is not b)
    assert ask("a xnor b", a=a, b=b) is (None if unknown else a is b)


@pytest.mark.parametrize(("a", "b", "c"), list(itertools.product((True, False), repeat=3)))
def test_chains_go_from_left_to_right(a: bool, b: bool, c: bool) -> None:
    assert ask("a xor b xor c", a=a, b=b, c=c) is ((a != b) != c)
    assert ask("a xnor b xnor c", a=a, b=b, c=c) is ((a == b) == c)
    assert ask("a xor b xnor c", a=a, b=b, c=c) is ((a != b) == c)


@pytest.mark.parametrize("a", VERDICTS)
def test_truth_tests(a: Verdict) -> None:
    for word, wanted in (("true", True), ("false", False), ("unknown", None)):
        assert ask(f"(a) is {word}", a=a) is (a is wanted)
        assert ask(f"(a) is not {word}", a=a) is (a is not wanted)


def test_constants() -> None:
    assert ask("true") is True
    assert ask("false") is False
    assert ask("false or not true") is False


def test_predicates_are_null_without_a_value() -> None:
    tests = ("x = 1", "x != 1", "x in (1)", "x not in (1)", "x between 1 and 2", "x not between 1 and 2")
    patterns = ("x like 'a'", "x not like 'a'", "x ilike 'a'", "x rlike 'a'", "x not rlike 'a'")
    lists = ("x one of ('a')", "x all of ('a')", "x none of ('a')", "'a' in x", "'a' not in x")
    for text in (*tests, *patterns, *lists):
        assert ask(text) is None
        assert ask(text, x=None) is None
    assert ask("x is null") is True
    assert ask("x is not null") is False


@pytest.mark.parametrize("kind", [And, Or, Xor, Xnor, Not])
def test_ten_thousand_levels(kind: type) -> None:
    leaf = Predicate("x", "=", 1)
    node = leaf
    for _ in range(10_000):
        node = Not(node) if kind is Not else kind(leaf, node)
    assert evaluate(node, {}) is None
    even = {And: True, Or: True, Xor: True, Xnor: True, Not: True}[kind]
    assert evaluate(node, {"x": 1}) is even


def test_deep_trees_of_all_kinds_end() -> None:
    leaves = [Predicate("x", "=", 1), Predicate("y", "is null", None)]
    verdicts = {evaluate(chain(random.Random(seed), leaves, 10_000), {"x": 1}) for seed in range(6)}
    assert verdicts == {True, False}


def test_rules_in_order() -> None:
    oracle = Oracle()
    for rule_id, text in (("b", "x > 0"), ("a", "x > 1"), ("c", "x is null")):
        oracle.insert(rule_id, parse(text))
    assert oracle.match({"x": 2}) == ["b", "a"]
    oracle.insert("b", parse("x > 1"))
    assert (oracle.match({"x": 1}), oracle.match({"x": 2})) == ([], ["b", "a"])
    oracle.remove("b")
    oracle.insert("b", parse("x > 1"))
    assert (oracle.match({"x": 2}), oracle.match({}), len(oracle)) == (["a", "b"], ["c"], 3)
    with pytest.raises(UnknownRule):
        oracle.remove("z")
