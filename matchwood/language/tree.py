"""The expression tree: what a rule says, exactly as it was written, and nothing about what it means.

Every node is an `Expression`: immutable, hashable, equal to another when both print the same text.
Trees may be 10,000 levels deep, so nothing here recurses; walk a tree with `postorder`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any, TypeAlias

Literal: TypeAlias = bool | int | float | str | datetime.date | datetime.datetime

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
SET_OPERATORS = ("in", "not in")
RANGE_OPERATORS = ("between", "not between")
PATTERN_OPERATORS = ("like", "not like", "ilike", "not ilike", "rlike", "not rlike")
NULL_OPERATORS = ("is null", "is not null")
LIST_OPERATORS = ("one of", "all of", "none of", "contains", "not contains")
OPERATORS = (
    *COMPARISONS,
    *SET_OPERATORS,
    *RANGE_OPERATORS,
    *PATTERN_OPERATORS,
    *NULL_OPERATORS,
    *LIST_OPERATORS,
)


class Expression:
    """A Boolean expression. `str()` gives text that parses back to an equal expression."""

    __slots__ = ("_text",)
    operands: tuple[Expression, ...] = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an Expression is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an Expression is immutable: cannot delete {name!r}")


class Predicate(Expression):
    """One test of one attribute: the leaf of every tree.

    `attr`      the attribute, as `names.py` spells it: `a.b` is a path, a backquoted name is one key
    `op`        one of OPERATORS; `vip` alone is `vip = true`; `'x' in tags` is `tags contains 'x'`
    `value`     a literal; a tuple of literals for in, one of, all of, none of; (low, high) for
                between; None for null tests
    `escape`    the escape character given to like or ilike, if any
    `position`  the offset in the source text where the predicate begins, None when built in Python
    """

    __slots__ = ("attr", "escape", "op", "position", "value")
    attr: str
    op: str
    value: Any
    escape: str | None
    position: int | None


class And(Expression):
    __slots__ = ("operands",)


class Or(Expression):
    __slots__ = ("operands",)


class Xor(Expression):
    """Two or more operands, taken from left to right; NULL if any is NULL."""

    __slots__ = ("operands",)


class Xnor(Expression):
    """Two or more operands, taken from left to right; NULL if any is NULL."""

    __slots__ = ("operands",)


class Not(Expression):
    __slots__ = ("operands",)


class Truth(Expression):
    """`(…) is [not] true | false | unknown`: never NULL itself."""

    __slots__ = ("negated", "operands", "test")
    test: str
    negated: bool


class Constant(Expression):
    __slots__ = ("value",)
    value: bool


def postorder(root: Expression) -> Iterator[Expression]:
    """Every node below `root` and `root` itself, operands before the node that holds them."""
    stack: list[tuple[Expression, bool]] = [(root, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded or not node.operands:
            yield node
            continue
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(node.operands))
