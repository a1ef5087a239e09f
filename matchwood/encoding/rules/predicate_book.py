"""Each distinct predicate of many rules, read and bound once, in columns.

A predicate is an attribute's name and a test, as `language.RuleTrees` tells them apart. What a test accepts depends on
the attribute's declared type alone, so that attributes share it; the keys of derived attributes name the attribute.
What cannot be read or bound is refused here without a word: its rules are prepared one by one, which tells why.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.core import IntegerNumbers, ScratchGrowable, SpanNumbers
from matchwood.encoding.derived.keys import DerivedTest, is_derived, read_key
from matchwood.encoding.encoder import Encoder
from matchwood.encoding.rules._column_kernels import REFUSED_KIND
from matchwood.encoding.rules.number_tests import NumberTests, number_tests
from matchwood.encoding.rules.plain_tests import plain_test
from matchwood.encoding.schema.requirements import requirement
from matchwood.errors import MatchwoodError
from matchwood.language import (
    CANONICAL,
    NOT_IN_LIST,
    OPERATORS,
    OTHER_TEST,
    ListedConstants,
    PredicateSpans,
    lists_in,
    make_predicate,
    read_whole,
)
from matchwood.logic import (
    LEAF_BASE,
    NO_VERDICT,
    START,
    UNKNOWN_ANSWER,
    VERDICT_FALSE,
    VERDICT_TRUE,
    Cut,
    CutSet,
    PredicateColumns,
    united,
)

USE_KINDS = ("any", "bool", "number", "string", "timestamp", "list<int>", "list<string>")
"""What a predicate can ask of its attribute."""

_KIND_NUMBERS = {kind: number for number, kind in enumerate(USE_KINDS)}
_VERDICTS = {None: NO_VERDICT, True: VERDICT_TRUE, False: VERDICT_FALSE}
_SHIFT, _MASK = 32, 2**32 - 1
_REFUSED = 0
"""The binding of what cannot be bound."""

_Numbers: TypeAlias = NDArray[np.int64]
_OPERATOR_NUMBERS = {op: number for number, op in enumerate(OPERATORS)}
_PLAIN_OPERATORS = np.array([_OPERATOR_NUMBERS[op] for op in CANONICAL.values()], np.int8)
_NO_OPERATOR = -1
_EXACT = 2.0**53 - 1
_TEXTS = pa.LargeStringArray.from_buffers(2, pa.py_buffer(np.array([0, 2, 2], np.int64)), pa.py_buffer(b"= "))
_EQUALS, _NOTHING = _TEXTS
"""Scalars of an array's own buffers: making one of a Python object imports pandas, where there is one, for 0.6 s."""

_IN, _NOT_IN = _OPERATOR_NUMBERS["in"], _OPERATOR_NUMBERS["not in"]


class _Outcome(NamedTuple):
    """What a test was read as; nothing of a refused one.

    `operator`  its place in OPERATORS
    `kind`      what it asks of its attribute
    `cuts`      of which values it is TRUE
    `verdict`   its verdict for NULL
    `derived`   what a derived attribute of its attribute tests: an operator and its operand
    """

    operator: int = _NO_OPERATOR
    kind: int = REFUSED_KIND
    cuts: CutSet = ()
    verdict: int = NO_VERDICT
    derived: tuple[str, str] | None = None


_REFUSED_TEST = _Outcome()


class CutNumbers:
    """Distinct cuts, numbered as they come, and their order. Texts and numbers are never compared with each other."""

    def __init__(self) -> None:
        self.cuts: list[Cut] = [START]
        self._numbers: dict[Cut, int] = {START: 0}
        self._ordered: tuple[list[int], list[int]] = [], []
        self._ranks = np.full(1, -1, np.int64)

    def of(self, cuts: Iterable[Cut]) -> list[int]:
        """The numbers of cuts."""
        numbers = []
        for cut in cuts:
            number = self._numbers.setdefault(cut, len(self.cuts))
            if number == len(self.cuts):
                self.cuts.append(cut)
                self._ordered[isinstance(cut[0], str)].append(number)
            numbers.append(number)
        return numbers

    def ranks(self) -> NDArray[np.int64]:
        """The rank of each: START is before all others."""
        if len(self._ranks) < len(self.cuts):
            self._sort_numbers()
            # What was in order already is found so, and merged in one pass.
            self._ordered[1].sort(key=self.cuts.__getitem__)
            self._ranks = np.empty(len(self.cuts), np.int64)
            self._ranks[[0, *self._ordered[0], *self._ordered[1]]] = np.arange(-1, len(self.cuts) - 1)
        return self._ranks

    def _sort_numbers(self) -> None:
        numbers = self._ordered[0]
        values = [self.cuts[number][0] for number in numbers]
        nearest = _doubles(values)
        if nearest is None:
            numbers.sort(key=self.cuts.__getitem__)
        else:
            sides = np.array([self.cuts[number][1] for number in numbers])
            numbers[:] = np.array(numbers)[np.lexsort((sides, nearest))].tolist()


def _doubles(values: list[Any]) -> NDArray[np.float64] | None:
    """Numbers as doubles, which sort quickly; None if one of them is none, or is not in order with the others."""
    if not values or not {int, float}.issuperset(map(type, values)):
        return None
    try:
        doubles = np.array(values, np.float64)
    except OverflowError:
        return None
    return doubles if (np.abs(doubles) <= _EXACT).all() else None


class KeyNumbers:
    """The keys of attributes, numbered as they come, and their order."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self._numbers: dict[str, int] = {}
        self._ordered: list[int] = []
        self._ranks = np.empty(0, np.int64)

    def of(self, key: str) -> int:
        """The number of a key."""
        number = self._numbers.setdefault(key, len(self.keys))
        if number == len(self.keys):
            self.keys.append(key)
            self._ordered.append(number)
        return number

    def ranks(self) -> NDArray[np.int64]:
        """The rank of each."""
        if len(self._ranks) < len(self.keys):
            self._ordered.sort(key=self.keys.__getitem__)
            self._ranks = np.empty(len(self.keys), np.int64)
            self._ranks[self._ordered] = np.arange(len(self.keys))
        return self._ranks


class PredicateBook:
    """The predicates of one encoder's rules."""

    def __init__(self, encoder: Encoder) -> None:
        self._schema, self._bind = encoder.schema, encoder.bind
        self._wholes, self._names, self._tests = SpanNumbers(), SpanNumbers(), SpanNumbers()
        self._predicate_of = ScratchGrowable(np.int32)
        """The predicate that each spelling of one stands for."""
        self._backward = ScratchGrowable(np.bool_)
        """Of each test, whether it stands before the attribute."""
        self._pairs, self._shared = IntegerNumbers(), IntegerNumbers()
        self.cuts, self.keys = CutNumbers(), KeyNumbers()
        self.attributes: list[str] = []
        self._types: dict[str | None, int] = {}
        self._open = ScratchGrowable(np.bool_)
        """Of each attribute, whether it has no declared type: its plain comparisons need no parser."""
        self._type_of, self._key_of = ScratchGrowable(np.int64), ScratchGrowable(np.int32)
        """Of each attribute: the number of its declared type, -1 if it may not be named; and its key."""
        self._kinds, self._verdicts = ScratchGrowable(np.int8), ScratchGrowable(np.int8)
        self._operators = ScratchGrowable(np.int8)
        self._ends, self._cuts = ScratchGrowable(np.int64, [0]), ScratchGrowable(np.int32)
        self._derived: dict[int, tuple[str, str]] = {}
        """Bindings of derived attributes: the operator and the operand of what these test."""
        self._bindings, self._keys, self._answers = (
            ScratchGrowable(np.int32),
            ScratchGrowable(np.int32),
            ScratchGrowable(np.int64),
        )
        self._kind_of, self._name_of = ScratchGrowable(np.int8), ScratchGrowable(np.int32)
        self._constants, self._points = SpanNumbers(), IntegerNumbers()
        """Constants in lists, and the pairs of a declared type and such a constant."""
        self._binding_of, self._point_of = ScratchGrowable(np.int32), ScratchGrowable(np.int32)
        """The bindings of pairs of a declared type and a test; and of those of a type and a constant."""
        for column, value in (
            (self._kinds, REFUSED_KIND),
            (self._verdicts, NO_VERDICT),
            (self._operators, _NO_OPERATOR),
            (self._ends, 0),
        ):
            column.append(value)

    @property
    def count(self) -> int:
        """Predicates so far."""
        return len(self._bindings)

    def columns(self) -> PredicateColumns:
        """What kernels read of the predicates."""
        answers = self._answers.writable().reshape(-1, 4)
        bound = self._ends.view(), self._cuts.view(), self._verdicts.view()
        return PredicateColumns(self._bindings.view(), self._keys.view(), *bound, answers)

    def kind_of(self) -> NDArray[np.int8]:
        """What each predicate asks of its attribute, REFUSED_KIND where it cannot be bound."""
        return self._kind_of.view()

    def operators(self, predicates: NDArray[np.int32]) -> NDArray[np.int8]:
        """The places of the operators of predicates in OPERATORS, -1 where they cannot be bound."""
        operators: NDArray[np.int8] = self._operators.view()[self._bindings.view()[predicates]]
        return operators

    def true_leaves(self, predicates: NDArray[np.int32]) -> NDArray[np.int32]:
        """The leaves that say where predicates are TRUE, -1 where none does or kernels have not asked."""
        answers = self._answers.view().reshape(-1, 4)[predicates, 0]
        return np.where(answers >= LEAF_BASE, answers - LEAF_BASE, -1).astype(np.int32)

    def number(self, data: NDArray[np.uint8], spans: PredicateSpans) -> NDArray[np.int32]:
        """The numbers of predicates; what is new of these is to be learnt before it is used.

        The bytes from the first to the last of a predicate tell its name and its test: only what is spelled as nothing
        before is taken apart.
        """
        wholes = self._wholes.of(data, spans.starts, spans.lengths)
        fresh = self._wholes.firsts(wholes, len(self._predicate_of))
        if len(fresh):
            self._predicate_of.extend(self._number(data, PredicateSpans._make(column[fresh] for column in spans)))
        numbers: NDArray[np.int32] = self._predicate_of.view()[wholes]
        return numbers

    def _number(self, data: NDArray[np.uint8], spans: PredicateSpans) -> NDArray[np.int32]:
        names = self._names.of(data, spans.names, spans.name_lengths)
        tests = self._tests.of(data, spans.tests, spans.test_lengths)
        pairs = names.astype(np.int64) << _SHIFT
        pairs |= tests
        self._backward.resize(self._tests.count)
        self._backward.writable()[tests] = spans.reversed_
        return self._pairs.of(pairs)

    def names_of(self) -> NDArray[np.int32]:
        """The number of each predicate's attribute."""
        return self._name_of.view()

    def learn(self) -> None:
        """Bind the predicates that were numbered and are new."""
        if self._pairs.count > self.count:
            self._meet_names()
            self._learn(self._backward.view())

    def _meet_names(self) -> None:
        for name in self._names.texts(len(self.attributes)):
            self.attributes.append(name)
            self._type_of.append(self._type_number(name))
            self._key_of.append(self.keys.of(name))

    def _type_number(self, name: str) -> int:
        declared = self._schema.declared.type_of(name)
        self._open.append(declared is None or declared == "any")
        try:
            self._schema.check_declared(make_predicate(name, "is null", None, None, None), "any")
        except MatchwoodError:
            return -1
        return self._types.setdefault(declared, len(self._types))

    def _learn(self, backward: NDArray[np.bool_]) -> None:
        """Bind the pairs of attributes and tests that are new."""
        pairs = self._pairs.values(self.count)
        names, tests = pairs >> _SHIFT, pairs & _MASK
        types = self._type_of.view()[names]
        bindings = np.full(len(pairs), _REFUSED, np.int32)
        sound = np.flatnonzero(types >= 0)
        shared = self._shared.of(types[sound] << _SHIFT | tests[sound])
        first = sound[self._shared.firsts(shared, len(self._binding_of))]
        self._bind_tests(names[first], tests[first], types[first], backward)
        bindings[sound] = self._binding_of.view()[shared]
        keys = self._key_of.view()[names].copy()
        if self._derived:
            self._name_derived(bindings, names, keys)
        self._bindings.extend(bindings)
        self._kind_of.extend(self._kinds.view()[bindings])
        self._name_of.extend(names)
        self._keys.extend(keys)
        self._answers.resize(4 * self.count, UNKNOWN_ANSWER)

    def _bind_tests(self, names: _Numbers, tests: _Numbers, types: _Numbers, backward: NDArray[np.bool_]) -> None:
        """Bind tests that are new for a declared type, each by the attribute that came first."""
        lists = lists_in(*self._tests.spans(tests))
        bindings, listed = np.empty(len(tests), np.int32), lists.forms != OTHER_TEST
        texts, forward = self._tests.column(tests[~listed]), ~backward[tests[~listed]]
        bindings[~listed] = self._bound_tests(names[~listed], texts, forward)
        if listed.any():
            bindings[listed] = self._bound_lists(lists, np.flatnonzero(listed), names, types)
        self._binding_of.extend(bindings)

    def _bound_tests(self, names: _Numbers, texts: pa.Array, forward: NDArray[np.bool_]) -> NDArray[np.int32]:
        """The bindings of tests, each with an attribute, and whether that stands before it."""
        bindings = np.empty(len(names), np.int32)
        plain = np.flatnonzero(forward & self._open.view()[names])
        numbers = number_tests(texts.take(pa.array(plain)))
        bindings[plain[numbers.found]] = self._bound_numbers(numbers)
        others = np.ones(len(names), np.bool_)
        others[plain[numbers.found]] = False
        asked = names[others].tolist(), texts.filter(pa.array(others)).to_pylist(), forward[others].tolist()
        bindings[others] = self._bound_texts(list(zip(*asked, strict=True)))
        return bindings

    def _bound_numbers(self, tests: NumberTests) -> NDArray[np.int32]:
        """The bindings of comparisons with numbers."""
        first = len(self._kinds)
        self._operators.extend(_PLAIN_OPERATORS[tests.operators])
        self._kinds.resize(first + len(tests.counts), _KIND_NUMBERS["number"])
        self._verdicts.resize(len(self._kinds), NO_VERDICT)
        self._ends.extend(len(self._cuts) + np.cumsum(tests.counts))
        cuts = np.zeros(len(tests.inner), np.int32)  # START is the cut of number 0
        cuts[tests.inner] = self.cuts.of(tests.cuts)
        self._cuts.extend(cuts)
        return np.arange(first, len(self._kinds), dtype=np.int32)

    def _bound_lists(
        self, lists: ListedConstants, rows: _Numbers, names: _Numbers, types: _Numbers
    ) -> NDArray[np.int32]:
        """The bindings of lists: any of the values that equal one of the constants, each of which is bound once."""
        ends = lists.ends[rows]
        owners = np.repeat(rows, np.diff(ends, prepend=0))
        constants = self._constants.of(self._tests.spans(rows[:0])[0], lists.starts, lists.lengths)
        points = self._points.of(types[owners] << _SHIFT | constants)
        first = self._points.firsts(points, len(self._point_of))
        equal = pc.binary_join_element_wise(_EQUALS, self._constants.column(constants[first]), _NOTHING)
        forward = np.ones(len(equal), np.bool_)
        self._point_of.extend(self._bound_tests(names[owners[first]], equal, forward))
        return self._unite(self._point_of.view()[points], ends, lists.forms[rows] == NOT_IN_LIST)

    def _unite(
        self, members: NDArray[np.int32], ends: NDArray[np.int64], negated: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        begins = np.append(0, ends[:-1])
        kinds = self._kinds.view()[members]
        least, most = np.minimum.reduceat(kinds, begins), np.maximum.reduceat(kinds, begins)
        cuts, cut_ends = united(members, ends, negated, self._ends.view(), self._cuts.view(), self.cuts.ranks())
        first = len(self._kinds)
        # Constants of different types, or of none, are for the parser to refuse.
        self._kinds.extend(np.where(least == most, most, REFUSED_KIND))
        self._verdicts.resize(len(self._kinds), NO_VERDICT)
        self._operators.extend(np.where(negated, _NOT_IN, _IN))
        self._ends.extend(cut_ends + len(self._cuts))
        self._cuts.extend(cuts)
        return np.arange(first, len(self._kinds), dtype=np.int32)

    def _bound_texts(self, texts: list[tuple[int, str, bool]]) -> NDArray[np.int32]:
        """The same, one by one."""
        first = len(self._kinds)
        outcomes = [self._bound_text(*text) for text in texts]
        operators, kinds, cuts, verdicts, derived = zip(*outcomes, strict=True) if outcomes else ((),) * 5
        self._operators.extend(operators)
        self._kinds.extend(kinds)
        self._verdicts.extend(verdicts)
        self._ends.extend(len(self._cuts) + np.cumsum(list(map(len, cuts)), dtype=np.int64))
        self._cuts.extend(self.cuts.of(chain.from_iterable(cuts)))
        self._derived.update((first + place, test) for place, test in enumerate(derived) if test is not None)
        return np.arange(first, len(self._kinds), dtype=np.int32)

    def _bound_text(self, name: int, said: str, forward: bool) -> _Outcome:
        plain = plain_test(said) if forward and self._open.view()[name] else None
        if plain is not None:
            operator, kind = _OPERATOR_NUMBERS[plain.op], _KIND_NUMBERS[plain.kind]
            return _Outcome(operator, kind, plain.cuts, derived=plain.pattern)
        try:
            attribute = self.attributes[name]
            predicate = read_whole(f"{attribute} {said}" if forward else f"{said} {attribute}")
            kind, bound = _KIND_NUMBERS[requirement(predicate)], self._bind(predicate)
        except MatchwoodError:
            return _REFUSED_TEST
        derived = read_key(bound.attribute)[1:] if is_derived(bound.attribute) else None
        return _Outcome(_OPERATOR_NUMBERS[predicate.op], kind, bound.cuts, _VERDICTS[bound.on_null], derived)

    def _name_derived(self, bindings: NDArray[np.int32], names: NDArray[np.int64], keys: NDArray[Any]) -> None:
        """Give predicates of derived attributes the keys of these."""
        derived = np.zeros(len(self._kinds), np.bool_)
        derived[list(self._derived)] = True
        places = np.flatnonzero(derived[bindings])
        tests = map(self._derived.__getitem__, bindings[places].tolist())
        sources = map(self.attributes.__getitem__, names[places].tolist())
        made = [DerivedTest(source, *test).key for source, test in zip(sources, tests, strict=True)]
        keys[places] = list(map(self.keys.of, made))
