"""Events that rules are likely true of, made of their own constants: what bounds are tried on."""

from __future__ import annotations

import datetime
import random
from typing import Any

from matchwood.language import LIST_OPERATORS, And, Expression, Or, Predicate, split_path

_DAY = datetime.timedelta(days=1)
_STEPS = {"<": -1, ">": 1}


def witness(tree: Expression, rng: random.Random) -> dict[str, Any]:
    """An event that makes predicates of a rule TRUE: all below an AND, some below an OR, any below anything else.

    >>> from matchwood.language import parse
    >>> witness(parse("a > 3 and b.c in ('x', 'x') and 5 in tags"), random.Random(0))
    {'a': 4, 'b': {'c': 'x'}, 'tags': [5]}
    """
    event: dict[str, Any] = {}
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Predicate):
            _set(event, node.attr, _value(node, rng))
        else:
            pending.extend(_chosen(node, rng)[::-1])
    return event


def _chosen(node: Expression, rng: random.Random) -> list[Expression]:
    operands = list(node.operands)
    if isinstance(node, And) or len(operands) < 2:
        return operands
    some = [operand for operand in operands if rng.random() < 0.6]
    return some or ([rng.choice(operands)] if isinstance(node, Or) else [])


def _value(predicate: Predicate, rng: random.Random) -> Any:
    """A value of which the predicate is TRUE, or near one."""
    op, value = predicate.op, predicate.value
    if op in LIST_OPERATORS:
        return list(value) if isinstance(value, tuple) else [value]
    if isinstance(value, tuple):
        return rng.choice(value)
    return _beside(value, _STEPS[op]) if op in _STEPS else value


def _beside(value: Any, step: int) -> Any:
    if isinstance(value, datetime.date):
        return value + step * _DAY
    if isinstance(value, str):
        return value + "a" if step > 0 else value[:-1]
    return value if isinstance(value, bool) else value + step


def _set(event: dict[str, Any], name: str, value: Any) -> None:
    """Give an attribute a value, unless what it is a field of has one."""
    *path, key = split_path(name)
    for each in path:
        within = event.setdefault(each, {})
        if not isinstance(within, dict):
            return
        event = within
    if not isinstance(event.get(key), dict):
        event[key] = value
