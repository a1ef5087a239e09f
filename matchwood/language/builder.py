"""Rules written in Python: `attr("age") >= 18` and its like give the same expressions as text does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from matchwood.language import names
from matchwood.language.tree import Expression, Literal, Predicate, Truth


class Attribute:
    """An attribute to compare; where an expression is expected, it means that the attribute is true.

    >>> print((attr("age") >= 18) & attr("country").isin(["US", "CA"]) | ~attr("vip"))
    age >= 18 and country in ('US', 'CA') or not vip = true
    """

    __slots__ = ("name",)
    __hash__ = None  # type: ignore[assignment]
    name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", names.canonical(name))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an Attribute is immutable: cannot set {name!r}")

    def __repr__(self) -> str:
        return f"attr({self.name!r})"

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} is neither true nor false by itself: combine expressions with & | ^ ~ instead of and, or, not"
        )

    def __eq__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compared("=", value)

    def __ne__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compared("!=", value)

    def __lt__(self, value: Literal) -> Predicate:
        return self._compared("<", value)

    def __le__(self, value: Literal) -> Predicate:
        return self._compared("<=", value)

    def __gt__(self, value: Literal) -> Predicate:
        return self._compared(">", value)

    def __ge__(self, value: Literal) -> Predicate:
        return self._compared(">=", value)

    def _compared(self, op: str, value: Any) -> Predicate:
        if isinstance(value, Attribute):
            raise TypeError(f"an attribute is compared with a constant, not with another attribute ({value!r})")
        return Predicate(self.name, op, value)

    def isin(self, values: Iterable[Literal]) -> Predicate:
        return Predicate(self.name, "in", values)

    def not_in(self, values: Iterable[Literal]) -> Predicate:
        return Predicate(self.name, "not in", values)

    def between(self, low: Literal, high: Literal) -> Predicate:
        return Predicate(self.name, "between", (low, high))

    def not_between(self, low: Literal, high: Literal) -> Predicate:
        return Predicate(self.name, "not between", (low, high))

    def like(self, pattern: str, escape: str | None = None) -> Predicate:
        return Predicate(self.name, "like", pattern, escape)

    def not_like(self, pattern: str, escape: str | None = None) -> Predicate:
        return Predicate(self.name, "not like", pattern, escape)

    def ilike(self, pattern: str, escape: str | None = None) -> Predicate:
        return Predicate(self.name, "ilike", pattern, escape)

    def not_ilike(self, pattern: str, escape: str | None = None) -> Predicate:
        return Predicate(self.name, "not ilike", pattern, escape)

    def rlike(self, pattern: str) -> Predicate:
        return Predicate(self.name, "rlike", pattern)

    def not_rlike(self, pattern: str) -> Predicate:
        return Predicate(self.name, "not rlike", pattern)

    def is_null(self) -> Predicate:
        return Predicate(self.name, "is null")

    def is_not_null(self) -> Predicate:
        return Predicate(self.name, "is not null")

    def one_of(self, values: Iterable[Literal]) -> Predicate:
        """The list has at least one of these elements."""
        return Predicate(self.name, "one of", values)

    def all_of(self, values: Iterable[Literal]) -> Predicate:
        return Predicate(self.name, "all of", values)

    def none_of(self, values: Iterable[Literal]) -> Predicate:
        return Predicate(self.name, "none of", values)

    def contains(self, value: Literal) -> Predicate:
        """`'x' in tags`: the list has this element."""
        return Predicate(self.name, "contains", value)

    def not_contains(self, value: Literal) -> Predicate:
        return Predicate(self.name, "not contains", value)

    def as_expression(self) -> Predicate:
        """The bare boolean: `vip`, which is `vip = true`."""
        return Predicate(self.name, "=", True)

    def is_true(self) -> Truth:
        """`vip is true`: false instead of unknown when the attribute is missing."""
        return self.as_expression().is_true()

    def is_not_true(self) -> Truth:
        return self.as_expression().is_not_true()

    def is_false(self) -> Truth:
        return self.as_expression().is_false()

    def is_not_false(self) -> Truth:
        return self.as_expression().is_not_false()

    def __and__(self, other: object) -> Expression:
        return self.as_expression() & other

    def __or__(self, other: object) -> Expression:
        return self.as_expression() | other

    def __xor__(self, other: object) -> Expression:
        return self.as_expression() ^ other

    def __invert__(self) -> Expression:
        return ~self.as_expression()

    def _refuse_left(self, other: object) -> NoReturn:
        raise TypeError(
            f"cannot combine {other!r} with {self!r}: put parentheses around each comparison,"
            " as in (attr('a') > 1) & (attr('b') < 2)"
        )

    __rand__ = __ror__ = __rxor__ = _refuse_left


def attr(name: str) -> Attribute:
    """The attribute of this name: `a.b` is a path, a name in backquotes is one key.

    >>> print(attr("odd name") == "x")
    `odd name` = 'x'
    """
    return Attribute(name)
