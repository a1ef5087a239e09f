"""The fewest predicates that decide a tree's verdict, when no predicate occurs twice.

What a node must *not* be, whatever the undecided predicates are, turns into what its operands must not
be. To keep an AND from being FALSE all operands must be kept from it; to keep it from being TRUE, one is
enough. Going up the tree, the cheapest way to exclude each set of verdicts is computed for every node
from those of its operands; going down again, the predicates of the cheapest way for the root are
collected. That is exact, since the operands of a node share no predicate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from matchwood.insight.explain.flat import FlatTree
from matchwood.insight.explain.truth import ANY, FALSE, NULL, TRUE, Mask, preimage, swap, turns_parity
from matchwood.language import And, Expression, Or, Xnor, Xor

Costs: TypeAlias = Sequence[int]
"""By the set of verdicts to exclude, how many predicates that takes."""

Demands: TypeAlias = list[Mask]
"""What each operand must not be."""

IMPOSSIBLE = 1 << 60


def cheapest(tree: FlatTree, found: Sequence[Mask]) -> set[int]:
    """The numbers of the predicates that fix the root's verdict; `found` are the verdicts of all nodes."""
    costs = _all_costs(tree, found)
    chosen: set[int] = set()
    waiting = [(len(tree.nodes) - 1, ANY - found[-1])]
    while waiting:
        position, excluded = waiting.pop()
        if not excluded:
            continue
        if tree.number[position] >= 0:
            chosen.add(tree.number[position])
        operands = tree.operands[position]
        inside = [found[operand] for operand in operands]
        demands = _demands(tree.nodes[position], excluded, [costs[operand] for operand in operands], inside)
        waiting += zip(operands, demands, strict=True)
    return chosen


def _all_costs(tree: FlatTree, found: Sequence[Mask]) -> list[Costs]:
    costs: list[Costs] = []
    for position, operands in enumerate(tree.operands):
        below, inside = [costs[operand] for operand in operands], [found[operand] for operand in operands]
        row = [IMPOSSIBLE] * (ANY + 1)
        for excluded in range(ANY):
            if not excluded & found[position]:
                row[excluded] = _cost(tree, position, excluded, below, inside)
        costs.append(row)
    return costs


def _cost(tree: FlatTree, position: int, excluded: Mask, below: list[Costs], inside: list[Mask]) -> int:
    if not below or not excluded:
        return int(tree.number[position] >= 0 and excluded != 0)
    return _total(below, _demands(tree.nodes[position], excluded, below, inside))


def _total(below: list[Costs], demands: Demands) -> int:
    return sum(costs[demand] for costs, demand in zip(below, demands, strict=True))


def _demands(node: Expression, excluded: Mask, below: list[Costs], inside: list[Mask]) -> Demands:
    """The cheapest way to keep a node from being one of `excluded`."""
    if not below:
        return []
    if isinstance(node, And):
        return _exclude_from_and(excluded, below)
    if isinstance(node, Or):
        mirrored: list[Costs] = [[costs[swap(mask)] for mask in range(ANY + 1)] for costs in below]
        return [swap(demand) for demand in _exclude_from_and(swap(excluded), mirrored)]
    if isinstance(node, Xor | Xnor):
        return _exclude_from_xor(swap(excluded) if turns_parity(node) else excluded, below, inside)
    return [preimage(node, excluded)]


def _exclude_from_and(excluded: Mask, below: list[Costs]) -> Demands:
    """FALSE if one operand is, TRUE if all are, else NULL."""
    if excluded in (FALSE, FALSE | NULL):
        return _all(below, excluded)
    if excluded in (TRUE, TRUE | NULL):
        return _one(below, excluded)
    if excluded == NULL:
        return min(_one(below, TRUE | NULL), _all(below, NULL), key=lambda demands: _total(below, demands))
    demands = _all(below, FALSE)
    extra = [costs[TRUE | FALSE] - costs[FALSE] for costs in below]
    demands[extra.index(min(extra))] = TRUE | FALSE
    return demands


def _exclude_from_xor(excluded: Mask, below: list[Costs], inside: list[Mask]) -> Demands:
    """NULL if one operand is, else TRUE if an odd number of them are."""
    if excluded == NULL:
        return _all(below, NULL)
    if excluded == TRUE | FALSE:
        return _one(below, TRUE | FALSE)
    if excluded & NULL:
        return [ANY - verdict for verdict in inside]
    one_null, one_parity = _one(below, TRUE | FALSE), _exclude_parity(excluded, below, inside)
    return min(one_null, one_parity, key=lambda demands: _total(below, demands))


def _exclude_parity(excluded: Mask, below: list[Costs], inside: list[Mask]) -> Demands:
    """Leave every operand one of TRUE and FALSE, beside NULL, so that together they are not `excluded`."""
    demands = [
        swap(verdict) if verdict != NULL else min(TRUE, FALSE, key=costs.__getitem__)
        for verdict, costs in zip(inside, below, strict=True)
    ]
    odd = sum(demand == FALSE for demand in demands) % 2 == 1
    if odd == (excluded == TRUE):
        changes = [costs[swap(demand)] - costs[demand] for demand, costs in zip(demands, below, strict=True)]
        turned = changes.index(min(changes))
        demands[turned] = swap(demands[turned])
    return demands


def _all(below: list[Costs], excluded: Mask) -> Demands:
    return [excluded] * len(below)


def _one(below: list[Costs], excluded: Mask) -> Demands:
    """Exclude it from the operand for which that is cheapest."""
    prices = [costs[excluded] for costs in below]
    demands = [0] * len(below)
    demands[prices.index(min(prices))] = excluded
    return demands
