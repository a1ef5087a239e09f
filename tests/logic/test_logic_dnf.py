"""Disjunctive and conjunctive normal forms: equivalent, canonical, minimal in the ways promised, and bounded."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from logic_support import bind, events_for, trees, verdict

from matchwood.language import parse
from matchwood.language.tree import Expression, Predicate, Xor
from matchwood.logic import (
    AND,
    FALSE,
    LEAF,
    OR,
    Conjunction,
    Leaf,
    cnf,
    cnf_size,
    conjunctions,
    dnf,
    dnf_size,
    evaluate,
    form_of,
    negate,
    normalise,
)
from matchwood.logic import cuts as sets
from matchwood.logic.builder import Rough
from matchwood.logic.dnf import choices
from matchwood.logic.evaluate import leaf_holds
from matchwood.logic.form import FormNodes
from matchwood.logic.masks import masked
from matchwood.logic.sizes import SATURATED, expanded
from tests.conftest import examples

GENEROUS = 4_096


def rows_are_well_made(rows: list[Conjunction]) -> bool:
    return rows == sorted(set(rows)) and all(
        [leaf.attribute for leaf in row] == sorted({leaf.attribute for leaf in row})
        and all(leaf.cuts or leaf.null for leaf in row)
        and not any(leaf.null and leaf.cuts == sets.FULL for leaf in row)
        for row in rows
    )


@examples(200)
@given(trees)
def test_conjunctions_hold_exactly_where_the_tree_is_true(tree: Expression) -> None:
    rows = dnf(normalise(tree, bind), GENEROUS)
    if rows is None:
        return
    assert rows_are_well_made(rows)
    for event in events_for(tree):
        assert evaluate(rows, event) == (verdict(tree, event) is True), event


@examples(200)
@given(trees)
def test_clauses_hold_exactly_where_the_tree_is_true(tree: Expression) -> None:
    clauses = cnf(normalise(tree, bind), GENEROUS)
    if clauses is None:
        return
    assert rows_are_well_made(clauses)
    for event in events_for(tree):
        holds = all(any(leaf_holds(leaf, event) for leaf in clause) for clause in clauses)
        assert holds == (verdict(tree, event) is True), event


@given(trees)
def test_no_conjunction_implies_another(tree: Expression) -> None:
    rows = dnf(normalise(tree, bind), 128) or []
    assert not any(conjunctions.narrows(one, other) for one, other in itertools.permutations(rows, 2))


@given(trees)
def test_sizes_bound_what_expansion_gives_and_decide_about_it(tree: Expression) -> None:
    form = normalise(tree, bind)
    for expand, size in ((dnf, dnf_size(form)), (cnf, cnf_size(form))):
        if 0 < size <= GENEROUS:
            rows = expand(form, size)
            assert rows is not None
            assert len(rows) <= size
        assert expand(form, size - 1) is None


@given(trees)
def test_sizes_count_rows_and_leaves_as_an_expansion_would_write_them(tree: Expression) -> None:
    form = normalise(tree, bind)
    counts: list[list[int]] = [[1] for _ in form.leaves]
    for kind, children in zip(form.kinds[len(counts) :], form.children[len(counts) :], strict=True):
        below = [counts[child] for child in children]
        if kind == OR:
            counts.append([count for rows in below for count in rows])
        else:
            counts.append([sum(choice) for choice in itertools.product(*below)] if kind != FALSE else [])
        if len(counts[-1]) > GENEROUS:
            return
    assert expanded(form, OR) == (len(counts[-1]), sum(counts[-1]))


def test_sizes_do_not_depend_on_the_numbering() -> None:
    a, b, c = (Leaf(name, sets.exactly(1), False) for name in "abc")
    built = Rough([a, b, a, c, a], [LEAF, LEAF, OR, LEAF, AND], [(), (), (0, 1), (), (2, 3)])
    assert expanded(built, OR) == (2, 4)
    assert dnf(built, 2) == [(a, c), (b, c)]


@given(trees)
def test_negation_swaps_the_answers_and_the_sizes(tree: Expression) -> None:
    form = normalise(tree, bind)
    negated = negate(form)
    assert negate(negated) == form
    assert (dnf_size(negated), cnf_size(negated)) == (cnf_size(form), dnf_size(form))
    for event in events_for(tree):
        assert evaluate(negated, event) != evaluate(form, event)


@given(trees)
def test_conjunctions_survive_the_way_through_a_form(tree: Expression) -> None:
    rows = dnf(normalise(tree, bind), 128)
    if rows is not None:
        assert dnf(form_of(rows), 128) == rows


def plainly(form: FormNodes) -> list[Conjunction]:
    """The conjunctions, each written out leaf by leaf."""
    rows = map(conjunctions.of_leaves, choices(form))
    return conjunctions.canonical(row for row in rows if row is not None)


@given(trees)
def test_bits_give_what_leaves_give(tree: Expression) -> None:
    form = normalise(tree, bind)
    if form.leaves and dnf_size(form) <= GENEROUS:
        assert masked(form) in (None, plainly(form))


@pytest.mark.parametrize("seed", range(40))
def test_bits_give_what_leaves_give_for_larger_forms(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"a{place}" for place in range(rng.choice((4, 9, 30)))]

    def text(depth: int) -> str:
        if not depth:
            return f"{rng.choice(names)} {rng.choice(('<', '>=', '='))} {rng.randrange(3)}"
        return "(" + rng.choice((" and ", " or ", " or ", " xor ")).join(text(depth - 1) for _ in range(2)) + ")"

    form = normalise(parse(text(rng.choice((2, 3, 4)))), bind)
    if form.leaves and dnf_size(form) <= GENEROUS:
        assert masked(form) in (None, plainly(form))


def test_bits_are_used() -> None:
    """Otherwise the comparisons above would compare nothing; and left alone where two leaves of an attribute meet."""
    form = normalise(parse("(a = 1 or b = 2) and (c = 3 or not d = 4) or (a = 1 xor e = 5)"), bind)
    assert masked(form) == plainly(form)
    assert masked(normalise(parse("(a > 1 or b = 2) and (a < 3 or c = 2)"), bind)) is None


def test_absorption_looks_at_more_than_64_attributes() -> None:
    alone = [(Leaf(f"a{place:03}", sets.at_least(place), False),) for place in range(0, 200, 2)]
    pairs = [
        (Leaf(f"a{place:03}", sets.exactly(place + 5), False), Leaf("b", sets.FULL, False)) for place in range(200)
    ]
    assert conjunctions.canonical(alone + pairs) == sorted(alone + pairs[1::2])


def test_a_chain_of_xor_is_over_any_limit() -> None:
    form = normalise(Xor(*(Predicate(f"a{number}", "=", 1) for number in range(1_000))), bind)
    assert dnf_size(form) == SATURATED
    assert cnf_size(form) == SATURATED
    assert dnf(form, 1_000_000) is None
    assert cnf(form, 1_000_000) is None


@pytest.mark.parametrize("terms", [2, 5, 9])
def test_a_short_chain_of_xor_has_one_conjunction_for_each_odd_choice(terms: int) -> None:
    form = normalise(Xor(*(Predicate(f"a{number}", "=", 1) for number in range(terms))), bind)
    rows = dnf(form, 256)
    assert rows is not None
    assert len(rows) == dnf_size(form) == 2 ** (terms - 1)


def test_the_limit_counts_merged_alternatives() -> None:
    rule = " and ".join(f"(x{number} = 1 or x{number} = 2 or x{number} is null)" for number in range(20))
    assert dnf_size(normalise(parse(rule), bind)) == 1


def test_absorption_is_complete_for_hundreds_of_conjunctions_and_bounded_beyond() -> None:
    source = random.Random(7)
    pieces = []
    for _ in range(300):
        names = source.sample("abcdefgh", source.randint(1, 4))
        pieces.append(" and ".join(f"{name} < {source.randint(1, 9)}" for name in names))
    rows = dnf(normalise(parse(" or ".join(f"({piece})" for piece in pieces)), bind), 300)
    assert rows is not None
    assert 1 < len(rows) < 300
    assert not any(conjunctions.narrows(one, other) for one, other in itertools.permutations(rows, 2))


def test_absorption_beyond_its_budget_keeps_what_it_did_not_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = parse("(x = 1 and y = 1) or (x < 5 and y < 5) or (x = 2 and z = 1 and y = 1)")
    complete = dnf(normalise(rule, bind), 10)
    monkeypatch.setattr(conjunctions, "COMPARISON_BUDGET", 0)
    partial = dnf(normalise(rule, bind), 10)
    assert complete is not None
    assert partial is not None
    assert len(complete) == 1
    assert len(partial) == 3
    for event in events_for(rule):
        assert evaluate(complete, event) == evaluate(partial, event)


def test_a_deep_form_within_the_limit_is_expanded() -> None:
    rule = "z = 0"
    for level in range(250):
        rule = f"a{level} = 1 and (b{level} = 1 or ({rule}))"
    form = normalise(parse(rule), bind)
    rows = dnf(form, 256)
    assert rows is not None
    assert len(rows) == dnf_size(form) == 251
    assert sorted(map(len, rows)) == sorted([*range(2, 252), 251])


def test_conjunctions_that_would_be_too_long_together_are_not_written_out() -> None:
    common = " and ".join(f"a{number} = 1" for number in range(2_000))
    some, all_of_them = (" or ".join(f"b{number} = 1" for number in range(count)) for count in (10, 256))
    short, long = (normalise(parse(f"{common} and ({choice})"), bind) for choice in (some, all_of_them))
    assert dnf_size(long) == 256
    assert dnf(long, 256) is None
    rows = dnf(short, 256)
    assert rows is not None
    assert {len(row) for row in rows} == {2_001}
    assert len(dnf(normalise(parse(common), bind), 1) or []) == 1
