"""What the units of a rule promise at most: bounds for `engines/shared/bounds.py`, from its tree and its units.

The invariant, which `audit()` checks: whenever a rule is TRUE of an event, a unit of it is TRUE whose bound for that
event, as `engines/shared/bounds.py` adds it up, is at least the rule's score. What it rests on:

- A score is at most what all TRUE predicates of the tree weigh together (AND adds, OR takes one of them), and what a
  predicate weighs depends on the value of its own attribute alone. So it is enough to hold for each attribute apart:
  for every value that the attribute may have, what the unit promises for that value is at least what the predicates on
  the attribute that are TRUE of it weigh together.
- *Conjunctions (DNF).* A rule scores what the best of its TRUE *terms* does: the ways to choose one operand of each OR.
  Each term implies a unit, which gets bounds for the predicates of the term; where no unit is found for a term, or
  terms are too many, every unit gets bounds for all of them. A constraint of a TRUE conjunction holds, so that a value
  of its attribute lies in one of its intervals, and that interval has the bound.
- *Clauses (CNF).* All predicates count for the only unit. A constraint of a TRUE clause need not hold: another of the
  clause may. A value that lies in intervals of several constraints of its attribute finds its bound shared among them,
  and there are at least as many of them as share it. A value that lies in none of them may still be TRUE of
  predicates that have left the unit, with clauses that were absorbed or always TRUE: what these weigh is *elsewhere*,
  as for attributes that the unit does not test at all.

Predicates that score are FALSE of NULL, so NULL needs no bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from matchwood.language import LIST_OPERATORS, And, Expression, Or, Predicate, Truth
from matchwood.logic import EMPTY, FULL, Bind, CutSet, Leaf, complement, intersection, is_subset, meet_all, union_all
from matchwood.ranking.rule_weights import SCORING, RuleWeights, literal_of, values_of
from matchwood.ranking.trees import Classes, classes_of

MOST_TERMS, MOST_PREDICATES = 64, 1024
"""More terms, or more predicates in all of them together, and they are not looked at one by one."""

Row: TypeAlias = tuple[Leaf, ...]
"""The leaves of a unit: of a conjunction, or of all clauses of a conjunction of clauses."""

Outside: TypeAlias = Mapping[str, CutSet]
"""The values that an attribute which a unit tests may have though none of its leaves accepts them, where there are."""


class RowBounds(NamedTuple):
    """Bounds of one unit: of every interval of each leaf, and of what lies in none of them."""

    pieces: list[list[float]]
    elsewhere: float


class _Weighed(NamedTuple):
    """A predicate as bounds see it: what it accepts, and how much its values weigh; nothing if it does not score."""

    leaf: Leaf
    classes: Classes


def row_bounds(tree: Expression, weights: RuleWeights, rows: Sequence[Row], bind: Bind) -> list[RowBounds]:
    """Bounds for each conjunction of a rule."""
    if not weights and len(rows) == 1 and _is_plain(tree, rows[0]):
        return [RowBounds([[1.0] * _intervals(leaf) for leaf in rows[0]], 0.0)]
    weighed, terms = _Weighing(weights, bind), _terms(tree)
    if terms is None:
        every = [weighed.of(node) for node in _predicates(tree)]
        return [_bounds(row, every, {}) for row in rows]
    found = [RowBounds([[0.0] * _intervals(leaf) for leaf in row], 0.0) for row in rows]
    for term in terms:
        predicates = [weighed.of(node) for node in term]
        for place in _implied(predicates, rows):
            found[place] = _higher(found[place], _bounds(rows[place], predicates, {}))
    return found


def clause_bounds(tree: Expression, weights: RuleWeights, clauses: Sequence[Row], bind: Bind) -> RowBounds:
    """Bounds for the only unit of a rule that is a conjunction of clauses."""
    weighed = _Weighing(weights, bind)
    row = tuple(leaf for clause in clauses for leaf in clause)
    return _bounds(row, [weighed.of(node) for node in _predicates(tree)], _outside(clauses))


def _outside(clauses: Sequence[Row]) -> Outside:
    """Where an attribute alone makes up a clause, that clause accepts its value; others may have any."""
    accepted: dict[str, list[CutSet]] = {}
    for clause in clauses:
        for leaf in clause:
            accepted.setdefault(leaf.attribute, []).append(leaf.cuts)
    for clause in clauses:
        if len({leaf.attribute for leaf in clause}) == 1:
            accepted.pop(clause[0].attribute, None)
    return {attribute: complement(union_all(cuts)) for attribute, cuts in accepted.items()}


def _is_plain(tree: Expression, row: Row) -> bool:
    """Whether a rule is an AND of scoring predicates, each of an attribute of its own."""
    predicates = tree.operands if type(tree) is And else (tree,)
    return len(predicates) == len(row) and all(type(p) is Predicate and p.op in SCORING for p in predicates)


def _intervals(leaf: Leaf) -> int:
    return (len(leaf.cuts) + 1) // 2


def _pieces(leaf: Leaf) -> list[CutSet]:
    return [leaf.cuts[first : first + 2] for first in range(0, len(leaf.cuts), 2)]


class _Weighing:
    """Predicates with their weights, each looked at once."""

    def __init__(self, weights: RuleWeights, bind: Bind) -> None:
        self._weights, self._bind = weights, bind
        self._known: dict[int, _Weighed] = {}

    def of(self, predicate: Predicate) -> _Weighed:
        found = self._known.get(id(predicate))
        if found is None:
            found = self._known[id(predicate)] = self._made(predicate)
        return found

    def _made(self, predicate: Predicate) -> _Weighed:
        bound = self._bind(predicate)
        attribute, cuts = bound.attribute, bound.cuts
        leaf = Leaf(attribute, cuts, bound.on_null is True)
        if predicate.op not in SCORING:
            return _Weighed(leaf, [])
        weight = self._weights.of(predicate.attr)
        if not isinstance(weight, Mapping):
            return _Weighed(leaf, [(cuts, weight)])
        if attribute == predicate.attr:
            return _Weighed(leaf, classes_of(cuts, values_of(predicate, weight, self._bind)))
        return _Weighed(leaf, [(cuts, _heaviest(predicate, weight))])


def _heaviest(predicate: Predicate, weights: Mapping[str, float]) -> float:
    """The most that a pattern, or a test of a list, can weigh."""
    if predicate.op not in LIST_OPERATORS:
        return max(1.0, *weights.values())
    wanted = predicate.value if isinstance(predicate.value, tuple) else (predicate.value,)
    kind = "list<string>" if isinstance(wanted[0], str) else "list<int>"
    given = {literal_of(text, kind): weight for text, weight in weights.items()}
    return max(given.get(element, 1.0) for element in wanted)


def _predicates(tree: Expression) -> list[Predicate]:
    """The predicates that may score: those that stand below AND, OR and `is true` alone."""
    found, pending = [], [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Predicate):
            found.append(node)
        elif isinstance(node, And | Or) or _is_true(node):
            pending.extend(node.operands)
    return found


def _is_true(node: Expression) -> bool:
    return isinstance(node, Truth) and node.test == "true" and not node.negated


def _terms(tree: Expression) -> list[list[Predicate]] | None:
    """The predicates of each term, without those that cannot score or say what else must hold; None if too many."""
    done: list[list[list[Predicate]]] = []
    pending: list[tuple[Expression, bool]] = [(tree, False)]
    while pending:
        node, expanded = pending.pop()
        if isinstance(node, And | Or) and not expanded:
            pending.append((node, True))
            pending.extend([(operand, False) for operand in node.operands[::-1]])
        elif _is_true(node):
            pending.append((node.operands[0], False))
        elif isinstance(node, And | Or):
            below = done[-len(node.operands) :]
            del done[-len(node.operands) :]
            terms = _product(below) if isinstance(node, And) else [term for each in below for term in each]
            if terms is None or len(terms) > MOST_TERMS or sum(map(len, terms)) > MOST_PREDICATES:
                return None
            done.append(terms)
        else:
            done.append([[node] if isinstance(node, Predicate) else []])
    return done[0]


def _product(below: list[list[list[Predicate]]]) -> list[list[Predicate]] | None:
    terms: list[list[Predicate]] = [[]]
    for choices in below:
        if len(terms) * len(choices) > MOST_TERMS:
            return None
        if len(choices) == 1:
            for term in terms:
                term.extend(choices[0])
        else:
            terms = [term + choice for term in terms for choice in choices]
    return terms


def _implied(term: list[_Weighed], rows: Sequence[Row]) -> Sequence[int]:
    """A unit that is true whenever the term is; all of them if none can be told."""
    if len(rows) == 1:
        return (0,)
    by_key: dict[str, list[Leaf]] = {}
    for leaf, _ in term:
        by_key.setdefault(leaf.attribute, []).append(leaf)
    met = {key: leaves[0] if len(leaves) == 1 else meet_all(leaves) for key, leaves in by_key.items()}
    for place, row in enumerate(rows):
        if all(leaf.attribute in met and _within(met[leaf.attribute], leaf) for leaf in row):
            return (place,)
    return range(len(rows))


def _within(narrow: Leaf, wide: Leaf) -> bool:
    return (wide.null or not narrow.null) and is_subset(narrow.cuts, wide.cuts)


def _bounds(row: Row, predicates: Sequence[_Weighed], outside: Outside) -> RowBounds:
    """Bounds of a unit if all these predicates may be TRUE together."""
    by_key: dict[str, list[Classes]] = {}
    for leaf, classes in predicates:
        if classes:
            by_key.setdefault(leaf.attribute, []).append(classes)
    pieces = [[_bound(row, leaf, piece, by_key.get(leaf.attribute, [])) for piece in _pieces(leaf)] for leaf in row]
    reached = {leaf.attribute: outside.get(leaf.attribute, EMPTY) for leaf in row}
    return RowBounds(pieces, sum(_most(each, reached.get(key, FULL)) for key, each in by_key.items()))


def _bound(row: Row, leaf: Leaf, piece: CutSet, every: list[Classes]) -> float:
    """What an attribute adds if its value lies in a piece; several clauses that all have the piece share that."""
    sharing = sum(1 for other in row if other.attribute == leaf.attribute and is_subset(piece, other.cuts))
    return _most(every, piece) / sharing


def _most(every: list[Classes], values: CutSet) -> float:
    """What predicates on an attribute weigh at most if its value is one of these."""
    if not values:
        return 0.0
    heaviest = (max((w for cuts, w in classes if intersection(cuts, values)), default=0.0) for classes in every)
    return sum(heaviest, 0.0)


def _higher(left: RowBounds, right: RowBounds) -> RowBounds:
    pairs = zip(left.pieces, right.pieces, strict=True)
    pieces = [[max(pair) for pair in zip(one, other, strict=True)] for one, other in pairs]
    return RowBounds(pieces, max(left.elsewhere, right.elsewhere))
