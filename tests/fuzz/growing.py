"""Random trees in which near-equal parts occur: the same said again, in other words, in another order or nest."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.fuzz.domains import KINDS, LISTS, Palette, constant, operators
from tests.fuzz.patterns import ESCAPED, LIKES, REGEXES
from tests.fuzz.trees import Constant, Join, Leaf, Not, Tree, Truth, leaves_of, parts_of, size_of, with_parts

LARGEST = 40
"""Leaves of a tree: rewriting stops there."""

SHAPES = ("any", "any", "twins", "dnf", "cnf", "and", "chain")

_OPPOSITE = {"=": "!=", "<": ">=", ">": "<=", "in": "not in", "between": "not between", "is null": "is not null"}
_OPPOSITE |= {"like": "not like", "ilike": "not ilike", "rlike": "not rlike", "contains": "not contains"}
_OPPOSITE |= {"one of": "none of"}
_OPPOSITE |= {negative: positive for positive, negative in _OPPOSITE.items()}


class Grower:
    """Grows leaves, trees and near-equal trees over one palette."""

    def __init__(self, rng: random.Random, palette: Palette) -> None:
        self.rng, self.palette, self.names = rng, palette, list(palette)
        self.stock = [self.leaf() for _ in range(rng.randint(3, 10))]
        """Leaves that rules share."""
        self.favourite = rng.choice(SHAPES)
        """The shape of every other rule."""

    # ----------------------------------------------------------------- leaves

    def leaf(self, name: str | None = None) -> Leaf:
        name = name or self.rng.choice(self.names)
        return self.leaf_of(name, self.rng.choice(operators(KINDS[name])))

    def leaf_of(self, name: str, operator: str) -> Leaf:
        if operator.endswith("null"):
            return Leaf(name, operator)
        if operator.endswith("like"):
            return self._pattern(name, operator)
        if operator in ("in", "not in", *LISTS[:3]):
            return Leaf(name, operator, tuple(self._constant(name) for _ in range(self.rng.choice((1, 2, 2, 3, 5)))))
        if operator.endswith("between"):
            return Leaf(name, operator, (self._constant(name), self._constant(name)))
        return Leaf(name, operator, self._constant(name))

    def _constant(self, name: str) -> Any:
        return constant(self.rng, KINDS[name], self.palette[name])

    def _pattern(self, name: str, operator: str) -> Leaf:
        if operator.endswith("rlike"):
            return Leaf(name, operator, self.rng.choice(list(REGEXES)))
        if self.rng.random() < 0.2:
            return Leaf(name, operator, self.rng.choice(ESCAPED), "!")
        return Leaf(name, operator, self.rng.choice(LIKES))

    # ------------------------------------------------------------------ trees

    def plain(self, leaves: int) -> Tree:
        """A conjunction of single tests."""
        return self._join("and", [self.rng.choice((*self.stock, self.leaf())) for _ in range(leaves)])

    def rule(self, leaves: int) -> Tree:
        """A rule of one of the shapes that engines care about."""
        shape = self.favourite if self.rng.random() < 0.5 else self.rng.choice(SHAPES)
        if shape == "and":
            return self._join("and", [self._some_leaf() for _ in range(leaves)])
        if shape == "twins":
            return self._twins()
        if shape == "dnf":
            return self._join("or", [self._join("and", row) for row in self._rows(leaves)])
        if shape == "cnf":
            return self._join("and", [self._join("or", row) for row in self._rows(leaves)])
        return self._chain(leaves * 4) if shape == "chain" and self.rng.random() < 0.3 else self.tree(leaves)

    def tree(self, leaves: int) -> Tree:
        """A tree of about so many leaves, in which parts come again nearly equal."""
        if leaves <= 1:
            return Constant(self.rng.random() < 0.5) if self.rng.random() < 0.03 else self._some_leaf()
        chance = self.rng.random()
        if chance < 0.12:
            return Not(self.tree(leaves))
        if chance < 0.2:
            return self._tested(self.tree(leaves))
        kind = self.rng.choice(("and", "and", "and", "or", "or", "or", "xor", "xnor"))
        parts = [self.tree(each) for each in self._shares(leaves)]
        again = 0.7 if kind.startswith("x") else 0.4
        while self.rng.random() < again and sum(map(size_of, parts)) < LARGEST:
            parts.insert(self.rng.randrange(len(parts) + 1), self.near(self.rng.choice(parts)))
        return self._join(kind, parts)

    def _twins(self) -> Tree:
        """Nests that are equal, or nearly so, under an `xor`: they cancel, if one sees that they are equal."""
        leaves: list[Tree] = [*self.rng.sample(self.stock, min(3, len(self.stock))), self._some_leaf()]
        tree: Tree = Join(self.rng.choice(("and", "or")), tuple(leaves))
        parts = [tree, *(self.rng.choice((self._regrouped, self._swung, self.near))(tree) for _ in range(2))]
        return Join(self.rng.choice(("xor", "xor", "xnor")), tuple(parts[: self.rng.choice((2, 2, 3))]))

    def _rows(self, count: int) -> list[list[Tree]]:
        """Clauses or conjunctions; some hold all of another, which absorbs them, and some a leaf and its opposite."""
        rows = [[self._some_leaf() for _ in range(self.rng.randint(1, 3))] for _ in range(count)]
        for row in self.rng.sample(rows, self.rng.randint(0, min(2, count))):
            chance = self.rng.random()
            if chance < 0.6:
                rows.insert(self.rng.randrange(len(rows) + 1), [*map(self._same, row), self._some_leaf()])
            elif chance < 0.8:
                leaf = self._some_leaf()
                row += [leaf, Not(leaf), Truth(leaf, "unknown", False)]
        return rows

    def _same(self, tree: Tree) -> Tree:
        return self._respelled(tree) if self.rng.random() < 0.3 else tree

    def _some_leaf(self) -> Tree:
        chance = self.rng.random()
        if chance < 0.55:
            return self.rng.choice(self.stock)
        return self.leaf() if chance < 0.85 else self._respelled(self.rng.choice(self.stock))

    def _shares(self, leaves: int) -> list[int]:
        first = self.rng.randint(1, leaves - 1)
        second = leaves - first
        if second > 1 and self.rng.random() < 0.4:
            third = self.rng.randint(1, second - 1)
            return [first, second - third, third]
        return [first, second]

    def _chain(self, levels: int) -> Tree:
        """A nest that goes deep on one side."""
        tree: Tree = self._some_leaf()
        for _ in range(levels):
            chance = self.rng.random()
            if chance < 0.15:
                tree = Not(tree)
            elif chance < 0.25:
                tree = self._tested(tree)
            else:
                pair = [tree, self._some_leaf()]
                self.rng.shuffle(pair)
                tree = self._join(self.rng.choice(("and", "or", "xor", "xnor")), pair)
        return tree

    def _join(self, kind: str, parts: list[Tree]) -> Tree:
        return parts[0] if len(parts) == 1 else Join(kind, tuple(parts))

    def _tested(self, tree: Tree) -> Tree:
        return Truth(tree, self.rng.choice(("true", "true", "false", "unknown")), self.rng.random() < 0.5)

    # ------------------------------------------------------------- near-equal

    def near(self, tree: Tree) -> Tree:
        """The same said again, or nearly so."""
        for _ in range(self.rng.choice((0, 1, 1, 2, 3))):
            if size_of(tree) < LARGEST // 2:
                tree = self.rng.choice(_REWRITES)(self, tree)
        return tree

    def somewhere(self, tree: Tree, change: Callable[[Tree], Tree]) -> Tree:
        """A change at some place of the tree."""
        parts = parts_of(tree)
        if not parts or self.rng.random() < 0.3:
            return change(tree)
        place = self.rng.randrange(len(parts))
        return with_parts(tree, (*parts[:place], self.somewhere(parts[place], change), *parts[place + 1 :]))

    def _shuffled(self, tree: Tree) -> Tree:
        return with_parts(tree, tuple(self.rng.sample(parts_of(tree), len(parts_of(tree)))))

    def _regrouped(self, tree: Tree) -> Tree:
        """`a and b and c` as `(a and b) and c` or `a and (b and c)`; and back."""
        if not isinstance(tree, Join):
            return tree
        if len(tree.parts) > 2:
            cut = self.rng.choice((2, len(tree.parts) - 1))
            return Join(tree.kind, (Join(tree.kind, tree.parts[:cut]), *tree.parts[cut:]))
        flat: list[Tree] = []
        for part in tree.parts:
            flat += part.parts if isinstance(part, Join) and part.kind == tree.kind != "xnor" else (part,)
        return Join(tree.kind, tuple(flat))

    def _swung(self, tree: Tree) -> Tree:
        """`(a and b) and c` as `a and (b and c)`."""
        if isinstance(tree, Join) and isinstance(tree.parts[0], Join) and tree.parts[0].kind == tree.kind:
            inner = tree.parts[0].parts
            rest = Join(tree.kind, (*inner[1:], *tree.parts[1:]))
            return Join(tree.kind, (inner[0], rest))
        return tree

    def _turned(self, tree: Tree) -> Tree:
        """De Morgan's law, or the leaf's own opposite."""
        if isinstance(tree, Join) and tree.kind in ("and", "or"):
            other = "or" if tree.kind == "and" else "and"
            return Not(Join(other, tuple(Not(part) for part in tree.parts)))
        if isinstance(tree, Leaf) and tree.operator in _OPPOSITE:
            return Not(Leaf(tree.attribute, _OPPOSITE[tree.operator], tree.value, tree.escape))
        return Not(Not(tree))

    def _respelled(self, tree: Tree) -> Tree:
        """A leaf that says the same with another operator or constant."""
        if not isinstance(tree, Leaf):
            return tree
        name, value = tree.attribute, tree.value
        if tree.operator == "=":
            same: list[Tree] = [Leaf(name, "in", (value,)), Leaf(name, "in", (value, value))]
            same += [Leaf(name, "between", (value, value)), Not(Leaf(name, "!=", value))]
            same.append(Join("and", (Leaf(name, ">=", value), Leaf(name, "<=", value))))
            return self.rng.choice(same)
        if tree.operator in ("in", "not in", *LISTS[:3]):
            doubled = (*value, self.rng.choice(value))
            return Leaf(name, tree.operator, tuple(self.rng.sample(doubled, len(doubled))))
        if tree.operator == "between":
            return Join("and", (Leaf(name, ">=", value[0]), Leaf(name, "<=", value[1])))
        return self._turned(tree)

    def _absorbed(self, tree: Tree) -> Tree:
        other, again = self._some_leaf(), self.near(tree) if self.rng.random() < 0.3 else tree
        inner, outer = self.rng.choice((("and", "or"), ("or", "and")))
        return Join(outer, (tree, Join(inner, (again, other))))

    def _with_tautology(self, tree: Tree) -> Tree:
        leaf = self._some_leaf()
        always = Join("or", (leaf, Not(leaf), Truth(leaf, "unknown", False)))
        if self.rng.random() < 0.5:
            return Join("and", (tree, always))
        return Join("or", (tree, Join("and", (leaf, Not(leaf)))))

    def _doubled(self, tree: Tree) -> Tree:
        other = self.rng.choice((tree, self._some_leaf()))
        kind = self.rng.choice(("xor", "xnor", "and", "or"))
        pair = Join(kind, (other, self._respelled(other)))
        return Join(self.rng.choice(("xor", "xnor")), (pair, tree))

    def _altered(self, tree: Tree) -> Tree:
        """Nearly the same: one leaf is another one of that attribute."""
        leaves = list(leaves_of(tree))
        if not leaves:
            return tree
        old = self.rng.choice(leaves)
        new = self.leaf(old.attribute)
        return self.somewhere(tree, lambda node: new if isinstance(node, Leaf) else node)


_REWRITES: list[Callable[[Grower, Tree], Tree]] = [
    Grower._shuffled,
    lambda grower, tree: grower.somewhere(tree, grower._shuffled),
    lambda grower, tree: grower.somewhere(tree, grower._regrouped),
    lambda grower, tree: grower.somewhere(tree, grower._respelled),
    lambda grower, tree: grower.somewhere(tree, grower._turned),
    Grower._regrouped,
    Grower._swung,
    Grower._turned,
    Grower._absorbed,
    Grower._with_tautology,
    Grower._doubled,
    Grower._altered,
    lambda grower, tree: Not(Not(tree)),
    lambda grower, tree: Truth(tree, "true", False),
]
