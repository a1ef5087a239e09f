"""A tree as lists, operands before the node that holds them, with the verdict of every node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matchwood.errors import LimitExceeded
from matchwood.insight.explain.truth import Mask, mask_of, possible
from matchwood.language import MAX_NODES, Expression, Predicate, postorder


class FlatTree:
    """The nodes of a tree in postorder; predicates with the same text are one, with several occurrences.

    `nodes`        the expressions
    `operands`     for each node the positions of its operands
    `number`       for each node the number of its predicate, -1 if it is none
    `predicates`   each distinct predicate, by number, in the order in which they appear
    `occurrences`  for each distinct predicate the positions where it stands
    """

    def __init__(self, root: Expression) -> None:
        self.nodes: list[Expression] = []
        self.operands: list[Sequence[int]] = []
        self.number: list[int] = []
        self.predicates: list[Predicate] = []
        self.occurrences: list[list[int]] = []
        numbers: dict[str, int] = {}
        open_nodes: list[int] = []
        for position, node in enumerate(postorder(root)):
            if position == MAX_NODES:
                raise LimitExceeded(f"an expression of more than {MAX_NODES:,} nodes is too large to explain")
            self.nodes.append(node)
            start = len(open_nodes) - len(node.operands)
            self.operands.append(tuple(open_nodes[start:]))
            del open_nodes[start:]
            open_nodes.append(position)
            self.number.append(self._entered(node, position, numbers) if isinstance(node, Predicate) else -1)

    def _entered(self, predicate: Predicate, position: int, numbers: dict[str, int]) -> int:
        number = numbers.setdefault(str(predicate), len(numbers))
        if number == len(self.predicates):
            self.predicates.append(predicate)
            self.occurrences.append([])
        self.occurrences[number].append(position)
        return number

    def judged(self, event: Mapping[str, Any], evaluate: Callable[[Predicate, Mapping[str, Any]], Any]) -> list[Mask]:
        """The verdict of each distinct predicate."""
        return [mask_of(evaluate(predicate, event)) for predicate in self.predicates]

    def evaluated(self, verdicts: Sequence[Mask]) -> list[Mask]:
        """What each node can be, from what each predicate can be."""
        found: list[Mask] = []
        for node, operands, number in zip(self.nodes, self.operands, self.number, strict=True):
            if number >= 0:
                found.append(verdicts[number])
            else:
                found.append(possible(node, [found[operand] for operand in operands]))
        return found
