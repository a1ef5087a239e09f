"""Where three-valued forms are drafted: every node once, constants folded, and what a parity has twice cancelled."""

from __future__ import annotations

from collections import Counter

from matchwood.logic.builder import ALWAYS_TRUE, NEVER_TRUE
from matchwood.logic.form import ALWAYS, AND, LEAF, NEVER, NOT, XNOR, XOR, Form
from matchwood.logic.leaf import Leaf, is_empty, is_full

_CONSTANTS = {ALWAYS_TRUE: ALWAYS, NEVER_TRUE: NEVER}


class FormDraft:
    """Nodes by what they say; negative numbers are constants."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, Leaf | None, tuple[int, ...]], int] = {}
        self._nodes: list[tuple[int, Leaf | None, tuple[int, ...]]] = []

    def leaf(self, leaf: Leaf) -> int:
        if is_empty(leaf):
            return NEVER_TRUE
        return ALWAYS_TRUE if is_full(leaf) else self.node(LEAF, leaf, ())

    def negation(self, operand: int) -> int:
        return NEVER_TRUE + ALWAYS_TRUE - operand if operand < 0 else self.node(NOT, None, (operand,))

    def negated_parity(self, operand: int) -> int:
        """The negation of a parity, which is one node if it still is a parity."""
        kind, _, children = self._nodes[operand]
        return self.node(XNOR, None, children) if kind == XOR else self.negation(operand)

    def junction(self, kind: int, operands: list[int]) -> int:
        absorbing, neutral = (NEVER_TRUE, ALWAYS_TRUE) if kind == AND else (ALWAYS_TRUE, NEVER_TRUE)
        if absorbing in operands:
            return absorbing
        left = sorted(set(operands) - {neutral})
        if len(left) < 2:
            return left[0] if left else neutral
        return self.node(kind, None, tuple(left))

    def parity(self, operands: list[int], flips: int) -> int:
        """The parity of the operands, negated so many times; what comes twice is FALSE, unless it is unknown."""
        members = []
        for operand, times in sorted(Counter(operands).items()):
            if operand == ALWAYS_TRUE:
                flips += times
            elif operand >= 0:
                members.append(operand if times % 2 else self.junction(AND, [operand, self.negation(operand)]))
        distinct = sorted(set(members))
        if not distinct:
            return ALWAYS_TRUE if flips % 2 else NEVER_TRUE
        if len(distinct) < len(members):
            return self.parity(members, flips)
        if len(distinct) == 1:
            return self.negation(distinct[0]) if flips % 2 else distinct[0]
        return self.node(XNOR if flips % 2 else XOR, None, tuple(distinct))

    def node(self, kind: int, leaf: Leaf | None = None, children: tuple[int, ...] = ()) -> int:
        node = (kind, leaf, children)
        number = self._numbers.setdefault(node, len(self._nodes))
        if number == len(self._nodes):
            self._nodes.append(node)
        return number

    def form(self, root: int) -> Form:
        """What is below a node: leaves first, then the others, children before their parents."""
        if root < 0:
            return _CONSTANTS[root]
        nodes = self._nodes
        reached = bytearray(root + 1)
        reached[root] = 1
        for number in range(root, -1, -1):
            if reached[number]:
                for child in nodes[number][2]:
                    reached[child] = 1
        kept = sorted((number for number in range(root + 1) if reached[number]), key=lambda n: nodes[n][1] is None)
        places = {number: place for place, number in enumerate(kept)}
        leaves = tuple(leaf for number in kept if (leaf := nodes[number][1]) is not None)
        kinds = tuple(nodes[number][0] for number in kept)
        return Form(leaves, kinds, tuple(tuple(places[child] for child in nodes[number][2]) for number in kept))
