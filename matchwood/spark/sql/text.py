"""A rule as Spark SQL that means what Matchwood means by it: a second opinion from Spark's own evaluator.

The columns are those of `event_columns.attribute_columns`: one for each attribute, named a0, a1, …, brought to one of
the kinds below. Translated are only the points where the two languages differ on purpose; `docs/spark.md` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import reduce
from typing import Any, NamedTuple

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
from matchwood.spark.sql.java_regex import java_like, java_regex
from matchwood.spark.sql.values import NO_VALUE, Untranslatable, comparison, exact_value, literal, never, text_literal

DEEPEST, LARGEST = 60, 2_000
"""Spark parses SQL by recursion and compiles it to one class: more levels or nodes than these are not for it."""

ISO_MOMENT = r"\A\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?\z"
_FAMILIES = {
    "bool": "bool",
    "int": "number",
    "double": "number",
    "decimal": "number",
    "string": "string",
    "time": "time",
}


class Slot(NamedTuple):
    """Where an attribute stands: a column, and its kind.

    Kinds: bool, int, double, decimal(p,s), string, time, list<int>, list<string>; `missing` (there is no such column),
    or, with what it is in `told`, `other` and `unread` (of which not even NULL is known).
    """

    column: str
    kind: str
    told: str = ""


def sql_text(root: Expression, slots: Mapping[str, Slot]) -> str:
    """A rule as an expression of Spark SQL; Untranslatable with the reason where there is none.

    >>> from matchwood.language import parse
    >>> sql_text(parse("age >= 18 and vip"), {"age": Slot("a0", "int"), "vip": Slot("a1", "bool")})
    '((a0 >= 18L) AND (a1 = TRUE))'
    """
    done: list[tuple[str, int]] = []
    for count, node in enumerate(postorder(root)):
        start = len(done) - len(node.operands)
        texts, depth = [text for text, _ in done[start:]], _depth(node, [depth for _, depth in done[start:]])
        if depth > DEEPEST or count > LARGEST:
            raise Untranslatable(f"more than {DEEPEST} levels deep or {LARGEST:,} nodes large")
        text = f"({_predicate(node, slots[node.attr])})" if isinstance(node, Predicate) else _node(node, texts)
        done[start:] = [(text, depth)]
    return done[0][0]


def _depth(node: Expression, depths: list[int]) -> int:
    """An xor of many is nested in Spark; an AND of many is not."""
    return max(depths, default=0) + (len(depths) if isinstance(node, Xor | Xnor) else 1)


def _node(node: Expression, operands: list[str]) -> str:
    if isinstance(node, And | Or):
        return f"({(' AND ' if isinstance(node, And) else ' OR ').join(operands)})"
    if isinstance(node, Xor | Xnor):
        symbol = "<>" if isinstance(node, Xor) else "="
        return reduce(lambda left, right: f"({left} {symbol} {right})", operands)
    if isinstance(node, Not):
        return f"(NOT {operands[0]})"
    if isinstance(node, Truth):
        return f"({operands[0]} IS {'NOT ' if node.negated else ''}{node.test.upper()})"
    assert isinstance(node, Constant)
    return str(node.value).upper()


def _predicate(node: Predicate, slot: Slot) -> str:
    if slot.kind == "missing":
        return {"is null": "TRUE", "is not null": "FALSE"}.get(node.op, "CAST(NULL AS BOOLEAN)")
    if slot.kind == "unread":
        raise Untranslatable(f"{node} asks for {slot.told}")
    if node.op in NULL_OPERATORS:
        return f"{slot.column} {node.op.upper()}"
    family = _family(node)
    if slot.kind == "string" and family == "time":
        slot = Slot(
            f"(CASE WHEN {slot.column} RLIKE {text_literal(ISO_MOMENT)} THEN {_as_time(slot.column)} END)", "time"
        )
    if _FAMILIES.get(slot.kind.partition("(")[0], slot.kind) != family:
        raise Untranslatable(f"{node} compares {family} with a column of type {slot.told or slot.kind}")
    if node.op in PATTERN_OPERATORS:
        return _pattern(node, slot.column)
    if node.op in LIST_OPERATORS:
        return _list_test(node, slot)
    return _set_or_range(node, slot) if isinstance(node.value, tuple) else _compared(slot, node.op, node.value)


def _family(node: Predicate) -> str:
    """What the predicate's constants can be compared with."""
    sample = node.value[0] if isinstance(node.value, tuple) else node.value
    if isinstance(sample, bool):
        return "bool"
    if node.op in LIST_OPERATORS:
        return "list<string>" if isinstance(sample, str) else "list<int>"
    if isinstance(sample, int | float | Decimal):
        return "number"
    return "string" if isinstance(sample, str) else "time"


def _as_time(column: str) -> str:
    return f"TRY_CAST({column} AS TIMESTAMP)"


def _compared(slot: Slot, operator: str, value: Any) -> str:
    return comparison(slot.column, slot.kind, operator, value)


def _pattern(node: Predicate, column: str) -> str:
    if node.op.endswith("rlike"):
        regex = java_regex(node.value)
    else:
        regex = java_like(node.value, node.escape or "\\", any_case=node.op.endswith("ilike"))
    return f"{_negation(node)}{column} RLIKE {text_literal(regex)}"


def _list_test(node: Predicate, slot: Slot) -> str:
    """The columns hold no NULL elements, so a test is NULL for a NULL list only."""
    values = node.value if isinstance(node.value, tuple) else (node.value,)
    tests = [_contains(slot, value) for value in values]
    if node.op == "all of":
        return " AND ".join(tests)
    return f"{_negation(node)}({' OR '.join(tests)})"


def _contains(slot: Slot, value: Any) -> str:
    exact = exact_value(value, kind := slot.kind[5:-1])
    return f"({never(slot.column)})" if exact is NO_VALUE else f"array_contains({slot.column}, {literal(exact, kind)})"


def _set_or_range(node: Predicate, slot: Slot) -> str:
    """`in` and `between`, spelled out only where a constant has no exact counterpart in the column."""
    exact = [exact_value(value, slot.kind) for value in node.value]
    if NO_VALUE not in exact:
        texts = [literal(value, slot.kind) for value in exact]
        listed = f"({', '.join(texts)})" if node.op.endswith("in") else " AND ".join(texts)
        return f"{slot.column} {node.op.upper()} {listed}"
    if node.op.endswith("in"):
        spelled = " OR ".join(f"({_compared(slot, '=', value)})" for value in node.value)
    else:
        low, high = node.value
        spelled = f"({_compared(slot, '>=', low)}) AND ({_compared(slot, '<=', high)})"
    return f"{_negation(node)}({spelled})"


def _negation(node: Predicate) -> str:
    return "NOT " if node.op.startswith(("not ", "none ")) else ""
