"""The four two-valued questions about a three-valued expression, and how they reach its operands.

    IS_TRUE     is it TRUE?          IS_FALSE    is it FALSE?
    NOT_TRUE    is it not TRUE?      NOT_FALSE   is it not FALSE?

Flipping bit 0 of a question asks it about the expression's negation, flipping bit 1 negates the
answer. Every node answers a question by the same questions about its operands, joined by AND or OR;
only `is unknown`, `xor` and `xnor` need two of them.
"""

from __future__ import annotations

from typing import TypeAlias

from matchwood.language import And, Constant, Expression, Not, Or, Truth
from matchwood.logic.builder import ALWAYS_TRUE, NEVER_TRUE, Answer
from matchwood.logic.cuts import complement
from matchwood.logic.form import AND, OR
from matchwood.logic.leaf import Bound, Leaf, is_empty, is_full

IS_TRUE, IS_FALSE, NOT_TRUE, NOT_FALSE = range(4)
NEGATED_NODE, NEGATED_ANSWER = 1, 2

Asked: TypeAlias = tuple[Expression, int]

_HOLDS_FOR_TRUE = (True, False, False, True)
"""For each question: whether a TRUE expression answers it with yes."""


def about_operand(node: Expression, question: int) -> Asked | None:
    """The one question about its operand that a node passes its own on to; None for the other nodes."""
    if type(node) is Not:
        return node.operands[0], question ^ NEGATED_NODE
    if type(node) is not Truth or node.test == "unknown":
        return None
    wanted = IS_TRUE if node.test == "true" else IS_FALSE
    return node.operands[0], wanted if _is_affirmed(node, question) else wanted ^ NEGATED_ANSWER


def junction_of(node: Expression, question: int) -> int | None:
    """How the answers of a node's operands are joined: AND, OR, or None for leaves, constants, xor and xnor."""
    kind = type(node)
    if kind is And:
        return AND if _HOLDS_FOR_TRUE[question] else OR
    if kind is Or:
        return OR if _HOLDS_FOR_TRUE[question] else AND
    if kind is Truth:
        return AND if _is_affirmed(node, question) else OR
    return None


def about_operands(node: Expression, question: int) -> list[Asked]:
    """The questions whose answers `junction_of` joins."""
    if type(node) is not Truth:
        return [(operand, question) for operand in node.operands]
    operand = node.operands[0]
    if _is_affirmed(node, question):
        return [(operand, NOT_TRUE), (operand, NOT_FALSE)]
    return [(operand, IS_TRUE), (operand, IS_FALSE)]


def _is_affirmed(node: Expression, question: int) -> bool:
    """Whether the question about an `is [not] …` test, which is never NULL, asks if the test itself holds."""
    assert isinstance(node, Truth)
    return _HOLDS_FOR_TRUE[question] != node.negated


def leaf_of(bound: Bound, question: int) -> Leaf:
    """The leaf that answers a question about a predicate; it may be empty or full."""
    attribute, cuts, on_null = bound.attribute, bound.cuts, bound.on_null
    if question == IS_TRUE:
        return Leaf(attribute, cuts, on_null is True)
    if question == IS_FALSE:
        return Leaf(attribute, complement(cuts), on_null is False)
    if question == NOT_TRUE:
        return Leaf(attribute, complement(cuts), on_null is not True)
    return Leaf(attribute, cuts, on_null is not False)


def of_predicate(bound: Bound, question: int) -> Answer:
    """The answer to a question about a predicate."""
    answers = bound.answers
    if answers is None:
        answers = bound.answers = {}
    elif question in answers:
        return answers[question]
    leaf = leaf_of(bound, question)
    answer = answers[question] = NEVER_TRUE if is_empty(leaf) else ALWAYS_TRUE if is_full(leaf) else leaf
    return answer


def of_constant(node: Constant, question: int) -> Answer:
    """The answer to a question about `true` or `false`."""
    return ALWAYS_TRUE if _HOLDS_FOR_TRUE[question] is node.value else NEVER_TRUE
