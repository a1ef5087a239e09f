"""The oracle's scores: the definition of what a rule weighs for an event, in plain Python over the tree as written.

Like the rest of the oracle it shares nothing with what it is held against. All additions go from left to right.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeAlias

from matchwood.language import And, Expression, Or, Predicate, Truth, canonical, postorder, read_decimal
from matchwood.semantics.evaluation import Verdict, combined, judged, kind_of
from matchwood.semantics.values import comparable, comparable_literal, look_up, zone_named

Weights: TypeAlias = Mapping[str, Any]
"""By attribute: a number, or numbers by the text of a value."""

_SCORELESS = ("!=", "none of", "is null", "is not null")


def score(
    expression: Expression,
    event: Mapping[str, Any],
    weights: Weights,
    event_weights: Mapping[str, float],
    types: Mapping[str, str] | None = None,
    timezone: str = "UTC",
) -> float | None:
    """What the rule scores for the event, without its constant weight; None unless it is TRUE.

    >>> from matchwood.language import parse
    >>> score(parse("a = 1 and (b = 1 or c = 1)"), {"a": 1, "c": 1}, {"c": {"1": 3.0}}, {"a": 0.5})
    3.5
    """
    own = {canonical(name): weight for name, weight in weights.items()}
    zone = zone_named(timezone)
    done: list[tuple[Verdict, float]] = []
    for node in postorder(expression):
        if isinstance(node, Predicate):
            verdict = judged(node, event, types or {}, zone)
            worth = _worth(node, event, own, types or {}, zone) if verdict else 0.0
            done.append((verdict, worth * event_weights.get(node.attr, 1.0)))
            continue
        start = len(done) - len(node.operands)
        below = done[start:]
        del done[start:]
        done.append((combined(node, [verdict for verdict, _ in below]), _joined(node, below)))
    return done[0][1] if done[0][0] else None


def _joined(node: Expression, below: list[tuple[Verdict, float]]) -> float:
    """The score of a node that is TRUE; of others it does not matter."""
    if isinstance(node, And):
        total = 0.0
        for _, each in below:
            total += each
        return total
    if isinstance(node, Or):
        return max([each for verdict, each in below if verdict], default=0.0)
    if isinstance(node, Truth) and node.test == "true" and not node.negated:
        return below[0][1]
    return 0.0


def _worth(
    predicate: Predicate, event: Mapping[str, Any], weights: Weights, types: Mapping[str, str], zone: datetime.tzinfo
) -> float:
    """The weight of a TRUE predicate."""
    if predicate.op in _SCORELESS or predicate.op.startswith("not "):
        return 0.0
    given = weights.get(predicate.attr, 1.0)
    if not isinstance(given, Mapping):
        return float(given)
    kind = kind_of(predicate, types)
    assert kind is not None
    value = comparable(look_up(event, predicate.attr), kind, predicate.attr, zone)
    known = {_from_text(text, kind, zone, value): weight for text, weight in given.items()}
    if not isinstance(value, set):
        return float(known.get(value, 1.0))
    wanted = predicate.value if isinstance(predicate.value, tuple) else (predicate.value,)
    present = [each for each in (comparable_literal(literal, zone) for literal in wanted) if each in value]
    return float(max(known.get(each, 1.0) for each in present))


def _from_text(text: str, kind: str, zone: datetime.tzinfo, value: Any) -> Any:
    """A value as JSON spells it, on the scale of the events' values, to be compared with one of them."""
    if kind in ("string", "list<string>"):
        return text
    if kind == "bool":
        return text == "true"
    if kind in ("date", "timestamp"):
        read = datetime.date if len(text) == 10 else datetime.datetime
        return comparable_literal(read.fromisoformat(text), zone)
    return comparable_literal(int(text) if text.lstrip("+-").isdigit() else read_decimal(text), zone, value)
