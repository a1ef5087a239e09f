"""The fuzz's own expression tree: what its generator makes, its judge evaluates, and its writer spells as text.

It shares nothing with `matchwood.language`, so that a mistake in reading a rule shows as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Leaf:
    """A test of one attribute; `value` is a constant, a tuple of them, or None for null tests."""

    attribute: str
    operator: str
    value: Any = None
    escape: str | None = None


@dataclass(frozen=True)
class Join:
    """`and`, `or`, `xor` or `xnor` of two or more parts, from left to right."""

    kind: str
    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Not:
    part: Tree


@dataclass(frozen=True)
class Truth:
    """`(…) is [not] true | false | unknown`."""

    part: Tree
    test: str
    negated: bool


@dataclass(frozen=True)
class Constant:
    value: bool


Tree: TypeAlias = Leaf | Join | Not | Truth | Constant


def parts_of(tree: Tree) -> tuple[Tree, ...]:
    if isinstance(tree, Join):
        return tree.parts
    return (tree.part,) if isinstance(tree, Not | Truth) else ()


def with_parts(tree: Tree, parts: tuple[Tree, ...]) -> Tree:
    """The same node over other parts."""
    if isinstance(tree, Join):
        return Join(tree.kind, parts)
    return replace(tree, part=parts[0]) if isinstance(tree, Not | Truth) else tree


def leaves_of(tree: Tree) -> Iterator[Leaf]:
    """The leaves from left to right; deep trees are no trouble."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Leaf):
            yield node
        waiting.extend(reversed(parts_of(node)))


def size_of(tree: Tree) -> int:
    return sum(1 for _ in leaves_of(tree))


def smaller(tree: Tree) -> Iterator[Tree]:
    """Trees that say less: a part in the place of the whole, a part left out, a smaller part; the smallest first."""
    parts = parts_of(tree)
    yield from parts
    if len(parts) > 2:
        for place in range(len(parts)):
            yield with_parts(tree, parts[:place] + parts[place + 1 :])
    for place, part in enumerate(parts):
        for less in smaller(part):
            yield with_parts(tree, (*parts[:place], less, *parts[place + 1 :]))
    if isinstance(tree, Leaf) and isinstance(tree.value, tuple) and "between" not in tree.operator:
        for place in range(len(tree.value) if len(tree.value) > 1 else 0):
            yield replace(tree, value=tree.value[:place] + tree.value[place + 1 :])
