"""From a tree to a DAG that keeps `not`, `xor` and `xnor`: what an A-Tree takes that passes false results on.

Its results have three values, like those of the tree. The leaves of the tree become predicates, which are unknown
for NULL, or leaves, which are not: null tests. Truth tests (`is true`, `is unknown`) would turn what is unknown, and so
what nobody reports, into a result; what they test is taken in its two-valued normal form instead.
"""

from __future__ import annotations

from matchwood.language import And, Constant, Expression, Not, Or, Predicate, Truth, Xnor
from matchwood.logic.builder import ALWAYS_TRUE, NEVER_TRUE
from matchwood.logic.draft import FormDraft
from matchwood.logic.form import AND, FALSE, OR, PREDICATE, TRUE, XNOR, XOR, Form
from matchwood.logic.leaf import Bind, Leaf
from matchwood.logic.normalise import normalise

MOST_FLAT = 64
"""A nest of xor and xnor is read as one list of operands up to this many; a longer one keeps its nodes."""


def unsuppressed(expression: Expression, bind: Bind) -> Form:
    """The DAG of a tree; equal operands of a node are one, and constants are folded."""
    draft = _TreeDraft()
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


class _TreeDraft(FormDraft):
    """A draft that takes nodes of a tree."""

    def number(self, node: Expression, operands: list[int], bind: Bind) -> int:
        if type(node) is Predicate:
            bound = bind(node)
            leaf = Leaf(bound.attribute, bound.cuts, bound.on_null is True)
            return self.node(PREDICATE, leaf, ()) if bound.on_null is None else self.leaf(leaf)
        if type(node) is Constant:
            return ALWAYS_TRUE if node.value else NEVER_TRUE
        if type(node) is Truth:
            return self._spliced(normalise(node, bind))
        if type(node) is Not:
            return self.negation(operands[0])
        if isinstance(node, And | Or):
            return self.junction(AND if isinstance(node, And) else OR, operands)
        return self.parity(*self._spread(operands, len(operands) - 1 if isinstance(node, Xnor) else 0))

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

    def _spliced(self, form: Form) -> int:
        """A two-valued form as nodes among the others."""
        places: list[int] = [self.leaf(leaf) for leaf in form.leaves]
        for kind, children in zip(form.kinds[len(places) :], form.children[len(places) :], strict=True):
            if kind in (TRUE, FALSE):
                return ALWAYS_TRUE if kind == TRUE else NEVER_TRUE
            places.append(self.junction(kind, [places[child] for child in children]))
        return places[-1]
