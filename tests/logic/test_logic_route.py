"""The direct ways to conjunctions: the same result as through the form, and really taken."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logic_support import bind, plain_trees, predicates, trees

from matchwood.language import parse
from matchwood.language.tree import And, Expression, Not, Or, Predicate
from matchwood.logic import Form, dnf, dnf_of, evaluate, normalise, route
from tests.conftest import examples

LIMITS = st.sampled_from((0, 1, 2, 3, 8, 256))


def through_the_form(tree: Expression, limit: int) -> object:
    form = normalise(tree, bind)
    rows = dnf(form, limit)
    return form if rows is None else rows


@examples(500)
@given(st.one_of(plain_trees, trees), LIMITS)
def test_the_direct_way_leads_where_the_form_does(tree: Expression, limit: int) -> None:
    assert dnf_of(tree, bind, limit) == through_the_form(tree, limit)


@examples(300)
@given(st.lists(predicates, min_size=2, max_size=6))
def test_a_plain_conjunction_leads_where_the_form_does(operands: list[Predicate]) -> None:
    tree = And(*operands)
    assert dnf_of(tree, bind, 1) == through_the_form(tree, 1)


DIRECT = [
    "x = 1",
    "not x = 1",
    "x = 1 and y = 2",
    "x = 1 and (y = 2 and not (z = 3 or x = 4))",
    "(x = 1 and y = 2) or z = 3 or not (x = 5 or z = 4)",
    "not ((x = 1 or y = 2) and z = 3)",
    "(x = 1) is not true and y = 2",
]
THROUGH_THE_FORM = ["true", "x = 1 and (y = 2 or z = 3)", "x = 1 xor y = 2", "(x = 1) is unknown", "x = 1 and true"]


def _refused(*_: object) -> Form:
    raise AssertionError("took the way through the form")


@pytest.mark.parametrize("rule", DIRECT)
def test_common_shapes_take_the_direct_way(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = through_the_form(parse(rule), 256)
    monkeypatch.setattr(route, "answered", _refused)
    assert dnf_of(parse(rule), bind, 256) == expected


@pytest.mark.parametrize("rule", THROUGH_THE_FORM)
def test_other_shapes_do_not(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "answered", _refused)
    with pytest.raises(AssertionError, match="through the form"):
        dnf_of(parse(rule), bind, 256)


@pytest.mark.parametrize(
    "rule", ["z = 1 and z = 2 and y = 3", "z < 1 or (x = 1 and y = 2)", "z = 1 and (false or y = 2 or x = 1)"]
)
def test_every_predicate_is_bound_in_the_order_of_the_text(rule: str) -> None:
    """A type conflict must be found even where simplification removes the predicate."""
    tree, bound = parse(rule), []

    def recorded(predicate: Predicate) -> object:
        bound.append(predicate.position)
        return bind(predicate)

    dnf_of(tree, recorded, 256)
    assert bound == sorted(bound)
    assert len(bound) == rule.count("=") + rule.count("<")


@pytest.mark.parametrize("kind", [And, Or])
def test_operands_shared_without_end_are_left_to_the_form(kind: Callable[..., Expression]) -> None:
    tree: Expression = Predicate("x", "=", 1)
    for _ in range(100):
        tree = Not(kind(tree, tree))
    assert dnf_of(tree, bind, 256) == through_the_form(tree, 256)


def test_a_rule_over_the_limit_is_its_form() -> None:
    tree = parse(" and ".join(f"(a{number} = 1 or b{number} = 1)" for number in range(9)))
    form = dnf_of(tree, bind, 256)
    assert isinstance(form, Form)
    assert form == normalise(tree, bind)
    assert evaluate(form, {f"a{number}": 1 for number in range(9)})
    rows = dnf_of(tree, bind, 512)
    assert isinstance(rows, list)
    assert len(rows) == 512


def test_a_conjunction_of_many_alternatives_is_over_the_limit_only_by_their_number() -> None:
    tree = parse(" or ".join(f"(a{number} = 1 and b{number} = 1)" for number in range(100)))
    assert isinstance(dnf_of(tree, bind, 99), Form)
    assert dnf_of(tree, bind, 100) == through_the_form(tree, 100)
