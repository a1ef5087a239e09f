"""Where forms are built: every node once, constants and same-attribute leaves folded on the way.

All simplification lives here, in the two-valued form, where "never TRUE" may become FALSE. On the
three-valued tree it would be wrong: `not (x = 1 and x != 1)` is NULL, not TRUE, for a missing x.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from matchwood.logic.form import ALWAYS, AND, FALSE, LEAF, NEVER, OR, TRUE, Form
from matchwood.logic.leaf import Leaf, is_empty, is_full, join_all, meet_all

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


class Builder:
    """Grows one DAG; `junction` returns the answer that stands for an AND or OR of answers."""

    def __init__(self) -> None:
        self._leaf_of: list[Leaf | None] = []
        self._kinds: list[int] = []
        self._children: list[tuple[int, ...]] = []
        self._leaf_numbers: dict[Leaf, int] = {}
        self._node_numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        self._merged_cuts = 0

    def junction(self, kind: int, answers: Iterable[Answer]) -> Answer:
        """The AND or OR of the answers, simplified."""
        absorbing, neutral = (NEVER_TRUE, ALWAYS_TRUE) if kind == AND else (ALWAYS_TRUE, NEVER_TRUE)
        groups: dict[str, list[Leaf]] = {}
        numbers: set[int] = set()
        for answer in self._spread(kind, answers):
            if isinstance(answer, Leaf):
                groups.setdefault(answer.attribute, []).append(answer)
            elif answer == absorbing:
                return absorbing
            elif answer != neutral:
                numbers.add(answer)
        leaves = self._merge(kind, groups)
        return absorbing if leaves is None else self._node(kind, neutral, leaves, numbers)

    def _spread(self, kind: int, answers: Iterable[Answer]) -> list[Answer]:
        """The answers, with small nodes of the same kind replaced by their children."""
        spread: list[Answer] = []
        for answer in answers:
            if not isinstance(answer, Leaf) and answer >= 0 and self._is_small(kind, answer):
                spread.extend(self._child_answer(child) for child in self._children[answer])
            else:
                spread.append(answer)
        return spread

    def _is_small(self, kind: int, number: int) -> bool:
        return self._kinds[number] == kind and len(self._children[number]) <= SMALL_NODE

    def _child_answer(self, number: int) -> Answer:
        leaf = self._leaf_of[number]
        return number if leaf is None else leaf

    def _merge(self, kind: int, groups: dict[str, list[Leaf]]) -> list[Leaf] | None:
        """One leaf an attribute; None when one of them decides the whole junction."""
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
        numbers.update(map(self._number_leaf, leaves))
        children = self._unabsorbed(kind, numbers)
        if len(children) == 1:
            return self._child_answer(children[0])
        return self._number_node(kind, tuple(children))

    def _unabsorbed(self, kind: int, numbers: set[int]) -> list[int]:
        """The children in order, without those that say no more than a sibling: a or (a and b) is a."""
        opposite = AND + OR - kind
        return sorted(
            number
            for number in numbers
            if not (self._is_small(opposite, number) and not numbers.isdisjoint(self._children[number]))
        )

    def _number_leaf(self, leaf: Leaf) -> int:
        number = self._leaf_numbers.get(leaf)
        if number is None:
            number = self._leaf_numbers[leaf] = self._append(LEAF, (), leaf)
        return number

    def _number_node(self, kind: int, children: tuple[int, ...]) -> int:
        number = self._node_numbers.get((kind, children))
        if number is None:
            number = self._node_numbers[kind, children] = self._append(kind, children, None)
        return number

    def _append(self, kind: int, children: tuple[int, ...], leaf: Leaf | None) -> int:
        self._leaf_of.append(leaf)
        self._kinds.append(kind)
        self._children.append(children)
        return len(self._kinds) - 1

    def form(self, root: Answer) -> Form:
        """The nodes below an answer, numbered canonically."""
        if isinstance(root, Leaf):
            return Form((root,), (LEAF,), ((),))
        if root < 0:
            return ALWAYS if root == ALWAYS_TRUE else NEVER
        reached = self._reached(root)
        leaves = sorted(leaf for number in reached if (leaf := self._leaf_of[number]) is not None)
        renumbered = {self._leaf_numbers[leaf]: position for position, leaf in enumerate(leaves)}
        kinds, children = self._inner(reached, renumbered)
        padding = len(leaves)
        return Form(tuple(leaves), (LEAF,) * padding + kinds, ((),) * padding + children)

    def _reached(self, root: int) -> list[int]:
        """The nodes below `root` and itself, children before parents (numbers grow upwards)."""
        marked = bytearray(root + 1)
        marked[root] = 1
        for number in range(root, -1, -1):
            if marked[number]:
                for child in self._children[number]:
                    marked[child] = 1
        return [number for number in range(root + 1) if marked[number]]

    def _inner(
        self, reached: list[int], renumbered: dict[int, int]
    ) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
        """Kinds and children of the inner nodes, height by height; `renumbered` knows the leaves, and learns the rest."""
        ordered: list[tuple[int, tuple[int, ...]]] = []
        for level in self._levels(reached):
            placed = sorted(
                (self._kinds[number], tuple(sorted(renumbered[child] for child in self._children[number])), number)
                for number in level
            )
            for kind, children, number in placed:
                renumbered[number] = len(renumbered)
                ordered.append((kind, children))
        return tuple(kind for kind, _ in ordered), tuple(children for _, children in ordered)

    def _levels(self, reached: list[int]) -> list[list[int]]:
        """The inner nodes by height above the leaves."""
        heights: dict[int, int] = {}
        levels: list[list[int]] = []
        for number in reached:
            children = self._children[number]
            heights[number] = height = 1 + max((heights[child] for child in children), default=-1)
            if height > len(levels):
                levels.append([])
            if height:
                levels[height - 1].append(number)
        return levels


def conjoined(forms: Iterable[Form]) -> Form:
    """The form that holds when all the given ones do."""
    builder = Builder()
    return builder.form(builder.junction(AND, [copied(builder, form) for form in forms]))


def copied(builder: Builder, form: Form) -> Answer:
    """The root of a form's copy in a builder."""
    answers: list[Answer] = list(form.leaves)
    for kind, children in zip(form.kinds[len(answers) :], form.children[len(answers) :], strict=True):
        if kind in (AND, OR):
            answers.append(builder.junction(kind, [answers[child] for child in children]))
        else:
            answers.append(ALWAYS_TRUE if kind == TRUE else NEVER_TRUE)
    return answers[-1]
