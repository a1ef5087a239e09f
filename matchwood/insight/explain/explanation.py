"""An explanation as data: every node's verdict, the event's values, and the predicates that decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from matchwood.insight.explain.blame import reasons
from matchwood.insight.explain.deciding import cheapest
from matchwood.insight.explain.drawing import Line, draw, words
from matchwood.insight.explain.flat import FlatTree
from matchwood.insight.explain.minimal import Reduction
from matchwood.insight.explain.truth import TRUE, Mask, verdict_of
from matchwood.language import Expression, Predicate
from matchwood.semantics import look_up


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why an expression is TRUE, FALSE or NULL for an event; `print` draws it.

    `verdict`     True, False, or None for NULL
    `decided_by`  texts of a smallest set of predicates that decides the verdict, no matter what the others are
    `fails`       texts of all predicates that stop the expression from being TRUE: those of an `and` that are not TRUE,
                  those of an `or` that has no TRUE one, and so on; none if it is TRUE
    `minimal`     False only if a rule with many repeated predicates was too large to prove that none can be left out
    """

    expression: Expression
    verdict: bool | None
    decided_by: list[str]
    fails: list[str]
    minimal: bool
    lines: list[Line] = field(repr=False)
    """The nodes from the root down, each before its operands."""

    def __str__(self) -> str:
        return draw(self.lines, self.verdict, self.decided_by)

    def to_dict(self) -> dict[str, Any]:
        """Plain data. Nodes are a list, each with the position of its parent: a tree may be too deep to nest."""
        return {
            "expression": str(self.expression),
            "verdict": self.verdict,
            "decided_by": list(self.decided_by),
            "fails": list(self.fails),
            "minimal": self.minimal,
            "nodes": [line.to_dict() for line in self.lines],
        }


def explain_expression(
    expression: Expression, event: Mapping[str, Any], evaluate: Callable[[Predicate, Mapping[str, Any]], bool | None]
) -> Explanation:
    """Explain an expression's verdict on an event; `evaluate` judges each predicate.

    >>> from matchwood.semantics.evaluation import evaluate_predicate
    >>> from matchwood.language import parse
    >>> expression = parse("age >= 18 and (country = 'US' or vip)")
    >>> print(explain_expression(expression, {"age": 20, "country": "FR"}, evaluate_predicate))
    ? and
    ├─ ✓ age >= 18          age = 20  ◄
    └─ ? or
       ├─ ✗ country = 'US'  country = 'FR'  ◄
       └─ ? vip = true      vip is null  ◄
    NULL, decided by ◄
    """
    tree = FlatTree(expression)
    verdicts = tree.judged(event, evaluate)
    found = tree.evaluated(verdicts)
    deciding, minimal = _decided_by(tree, verdicts, found)
    failing = _failing(tree, found)
    decided_by, fails = ([str(tree.predicates[n]) for n in sorted(numbers)] for numbers in (deciding, failing))
    lines = _lines(tree, found, deciding, failing, event)
    return Explanation(expression, verdict_of(found[-1]), decided_by, fails, minimal, lines)


def _failing(tree: FlatTree, found: list[Mask]) -> set[int]:
    """The predicates that stand in the way of TRUE."""
    if found[-1] == TRUE:
        return set()
    blamed = reasons(tree, [np.array([mask], np.uint8) for mask in found])
    return set(np.flatnonzero(blamed[:-1, 0]).tolist())


def _decided_by(tree: FlatTree, verdicts: list[Mask], found: list[Mask]) -> tuple[set[int], bool]:
    """A minimal deciding set, and whether it is proven to be one."""
    deciding = cheapest(tree, found)
    if all(len(places) == 1 for places in tree.occurrences):
        return deciding, True
    reduction = Reduction(tree, verdicts, deciding)
    reduction.run()
    return reduction.deciding, reduction.proven


def _lines(
    tree: FlatTree, found: list[Mask], deciding: set[int], failing: set[int], event: Mapping[str, Any]
) -> list[Line]:
    lines: list[Line] = []
    waiting: list[tuple[int, int | None, int]] = [(len(tree.nodes) - 1, None, 0)]
    while waiting:
        position, parent, depth = waiting.pop()
        node, number = tree.nodes[position], tree.number[position]
        lines.append(Line(words(node), verdict_of(found[position]), parent, depth, number in deciding))
        if isinstance(node, Predicate):
            lines[-1].attribute, lines[-1].value = node.attr, look_up(event, node.attr)
            lines[-1].fails = number in failing
        below = len(lines) - 1
        waiting += [(operand, below, depth + 1) for operand in reversed(tree.operands[position])]
    return lines
