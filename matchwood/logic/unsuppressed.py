"""From a tree to a DAG that keeps `not`, `xor` and `xnor`: what an A-Tree takes that passes false results on.

Its results have three values, like those of the tree. The leaves of the tree become predicates, which are unknown
for NULL, or leaves, which are not: null tests. Truth tests (`is true`, `is unknown`) would turn what is unknown, and so
what nobody reports, into a result; what they test is taken in its two-valued normal form instead.
"""

from __future__ import annotations

from collections import Counter

from matchwood.language.tree import And, Constant, Expression, Not, Or, Predicate, Truth, Xnor
from matchwood.logic.builder import ALWAYS_TRUE, NEVER_TRUE
from matchwood.logic.form import ALWAYS, AND, FALSE, LEAF, NEVER, NOT, OR, PREDICATE, TRUE, XNOR, XOR, Form
from matchwood.logic.leaf import Bind, Leaf, is_empty, is_full
from matchwood.logic.normalise import normalise

MOST_FLAT = 64
"""A nest of xor and xnor is read as one list of operands up to this many; a longer one keeps its nodes."""

_CONSTANTS = {ALWAYS_TRUE: ALWAYS, NEVER_TRUE: NEVER}


def unsuppressed(expression: Expression, bind: Bind) -> Form:
    """The DAG of a tree; equal operands of a node are one, and constants are folded."""
    draft = _Draft()
    places: dict[int, int] = {}
    pending = [expression]
    while pending:
        node = pending[-1]
        waiting = [] if type(node) is Truth else [each for each in node.operands if id(each) not in places]
        if waiting:
            pending.extend(waiting[::-1])
            continue
        pending.pop()
        if id(node) not in places:
            operands = [] if type(node) is Truth else [places[id(operand)] for operand in node.operands]
            places[id(node)] = draft.number(node, operands, bind)
    return draft.form(places[id(expression)])


class _Draft:
    """Nodes by what they say; negative numbers are constants."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, Leaf | None, tuple[int, ...]], int] = {}
        self._nodes: list[tuple[int, Leaf | None, tuple[int, ...]]] = []

    def number(self, node: Expression, operands: list[int], bind: Bind) -> int:
        if type(node) is Predicate:
            bound = bind(node)
            leaf = Leaf(bound.attribute, bound.cuts, bound.on_null is True)
            return self._node(PREDICATE, leaf, ()) if bound.on_null is None else self._leaf(leaf)
        if type(node) is Constant:
            return ALWAYS_TRUE if node.value else NEVER_TRUE
        if type(node) is Truth:
            return self._spliced(normalise(node, bind))
        if type(node) is Not:
            return self._negation(operands[0])
        if isinstance(node, And | Or):
            return self._junction(AND if isinstance(node, And) else OR, operands)
        return self._parity(*self._spread(operands, len(operands) - 1 if isinstance(node, Xnor) else 0))

    def _leaf(self, leaf: Leaf) -> int:
        if is_empty(leaf):
            return NEVER_TRUE
        return ALWAYS_TRUE if is_full(leaf) else self._node(LEAF, leaf, ())

    def _negation(self, operand: int) -> int:
        return NEVER_TRUE + ALWAYS_TRUE - operand if operand < 0 else self._node(NOT, None, (operand,))

    def _junction(self, kind: int, operands: list[int]) -> int:
        absorbing, neutral = (NEVER_TRUE, ALWAYS_TRUE) if kind == AND else (ALWAYS_TRUE, NEVER_TRUE)
        if absorbing in operands:
            return absorbing
        left = sorted(set(operands) - {neutral})
        if len(left) < 2:
            return left[0] if left else neutral
        return self._node(kind, None, tuple(left))

    def _spread(self, operands: list[int], flips: int) -> tuple[list[int], int]:
        """Operands and flips, with those of operands that are parities themselves in their place, if they are few."""
        parities = [each for each in operands if each >= 0 and self._nodes[each][0] in (XOR, XNOR)]
        if len(operands) + sum(len(self._nodes[each][2]) - 1 for each in parities) > MOST_FLAT:
            return operands, flips
        spread = [each for each in operands if each not in parities]
        for each in parities:
            spread.extend(self._nodes[each][2])
            flips += self._nodes[each][0] == XNOR
        return spread, flips

    def _parity(self, operands: list[int], flips: int) -> int:
        """The parity of the operands, negated so many times; what comes twice is FALSE, unless it is unknown."""
        members = []
        for operand, times in sorted(Counter(operands).items()):
            if operand == ALWAYS_TRUE:
                flips += times
            elif operand >= 0:
                members.append(operand if times % 2 else self._junction(AND, [operand, self._negation(operand)]))
        distinct = sorted(set(members))
        if not distinct:
            return ALWAYS_TRUE if flips % 2 else NEVER_TRUE
        if len(distinct) < len(members):
            return self._parity(members, flips)
        if len(distinct) == 1:
            return self._negation(distinct[0]) if flips % 2 else distinct[0]
        return self._node(XNOR if flips % 2 else XOR, None, tuple(distinct))

    def _spliced(self, form: Form) -> int:
        """A two-valued form as nodes among the others."""
        places: list[int] = [self._leaf(leaf) for leaf in form.leaves]
        for kind, children in zip(form.kinds[len(places) :], form.children[len(places) :], strict=True):
            if kind in (TRUE, FALSE):
                return ALWAYS_TRUE if kind == TRUE else NEVER_TRUE
            places.append(self._junction(kind, [places[child] for child in children]))
        return places[-1]

    def _node(self, kind: int, leaf: Leaf | None, children: tuple[int, ...]) -> int:
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
