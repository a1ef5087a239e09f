"""Where forms are built: every node once, constants and same-attribute leaves folded on the way.

All simplification lives here, in the two-valued form, where "never TRUE" may become FALSE. On the
three-valued tree it would be wrong: `not (x = 1 and x != 1)` is NULL, not TRUE, for a missing x.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from matchwood.logic.form import AND, LEAF, OR, TRUE, Form
from matchwood.logic.leaf import Leaf, is_empty, is_full, join_all, meet_all, nothing

Answer: TypeAlias = Leaf | int
"""A leaf, a node's number, or one of the two constants below.

A leaf gets a number only as a child of a node: on the way it may be merged ten thousand times, and
numbering it would hash all its cuts each time.
"""

ALWAYS_TRUE = -1
NEVER_TRUE = -2

SMALL_NODE = 16
"""A shared node is copied into a parent of its kind, and absorbed, only up to this many children."""

SMALL_SET = 64
MERGE_BUDGET = 10_000_000
"""Sets of more than SMALL_SET cuts are merged until that many cuts were touched; then they stay apart.

A nest of 10,000 levels on one attribute would otherwise keep 10,000 growing sets: 50 million cuts.
"""

_NO_LEAF = nothing("")


class Rough(NamedTuple):
    """The nodes as they were built, up to the root; `leaves` holds a filler where a node is no leaf."""

    leaves: list[Leaf]
    kinds: list[int]
    children: list[tuple[int, ...]]


class Builder:
    """Grows one DAG; `junction` returns the answer that stands for an AND or OR of answers."""

    def __init__(self) -> None:
        self._leaves: list[Leaf] = []
        self._kinds: list[int] = []
        self._children: list[tuple[int, ...]] = []
        self._leaf_numbers: dict[Leaf, int] = {}
        self._node_numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        self._merged_cuts = 0

    def rough(self, root: int) -> Rough:
        """The nodes below a node, and perhaps others, in the order in which they were made."""
        return Rough(self._leaves[: root + 1], self._kinds[: root + 1], self._children[: root + 1])

    def junction(self, kind: int, answers: Iterable[Answer]) -> Answer:
        """The AND or OR of the answers, simplified."""
        absorbing, neutral = (NEVER_TRUE, ALWAYS_TRUE) if kind == AND else (ALWAYS_TRUE, NEVER_TRUE)
        leaves: list[Leaf] = []
        numbers: set[int] = set()
        for answer in answers:
            if isinstance(answer, Leaf):
                leaves.append(answer)
            elif answer == absorbing:
                return absorbing
            elif answer != neutral:
                self._take(kind, answer, leaves, numbers)
        merged = self._merged(kind, leaves) if len(leaves) > 1 else leaves
        return absorbing if merged is None else self._node(kind, neutral, merged, numbers)

    def _take(self, kind: int, number: int, leaves: list[Leaf], numbers: set[int]) -> None:
        """Note a node as a child; its children instead when it is small and of the same kind."""
        if not self._is_small(kind, number):
            numbers.add(number)
            return
        for child in self._children[number]:
            if self._kinds[child] == LEAF:
                leaves.append(self._leaves[child])
            else:
                numbers.add(child)

    def _is_small(self, kind: int, number: int) -> bool:
        return self._kinds[number] == kind and len(self._children[number]) <= SMALL_NODE

    def _merged(self, kind: int, leaves: list[Leaf]) -> list[Leaf] | None:
        """One leaf an attribute; None when one of them decides the whole junction."""
        if len({leaf[0] for leaf in leaves}) == len(leaves):
            return leaves
        groups: dict[str, list[Leaf]] = {}
        for leaf in leaves:
            groups.setdefault(leaf.attribute, []).append(leaf)
        merged: list[Leaf] = []
        for group in groups.values():
            if len(group) > 1 and self._affordable(group):
                group = [meet_all(group) if kind == AND else join_all(group)]
                if is_empty(group[0]) or is_full(group[0]):
                    return None
            merged.extend(group)
        return merged

    def _affordable(self, group: list[Leaf]) -> bool:
        cuts = sum(len(leaf.cuts) for leaf in group)
        self._merged_cuts += cuts
        return cuts <= SMALL_SET or self._merged_cuts <= MERGE_BUDGET

    def _node(self, kind: int, neutral: int, leaves: list[Leaf], numbers: set[int]) -> Answer:
        if not numbers and len(leaves) <= 1:
            return leaves[0] if leaves else neutral
        inner = len(numbers)
        numbers.update(map(self._leaf_number, leaves))
        children = self._unabsorbed(kind, numbers) if inner else sorted(numbers)
        if len(children) == 1:
            only = children[0]
            return self._leaves[only] if self._kinds[only] == LEAF else only
        return self._node_number(kind, tuple(children))

    def _unabsorbed(self, kind: int, numbers: set[int]) -> list[int]:
        """The children in order, without those that say no more than a sibling: a or (a and b) is a."""
        opposite = AND + OR - kind
        return sorted(
            number
            for number in numbers
            if not self._is_small(opposite, number) or numbers.isdisjoint(self._children[number])
        )

    def _leaf_number(self, leaf: Leaf) -> int:
        number = self._leaf_numbers.get(leaf)
        if number is None:
            number = self._leaf_numbers[leaf] = self._append(LEAF, (), leaf)
        return number

    def _node_number(self, kind: int, children: tuple[int, ...]) -> int:
        number = self._node_numbers.get((kind, children))
        if number is None:
            number = self._node_numbers[kind, children] = self._append(kind, children, _NO_LEAF)
        return number

    def _append(self, kind: int, children: tuple[int, ...], leaf: Leaf) -> int:
        self._leaves.append(leaf)
        self._kinds.append(kind)
        self._children.append(children)
        return len(self._kinds) - 1


def copied(builder: Builder, form: Form) -> Answer:
    """The root of a form's copy in a builder."""
    answers: list[Answer] = list(form.leaves)
    for kind, children in zip(form.kinds[len(answers) :], form.children[len(answers) :], strict=True):
        if kind in (AND, OR):
            answers.append(builder.junction(kind, [answers[child] for child in children]))
        else:
            answers.append(ALWAYS_TRUE if kind == TRUE else NEVER_TRUE)
    return answers[-1]
