"""Bounds and programs of rules in columns, from the terms that they are written as: the same, to the bit, as
`bounds.py` and `code.py` make of trees.

They have no weights, and each of their conjunctions is a term, so that a conjunction implies all predicates of its
term: its bound for an attribute is the number of those that score there, whatever the value, and nothing scores
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Growable, places_in
from matchwood.encoding import CompiledRules, EncodedConjunctions, Encoder, Flat, LeafRows, WrittenTerms, flatten
from matchwood.language import OPERATORS
from matchwood.logic import Leaf
from matchwood.ranking._term_kernels import fill_term_bounds, survey_terms, write_terms
from matchwood.ranking.rule_weights import SCORING

_SCORES = np.array([op in SCORING for op in OPERATORS])


def _scores(terms: WrittenTerms) -> NDArray[np.bool_]:
    """Which predicates score wherever they are TRUE: what is negated has no term."""
    scores: NDArray[np.bool_] = _SCORES[terms.operators] & (terms.terms >= 0)
    return scores


class _Scored(NamedTuple):
    """Of each predicate: whether it scores, the number of its attribute, and its term; `ends` are those of rules."""

    ends: NDArray[np.int64]
    scores: NDArray[np.bool_]
    numbers: NDArray[np.int64]
    terms: NDArray[np.int32]


class _Target(NamedTuple):
    """Units as they are encoded, and the bounds of all of their intervals."""

    offsets: NDArray[np.int64]
    attributes: NDArray[np.int32]
    intervals: NDArray[np.int64]
    bounds: NDArray[np.float64]


def put_term_bounds(
    rules: CompiledRules,
    units: NDArray[np.int64],
    encoder: Encoder,
    encoded: EncodedConjunctions,
    bounds: NDArray[np.float64],
) -> None:
    """Write the bounds of rules in columns, whose conjunctions are `units` of those encoded, among those of all."""
    terms, table = rules.written(), encoder.vocabulary.table
    keys, key_of = rules.keys_of(terms.leaves)
    # Predicates that are never true have no key: nothing of their rules is stored.
    numbers = np.array([*map(table.number, keys), -1], np.int64)[key_of]
    scored = _Scored(terms.ends, _scores(terms), numbers, terms.terms)
    target = _Target(encoded.offsets, encoded.attributes, encoded.pieces, bounds)
    fill_term_bounds(scored, rules.counts, terms.row_terms, units, target, np.zeros(max(1, len(table))))


class _Tests(NamedTuple):
    """Tests of programs: the place of each among those encoded, and the number of its weight."""

    places: NDArray[np.int64]
    weights: NDArray[np.int64]
    attributes: NDArray[np.int32]
    nulls: NDArray[np.bool_]
    intervals: NDArray[np.int64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]


class _Predicates(NamedTuple):
    ends: NDArray[np.int64]
    attributes: NDArray[np.int32]
    terms: NDArray[np.int32]


class WrittenPrograms:
    """The programs of rules in columns that stand at `places` among others: names and weights get their numbers in the
    order of all rules.

    `depth`  how many values are on the stack at most
    """

    def __init__(self, places: NDArray[np.int64], rules: CompiledRules) -> None:
        self.places, self._rules = places, rules
        terms = rules.written()
        self._predicates, count = _Predicates(terms.ends, terms.attributes, terms.terms), len(terms.attributes)
        self._named, self._tested = np.empty(count, np.bool_), np.empty(count, np.bool_)
        self._words = np.empty(len(places), np.int64)
        scores, first_rules = _scores(terms), np.full(len(rules.attributes), -1, np.int64)
        met = np.empty(len(rules.attributes), np.int64)
        found, self.depth = survey_terms(
            self._predicates, scores, self._named, self._tested, self._words, first_rules, met
        )
        self._met, self._met_at = met[:found].tolist(), places[first_rules[met[:found]]].tolist()
        self._numbers = np.zeros(len(rules.attributes), np.int64)
        self._leaves, self._weights = terms.leaves[self._tested], scores[self._tested].astype(np.float64)
        self._owners = np.repeat(np.arange(len(places)), np.diff(terms.ends, prepend=0))[self._tested]
        self._weight_numbers = np.empty(len(self._leaves), np.int64)
        self._named_so_far = self._weighed_so_far = 0

    def number_before(self, place: int, number: Callable[[str], int], weights: Growable) -> None:
        """Number the names and weights of the rules before a place, unless that has been done."""
        at = self._named_so_far
        while at < len(self._met) and self._met_at[at] < place:
            self._numbers[self._met[at]] = number(self._rules.attributes[self._met[at]])
            at += 1
        first, self._named_so_far = self._weighed_so_far, at
        stop = places_in(self._owners, places_in(self.places, place))
        if first < stop:
            self._weight_numbers[first:stop] = len(weights) + np.arange(stop - first)
            weights.extend(self._weights[first:stop])
            self._weighed_so_far = stop

    def tests_with(self, leaves: Sequence[tuple[Leaf]], places: NDArray[np.int64]) -> tuple[Flat, NDArray[np.int64]]:
        """The tests of these programs and of others, whose rules stand at some places, in the order of all rules; and
        where each comes to stand, those of the others first."""
        own = self._rules.flat_leaves(self._leaves)
        order = np.argsort(np.concatenate((places, self.places[self._owners])), kind="stable")
        positions = np.empty(len(order), np.int64)
        positions[order] = np.arange(len(order))
        return (flatten(LeafRows.of(leaves)).joined(own, order) if leaves else own), positions

    def lengths(self, encoded: EncodedConjunctions | None, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many words each program has; its tests are at these positions of those encoded."""
        if encoded is None:
            return self._words
        intervals = np.diff(encoded.pieces)[positions] + encoded.accepts_null[positions]
        return self._words + np.bincount(self._owners, 2 + 2 * intervals, len(self.places)).astype(np.int64)

    def put(
        self, encoded: EncodedConjunctions | None, positions: NDArray[np.int64], starts: NDArray[np.int64], code: Any
    ) -> None:
        """Write all programs into an array of code, each from its start on."""
        columns = _NO_TESTS if encoded is None else _test_columns(encoded)
        tests = _Tests(positions, self._weight_numbers, *columns)
        write_terms(self._predicates, self._named, self._tested, self._numbers, tests, starts, code)


def _test_columns(encoded: EncodedConjunctions) -> tuple[Any, ...]:
    return encoded.attributes, encoded.accepts_null, encoded.pieces, encoded.low, encoded.high


_LABELS = np.empty(0, np.int32)
_NO_TESTS = _LABELS, np.empty(0, np.bool_), np.zeros(1, np.int64), _LABELS, _LABELS
