"""Three-valued logic on sets of verdicts: what a node can be when its operands can each be one of several.

A set of verdicts is a mask of three bits. Operands are taken to be independent of each other; a
set with one verdict in it is that verdict, so the same functions evaluate a tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from matchwood.language import And, Constant, Expression, Not, Or, Truth, Xnor, Xor

Mask: TypeAlias = int

TRUE, FALSE, NULL = 1, 2, 4
ANY = TRUE | FALSE | NULL
VERDICTS = (TRUE, FALSE, NULL)

_TESTED = {"true": TRUE, "false": FALSE, "unknown": NULL}


def mask_of(verdict: bool | None) -> Mask:
    return NULL if verdict is None else TRUE if verdict else FALSE


def verdict_of(mask: Mask) -> bool | None:
    return None if mask == NULL else mask == TRUE


def swap(mask: Mask) -> Mask:
    """The set with TRUE and FALSE exchanged.

    >>> swap(TRUE | NULL) == FALSE | NULL
    True
    """
    return (mask & TRUE) << 1 | (mask & FALSE) >> 1 | mask & NULL


def possible(node: Expression, operands: Sequence[Mask]) -> Mask:
    """What a node can be, from what its operands can be."""
    if isinstance(node, And):
        return _possible_and(operands)
    if isinstance(node, Or):
        return swap(_possible_and([swap(mask) for mask in operands]))
    if isinstance(node, Xor | Xnor):
        found = _possible_xor(operands)
        return swap(found) if turns_parity(node) else found
    if isinstance(node, Constant):
        return mask_of(node.value)
    return sum(result for result in VERDICTS if operands[0] & preimage(node, result))


def _possible_and(operands: Sequence[Mask]) -> Mask:
    some, every, not_false = 0, ANY, True
    for mask in operands:
        some |= mask
        every &= mask
        not_false &= mask != FALSE
    return some & FALSE | every & TRUE | (some & NULL if not_false else 0)


def _possible_xor(operands: Sequence[Mask]) -> Mask:
    some, odd, either, definite = 0, False, False, True
    for mask in operands:
        some |= mask
        odd ^= mask & TRUE != 0
        either |= mask & TRUE != 0 and mask & FALSE != 0
        definite &= mask != NULL
    reached = 0 if not definite else TRUE | FALSE if either else TRUE if odd else FALSE
    return reached | some & NULL


def turns_parity(node: Expression) -> bool:
    """Whether the node is the opposite of the xor of its operands: an xnor of an even number of them."""
    return isinstance(node, Xnor) and len(node.operands) % 2 == 0


def preimage(node: Expression, wanted: Mask) -> Mask:
    """The verdicts of the only operand for which `not` or `is [not] true | false | unknown` is one of those wanted."""
    if isinstance(node, Not):
        return swap(wanted)
    assert isinstance(node, Truth)
    inside = _TESTED[node.test]
    when_true = ANY - inside if node.negated else inside
    return (when_true if wanted & TRUE else 0) | (ANY - when_true if wanted & FALSE else 0)
