"""Removing what is not needed from predicates that decide a tree, when some of them occur more than once.

An occurrence that decides one part of a tree may spare what decides another, and occurrences that
contradict each other may leave no choice at all (`x is true or x is not true`). Whether predicates
decide a tree is then a question as hard as satisfiability: it is answered by cases, up to a budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matchwood.insight.explain.flat import FlatTree
from matchwood.insight.explain.truth import ANY, FALSE, NULL, TRUE, VERDICTS, Mask, possible
from matchwood.language import And, Expression, Or, Truth, Xnor, Xor

BUDGET = 4_000_000
"""Nodes that may be evaluated for one explanation: some seconds."""


class Reduction:
    """Predicates that decide a tree, on their way to a minimal set; `proven` tells whether they got there."""

    def __init__(self, tree: FlatTree, verdicts: Sequence[Mask], deciding: Iterable[int], budget: int = BUDGET) -> None:
        self._tree, self._verdicts = tree, verdicts
        self._wanted = tree.evaluated(verdicts)[-1]
        # Without truth tests, less that is known never makes more known: what one occurrence unsettles by being
        # NULL, all occurrences together do not settle again.
        self._monotone = self._wanted != NULL and not any(isinstance(node, Truth) for node in tree.nodes)
        self._left = budget
        self.deciding = set(deciding)
        self.proven = True

    def run(self) -> None:
        """Drop each predicate without which the rest still decides."""
        needed = self._needed()
        for number in sorted(self.deciding - needed):
            if self._decides(self.deciding - {number}):
                self.deciding.remove(number)

    def _needed(self) -> set[int]:
        """Predicates that are surely needed: at some point that agrees with the others, this one alone turns the root.

        Looking at the points where all undecided predicates have the same verdict finds nearly all of
        them in a few passes over the tree; a predicate needed now stays so while others are dropped.
        """
        needed: set[int] = set()
        for others in (None, *VERDICTS):
            point = [
                verdict if others is None or number in self.deciding else others
                for number, verdict in enumerate(self._verdicts)
            ]
            harmless = _harmless(self._tree, self._tree.evaluated(point))
            self._left -= 2 * len(self._tree.nodes)
            monotone = self._monotone and others == NULL
            needed |= {number for number in self.deciding - needed if self._turns(number, harmless, monotone)}
        return needed

    def _turns(self, number: int, harmless: Sequence[Mask], monotone: bool) -> bool:
        """Whether the predicate surely turns the root, by what is harmless at each of its occurrences alone."""
        places = self._tree.occurrences[number]
        if monotone:
            return any(not harmless[place] & NULL for place in places)
        return len(places) == 1 and harmless[places[0]] != ANY

    def _decides(self, deciding: set[int]) -> bool:
        """Whether these predicates fix the root; False when the budget runs out before that is known."""
        start = [verdict if number in deciding else ANY for number, verdict in enumerate(self._verdicts)]
        cases = [start]
        while cases:
            if self._left < 0:
                self.proven = False
                return False
            case = cases.pop()
            if self._root(case) == self._wanted:
                continue
            split = self._repeated_and_open(case)
            if split is None or self._some_point_differs(case):
                return False
            cases += [[*case[:split], verdict, *case[split + 1 :]] for verdict in VERDICTS]
        return True

    def _root(self, case: list[Mask]) -> Mask:
        self._left -= len(self._tree.nodes)
        return self._tree.evaluated(case)[-1]

    def _some_point_differs(self, case: list[Mask]) -> bool:
        """Whether the root turns when all open predicates have one verdict: the usual end, long before all cases."""
        points = ([verdict if mask == ANY else mask for mask in case] for verdict in (NULL, TRUE, FALSE))
        return any(self._root(point) != self._wanted for point in points)

    def _repeated_and_open(self, case: list[Mask]) -> int | None:
        """A predicate that can be several things in several places; without one, what the root can be is exact."""
        for number, mask in enumerate(case):
            if mask == ANY and len(self._tree.occurrences[number]) > 1:
                return number
        return None


def _harmless(tree: FlatTree, found: Sequence[Mask]) -> list[Mask]:
    """For each node, the verdicts it could have without turning the root, all else being as it is."""
    harmless = [ANY] * len(found)
    harmless[-1] = found[-1]
    for position in range(len(found) - 1, -1, -1):
        if harmless[position] == ANY:
            continue
        operands = tree.operands[position]
        inside = [found[operand] for operand in operands]
        for operand, rest in zip(operands, _siblings(tree.nodes[position], inside), strict=True):
            accepted = (
                verdict for verdict in VERDICTS if possible(tree.nodes[position], [verdict, *rest]) & harmless[position]
            )
            harmless[operand] = sum(accepted)
    return harmless


def _siblings(node: Expression, inside: list[Mask]) -> list[list[Mask]]:
    """For each operand, a few verdicts that stand for all of its siblings'."""
    if isinstance(node, And | Or):
        return _siblings_in_and(inside, FALSE if isinstance(node, And) else TRUE)
    if isinstance(node, Xor | Xnor):
        return _siblings_in_xor(inside)
    return [[] for _ in inside]


def _siblings_in_and(inside: list[Mask], strong: Mask) -> list[list[Mask]]:
    """Only whether one is the strong verdict, or NULL, counts."""
    counts = {verdict: inside.count(verdict) for verdict in VERDICTS}
    rows = {}
    for own in VERDICTS:
        rest = [verdict for verdict in VERDICTS if counts[verdict] - (verdict == own) > 0]
        rows[own] = [strong] if strong in rest else rest
    return [rows[own] for own in inside]


def _siblings_in_xor(inside: list[Mask]) -> list[list[Mask]]:
    """Only whether one is NULL, and the parity of TRUE, counts."""
    nulls, trues = inside.count(NULL), inside.count(TRUE)
    rows = {}
    for own in VERDICTS:
        odd = (trues - (own == TRUE)) % 2 == 1
        rows[own] = [NULL if nulls - (own == NULL) > 0 else TRUE if odd else FALSE]
    return [rows[own] for own in inside]
