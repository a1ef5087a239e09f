"""Rules and events by the thousand from a seed, and the count of what they cover.

The same functions serve hypothesis (`tests/strategies.py`), which hands them a random source that it can
shrink, and the bulk tests, which hand them `random.Random(seed)`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from matchwood.language.tree import And, Constant, Expression, Not, Or, Predicate, Truth, Xnor, Xor, postorder
from tests.pools import ATTRIBUTES, OPERATORS, REGEXES, STRINGS, Attributes, Palettes, event_value, literal, palettes

PAIRS = tuple((operator, kind) for kind, operators in OPERATORS.items() for operator in operators)
"""Every operator × type that a rule can hold."""


@dataclass
class Workload:
    """Rules and events made for each other: they share their constants."""

    rules: list[Expression]
    events: list[dict[str, Any]]
    attributes: Attributes = field(default_factory=lambda: ATTRIBUTES)

    def cover(self) -> Counter[tuple[str, str]]:
        """In how many cases, rule × event, each operator × type stands."""
        counts: Counter[tuple[str, str]] = Counter()
        for rule in self.rules:
            held = {(node.op, self.attributes[node.attr]) for node in postorder(rule) if isinstance(node, Predicate)}
            counts.update(dict.fromkeys(held, len(self.events)))
        return counts


def workload(
    rng: random.Random, rules: int, events: int, attributes: Attributes = ATTRIBUTES, leaves: int = 7
) -> Workload:
    """One workload; every rule holds at most `leaves` predicates and constants."""
    shared = palettes(rng, attributes)
    made = [expression(rng, shared, attributes, rng.randint(1, leaves)) for _ in range(rules)]
    return Workload(made, [event(rng, shared, attributes) for _ in range(events)], attributes)


def workloads(seed: int, count: int, rules: int, events: int, **options: Any) -> Iterator[Workload]:
    """`count` workloads; the i-th depends on the seed and i alone."""
    for number in range(count):
        yield workload(random.Random(f"{seed}/{number}"), rules, events, **options)


def duckdb_cases() -> Iterator[Workload]:
    """The 21,600 rule-event pairs on which the oracle is held against DuckDB, and every engine against the oracle."""
    return workloads(seed=1, count=30, rules=60, events=12)


def event(
    rng: random.Random, shared: Palettes, attributes: Attributes = ATTRIBUTES, missing: float = 0.3
) -> dict[str, Any]:
    """An event: each attribute absent, None, or a value; paths nested or as a key with dots."""
    made: dict[str, Any] = {"unheard_of": rng.choice((None, 1, "x"))}
    for name, kind in attributes.items():
        if rng.random() < missing:
            if rng.random() < 0.5:
                place(rng, made, name, None)
        else:
            place(rng, made, name, event_value(rng, kind, shared[name]))
    return made


def place(rng: random.Random, made: dict[str, Any], name: str, value: Any) -> None:
    """Put a value where the attribute's name leads."""
    if name.startswith("`"):
        made[name.strip("`")] = value
    elif "." in name and rng.random() < 0.5:
        outer, inner = name.split(".")
        made.setdefault(outer, {})[inner] = value
    else:
        made[name] = value


def predicate(rng: random.Random, shared: Palettes, attributes: Attributes = ATTRIBUTES) -> Predicate:
    """A predicate: operator × type uniformly, then an attribute of that type."""
    kinds = set(attributes.values())
    operator, kind = rng.choice([pair for pair in PAIRS if pair[1] in kinds])
    name = rng.choice([each for each, its in attributes.items() if its == kind])
    return predicate_of(rng, name, kind, operator, shared[name])


def predicate_of(rng: random.Random, name: str, kind: str, operator: str, palette: list[Any]) -> Predicate:
    """A predicate with this operator, its constants mostly from the palette."""
    if operator.startswith("is "):
        return Predicate(name, operator, None)
    if operator.endswith("rlike"):
        return Predicate(name, operator, regex(rng, palette))
    if operator.endswith("like"):
        escape = rng.choice((None, None, "\\", "!"))
        return Predicate(name, operator, pattern(rng, palette, escape or "\\"), escape)
    if operator.endswith("between"):
        ends = [literal(rng, kind, palette), literal(rng, kind, palette)]
        return Predicate(name, operator, tuple(ends if rng.random() < 0.15 else sorted(ends, key=_order)))
    if operator in ("in", "not in", "one of", "all of", "none of"):
        count = rng.choice((1, 1, 2)) if operator == "all of" else rng.randint(1, 4)
        return Predicate(name, operator, tuple(literal(rng, kind, palette) for _ in range(count)))
    return Predicate(name, operator, literal(rng, kind, palette))


def _order(value: Any) -> Any:
    """An order that puts most pairs of ends the right way round; which one does not matter much."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float | Decimal):
        return (value != value, value)
    return value.isoformat()


def pattern(rng: random.Random, palette: list[Any], escape: str) -> str:
    """A pattern of `like`: a string of the palette with some of its characters made wildcards."""
    parts = []
    for character in rng.choice(palette) if rng.random() < 0.9 else rng.choice(STRINGS):
        chance = rng.random()
        wild = "%" if chance < 0.2 else "_" if chance < 0.4 else None
        parts.append(wild or (escape + character if character in ("%", "_", escape) else character))
    if rng.random() < 0.4:
        parts.insert(rng.randint(0, len(parts)), "%")
    return "".join(parts)


def regex(rng: random.Random, palette: list[Any]) -> str:
    """A pattern of `rlike`: one of the fixed ones, or a string of the palette taken literally."""
    if rng.random() < 0.5:
        return rng.choice(REGEXES)
    text = "".join(f"\\{each}" if each in "\\.+*?()|[]{}^$" else each for each in rng.choice(palette))
    return rng.choice((text, "^" + text, text + "$", f"^{text}$"))


def expression(
    rng: random.Random, shared: Palettes, attributes: Attributes = ATTRIBUTES, leaves: int = 5
) -> Expression:
    """A tree with this many leaves, of every kind of node; now and then a deep one."""
    nodes: list[Expression] = [_leaf(rng, shared, attributes) for _ in range(leaves)]
    while len(nodes) > 1:
        rng.shuffle(nodes)
        taken = [nodes.pop() for _ in range(min(len(nodes), rng.choice((2, 2, 2, 3, 4))))]
        node: Expression = rng.choice((And, Or, Or, Or, Xor, Xnor))(*taken)
        nodes.append(wrapped(rng, node) if rng.random() < 0.25 else node)
    for _ in range(rng.choice((0, 0, 0, 0, 0, 0, 0, 1, 2, 20))):
        nodes[0] = wrapped(rng, nodes[0])
    return nodes[0]


def _leaf(rng: random.Random, shared: Palettes, attributes: Attributes) -> Expression:
    return Constant(rng.random() < 0.5) if rng.random() < 0.03 else predicate(rng, shared, attributes)


def wrapped(rng: random.Random, node: Expression) -> Expression:
    """`not (…)`, or `(…) is [not] true | false | unknown`."""
    if rng.random() < 0.7:
        return Not(node)
    return Truth(node, rng.choice(("true", "false", "unknown")), rng.random() < 0.5)


def chain(rng: random.Random, leaves: list[Expression], depth: int) -> Expression:
    """A tree `depth` levels deep: each level holds the one below it and one more leaf."""
    node = leaves[0]
    for _ in range(depth):
        kind = rng.choice((And, Or, Xor, Xnor, Not))
        node = Not(node) if kind is Not else kind(rng.choice(leaves), node)
    return node
