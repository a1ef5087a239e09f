"""Small A-Trees and what to ask of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

import matchwood as mw
from matchwood.engines.atree.draw import NodeView


def tree_of(rules: Mapping[Any, str] | Iterable[str], **options: Any) -> mw.Index:
    """An index over these rules, inserted one by one."""
    index = mw.Index("atree", options=options)
    for rule_id, text in rules.items() if isinstance(rules, Mapping) else enumerate(rules):
        index[rule_id] = text
        assert index.audit() == []
    return index


def p(*numbers: int, word: str = "or") -> str:
    """Predicates of attributes of their own, joined: the paper's P1, P2, …"""
    return f" {word} ".join(f"p{number} = 1" for number in numbers)


def true(*numbers: int, of: int = 10) -> dict[str, int]:
    """An event that makes just these predicates true, and the others false."""
    return {f"p{number}": int(number in numbers) for number in range(1, of + 1)}


def by_rule(index: mw.Index) -> dict[Any, NodeView]:
    """The root of each rule."""
    return {rule: node for node in index.nodes() for rule in node.rules}


def says(index: mw.Index, number: int) -> Any:
    """A node spelled out: a leaf's constraint, or the operator and the set of its children."""
    nodes = {node.number: node for node in index.nodes()}
    node = nodes[number]
    if not node.children:
        return node.constraint
    return node.kind, frozenset(says(index, child) for child in node.children)


def random_rule(rng: random.Random, attributes: int = 8, depth: int = 3) -> str:
    """A rule that has much in common with others."""
    if depth == 0 or rng.random() < 0.25:
        name = f"a{rng.randrange(attributes)}"
        return rng.choice((f"{name} = {rng.randrange(3)}", f"{name} > {rng.randrange(3)}", f"{name} is null"))
    parts = [f"({random_rule(rng, attributes, depth - 1)})" for _ in range(rng.randint(2, 4))]
    chance = rng.random()
    if chance < 0.1:
        return f"not {parts[0]}"
    if chance < 0.2:
        return f"{parts[0]} {rng.choice(('xor', 'xnor'))} {parts[1]}"
    if chance < 0.25:
        return f"{parts[0]} is {rng.choice(('', 'not '))}{rng.choice(('true', 'false', 'unknown'))}"
    return f" {rng.choice(('and', 'or'))} ".join(parts)


def flat_rule(rng: random.Random, attributes: int = 7) -> str:
    """Predicates joined by one operator: subsets of each other come often."""
    chosen = rng.sample(range(attributes), rng.randint(1, 5))
    return f" {rng.choice(('and', 'and', 'or'))} ".join(f"a{each} = 1" for each in chosen)


def random_event(rng: random.Random, attributes: int = 8) -> dict[str, int]:
    return {f"a{each}": rng.randrange(4) for each in range(attributes) if rng.random() < 0.7}
