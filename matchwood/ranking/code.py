"""Scoring trees as words of code: postorder, without recursion, what is used twice computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from matchwood.engines import AND, END, FALSE, KEEP, LOAD, ONE, OP_BITS, OR, SUM, SURE, TRUE
from matchwood.language import And, Expression, Predicate
from matchwood.logic import Leaf
from matchwood.ranking.rule_weights import SCORING
from matchwood.ranking.trees import ScoredNode


class CodeDraft(NamedTuple):
    """A program whose tests are not encoded yet.

    `words`   its code; a test's words end after its weight
    `holes`   where the attribute and the intervals of each test are to be inserted
    `leaves`  what is tested, one a hole
    `depth`   how many values are on the stack at most
    `slots`   how many values are kept
    """

    words: list[int]
    holes: list[int]
    leaves: list[Leaf]
    depth: int
    slots: int


def conjunction_draft(expression: Expression, number: Callable[[str], int]) -> CodeDraft | None:
    """The program of a rule without weights that is an AND of predicates: most are. None for others."""
    if type(expression) is Predicate:
        operands: tuple[Expression, ...] = (expression,)
    elif type(expression) is And:
        operands = expression.operands
    else:
        return None
    names = []
    for operand in operands:
        if type(operand) is not Predicate:
            return None
        if operand.op in SCORING:
            names.append(number(operand.attr))
    words = _sum(names) if names else []
    return CodeDraft([*words, END], [], [], len(names[:1]), 0)


def _sum(names: list[int]) -> list[int]:
    """The words that add the event's weights of some names."""
    return [SUM | len(names) << OP_BITS, *names] if len(names) > 1 else [ONE | names[0] << OP_BITS]


class Drafting:
    """Writes programs; `number` tells the number of an attribute's name, `weight` that of a weight."""

    def __init__(self, number: Callable[[str], int], weight: Callable[[float], int]) -> None:
        self._number, self._weight = number, weight

    def draft(self, root: ScoredNode | None) -> CodeDraft:
        """The program of a scoring tree; without one it is empty, and scores 0."""
        words: list[int] = []
        holes: list[int] = []
        leaves: list[Leaf] = []
        depth = deepest = 0
        slots: dict[int, int] = {}
        shared = _shared(root) if root is not None else frozenset()
        pending = [] if root is None else [(root, False)]
        while pending:
            part, expanded = pending.pop()
            if id(part) in slots:
                words.append(LOAD | slots[id(part)] << OP_BITS)
            elif part.op == AND and all(each.op == SURE and each.weight == 1.0 for each in part.parts):
                words += _sum([self._number(each.name) for each in part.parts])
            elif part.parts and not expanded:
                pending.append((part, True))
                pending.extend([(each, False) for each in part.parts[::-1]])
                continue
            else:
                self._emit(part, words)
                if part.leaf is not None:
                    holes.append(len(words))
                    leaves.append(part.leaf)
                if id(part) in shared:
                    slots[id(part)] = len(slots)
                    words.append(KEEP | slots[id(part)] << OP_BITS)
                depth -= len(part.parts)
            depth += 1
            deepest = max(deepest, depth)
        words.append(END)
        return CodeDraft(words, holes, leaves, deepest, len(slots))

    def _emit(self, part: ScoredNode, words: list[int]) -> None:
        if part.op in (AND, OR):
            words.append(part.op | len(part.parts) << OP_BITS)
        elif part.op in (TRUE, FALSE):
            words.append(part.op)
        elif part.op == SURE and part.weight == 1.0:
            words.append(ONE | self._number(part.name) << OP_BITS)
        else:
            name = self._number(part.name) if part.name else 0
            words += (part.op | name << OP_BITS, self._weight(part.weight))


def _shared(root: ScoredNode) -> frozenset[int]:
    """The parts that several others have; single tests are cheaper repeated."""
    seen: set[int] = set()
    again: set[int] = set()
    pending = [root]
    while pending:
        part = pending.pop()
        if not part.parts:
            continue
        if id(part) in seen:
            again.add(id(part))
            continue
        seen.add(id(part))
        pending.extend(part.parts)
    return frozenset(again)
