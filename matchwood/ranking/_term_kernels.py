"""Kernels over the terms of rules in columns: the bounds of their conjunctions, and the programs that score them."""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import bare_kernel
from matchwood.engines.shared.scoring import AND, END, ONE, OP_BITS, OR, SUM, TEST


@bare_kernel
def fill_term_bounds(predicates: Any, counts: Any, row_terms: Any, units: Any, target: Any, met: Any) -> None:
    """The bounds of conjunctions: how many predicates of its term score on the attribute of each interval.

    A conjunction is the term itself, so wherever it is true all of them are. `met` has an element for each attribute, 0
    before and after.
    """
    ends, row = predicates.ends, 0
    for rule in range(len(ends)):
        first = ends[rule - 1] if rule else 0
        for _ in range(counts[rule]):
            for place in range(first, ends[rule]):
                if predicates.scores[place] and predicates.terms[place] == row_terms[row]:
                    met[predicates.numbers[place]] += 1
            unit = units[row]
            for constraint in range(target.offsets[unit], target.offsets[unit + 1]):
                for piece in range(target.intervals[constraint], target.intervals[constraint + 1]):
                    target.bounds[piece] = met[target.attributes[constraint]]
            for place in range(first, ends[rule]):
                met[max(predicates.numbers[place], 0)] = 0
            row += 1


@bare_kernel
def survey_terms(predicates: Any, scores: Any, named: Any, tested: Any, words: Any, first_rules: Any, met: Any) -> Any:
    """Find what the programs of rules need: how many words without their tests, which predicates are named and tested.

    `first_rules`  one element an attribute, -1 before: the first rule that names it; `met` has them in that order
    Returns how many attributes were met, and how deep the stack gets.
    """
    ends, terms, count, deepest = predicates.ends, predicates.terms, 0, 0
    for rule in range(len(ends)):
        first, stop, scoring = ends[rule - 1] if rule else 0, ends[rule], 0
        for place in range(first, stop):
            scoring += scores[place]
        several = stop > first and terms[stop - 1] > 0
        words[rule] = 1
        if scoring > 0:
            deepest = max(deepest, 1)
            words[rule] += 1 + 2 * (stop - first) if several else scoring + (scoring > 1)
        size = 0
        for place in range(first, stop):
            named[place] = scoring > 0 if several else scores[place]
            tested[place] = several and scoring > 0
            attribute = predicates.attributes[place]
            if named[place] and first_rules[attribute] < 0:
                first_rules[attribute] = rule
                met[count] = attribute
                count += 1
            size += 1
            if tested[place]:
                deepest = max(deepest, terms[place] + size)
            if place + 1 == stop or terms[place + 1] != terms[place]:
                words[rule] += tested[place] and size > 1
                size = 0
    return count, deepest


@bare_kernel
def _put_test(tests: Any, test: int, name: int, code: Any, at: int) -> Any:
    """Write a test; where it ends."""
    place = tests.places[test]
    first, stop, null = tests.intervals[place], tests.intervals[place + 1], tests.nulls[place]
    code[at], code[at + 1], code[at + 2] = TEST | name << OP_BITS, tests.weights[test], tests.attributes[place]
    code[at + 3] = stop - first + null
    at += 4
    if null:
        code[at], code[at + 1] = -1, 0
        at += 2
    for piece in range(first, stop):
        code[at], code[at + 1] = tests.low[piece], tests.high[piece]
        at += 2
    return at


@bare_kernel
def write_terms(predicates: Any, named: Any, tested: Any, numbers: Any, tests: Any, starts: Any, code: Any) -> None:
    """Write the programs of rules, each from its start on; `numbers` has that of each attribute's name."""
    ends, terms, attributes, test = predicates.ends, predicates.terms, predicates.attributes, 0
    for rule in range(len(ends)):
        first, stop, at, scoring = ends[rule - 1] if rule else 0, ends[rule], starts[rule], 0
        for place in range(first, stop):
            scoring += named[place]
        several = scoring > 0 and tested[first]
        if scoring > 1 and not several:
            code[at] = SUM | scoring << OP_BITS
            at += 1
        size = 0
        for place in range(first, stop):
            if not named[place]:
                continue
            name = numbers[attributes[place]]
            if not several:
                code[at] = name if scoring > 1 else ONE | name << OP_BITS
                at += 1
                continue
            at, size, test = _put_test(tests, test, name, code, at), size + 1, test + 1
            if place + 1 == stop or terms[place + 1] != terms[place]:
                if size > 1:
                    code[at] = AND | size << OP_BITS
                    at += 1
                size = 0
        if several:
            code[at] = OR | (terms[stop - 1] + 1) << OP_BITS
            at += 1
        code[at] = END
