"""The canonical numbering of a form: leaves in order, then inner nodes by height, kind and children.

It depends on the structure alone, not on the order in which nodes were made, and on no hash.
"""

from __future__ import annotations

from matchwood.logic.builder import ALWAYS_TRUE, Answer, Builder, Rough
from matchwood.logic.form import ALWAYS, LEAF, NEVER, Form
from matchwood.logic.leaf import Leaf


def form_below(builder: Builder, root: Answer) -> Form:
    """The form that an answer stands for."""
    if isinstance(root, Leaf):
        return Form((root,), (LEAF,), ((),))
    if root < 0:
        return ALWAYS if root == ALWAYS_TRUE else NEVER
    return _numbered(builder.rough(root))


def _numbered(nodes: Rough) -> Form:
    reached = _reached(nodes)
    ordered = sorted((nodes.leaves[number], number) for number in reached if nodes.kinds[number] == LEAF)
    places = {number: place for place, (_, number) in enumerate(ordered)}
    inner = _inner(nodes, reached, places)
    leaves = tuple(leaf for leaf, _ in ordered)
    kinds = (LEAF,) * len(leaves) + tuple(kind for kind, _ in inner)
    return Form(leaves, kinds, ((),) * len(leaves) + tuple(children for _, children in inner))


def _reached(nodes: Rough) -> list[int]:
    """The root and the nodes below it, children before parents."""
    marked = bytearray(len(nodes.kinds))
    marked[-1] = 1
    for number in range(len(marked) - 1, -1, -1):
        if marked[number]:
            for child in nodes.children[number]:
                marked[child] = 1
    return [number for number, mark in enumerate(marked) if mark]


def _inner(nodes: Rough, reached: list[int], places: dict[int, int]) -> list[tuple[int, tuple[int, ...]]]:
    """Kind and children of each inner node in its place; `places` knows those of the leaves, and learns the others."""
    inner: list[tuple[int, tuple[int, ...]]] = []
    for level in _levels(nodes, reached):
        placed = []
        for number in level:
            children = tuple(sorted([places[child] for child in nodes.children[number]]))
            placed.append((nodes.kinds[number], children, number))
        for kind, children, number in sorted(placed):
            places[number] = len(places)
            inner.append((kind, children))
    return inner


def _levels(nodes: Rough, reached: list[int]) -> list[list[int]]:
    """The inner nodes by height above the leaves."""
    heights = [0] * len(nodes.kinds)
    levels: list[list[int]] = []
    for number in reached:
        children = nodes.children[number]
        if children:
            heights[number] = height = 1 + max([heights[child] for child in children])
            if height > len(levels):
                levels.append([])
            levels[height - 1].append(number)
    return levels
