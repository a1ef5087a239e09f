"""The judge: the generator's own trees in three-valued logic, and their scores, in plain Python.

It imports nothing of Matchwood. Truth is True, False, or None for NULL; scores follow `docs/ranking.md`.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from tests.fuzz.patterns import fits
from tests.fuzz.trees import Constant, Join, Leaf, Not, Tree, Truth

Verdict: TypeAlias = bool | None
Scored: TypeAlias = tuple[Verdict, float]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def zone_of(name: str) -> datetime.tzinfo:
    if name.startswith("+"):
        return datetime.timezone(datetime.timedelta(hours=int(name[1:3]), minutes=int(name[4:])))
    return ZoneInfo(name)


def key(value: Any, zone: datetime.tzinfo) -> Any:
    """A value as one that Python orders as the language does: NaN last, moments in microseconds."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, datetime.date):
        return _moment(value, zone)
    return (1, 0) if value != value else (0, value)


def beside(given: Any, value: Any) -> Any:
    """A constant as an event's value meets it: a double meets a decimal as the nearest double does, and a decimal meets
    the digits that a double is written with; one that is whole counts for what it is."""
    if isinstance(value, float) and isinstance(given, Decimal):
        return float(given)
    if isinstance(value, Decimal) and isinstance(given, float) and math.isfinite(given):
        return int(given) if given == int(given) else Decimal(repr(given))
    return given


def _moment(value: datetime.date, zone: datetime.tzinfo) -> int:
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    known = value if value.tzinfo else value.replace(tzinfo=zone)
    return (known - _EPOCH) // datetime.timedelta(microseconds=1)


class Judge:
    """Judges one tree on one event, with the rule's weights and the event's."""

    def __init__(
        self,
        zone: datetime.tzinfo,
        event: Mapping[str, Any],
        weights: Mapping[str, Any] | None = None,
        event_weights: Mapping[str, float] | None = None,
    ) -> None:
        self.zone, self.event = zone, event
        self.weights, self.event_weights = weights or {}, event_weights or {}

    def judge(self, tree: Tree) -> Scored:
        """The verdict, and what the tree scores if that is TRUE."""
        if isinstance(tree, Leaf):
            return self._leaf(tree)
        if isinstance(tree, Join):
            return _joined(tree.kind, [self.judge(part) for part in tree.parts])
        if isinstance(tree, Constant):
            return tree.value, 0.0
        verdict, score = self.judge(tree.part)
        if isinstance(tree, Not):
            return (None if verdict is None else not verdict), 0.0
        return _tested(tree, verdict, score)

    def _leaf(self, leaf: Leaf) -> Scored:
        value = self.event.get(leaf.attribute)
        if leaf.operator == "is null":
            return value is None, 0.0
        if leaf.operator == "is not null":
            return value is not None, 0.0
        if value is None:
            return None, 0.0
        positive = leaf.operator.removeprefix("not ")
        if positive in ("like", "ilike", "rlike"):
            verdict = fits(positive, leaf.value, leaf.escape, value)
        else:
            verdict = self._compared(positive, leaf.value, value)
        if positive != leaf.operator:
            return not verdict, 0.0
        if not verdict or leaf.operator in ("!=", "none of"):
            return verdict, 0.0
        return True, self._worth(leaf, value) * self.event_weights.get(leaf.attribute, 1.0)

    def _compared(self, operator: str, given: Any, value: Any) -> bool:
        many = isinstance(given, tuple)
        wanted = [key(beside(each, value), self.zone) for each in (given if many else [given])]
        return _TESTS[operator](self._keys(value), wanted)

    def _keys(self, value: Any) -> Any:
        if isinstance(value, list):
            return {key(each, self.zone) for each in value if each is not None}
        return key(value, self.zone)

    def _worth(self, leaf: Leaf, value: Any) -> float:
        given = self.weights.get(leaf.attribute, 1.0)
        if not isinstance(given, dict):
            return float(given)
        by_value = {key(beside(each, value), self.zone): weight for each, weight in given.items()}
        keys = self._keys(value)
        if not isinstance(value, list):
            return float(by_value.get(keys, 1.0))
        listed = leaf.value if isinstance(leaf.value, tuple) else (leaf.value,)
        there = [wanted for wanted in (key(each, self.zone) for each in listed) if wanted in keys]
        return float(max(by_value.get(each, 1.0) for each in there))


def _joined(kind: str, parts: list[Scored]) -> Scored:
    verdicts = [verdict for verdict, _ in parts]
    if kind == "and":
        total = 0.0
        for _, score in parts:
            total += score
        return (False if False in verdicts else None if None in verdicts else True), total
    if kind == "or":
        best = max((score for verdict, score in parts if verdict), default=0.0)
        return (True if True in verdicts else None if None in verdicts else False), best
    if None in verdicts:
        return None, 0.0
    odd = sum(map(bool, verdicts)) % 2 == 1
    # a xnor b is not (a xor b), and a chain of n has n - 1 of these.
    turned = kind == "xnor" and len(verdicts) % 2 == 0
    return odd is not turned, 0.0


def _tested(tree: Truth, verdict: Verdict, score: float) -> Scored:
    wanted = {"true": True, "false": False, "unknown": None}[tree.test]
    scores = tree.test == "true" and not tree.negated
    return (verdict is wanted) is not tree.negated, score if scores else 0.0


_TESTS: dict[str, Callable[[Any, list[Any]], bool]] = {
    "=": lambda value, wanted: value == wanted[0],
    "!=": lambda value, wanted: value != wanted[0],
    "<": lambda value, wanted: value < wanted[0],
    "<=": lambda value, wanted: value <= wanted[0],
    ">": lambda value, wanted: value > wanted[0],
    ">=": lambda value, wanted: value >= wanted[0],
    "in": lambda value, wanted: any(value == each for each in wanted),
    "between": lambda value, wanted: wanted[0] <= value <= wanted[1],
    "one of": lambda values, wanted: any(each in values for each in wanted),
    "all of": lambda values, wanted: all(each in values for each in wanted),
    "none of": lambda values, wanted: not any(each in values for each in wanted),
    "contains": lambda values, wanted: wanted[0] in values,
}
