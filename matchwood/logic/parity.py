"""`xor` and `xnor`: flattened into one parity of operands, then folded as a balanced tree.

Both are NULL as soon as one operand is, and else count TRUE operands, so the order of the operands
and the way they are bracketed do not matter. A balanced fold makes a chain of 10,000 terms a DAG of
depth 28 instead of 20,000; leaves of one attribute come together first, and fold into a single leaf.
"""

from __future__ import annotations

from typing import TypeAlias

from matchwood.logic.builder import Answer, Builder
from matchwood.logic.form import AND, OR
from matchwood.logic.leaf import Leaf

Pair: TypeAlias = tuple[Answer, Answer]
"""The answers to a question about an operand, and to the same one about its negation."""


def parity(builder: Builder, pairs: list[Pair], *, negative: bool) -> Pair:
    """The answers for `xor` of all the operands: (IS_TRUE, IS_FALSE), or with `negative` (NOT_TRUE, NOT_FALSE)."""
    outer, inner = (AND, OR) if negative else (OR, AND)
    grouped = [_folded(builder, group, outer, inner) for group in _by_attribute(pairs)]
    return _folded(builder, grouped, outer, inner)


def _by_attribute(pairs: list[Pair]) -> list[list[Pair]]:
    """Operands that are leaves of one attribute together, attributes in order; each other operand alone."""
    leaves: dict[str, list[Pair]] = {}
    others: list[Pair] = []
    for answer, negated in pairs:
        if isinstance(answer, Leaf) and isinstance(negated, Leaf) and answer.attribute == negated.attribute:
            leaves.setdefault(answer.attribute, []).append((answer, negated))
        else:
            others.append((answer, negated))
    return [leaves[attribute] for attribute in sorted(leaves)] + [[pair] for pair in others]


def _folded(builder: Builder, pairs: list[Pair], outer: int, inner: int) -> Pair:
    while len(pairs) > 1:
        halved = [_combined(builder, pairs[at], pairs[at + 1], outer, inner) for at in range(0, len(pairs) - 1, 2)]
        pairs = halved + pairs[len(halved) * 2 :]
    return pairs[0]


def _combined(builder: Builder, left: Pair, right: Pair, outer: int, inner: int) -> Pair:
    join = builder.junction
    unequal = join(outer, (join(inner, (left[0], right[1])), join(inner, (left[1], right[0]))))
    equal = join(outer, (join(inner, (left[0], right[0])), join(inner, (left[1], right[1]))))
    return unequal, equal
