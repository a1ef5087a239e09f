"""The engine that defines the answers: plain Python over the parsed tree, in three-valued logic.

It shares no code with the encoding, the normal forms or the compiled engines, so that it can be
held against all of them; a test reads its imports. Truth is True, False, or None for NULL. Every predicate
is evaluated, without short cuts, so that a value of the wrong type is an error wherever it stands.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Hashable, Mapping
from functools import reduce
from typing import Any, TypeAlias

from matchwood.errors import TypeConflict, UnknownRule
from matchwood.language import (
    LIST_OPERATORS,
    NULL_OPERATORS,
    PATTERN_OPERATORS,
    And,
    Constant,
    Expression,
    Not,
    Or,
    Predicate,
    Truth,
    Xnor,
    Xor,
    postorder,
)
from matchwood.semantics.patterns import ilike, like, rlike
from matchwood.semantics.values import FAMILIES, comparable, comparable_literal, literal_family, look_up, zone_named

Verdict: TypeAlias = bool | None

_KIND_OF_FAMILY = {"bool": "bool", "number": "number", "string": "string", "time": "timestamp"}


class Oracle:
    """Rules in rule order, each evaluated on every event.

    >>> from matchwood.language import parse
    >>> oracle = Oracle()
    >>> oracle.insert("adult", parse("age >= 18"))
    >>> oracle.insert("minor", parse("not age >= 18"))
    >>> oracle.match({"age": 20}), oracle.match({"age": 3}), oracle.match({})
    (['adult'], ['minor'], [])
    """

    def __init__(self, types: Mapping[str, str] | None = None, timezone: str = "UTC") -> None:
        self.types, self.timezone = types, timezone
        self._rules: dict[Hashable, Expression] = {}

    def __len__(self) -> int:
        return len(self._rules)

    def insert(self, rule_id: Hashable, expression: Expression) -> None:
        """Add a rule at the end, or replace the one that has this id, where it stands."""
        self._rules[rule_id] = expression

    def remove(self, rule_id: Hashable) -> None:
        if rule_id not in self._rules:
            raise UnknownRule(rule_id)
        del self._rules[rule_id]

    def match(self, event: Mapping[str, Any]) -> list[Any]:
        """The ids of the rules that are TRUE of the event, in rule order."""
        return [
            rule_id
            for rule_id, expression in self._rules.items()
            if evaluate(expression, event, self.types, self.timezone)
        ]


def evaluate(
    expression: Expression,
    event: Mapping[str, Any],
    types: Mapping[str, str] | None = None,
    timezone: str = "UTC",
) -> Verdict:
    """TRUE, FALSE or NULL (None) of an event; `types` are declared ones, others follow from the constants."""
    zone = zone_named(timezone)
    done: list[Verdict] = []
    for node in postorder(expression):
        if isinstance(node, Predicate):
            done.append(judged(node, event, types or {}, zone))
            continue
        start = len(done) - len(node.operands)
        verdict = combined(node, done[start:])
        del done[start:]
        done.append(verdict)
    return done[0]


def combined(node: Expression, verdicts: list[Verdict]) -> Verdict:
    """The verdict of a node from those of its operands."""
    if isinstance(node, And):
        return False if False in verdicts else None if None in verdicts else True
    if isinstance(node, Or):
        return True if True in verdicts else None if None in verdicts else False
    if isinstance(node, Xor | Xnor):
        same = operator.is_ if isinstance(node, Xnor) else operator.is_not
        return None if None in verdicts else reduce(same, verdicts)
    if isinstance(node, Not):
        return None if verdicts[0] is None else not verdicts[0]
    if isinstance(node, Truth):
        wanted = {"true": True, "false": False, "unknown": None}[node.test]
        return (verdicts[0] is wanted) is not node.negated
    assert isinstance(node, Constant)
    return node.value


def evaluate_predicate(
    predicate: Predicate,
    event: Mapping[str, Any],
    types: Mapping[str, str] | None = None,
    timezone: str = "UTC",
) -> Verdict:
    """The verdict of one predicate; NULL for a missing value, except in null tests."""
    return judged(predicate, event, types or {}, zone_named(timezone))


def judged(predicate: Predicate, event: Mapping[str, Any], types: Mapping[str, str], zone: datetime.tzinfo) -> Verdict:
    """The verdict of a predicate, in a time zone that was looked up."""
    kind = kind_of(predicate, types)
    value = look_up(event, predicate.attr)
    if value is not None and kind is not None:
        value = comparable(value, kind, predicate.attr, zone)
    if predicate.op in NULL_OPERATORS:
        return (value is None) is (predicate.op == "is null")
    return None if value is None else _holds(predicate, value, zone)


def kind_of(predicate: Predicate, types: Mapping[str, str]) -> str | None:
    """The attribute's type: as given, or as the predicate's constants imply; None if nothing does."""
    known = types.get(predicate.attr, "any")
    if predicate.op in NULL_OPERATORS:
        return None if known == "any" else known
    family = _family(predicate)
    if known == "any":
        return _KIND_OF_FAMILY.get(family, family)
    if FAMILIES[known] != family:
        raise TypeConflict(predicate.attr, where="rule", got=f"a comparison with {family}", expected=known)
    return known


def _family(predicate: Predicate) -> str:
    """What the predicate's constants can be compared with; all of them with the same."""
    constants = predicate.value if isinstance(predicate.value, tuple) else (predicate.value,)
    families = {literal_family(constant) for constant in constants}
    if predicate.op not in LIST_OPERATORS and len(families) == 1:
        return families.pop()
    if families == {"string"}:
        return "list<string>"
    if families == {"number"} and all(isinstance(constant, int) for constant in constants):
        return "list<int>"
    got = f"constants of the kinds {', '.join(sorted(families))}"
    raise TypeConflict(predicate.attr, where="rule", got=got, expected="compared with one kind that fits the operator")


def _holds(predicate: Predicate, value: Any, zone: datetime.tzinfo) -> bool:
    if predicate.op in PATTERN_OPERATORS:
        return _fits_pattern(predicate, value) is not predicate.op.startswith("not ")
    if isinstance(predicate.value, tuple):
        return _TESTS[predicate.op](value, tuple(comparable_literal(each, zone, value) for each in predicate.value))
    return _TESTS[predicate.op](value, comparable_literal(predicate.value, zone, value))


def _fits_pattern(predicate: Predicate, text: str) -> bool:
    if predicate.op.endswith("rlike"):
        return rlike(text, predicate.value)
    test = ilike if predicate.op.endswith("ilike") else like
    return test(text, predicate.value, predicate.escape)


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, constants: value in constants,
    "not in": lambda value, constants: value not in constants,
    "between": lambda value, ends: ends[0] <= value <= ends[1],
    "not between": lambda value, ends: not ends[0] <= value <= ends[1],
    "one of": lambda values, wanted: any(each in values for each in wanted),
    "all of": lambda values, wanted: all(each in values for each in wanted),
    "none of": lambda values, wanted: not any(each in values for each in wanted),
    "contains": lambda values, wanted: wanted in values,
    "not contains": lambda values, wanted: wanted not in values,
}
