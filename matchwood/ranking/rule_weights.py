"""The weights of one rule: by attribute, or by the values of an attribute, which JSON spells as text."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from matchwood.encoding import requirement
from matchwood.errors import CorruptSnapshot, InvalidArgument, MatchwoodError
from matchwood.language import Expression, Literal, Predicate, canonical, make_predicate, postorder, read_decimal
from matchwood.logic import Bind, CutSet, intersection

SCORING = frozenset(
    ("=", "<", "<=", ">", ">=", "in", "between", "like", "ilike", "rlike", "one of", "all of", "contains")
)
"""The operators of predicates that score when they are TRUE; all others are negations or null tests."""

ByValue: TypeAlias = Mapping[str, float]


class RuleWeights:
    """What a rule's predicates weigh, from the JSON text that the table keeps.

    >>> weights = RuleWeights('{"age": 0.1, "state": {"NY": 4.0}}')
    >>> weights.of("age"), weights.of("state"), weights.of("city")
    (0.1, {'NY': 4.0}, 1.0)
    """

    def __init__(self, text: str | None) -> None:
        self._by_attribute: dict[str, float | ByValue] = _read(text) if text else {}

    def __bool__(self) -> bool:
        return bool(self._by_attribute)

    def __contains__(self, attribute: str) -> bool:
        return attribute in self._by_attribute

    def under(self, caps: RuleWeights) -> RuleWeights:
        """The same weights, but the `caps` of every attribute that has some."""
        raised = RuleWeights(None)
        raised._by_attribute = {**self._by_attribute, **caps._by_attribute}
        return raised

    def of(self, attribute: str) -> float | ByValue:
        """The weight of an attribute's predicates, or the weights of its values; 1 where none is given."""
        return self._by_attribute.get(attribute, 1.0)


def _read(text: str) -> dict[str, float | ByValue]:
    try:
        return {_canonical(name): weight for name, weight in json.loads(text).items()}
    except (ValueError, AttributeError) as error:
        raise CorruptSnapshot(f"the weights of a rule are damaged ({error}): {text!r:.80}") from None


def _canonical(name: str) -> str:
    """An attribute as trees spell it; what is no name at all belongs to no predicate."""
    try:
        return canonical(name)
    except InvalidArgument:
        return name


def values_of(predicate: Predicate, weights: ByValue, bind: Bind) -> list[tuple[CutSet, float]]:
    """The values that have a weight, as sets of one value each; those that the attribute cannot have are left out."""
    kind = requirement(predicate)
    found = []
    for text, weight in weights.items():
        literal = literal_of(text, kind)
        cuts = None if literal is None else _exactly(predicate.attr, literal, bind)
        if cuts:
            found.append((cuts, weight))
    return found


def _exactly(attribute: str, literal: Literal, bind: Bind) -> CutSet | None:
    """The set of one value; None if the attribute's declared type refuses it."""
    try:
        return bind(make_predicate(attribute, "=", literal, None, None)).cuts
    except MatchwoodError:
        return None


def literal_of(text: str, kind: str) -> Literal | None:
    """The value that a text spells, for an attribute of a kind; None if it spells none.

    >>> literal_of("3", "number"), literal_of("0.5", "number"), literal_of("NY", "number"), literal_of("true", "bool")
    (3, 0.5, None, True)
    """
    if kind in ("string", "list<string>"):
        return text
    if kind == "bool":
        return {"true": True, "false": False}.get(text)
    try:
        return _moment(text) if kind == "timestamp" else _number(text, kind)
    except ValueError:
        return None


def _number(text: str, kind: str) -> int | float | Decimal:
    if "_" in text or text != text.strip() or not text.isascii():
        raise ValueError(text)
    try:
        return int(text)
    except ValueError:
        if kind == "list<int>":
            raise
        return read_decimal(text)


def _moment(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text) if len(text) == 10 else datetime.datetime.fromisoformat(text)


def check_values(expression: Expression, text: str, bind: Bind) -> None:
    """Refuse weights of values that an attribute of the rule cannot have, and of one value under two spellings."""
    weights = RuleWeights(text)
    for predicate in postorder(expression):
        if isinstance(predicate, Predicate) and predicate.op in SCORING:
            given = weights.of(predicate.attr)
            if isinstance(given, Mapping):
                _check_values_of(predicate, given, bind)


def _check_values_of(predicate: Predicate, weights: ByValue, bind: Bind) -> None:
    attribute, kind = predicate.attr, requirement(predicate)
    spelled: dict[object, str] = {}
    for text in weights:
        literal = literal_of(text, kind)
        cuts = None if literal is None else literal if kind.startswith("list") else _exactly(attribute, literal, bind)
        if cuts is None:
            raise InvalidArgument(f"weights[{attribute!r}][{text!r:.80}]: no value of {attribute!r}, which is {kind}")
        if cuts != () and spelled.setdefault(cuts, text) != text:
            raise InvalidArgument(f"weights[{attribute!r}]: {spelled[cuts]!r} and {text!r} are the same value")
        if isinstance(literal, Decimal) and isinstance(cuts, tuple):
            _check_apart(attribute, cuts, text, spelled)


def _check_apart(attribute: str, cuts: CutSet, text: str, spelled: Mapping[Any, str]) -> None:
    """Refuse decimals that one double is nearest to: it cannot have the weights of both."""
    for known, other in spelled.items():
        if known and known != cuts and intersection(known, cuts):
            raise InvalidArgument(f"weights[{attribute!r}]: {other!r} and {text!r} are the same value to a double")
