"""Implication: never wrong, exact for conjunctions, and exact for small rules within its effort."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logic_support import bind, events_for, predicates, trees

from matchwood.language import parse
from matchwood.language.tree import And, Expression, Predicate, Xor
from matchwood.logic import Form, dnf_of, evaluate, implies, is_always, is_never, normalise
from tests.conftest import examples

module = sys.modules["matchwood.logic.implies"]

conjunctive = st.lists(predicates, min_size=2, max_size=4).map(lambda operands: And(*operands))


def follows(narrow: Expression, wide: Expression) -> bool:
    """Implication by enumeration of all cells."""
    first, second = normalise(narrow, bind), normalise(wide, bind)
    return all(evaluate(second, event) for event in events_for(narrow, wide) if evaluate(first, event))


def both_ways(tree: Expression) -> list[object]:
    """A rule as conjunctions (when there are few) and as its form."""
    return [dnf_of(tree, bind, 256), normalise(tree, bind)]


@examples(300)
@given(conjunctive, conjunctive)
def test_implication_between_conjunctions_is_exact(narrow: Expression, wide: Expression) -> None:
    assert implies(dnf_of(narrow, bind, 1), dnf_of(wide, bind, 1), effort=0) == follows(narrow, wide)


@examples(200)
@given(trees, trees)
def test_implication_between_small_rules_is_exact(narrow: Expression, wide: Expression) -> None:
    expected = follows(narrow, wide)
    for first in both_ways(narrow):
        for second in both_ways(wide):
            assert implies(first, second, effort=1_000_000) == expected


@given(trees, trees, st.sampled_from((0, 20, 100)))
def test_implication_without_enough_effort_is_never_wrong(narrow: Expression, wide: Expression, effort: int) -> None:
    if implies(normalise(narrow, bind), normalise(wide, bind), effort):
        assert follows(narrow, wide)


@examples(200)
@given(trees)
def test_never_and_always_are_exact_for_small_rules(tree: Expression) -> None:
    verdicts = {evaluate(normalise(tree, bind), event) for event in events_for(tree)}
    for rule in both_ways(tree):
        assert is_never(rule, effort=1_000_000) == (True not in verdicts)
        assert is_always(rule, effort=1_000_000) == (False not in verdicts)


@pytest.mark.parametrize(
    ("narrow", "wide", "expected"),
    [
        ("x = 1", "x < 5", True),
        ("x < 5", "x = 1", False),
        ("x = 1 and y = 2", "x = 1", True),
        ("x = 1", "x = 1 and y is null", False),
        ("x = 1", "x is not null", True),
        ("x = 1", "x = 1 or y = 2", True),
        ("false", "x = 1", True),
        ("x = 1", "true", True),
        ("true", "x = 1 or x != 1", False),
        ("true", "x = 1 or x != 1 or x is null", True),
        ("x < 10", "x < 5 or (x >= 3 and y = 1) or (x > 3 and (y = 1) is not true)", True),
        ("x < 10", "x < 5 or (x >= 3 and y = 1) or (x > 3 and y != 1)", False),
        ("x = 1 xor y = 1", "(x = 1 and y != 1) or y = 1", True),
        ("x = 1 xor y = 1", "y = 1", False),
    ],
)
def test_examples(narrow: str, wide: str, expected: bool) -> None:
    assert implies(dnf_of(parse(narrow), bind, 256), dnf_of(parse(wide), bind, 256)) is expected


def test_a_rule_without_a_small_dnf_implies_itself_and_its_consequences() -> None:
    terms = [Predicate(f"a{number}", "=", 1) for number in range(8)]
    chain = dnf_of(Xor(*terms), bind, 100)
    weaker = dnf_of(parse(f"({Xor(*terms)}) or b = 1"), bind, 100)
    assert isinstance(chain, Form)
    assert isinstance(weaker, Form)
    assert implies(chain, chain, effort=1_000_000)
    assert implies(chain, weaker, effort=1_000_000)
    assert not implies(weaker, chain, effort=1_000_000)
    assert implies(chain, dnf_of(parse("a0 is not null"), bind, 1), effort=1_000_000)


def test_a_search_gives_up_within_its_effort() -> None:
    """Two parities of 400 terms that differ in one: no case split ends, and none may answer yes."""
    terms = [Predicate(f"a{number}", "=", 1) for number in range(400)]
    first, second = (dnf_of(Xor(*terms[cut:]), bind, 256) for cut in (0, 1))
    assert not implies(first, second)
    contradiction = dnf_of(And(Xor(*terms), Xor(*terms, Predicate("a0", "is not null"))), bind, 256)
    assert not is_never(contradiction)


@pytest.mark.parametrize("rule", ["x = 1", "x = 1 or x != 1", "x is null and y = 1 or z = 2"])
def test_the_event_without_attributes_refutes_always_at_once(rule: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "can_hold", None)
        assert not is_always(dnf_of(parse(rule), bind, 256))
        assert is_always([()])


def test_many_long_conjunctions_are_not_held_against_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow, wide = (dnf_of(parse(rule), bind, 256) for rule in ("x = 1 or y = 1", "x < 5 or y < 5"))
    monkeypatch.setattr(module, "PAIRWISE", 0)
    assert not implies(narrow, wide, effort=0)
    assert implies(narrow, wide)


def test_random_conjunctions_imply_what_they_are_made_from() -> None:
    source = random.Random(3)
    for _ in range(200):
        names = source.sample("abcdefgh", 4)
        parts = [f"{name} between {source.randint(0, 4)} and {source.randint(4, 9)}" for name in names]
        whole = dnf_of(parse(" and ".join(parts)), bind, 1)
        part = dnf_of(parse(" and ".join(parts[:2])), bind, 1)
        assert implies(whole, part)
        assert not implies(part, whole)
