"""Forms in which no node has more than two children: what an A-Tree that is a binary tree takes."""

from __future__ import annotations

from matchwood.logic.form import AND, OR, XNOR, XOR, Form

LONGEST_CHAIN = 64
"""Operands are joined one after the other, so that rules which begin alike share; more than that first pair by pair."""

_INNER = {AND: AND, OR: OR, XOR: XOR, XNOR: XOR}
"""How the operands of a node are joined below it: XNOR negates once, at the top."""


def binary(form: Form) -> Form:
    """The same expression with two operands a node; equal nodes are one."""
    nodes: dict[tuple[int, tuple[int, ...]], int] = {}
    leaves = len(form.leaves)

    def number(kind: int, children: tuple[int, ...]) -> int:
        return nodes.setdefault((kind, tuple(sorted(children))), leaves + len(nodes))

    places = list(range(leaves))
    for kind, children in zip(form.kinds[leaves:], form.children[leaves:], strict=True):
        operands = [places[child] for child in children]
        inner = _INNER.get(kind, kind)
        while len(operands) > LONGEST_CHAIN:
            pairs = [tuple(operands[at : at + 2]) for at in range(0, len(operands), 2)]
            operands = [number(inner, pair) if len(pair) == 2 else pair[0] for pair in pairs]
        while len(operands) > 2:
            operands[:2] = [number(inner, (operands[0], operands[1]))]
        places.append(number(kind, tuple(operands)))
    kinds = (*form.kinds[:leaves], *(kind for kind, _ in nodes))
    return Form(form.leaves, kinds, (*((),) * leaves, *(children for _, children in nodes)))
