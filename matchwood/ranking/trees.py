"""From the tree of a rule, as it was written, to the parts that decide its score.

AND adds, OR takes the best TRUE operand, a TRUE predicate scores its weight. What stands below ANDs alone is *sure*:
it is TRUE whenever the rule is, so it needs no test, and where it cannot score it is left out. Below an OR everything
is tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from matchwood.encoding import TRUE as DERIVED_TRUE
from matchwood.encoding import list_test, requirement
from matchwood.engines import AND, FALSE, OR, SURE, TEST, TRUE
from matchwood.language import LIST_OPERATORS, And, Constant, Expression, Or, Predicate, Truth, make_predicate
from matchwood.logic import FULL, Bind, Bound, CutSet, Leaf, difference, intersection, normalise, union_all
from matchwood.logic import form as forms
from matchwood.ranking.rule_weights import SCORING, ByValue, RuleWeights, literal_of, values_of

Classes: TypeAlias = list[tuple[CutSet, float]]
"""Disjoint sets of values, each with its weight."""


class ScoredNode(NamedTuple):
    """A node of a scoring tree.

    `op`      SURE, TEST, AND, OR, TRUE or FALSE
    `name`    the attribute whose event weight counts, for predicates
    `leaf`    what a TEST tests
    `scores`  whether it can score anything but 0
    """

    op: int
    name: str = ""
    weight: float = 0.0
    leaf: Leaf | None = None
    parts: tuple[ScoredNode, ...] = ()
    scores: bool = False


_TRUE, _FALSE = ScoredNode(TRUE), ScoredNode(FALSE)


def scoring_tree(expression: Expression, weights: RuleWeights, bind: Bind) -> ScoredNode | None:
    """The parts of a rule that decide its score; None if it is always 0."""
    done: list[ScoredNode | None] = []
    pending: list[tuple[Expression, bool, bool]] = [(expression, True, False)]
    while pending:
        node, sure, expanded = pending.pop()
        kind = type(node)
        if expanded:
            operands = done[-len(node.operands) :]
            del done[-len(node.operands) :]
            done.append(_all(operands) if kind is And else _best(operands, sure))
        elif kind is And or kind is Or:
            pending.append((node, sure, True))
            pending.extend([(operand, sure and kind is And, False) for operand in node.operands[::-1]])
        elif isinstance(node, Truth) and node.test == "true" and not node.negated:
            pending.append((node.operands[0], sure, False))
        elif isinstance(node, Predicate):
            done.append(_predicate(node, weights, bind, sure))
        else:
            done.append(None if sure else _unscored(node, bind))
    return done[0]


def _all(operands: Sequence[ScoredNode | None]) -> ScoredNode | None:
    parts = tuple([part for part in operands if part is not None])
    if len(parts) < 2:
        return parts[0] if parts else None
    return ScoredNode(AND, parts=parts, scores=any(part.scores for part in parts))


def _best(operands: Sequence[ScoredNode | None], sure: bool) -> ScoredNode | None:
    parts = tuple([part for part in operands if part is not None])
    scores = any(part.scores for part in parts)
    return ScoredNode(OR, parts=parts, scores=scores) if scores or not sure else None


def _predicate(predicate: Predicate, weights: RuleWeights, bind: Bind, sure: bool) -> ScoredNode | None:
    scoring = predicate.op in SCORING
    if not scoring and sure:
        return None
    weight = weights.of(predicate.attr) if scoring else 0.0
    if isinstance(weight, Mapping):
        by_value = _elements if predicate.op in LIST_OPERATORS else _value
        return by_value(predicate, weight, bind, sure)
    return _weighed(predicate, weight, None if sure else bind(predicate))


def _weighed(predicate: Predicate, weight: float, bound: Bound | None) -> ScoredNode | None:
    """A predicate of one weight, with the test that it needs unless it is sure."""
    if bound is None:
        return ScoredNode(SURE, predicate.attr, weight, scores=True) if weight else None
    return _test(predicate.attr, weight, Leaf(bound.attribute, bound.cuts, bound.on_null is True))


def _test(name: str, weight: float, leaf: Leaf) -> ScoredNode:
    if not leaf.cuts and not leaf.null:
        return _FALSE
    return ScoredNode(TEST, name, weight, leaf, scores=weight > 0)


def _value(predicate: Predicate, weights: ByValue, bind: Bind, sure: bool) -> ScoredNode | None:
    """A predicate of one value, which weighs what that value does."""
    listed = _listed(predicate, weights)
    if listed is not None:
        if sure and len(listed) == 1:
            return _weighed(predicate, next(iter(listed)), None)
        return _one_of(predicate.attr, [(_any_of(predicate.attr, each, bind), w) for w, each in listed.items()])
    bound, values = bind(predicate), values_of(predicate, weights, bind)
    if bound.attribute == predicate.attr:
        classes = classes_of(bound.cuts, values)
        if sure and len(classes) == 1:
            return _weighed(predicate, classes[0][1], None)
        return _one_of(predicate.attr, classes)
    # A pattern is an attribute of its own: whether it fits is one test, and which value it is another.
    classes = classes_of(FULL, values)
    if len(classes) == 1:
        return _weighed(predicate, 1.0, None if sure else bound)
    found = _one_of(predicate.attr, classes)
    return (
        found
        if sure
        else ScoredNode(AND, parts=(_test("", 0.0, Leaf(bound.attribute, bound.cuts, False)), found), scores=True)
    )


def _any_of(attribute: str, constants: list[float | str], bind: Bind) -> CutSet:
    return bind(make_predicate(attribute, "in", tuple(constants), None, None)).cuts


def _listed(predicate: Predicate, weights: ByValue) -> dict[float, list[float | str]] | None:
    """The constants of `=` and `in` by weight; None for other predicates, or where `==` of Python is another.

    Most weights by value stand in such rules, and sets of values take longer.
    """
    if predicate.op not in ("=", "in"):
        return None
    constants = predicate.value if predicate.op == "in" else (predicate.value,)
    kind = requirement(predicate)
    if kind not in ("string", "number") or any(each != each for each in constants):
        return None
    given = {literal_of(text, kind): weight for text, weight in weights.items()}
    by_weight: dict[float, list[float | str]] = {}
    for constant in dict.fromkeys(constants):
        by_weight.setdefault(given.get(constant, 1.0), []).append(constant)
    return by_weight


def classes_of(accepted: CutSet, values: Classes) -> Classes:
    """The accepted values by weight; those without one weigh 1."""
    found = [(cuts, weight) for each, weight in values if (cuts := intersection(accepted, each))]
    rest = difference(accepted, union_all(cuts for cuts, _ in found))
    return [*found, (rest, 1.0)] if rest or not found else found


def _one_of(attribute: str, classes: Classes) -> ScoredNode:
    tests = tuple([_test(attribute, weight, Leaf(attribute, cuts, False)) for cuts, weight in classes])
    return tests[0] if len(tests) == 1 else ScoredNode(OR, parts=tests, scores=any(test.scores for test in tests))


def _elements(predicate: Predicate, weights: ByValue, bind: Bind, sure: bool) -> ScoredNode | None:
    """A test of a list weighs what the best of those elements does that make it TRUE."""
    value = predicate.value
    wanted = dict.fromkeys(value if isinstance(value, tuple) else (value,))
    kind = "list<string>" if isinstance(next(iter(wanted)), str) else "list<int>"
    given = {literal_of(text, kind): weight for text, weight in weights.items()}
    if predicate.op == "all of":
        best = max(given.get(element, 1.0) for element in wanted)
        return _weighed(predicate, best, None if sure else bind(predicate))
    by_weight: dict[float, list[int | str]] = {}
    for element in wanted:
        by_weight.setdefault(given.get(element, 1.0), []).append(element)
    if len(by_weight) == 1:
        return _weighed(predicate, next(iter(by_weight)), None if sure else bind(predicate))
    keys = [(list_test(predicate.attr, "one of", elements).key, weight) for weight, elements in by_weight.items()]
    tests = tuple([_test(predicate.attr, weight, Leaf(key, DERIVED_TRUE, False)) for key, weight in keys])
    return ScoredNode(OR, parts=tests, scores=True)


def _unscored(node: Expression, bind: Bind) -> ScoredNode:
    """What stands below an OR and scores 0 however it comes to be TRUE: its normal form."""
    if isinstance(node, Constant):
        return _TRUE if node.value else _FALSE
    form = normalise(node, bind)
    if form in (forms.ALWAYS, forms.NEVER):
        return _TRUE if form == forms.ALWAYS else _FALSE
    parts = [_test("", 0.0, leaf) for leaf in form.leaves]
    for kind, children in zip(form.kinds[len(parts) :], form.children[len(parts) :], strict=True):
        parts.append(ScoredNode(AND if kind == forms.AND else OR, parts=tuple([parts[child] for child in children])))
    return parts[-1]
