"""Forms in which no node has more than two children: what an A-Tree that is a binary tree takes."""

from __future__ import annotations

from collections.abc import Callable

from matchwood.logic.draft import FormDraft
from matchwood.logic.form import AND, FALSE, NOT, OR, TRUE, XNOR, Form

LONGEST_CHAIN = 64
"""Operands are joined one after the other, so that rules which begin alike share; more than that first pair by pair."""


def binary(form: Form) -> Form:
    """The same expression with two operands a node; equal nodes are one.

    Nodes that differed may become one: `a and b and c` is joined as `(a and b) and c` is written. So a draft takes them
    in again, in which a parity of what is now the same operand twice is cancelled, and not counted once.
    """
    if form.kinds[-1] in (TRUE, FALSE):
        return form
    draft = FormDraft()
    places = [draft.node(kind, leaf) for kind, leaf in zip(form.kinds, form.leaves, strict=False)]
    for kind, children in zip(form.kinds[len(places) :], form.children[len(places) :], strict=True):
        places.append(_joined(draft, kind, [places[child] for child in children]))
    return draft.form(places[-1])


def _joined(draft: FormDraft, kind: int, operands: list[int]) -> int:
    if kind == NOT:
        return draft.negation(operands[0])
    if kind in (AND, OR):
        return _folded(operands, lambda pair: draft.junction(kind, pair))
    parity = _folded(operands, lambda pair: draft.parity(pair, 0))
    # XNOR negates once, at the top.
    return draft.negated_parity(parity) if kind == XNOR else parity


def _folded(operands: list[int], join: Callable[[list[int]], int]) -> int:
    while len(operands) > LONGEST_CHAIN:
        pairs = [operands[at : at + 2] for at in range(0, len(operands), 2)]
        operands = [join(pair) if len(pair) == 2 else pair[0] for pair in pairs]
    first, *others = operands
    for other in others:
        first = join([first, other])
    return first
