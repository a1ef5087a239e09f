"""The expression tree: what a rule says, exactly as it was written, and nothing about what it means.

Every node is an `Expression`: immutable, hashable, equal to another when both print the same text.
Trees may be 20,000 levels deep, so nothing here recurses; walk a tree with `postorder`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, ClassVar, NoReturn, TypeAlias, TypeVar

from matchwood.errors import InvalidArgument, kind_in_words
from matchwood.language import names
from matchwood.language.operators import (
    COMPARISONS,
    LIST_OPERATORS,
    NULL_OPERATORS,
    OPERATORS,
    PATTERN_OPERATORS,
    RANGE_OPERATORS,
    SET_OPERATORS,
    checked_value,
)
from matchwood.language.printing import AND_LEVEL, ATOM_LEVEL, NOT_LEVEL, OR_LEVEL, XOR_LEVEL, predicate_text, text_of

__all__ = [
    "COMPARISONS", "LIST_OPERATORS", "NULL_OPERATORS", "OPERATORS", "PATTERN_OPERATORS", "RANGE_OPERATORS",
    "SET_OPERATORS", "TESTS", "And", "Constant", "Expression", "Literal", "Not", "Or", "Predicate", "Truth",
    "Xnor", "Xor", "postorder",
]  # fmt: skip

Literal: TypeAlias = bool | int | float | Decimal | str | datetime.date | datetime.datetime

TESTS = ("true", "false", "unknown")

Node = TypeVar("Node", bound="Expression")

_new = object.__new__


class Expression:
    """A Boolean expression. `str()` gives text that parses back to an equal expression.

    `&`, `|`, `^` and `~` combine expressions; `a & b & c` is one And of three, as in text.
    """

    __slots__ = ("_text",)
    _text: str
    operands: tuple[Expression, ...] = ()
    level: ClassVar[int] = ATOM_LEVEL
    """How tightly the node binds when it is printed."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an Expression is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an Expression is immutable: cannot delete {name!r}")

    def __str__(self) -> str:
        try:
            return self._text
        except AttributeError:
            text = text_of(self)
            _set_text(self, text)
            return text

    def __repr__(self) -> str:
        return f"parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Expression):
            return NotImplemented
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "an Expression is neither true nor false by itself: combine expressions with & | ^ ~ instead of"
            " and, or, not, and write low <= x <= high as attr(…).between(low, high)"
        )

    def __copy__(self) -> Expression:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Expression:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (str(self),)

    def __and__(self, other: object) -> Expression:
        return _joined(And, self, other)

    def __or__(self, other: object) -> Expression:
        return _joined(Or, self, other)

    def __xor__(self, other: object) -> Expression:
        return _joined(Xor, self, other)

    def __invert__(self) -> Expression:
        return Not(self)

    def is_true(self) -> Truth:
        """`(…) is true`: false instead of unknown."""
        return Truth(self, "true")

    def is_not_true(self) -> Truth:
        """`(…) is not true`: false or unknown."""
        return Truth(self, "true", negated=True)

    def is_false(self) -> Truth:
        return Truth(self, "false")

    def is_not_false(self) -> Truth:
        return Truth(self, "false", negated=True)

    def is_unknown(self) -> Truth:
        """`(…) is unknown`: the expression is NULL."""
        return Truth(self, "unknown")

    def is_not_unknown(self) -> Truth:
        return Truth(self, "unknown", negated=True)

    def to_json(self) -> dict[str, Any]:
        """The expression as dicts and lists that `json.dumps` takes."""
        from matchwood.language.jsonform import to_json

        return to_json(self)

    @staticmethod
    def from_json(value: Mapping[str, Any] | str | bool) -> Expression:
        """The expression that a JSON value, or a JSON text, describes."""
        from matchwood.language.jsonform import from_json

        return from_json(value)

    def as_expression(self) -> Expression:
        """Itself; an attribute of the builder answers with its bare boolean."""
        return self

    def leaf_text(self) -> str:
        """The text of a node without operands."""
        raise TypeError(f"{type(self).__name__} has operands")


def _restore(text: str) -> Expression:
    """An expression from its pickled text, which may be longer than a rule's text may be."""
    from matchwood.language.limits import MAX_PRINTED
    from matchwood.language.parser import parse_text

    return parse_text(text, limit=MAX_PRINTED)


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

    def __new__(
        cls, attr: str, op: str, value: Any = None, escape: str | None = None, position: int | None = None
    ) -> Predicate:
        return make_predicate(names.canonical(attr), op, checked_value(op, value, escape), escape, position)

    def leaf_text(self) -> str:
        return predicate_text(self.attr, self.op, self.value, self.escape)


class _Operator(Expression):
    """What And, Or, Xor and Xnor share: two or more operands and a word between them."""

    __slots__ = ()
    word: ClassVar[str]

    def __new__(cls, *operands: Expression) -> _Operator:
        if len(operands) < 2:
            raise InvalidArgument(f"{cls.__name__} takes two or more operands (got {len(operands)})")
        return make_operator(cls, tuple(map(_as_expression, operands)))


class And(_Operator):
    __slots__ = ("operands",)
    level = AND_LEVEL
    word = " and "


class Or(_Operator):
    __slots__ = ("operands",)
    level = OR_LEVEL
    word = " or "


class Xor(_Operator):
    """Two or more operands, taken from left to right; NULL if any is NULL."""

    __slots__ = ("operands",)
    level = XOR_LEVEL
    word = " xor "


class Xnor(_Operator):
    """Two or more operands, taken from left to right; NULL if any is NULL."""

    __slots__ = ("operands",)
    level = XOR_LEVEL
    word = " xnor "


class Not(Expression):
    __slots__ = ("operands",)
    level = NOT_LEVEL

    def __new__(cls, operand: Expression) -> Not:
        return make_operator(cls, (_as_expression(operand),))


class Truth(Expression):
    """`(…) is [not] true | false | unknown`: never NULL itself."""

    __slots__ = ("negated", "operands", "test")
    test: str
    negated: bool

    def __new__(cls, operand: Expression, test: str, negated: bool = False) -> Truth:
        if test not in TESTS:
            raise InvalidArgument(f"unknown truth test {test!r} (the tests: {', '.join(TESTS)})")
        self = make_operator(cls, (_as_expression(operand),))
        _set_test(self, test)
        _set_negated(self, bool(negated))
        return self


class Constant(Expression):
    __slots__ = ("value",)
    value: bool

    def __new__(cls, value: bool) -> Constant:
        self: Constant = _new(cls)
        _set_constant(self, bool(value))
        return self

    def leaf_text(self) -> str:
        return "true" if self.value else "false"


class _PredicateDraft(Expression):
    """A predicate while its slots are filled: it accepts assignment, and then becomes a Predicate.

    The parser makes hundreds of thousands a second; filling the five slots of a node that refuses assignment through
    their descriptors takes 360 ns, this takes 180.
    """

    __slots__ = Predicate.__slots__
    __setattr__ = object.__setattr__  # type: ignore[assignment]
    __delattr__ = object.__delattr__


def make_predicate(attr: str, op: str, value: Any, escape: str | None, position: int | None) -> Predicate:
    """A predicate from parts that are known to be right: what the parser calls."""
    self: Any = _PredicateDraft()
    self.attr = attr
    self.op = op
    self.value = value
    self.escape = escape
    self.position = position
    self.__class__ = Predicate
    return self  # type: ignore[no-any-return]


def _setter(kind: type[Expression], slot: str) -> Callable[[Expression, Any], None]:
    """What fills a slot of a node, which refuses assignment."""
    return kind.__dict__[slot].__set__  # type: ignore[no-any-return]


_set_text = _setter(Expression, "_text")
_set_test = _setter(Truth, "test")
_set_negated = _setter(Truth, "negated")
_set_constant = _setter(Constant, "value")
_set_operands: dict[type[Expression], Callable[[Expression, Any], None]] = {
    kind: _setter(kind, "operands") for kind in (And, Or, Xor, Xnor, Not, Truth)
}


def make_operator(kind: type[Node], operands: tuple[Expression, ...]) -> Node:
    """A node from operands that are known to be right: what the parser calls."""
    self = _new(kind)
    _set_operands[kind](self, operands)
    return self


def _as_expression(operand: Any) -> Expression:
    try:
        return operand.as_expression()  # type: ignore[no-any-return]
    except AttributeError:
        told = f"an operand must be an Expression (got {operand!r}, {kind_in_words(operand)})"
        raise InvalidArgument(told) from None


def _joined(kind: type[_Operator], left: Expression, right: Any) -> Expression:
    """`left op right`; a chain of one operator is one node, as it is in text."""
    if not hasattr(right, "as_expression"):
        raise TypeError(
            f"cannot combine an Expression with {right!r}, {kind_in_words(right)}: put parentheses around"
            " each comparison, as in (attr('a') > 1) & (attr('b') < 2)"
        )
    operands = left.operands if type(left) is kind else (left,)
    return make_operator(kind, (*operands, right.as_expression()))


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
