"""The nodes: constructors, immutability, equality, operators, and the walk over a tree."""

from __future__ import annotations

import datetime
import math
import pickle

import pytest

from matchwood.errors import InvalidArgument
from matchwood.language import And, Constant, Expression, Not, Or, Predicate, Truth, Xnor, Xor, parse, postorder
from matchwood.language.tree import OPERATORS

A, B, C = (Predicate(name, "=", 1) for name in "abc")


def test_the_parts_of_a_predicate() -> None:
    node = parse("age >= 18 and plan like '50!%' escape '!'").operands[1]
    assert isinstance(node, Predicate)
    assert (node.attr, node.op, node.value, node.escape, node.position) == ("plan", "like", "50!%", "!", 14)
    built = Predicate("plan", "like", "50!%", "!")
    assert built == node
    assert built.position is None


@pytest.mark.parametrize(
    ("text", "op", "value"),
    [
        ("vip", "=", True),
        ("5 < x", ">", 5),
        ("'a' in tags", "contains", "a"),
        ("'a' not in tags", "not contains", "a"),
        ("x in (1, 'a')", "in", (1, "a")),
        ("x between 1 and 2", "between", (1, 2)),
        ("x is null", "is null", None),
        ("x = date '2026-01-31'", "=", datetime.date(2026, 1, 31)),
        ("x = timestamp '2026-01-31 01:02:03'", "=", datetime.datetime(2026, 1, 31, 1, 2, 3)),
        ("x = timestamp '2026-01-31T01:02:03Z'", "=", datetime.datetime(2026, 1, 31, 1, 2, 3, tzinfo=datetime.UTC)),
        ("x = cast('Infinity' as double)", "=", math.inf),
    ],
)
def test_the_operator_and_value_of_each_form(text: str, op: str, value: object) -> None:
    node = parse(text)
    assert isinstance(node, Predicate)
    assert (node.op, node.value, type(node.value)) == (op, value, type(value))


def test_chains_are_one_node_and_parentheses_are_kept() -> None:
    assert parse("a = 1 and b = 1 and c = 1") == And(A, B, C)
    assert parse("(a = 1 and b = 1) and c = 1") == And(And(A, B), C)
    assert parse("a = 1 xor b = 1 xor c = 1") == Xor(A, B, C)
    assert parse("a = 1 xor b = 1 xnor c = 1") == Xnor(Xor(A, B), C)
    assert parse("a = 1 or b = 1 and c = 1") == Or(A, And(B, C))
    assert parse("a = 1 or b = 1 xor c = 1") == Or(A, Xor(B, C))
    assert parse("a = 1 xor b = 1 and c = 1") == Xor(A, And(B, C))
    assert parse("not a = 1 and b = 1") == And(Not(A), B)
    assert parse("not a = 1 is not unknown") == Not(Truth(A, "unknown", negated=True))


def test_operators_build_what_text_says() -> None:
    assert And(A, B, C) == A & B & C
    assert And(A, And(B, C)) == A & (B & C)
    assert Or(A, B, C) == A | B | C
    assert Xor(A, B, C) == A ^ B ^ C
    assert Or(Not(A), And(B, C)) == ~A | B & C
    assert [A.is_true(), A.is_not_true(), A.is_false()] == [Truth(A, "true"), Truth(A, "true", True), Truth(A, "false")]
    assert str(A.is_not_false() & A.is_unknown() & A.is_not_unknown()) == (
        "(a = 1) is not false and (a = 1) is unknown and (a = 1) is not unknown"
    )


def test_equality_is_that_of_the_text() -> None:
    forms = ["x = 1", "x = 1.0", "x = true", "x = '1'", "x = 0.0", "x = -0.0", "`x.y` = 1", "x.y = 1"]
    assert len({parse(form) for form in forms}) == len(forms)
    nan = Predicate("x", "=", math.nan)
    assert nan == parse("x = cast('NaN' as double)") == Predicate("x", "=", float("nan"))
    assert parse("x=1") == parse("  x  = 1 ")
    assert parse("x = 1") != "x = 1"
    assert parse("x = 1") != parse("not x = 1")
    assert parse("x = 1") in [parse("x = 1")]


@pytest.mark.parametrize(
    "node", [A, And(A, B), Or(A, B), Xor(A, B), Xnor(A, B), Not(A), Truth(A, "true"), Constant(True)], ids=str
)
def test_nodes_are_immutable(node: Expression) -> None:
    text = str(node)
    for name in ("attr", "op", "value", "operands", "test", "_text", "other"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(node, name, "changed")
        with pytest.raises(AttributeError, match="immutable"):
            delattr(node, name)
    assert str(pickle.loads(pickle.dumps(node))) == text == str(node)
    assert not hasattr(node, "__dict__")


def test_an_expression_has_no_truth_value() -> None:
    for use in (lambda: bool(A), lambda: A and B, lambda: not A, lambda: A if A else B):
        with pytest.raises(TypeError, match="combine expressions with &"):
            use()


def test_repr_is_code() -> None:
    assert repr(parse("name = 'it''s'")) == "parse(\"name = 'it''s'\")"
    assert eval(repr(A & B)) == And(A, B)


@pytest.mark.parametrize("other", [True, 5, "b = 1", None])
def test_operators_refuse_what_is_no_expression(other: object) -> None:
    with pytest.raises(TypeError, match="put parentheses around"):
        A & other  # type: ignore[operator]


@pytest.mark.parametrize("kind", [And, Or, Xor, Xnor])
def test_operators_need_two_operands(kind: type[And]) -> None:
    for operands in ((), (A,)):
        with pytest.raises(InvalidArgument, match="two or more operands"):
            kind(*operands)
    with pytest.raises(InvalidArgument, match="must be an Expression"):
        kind(A, "b = 1")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", "==", 1), "unknown operator '=='"),
        (("x", "=", None), "must not be NULL"),
        (("x", "=", [1]), "must be a bool, int"),
        (("x", "in", ()), "at least one constant"),
        (("x", "in", "abc"), "takes a list"),
        (("x", "in", {"a": 1}), "takes a list"),
        (("x", "in", 5), "takes a list"),
        (("x", "in", [None]), "must not be NULL"),
        (("x", "between", (1,)), "takes two constants"),
        (("x", "between", (1, 2, 3)), "takes two constants"),
        (("x", "like", 5), "takes a pattern"),
        (("x", "is null", 5), "takes no value"),
        (("x", "like", "a", "ab"), "one character"),
        (("x", "like", "a", 5), "one character"),
        (("x", "rlike", "a", "!"), "takes no escape"),
        (("x", "=", "a", "!"), "takes no escape"),
        (("", "=", 1), "empty part"),
        (("a..b", "=", 1), "empty part"),
        (("`a", "=", 1), "do not pair up"),
        (("a\0", "=", 1), "NUL"),
        (("\ud800", "=", 1), "surrogate"),
        (("x", "=", "\ud800"), "surrogate"),
        ((5, "=", 1), "must be a str"),
    ],
)
def test_a_predicate_that_makes_no_sense_is_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Predicate(*arguments)  # type: ignore[arg-type]


def test_truth_and_constant_check_their_arguments() -> None:
    with pytest.raises(InvalidArgument, match="unknown truth test 'maybe'"):
        Truth(A, "maybe")
    assert str(Constant(True)) == "true"


def test_postorder_gives_operands_first() -> None:
    root = parse("a = 1 and not (b = 1 or c = 1)")
    assert list(map(str, postorder(root))) == [
        "a = 1",
        "b = 1",
        "c = 1",
        "b = 1 or c = 1",
        "not (b = 1 or c = 1)",
        "a = 1 and not (b = 1 or c = 1)",
    ]


def test_sets_of_constants_have_one_order() -> None:
    values = {"b", "a", "c"}
    assert Predicate("x", "in", values).value == ("a", "b", "c")
    assert Predicate("x", "in", frozenset((3, 1, 2))) == Predicate("x", "in", [1, 2, 3])


def test_every_operator_can_be_printed_and_read() -> None:
    values = {"in": (1,), "not in": (1,), "one of": (1,), "all of": (1,), "none of": (1,), "is null": None}
    for op in OPERATORS:
        value = values.get(op, 1)
        value = None if "null" in op else "a" if "like" in op else (1, 2) if "between" in op else value
        node = Predicate("x", op, value)
        assert parse(str(node)) == node
        assert parse(str(node)).op == op  # type: ignore[attr-defined]
