"""Whether a form can hold at all: case by case, within a budget.

A case is a conjunction. In it each leaf is decided (all the values left are accepted, or none) or open;
while the root is open, one open leaf is chosen and the case split into its two sides. Every case that
ends is exact, so a search that ends within its budget is too.
"""

from __future__ import annotations

from typing import TypeAlias

from matchwood.logic.form import AND, LEAF, TRUE, Form
from matchwood.logic.leaf import Conjunction, Leaf, accepts_only, anything, is_empty, meet, negation

Case: TypeAlias = dict[str, Leaf]


def can_hold(form: Form, within: Conjunction, effort: int) -> bool | None:
    """Whether some event of a conjunction satisfies the form; None when `effort` node visits did not tell."""
    cases: list[Case] = [{leaf.attribute: leaf for leaf in within}]
    while cases:
        case = cases.pop()
        effort -= _cost(form, case)
        if effort < 0:
            return None
        verdicts = _verdicts(form, case)
        if verdicts[-1]:
            return True
        if verdicts[-1] is None:
            cases.extend(_sides(case, _open_leaf(form, verdicts)))
    return False


def _cost(form: Form, case: Case) -> int:
    """The nodes, and the cuts that are compared at the leaves where they are many: some ten in the time of a node."""
    cuts = sum([len(leaf.cuts) + len(case[leaf.attribute].cuts) for leaf in form.leaves if leaf.attribute in case])
    return len(form.kinds) + cuts // 10


def _verdicts(form: Form, case: Case) -> list[bool | None]:
    """Every node's verdict in a case, None where it is open."""
    verdicts: list[bool | None] = [_leaf_verdict(leaf, case.get(leaf.attribute)) for leaf in form.leaves]
    for kind, children in zip(form.kinds[len(verdicts) :], form.children[len(verdicts) :], strict=True):
        deciding = kind != AND
        found = {verdicts[child] for child in children}
        if not found:
            verdicts.append(kind == TRUE)
        elif deciding in found:
            verdicts.append(deciding)
        else:
            verdicts.append(None if None in found else not deciding)
    return verdicts


def _leaf_verdict(leaf: Leaf, left: Leaf | None) -> bool | None:
    if left is None:
        return None
    if accepts_only(left, leaf):
        return True
    return False if is_empty(meet(left, leaf)) else None


def _open_leaf(form: Form, verdicts: list[bool | None]) -> Leaf:
    """An open leaf below the root: a direct child of an AND first, since only one of its sides can go on."""
    node = form.root
    while form.kinds[node] != LEAF:
        node = next(child for child in form.children[node] if verdicts[child] is None)
    return form.leaves[node]


def _sides(case: Case, leaf: Leaf) -> tuple[Case, Case]:
    """The two cases in which an open leaf is decided; the one that satisfies it comes last, to be taken first."""
    left = case.get(leaf.attribute) or anything(leaf.attribute)
    refused = {**case, leaf.attribute: meet(left, negation(leaf))}
    return refused, {**case, leaf.attribute: meet(left, leaf)}
