"""From a tree to its form: "is the root TRUE?", passed down through the four questions.

Each (node, question) is answered once, and only those that the root's question reaches. The walk
keeps its own stack, so depth is bounded by memory alone.
"""

from __future__ import annotations

from typing import NamedTuple

from matchwood.language import Constant, Expression, Not, Predicate, Truth, Xnor, Xor
from matchwood.logic.builder import Answer, Builder
from matchwood.logic.form import Form
from matchwood.logic.leaf import Bind, Bound
from matchwood.logic.numbering import form_below
from matchwood.logic.parity import parity
from matchwood.logic.questions import (
    IS_TRUE,
    NEGATED_ANSWER,
    NEGATED_NODE,
    Asked,
    about_operand,
    about_operands,
    junction_of,
    of_constant,
    of_predicate,
)


def normalise(expression: Expression, bind: Bind) -> Form:
    """The form that holds for exactly the events for which the expression is TRUE.

    `bind` is called once for every predicate node, in the order of the text.
    """
    builder, root = answered(expression, bind)
    return form_below(builder, root)


def answered(expression: Expression, bind: Bind) -> tuple[Builder, Answer]:
    """The answer to "is it TRUE?", and the builder that holds its nodes."""
    walk = _NormalWalk(expression, bind)
    return walk.builder, walk.answer(expression)


class _Step(NamedTuple):
    """A question that waits for the answers to others; `junction` is None for a parity."""

    key: int
    junction: int | None
    known: list[Answer]
    members: list[Asked]
    flips: int


class _NormalWalk:
    def __init__(self, root: Expression, bind: Bind) -> None:
        self.builder = Builder()
        self._uses: dict[int, int] = {}
        self._bound: dict[int, Bound] = {}
        self._answers: dict[int, Answer] = {}
        self._survey(root, bind)

    def _survey(self, root: Expression, bind: Bind) -> None:
        """Bind the predicates, and count how often each node is an operand (builders may share nodes)."""
        uses, pending = self._uses, [root]
        while pending:
            node = pending.pop()
            key = id(node)
            if key in uses:
                uses[key] += 1
                continue
            uses[key] = 1
            if type(node) is Predicate:
                self._bound[key] = bind(node)
            else:
                pending.extend(node.operands[::-1])

    def answer(self, root: Expression) -> Answer:
        """Whether the root is TRUE; all that this needs is answered first."""
        (node, question), _ = self._resolved(root, IS_TRUE)
        pending: list[Asked | _Step] = [(node, question)]
        while pending:
            top = pending.pop()
            if isinstance(top, _Step):
                self._finish(top)
            else:
                self._begin(top[0], top[1], pending)
        return self._answers[_key(node, question)]

    def _begin(self, node: Expression, question: int, pending: list[Asked | _Step]) -> None:
        key = _key(node, question)
        if key in self._answers:
            return
        if type(node) is Predicate:
            self._answers[key] = of_predicate(self._bound[id(node)], question)
        elif type(node) is Constant:
            self._answers[key] = of_constant(node, question)
        else:
            step = self._step(node, question, key)
            pending.append(step)
            pending.extend(step.members)

    def _step(self, node: Expression, question: int, key: int) -> _Step:
        junction = junction_of(node, question)
        if junction is not None:
            known, members = self._nest(node, question, junction)
            return _Step(key, junction, known, members, 0)
        operands, flips = self._parity_nest(node)
        asked = question & NEGATED_ANSWER
        members = [
            self._resolved(operand, either)[0] for operand in operands for either in (asked, asked ^ NEGATED_NODE)
        ]
        return _Step(key, None, [], members, flips)

    def _finish(self, step: _Step) -> None:
        answers = [self._answers[id(node) << 2 | question] for node, question in step.members]
        if step.junction is not None:
            self._answers[step.key] = self.builder.junction(step.junction, step.known + answers)
            return
        pairs = list(zip(answers[::2], answers[1::2], strict=True))
        unequal, equal = parity(self.builder, pairs, negative=bool(step.key & NEGATED_ANSWER))
        positive = step.key & ~NEGATED_NODE
        self._answers[positive | (step.flips & 1)] = unequal
        self._answers[positive | (~step.flips & 1)] = equal

    def _resolved(self, node: Expression, question: int) -> tuple[Asked, bool]:
        """The question behind `not`, `is true` and `is false`, and whether no other path leads to it."""
        alone = self._uses[id(node)] == 1
        while (passed := about_operand(node, question)) is not None:
            node, question = passed
            alone = alone and self._uses[id(node)] == 1
        return (node, question), alone

    def _nest(self, node: Expression, question: int, junction: int) -> tuple[list[Answer], list[Asked]]:
        """The operands of a node and of those below it that are joined in the same way and used only here.

        Predicates are answered at once, the others are to be asked. Taken together all merge in one step;
        taken level by level, a deep nest would copy its growing list of children at each.
        `is unknown` ends a nest: it asks two questions, which down a chain of such tests would lead to
        the same operands over and over.
        """
        known: list[Answer] = []
        members: list[Asked] = []
        pending = about_operands(node, question)
        bound = self._bound
        while pending:
            node, question = asked = pending.pop()
            if type(node) is Predicate:
                known.append(of_predicate(bound[id(node)], question))
                continue
            asked, alone = self._resolved(node, question)
            node, question = asked
            if type(node) is Predicate:
                known.append(of_predicate(bound[id(node)], question))
            elif alone and type(node) is not Truth and junction_of(node, question) == junction:
                pending.extend(about_operands(node, question))
            else:
                members.append(asked)
        return known, members

    def _parity_nest(self, node: Expression) -> tuple[list[Expression], int]:
        """The operands of nested xor, xnor and not, and how often the outcome is negated."""
        operands: list[Expression] = []
        pending, flips = list(node.operands), _flips(node)
        while pending:
            operand = pending.pop()
            if isinstance(operand, Xor | Xnor | Not) and self._uses[id(operand)] == 1:
                pending.extend(operand.operands)
                flips += _flips(operand)
            else:
                operands.append(operand)
        return operands, flips


def _flips(node: Expression) -> int:
    """How often a node negates the parity of its operands: xnor once for each operand after the first."""
    if isinstance(node, Not):
        return 1
    return len(node.operands) - 1 if isinstance(node, Xnor) else 0


def _key(node: Expression, question: int) -> int:
    """The question in the two low bits, the node above them; the tree keeps its nodes' ids alive."""
    return id(node) << 2 | question
