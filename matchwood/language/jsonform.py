"""Expressions as JSON values and back, without recursion.

    {"and": […]}  {"or": […]}  {"xor": […]}  {"xnor": […]}     two or more operands
    {"not": …}    {"is": "not true", "of": …}    {"const": true}, or plain true and false
    {"attr": "age", "op": ">=", "value": 18}                   in: a list; between: [low, high]; null tests: no value
    {"attr": "code", "op": "like", "value": "50!%", "escape": "!"}

A value is a JSON boolean, number or string, or typed: {"date": …}, {"timestamp": …}, {"double": "NaN"}, and
{"decimal": "0.1234567890123456789"} for digits that a JSON number would lose in most programs.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from matchwood.errors import InvalidArgument, LimitExceeded
from matchwood.language import jsontext, names
from matchwood.language.jsontext import ROOT, JsonPath, MisplacedJson
from matchwood.language.limits import MAX_DEPTH, MAX_DIGITS, MAX_NODES
from matchwood.language.literals import read_date, read_double, read_timestamp, spell_double
from matchwood.language.numbers import read_decimal, spell_decimal
from matchwood.language.operators import NO_CONSTANT, OPERATORS, PATTERNS, SEVERAL_CONSTANTS, TWO_CONSTANTS, WITH_ESCAPE
from matchwood.language.tree import (
    TESTS,
    And,
    Constant,
    Expression,
    Not,
    Or,
    Predicate,
    Truth,
    Xnor,
    Xor,
    make_operator,
    postorder,
)

_KINDS: dict[str, type[Expression]] = {"and": And, "or": Or, "xor": Xor, "xnor": Xnor}
_KEYS = {kind: key for key, kind in _KINDS.items()}
_TESTS = {f"{prefix}{test}": (test, bool(prefix)) for prefix in ("", "not ") for test in TESTS}
_DECIMAL = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+")
_FORMS = 'an expression: {"and": […]}, or, xor, xnor, {"not": …}, {"is": …, "of": …}, {"attr": …} or true, false'


def to_json(root: Expression) -> dict[str, Any]:
    """The JSON value of an expression."""
    done: list[dict[str, Any]] = []
    for position, node in enumerate(postorder(root)):
        if position == MAX_NODES:
            raise LimitExceeded(f"the expression has more than {MAX_NODES:,} nodes")
        count = len(node.operands)
        operands = done[len(done) - count :]
        del done[len(done) - count :]
        done.append(_node_json(node, operands))
    return done[0]


def _node_json(node: Any, operands: list[dict[str, Any]]) -> dict[str, Any]:
    if isinstance(node, Predicate):
        return _predicate_json(node)
    if isinstance(node, Constant):
        return {"const": node.value}
    if isinstance(node, Not):
        return {"not": operands[0]}
    if isinstance(node, Truth):
        return {"is": f"not {node.test}" if node.negated else node.test, "of": operands[0]}
    return {_KEYS[type(node)]: operands}


def _predicate_json(node: Predicate) -> dict[str, Any]:
    result: dict[str, Any] = {"attr": node.attr, "op": node.op}
    if isinstance(node.value, tuple):
        result["value"] = [_value_json(value) for value in node.value]
    elif node.value is not None:
        result["value"] = _value_json(node.value)
    if node.escape is not None:
        result["escape"] = node.escape
    return result


def _value_json(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return {"timestamp": value.isoformat(sep=" ")}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"double": spell_double(value)}
    if isinstance(value, Decimal):
        return {"decimal": spell_decimal(value)}
    return value


def from_json(source: Mapping[str, Any] | str | bool) -> Expression:
    """The expression that a JSON value, or a JSON text, says; an error names the path to what is wrong."""
    text = source if isinstance(source, str) else None
    try:
        return _build(jsontext.load(text) if text is not None else source)
    except MisplacedJson as misfit:
        raise misfit.error(source) from None


def _build(source: object) -> Expression:
    """Depth first with a stack: a value is either turned into a node, or opened into its operands.

    An opened value leaves behind the constructor that collects its operands once they are done.
    """
    done: list[Expression] = []
    todo: list[tuple[Any, Any, int]] = [(source, ROOT, 0)]
    count = 0
    while todo:
        value, place, depth = todo.pop()
        if place is None:
            operands = tuple(done[len(done) - depth :])
            del done[len(done) - depth :]
            done.append(value(operands))
            continue
        count += 1
        _check_size(count, depth)
        make, operands_left = _opened(value, place)
        if not operands_left:
            done.append(make(()))
            continue
        todo.append((make, None, len(operands_left)))
        todo.extend((operand, inner, depth + 1) for operand, inner in reversed(operands_left))
    return done[0]


def _check_size(count: int, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise LimitExceeded(f"the JSON value nests more than {MAX_DEPTH:,} expressions")
    if count > MAX_NODES:
        raise LimitExceeded(f"the JSON value has more than {MAX_NODES:,} expressions")


Make = Callable[[tuple[Expression, ...]], Expression]
Operands = list[tuple[object, JsonPath]]


def _opened(value: Any, place: JsonPath) -> tuple[Make, Operands]:
    """How to make the node for a JSON value, and the operands that must be made before it."""
    if isinstance(value, bool):
        return (lambda _: Constant(value)), []
    if not isinstance(value, Mapping) or not value:
        raise MisplacedJson(place, value, _FORMS)
    if "attr" in value or "op" in value:
        predicate = _read_predicate(value, place)
        return (lambda _: predicate), []
    if "is" in value or "of" in value:
        return _opened_truth(value, place)
    return _opened_operator(value, place)


def _opened_operator(value: Mapping[str, Any], place: JsonPath) -> tuple[Make, Operands]:
    key = next(iter(value))
    inner, operand = place.below(str(key)), value[key]
    if key not in _KINDS and key not in ("not", "const"):
        raise MisplacedJson(inner, key, _FORMS)
    _check_keys(value, place, (key,))
    if key == "not":
        return (lambda operands: make_operator(Not, operands)), [(operand, inner)]
    if key == "const":
        return _constant(operand, inner), []
    operands = _items(operand, inner, "a list of two or more expressions")
    if len(operands) < 2:
        raise MisplacedJson(inner, operand, "a list of two or more expressions", "a single operand stands by itself")
    kind = _KINDS[key]
    return (lambda made: make_operator(kind, made)), [
        (item, inner.below(position)) for position, item in enumerate(operands)
    ]


def _constant(value: object, place: JsonPath) -> Make:
    if not isinstance(value, bool):
        raise MisplacedJson(place, value, "true or false")
    return lambda _: Constant(value)


def _opened_truth(value: Mapping[str, Any], place: JsonPath) -> tuple[Make, Operands]:
    _check_keys(value, place, ("is", "of"))
    name = _required(value, place, "is")
    if not isinstance(name, str) or name not in _TESTS:
        raise MisplacedJson(place.below("is"), name, "one of " + ", ".join(_TESTS))
    test, negated = _TESTS[name]
    operand = _required(value, place, "of")
    return (lambda operands: Truth(operands[0], test, negated)), [(operand, place.below("of"))]


def _read_predicate(value: Mapping[str, Any], place: JsonPath) -> Predicate:
    op = _required(value, place, "op")
    if not isinstance(op, str) or op not in OPERATORS:
        raise MisplacedJson(place.below("op"), op, "one of " + ", ".join(OPERATORS), jsontext.operator_hint(op))
    expected = ("attr", "op") if op in NO_CONSTANT else ("attr", "op", "value")
    _check_keys(value, place, (*expected, "escape") if op in WITH_ESCAPE else expected)
    attr = _read_attribute(_required(value, place, "attr"), place.below("attr"))
    constant = None if op in NO_CONSTANT else _read_value(op, _required(value, place, "value"), place.below("value"))
    escape = value.get("escape")
    if "escape" in value and (not isinstance(escape, str) or len(escape) != 1):
        raise MisplacedJson(place.below("escape"), escape, "one character")
    try:
        return Predicate(attr, op, constant, escape)
    except InvalidArgument as error:
        raise MisplacedJson(place, value, "a predicate", str(error)) from None


def _read_attribute(value: object, place: JsonPath) -> str:
    try:
        return names.canonical(value)
    except InvalidArgument as error:
        raise MisplacedJson(place, value, "an attribute's name", str(error)) from None


def _read_value(op: str, value: object, place: JsonPath) -> Any:
    if op in SEVERAL_CONSTANTS or op in TWO_CONSTANTS:
        expected = "a list of two constants" if op in TWO_CONSTANTS else "a list of one or more constants"
        items = _items(value, place, expected)
        if len(items) != 2 if op in TWO_CONSTANTS else not items:
            raise MisplacedJson(place, value, expected)
        return tuple(_read_constant(item, place.below(position)) for position, item in enumerate(items))
    if op in PATTERNS and not isinstance(value, str):
        raise MisplacedJson(place, value, "a pattern in a string")
    return _read_constant(value, place)


def _read_decimal(text: str) -> int | float | Decimal:
    """The number that a text says; a ValueError for what the grammar of rules does not take."""
    if not _DECIMAL.fullmatch(text):
        raise ValueError("the form is that of a number in a rule")
    if len(text) > MAX_DIGITS:
        raise LimitExceeded(f"a number has more than {MAX_DIGITS:,} digits")
    if text.lstrip("+-").isdigit():
        return int(text)
    value = read_decimal(text)
    if math.isinf(value):
        raise ValueError("a double must be able to hold it about")
    return value


_TYPED: dict[str, tuple[Callable[[str], Any], str]] = {
    "date": (read_date, "a date"),
    "timestamp": (read_timestamp, "a timestamp"),
    "double": (read_double, '"NaN", "Infinity" or "-Infinity"'),
    "decimal": (_read_decimal, "a decimal such as 0.5"),
}


def _read_constant(value: Any, place: JsonPath) -> Any:
    if isinstance(value, Mapping):
        return _read_typed(value, place)
    if isinstance(value, float) and not math.isfinite(value):
        raise MisplacedJson(
            place, value, "a number that JSON can write", 'write {"double": "NaN"} or {"double": "Infinity"}'
        )
    if isinstance(value, bool | int | float | Decimal | str):
        return value
    hint = 'test for NULL with {"op": "is null"}' if value is None else None
    raise MisplacedJson(place, value, "a boolean, number, string or typed value", hint)


def _read_typed(value: Mapping[str, Any], place: JsonPath) -> Any:
    key = next(iter(value), "")
    if len(value) != 1 or key not in _TYPED:
        raise MisplacedJson(
            place, value, 'a typed value: {"date": …}, {"timestamp": …}, {"double": …} or {"decimal": …}'
        )
    read, expected = _TYPED[key]
    content, inner = value[key], place.below(key)
    try:
        result = read(content) if isinstance(content, str) else None
    except ValueError as error:
        raise MisplacedJson(inner, content, expected, str(error)) from None
    if result is None:
        raise MisplacedJson(inner, content, expected)
    return result


def _items(value: object, place: JsonPath, expected: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise MisplacedJson(place, value, expected)
    return list(value)


def _required(value: Mapping[str, Any], place: JsonPath, key: str) -> Any:
    if key not in value:
        raise MisplacedJson(place, value, f"the key {key!r}")
    return value[key]


def _check_keys(value: Mapping[str, Any], place: JsonPath, known: Iterable[str]) -> None:
    for key in value:
        if key not in known:
            raise MisplacedJson(place.below(str(key)), key, "no keys but " + ", ".join(known))
