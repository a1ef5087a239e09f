"""Which predicates keep an expression from being TRUE, for many events at once.

An expression that is not TRUE is wanted to be TRUE, and each node passes on what is wanted to the operands that stand
in the way: an AND to those that are not TRUE themselves, an OR to all of them, a `not` the opposite to its own, an xor
to the NULL ones or, if there are none, to all; `is [not] true | false | unknown` wants what makes it TRUE.
The predicates and constants where this ends are the *reasons*. Verdicts and what is wanted are masks as in `truth.py`,
in arrays over events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.insight.explain.flat import FlatTree
from matchwood.insight.explain.truth import ANY, FALSE, NULL, TRUE, VERDICTS, mask_of, preimage, swap, turns_parity
from matchwood.language import And, Constant, Expression, Or, Xnor, Xor

Masks = NDArray[np.uint8]

_SWAP = np.array([swap(mask) for mask in range(ANY + 1)], dtype=np.uint8)


def verdicts_of(tree: FlatTree, predicates: Sequence[Masks], events: int) -> list[Masks]:
    """The verdict of every node of the tree on each of so many events, from those of its predicates."""
    found: list[Masks] = []
    for node, operands, number in zip(tree.nodes, tree.operands, tree.number, strict=True):
        found.append(predicates[number] if number >= 0 else _verdict(node, [found[at] for at in operands], events))
    return found


def _verdict(node: Expression, operands: list[Masks], events: int) -> Masks:
    if isinstance(node, Constant):
        return np.full(events, mask_of(node.value), dtype=np.uint8)
    if isinstance(node, And):
        return _all_true(operands)
    if isinstance(node, Or):
        return _SWAP[_all_true([_SWAP[operand] for operand in operands])]
    if isinstance(node, Xor | Xnor):
        odd = reduce(np.bitwise_xor, operands) & TRUE
        parity = np.where(odd == (0 if turns_parity(node) else TRUE), TRUE, FALSE)
        return np.where(reduce(np.bitwise_or, operands) & NULL, NULL, parity).astype(np.uint8)
    results = [next((v for v in VERDICTS if preimage(node, v) & inside), 0) for inside in range(ANY + 1)]
    return np.array(results, dtype=np.uint8)[operands[0]]


def _all_true(operands: list[Masks]) -> Masks:
    some = reduce(np.bitwise_or, operands)
    return np.where(some & FALSE, FALSE, np.where(some & NULL, NULL, TRUE)).astype(np.uint8)


def reasons(tree: FlatTree, found: Sequence[Masks]) -> NDArray[np.bool_]:
    """For each distinct predicate and event, whether it is a reason that the expression is not TRUE of the event.

    One more row, the last, tells whether a constant is.

    >>> from matchwood.language import parse
    >>> tree = FlatTree(parse("a = 1 and not b = 1"))
    >>> a, b = np.array([TRUE, FALSE, NULL], np.uint8), np.array([TRUE, TRUE, FALSE], np.uint8)
    >>> reasons(tree, verdicts_of(tree, [a, b], 3)).tolist()
    [[False, True, True], [True, True, False], [False, False, False]]
    """
    root = len(tree.nodes) - 1
    wanted: dict[int, Masks] = {root: np.where(found[root] == TRUE, 0, TRUE).astype(np.uint8)}
    blamed = np.zeros((len(tree.predicates) + 1, len(found[root])), dtype=bool)
    for position in range(root, -1, -1):
        asked = wanted.pop(position)
        if not tree.operands[position]:
            blamed[tree.number[position]] |= asked != 0  # the number of a constant is -1, the last row
        table = _table_of(tree.nodes[position])
        for operand in tree.operands[position]:
            wanted[operand] = table[found[position], asked, found[operand]]
    return blamed


def _table_of(node: Expression) -> NDArray[np.uint8]:
    if isinstance(node, And):
        return _AND
    if isinstance(node, Or):
        return _OR
    if isinstance(node, Xor | Xnor):
        return _XOR
    return _tabled(lambda verdict, wanted, operand: preimage(node, wanted)) if node.operands else _AND


def _tabled(passed_on: Callable[[int, int, int], int]) -> NDArray[np.uint8]:
    """By a node's verdict, what is wanted of it, and an operand's verdict: what is wanted of the operand."""
    table = np.zeros((ANY + 1, ANY + 1, ANY + 1), dtype=np.uint8)
    for verdict in VERDICTS:
        for wanted in range(1, ANY + 1):
            for operand in VERDICTS:
                if not wanted & verdict:
                    asked = passed_on(verdict, wanted, operand)
                    table[verdict, wanted, operand] = 0 if asked & operand else asked
    return table


def _asked_by_and(verdict: int, wanted: int, operand: int) -> int:
    """What keeps an AND from more than FALSE are its FALSE operands; what keeps it from less is each of them."""
    if verdict == FALSE and wanted & NULL:
        return TRUE | NULL
    return wanted if verdict == TRUE else wanted & TRUE or wanted if operand != TRUE or not wanted & TRUE else 0


def _asked_by_or(verdict: int, wanted: int, operand: int) -> int:
    return swap(_asked_by_and(swap(verdict), swap(wanted), swap(operand)))


def _asked_by_xor(verdict: int, wanted: int, operand: int) -> int:
    if verdict == NULL:
        return TRUE | FALSE if operand == NULL else 0
    return (swap(operand) if wanted & swap(verdict) else 0) | (wanted & NULL)


_AND, _OR, _XOR = _tabled(_asked_by_and), _tabled(_asked_by_or), _tabled(_asked_by_xor)


def tally(blamed: NDArray[np.bool_], predicates: Sequence[Masks]) -> dict[str, NDArray[Any]]:
    """For each predicate, in how many events it is the only reason, known or NULL, and in how many one of several."""
    several = blamed.sum(axis=0) > 1
    blamed = blamed[:-1]
    unknown = np.array([masks == NULL for masks in predicates])
    alone = blamed & ~several
    return {
        "alone_false": (alone & ~unknown).sum(axis=1),
        "alone_null": (alone & unknown).sum(axis=1),
        "among_several": (blamed & several).sum(axis=1),
    }
