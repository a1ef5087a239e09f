"""Random rules whose clauses absorb one another, hold always or fold into one: what leaves a unit still scores."""

from __future__ import annotations

import random
from typing import Any

NUMBERS, WORDS = ("a", "b", "c", "d"), ("s", "t")
_VALUES = ("kiwi", "kale", "leek", "lime", "plum")


def rule(rng: random.Random) -> str:
    """An AND of ORs, or an OR of ANDs, some of whose parts are weaker or stronger copies of others."""
    outer, inner = rng.choice([("and", "or"), ("and", "or"), ("or", "and")])
    parts = [[_predicate(rng) for _ in range(rng.randint(1, 3))] for _ in range(rng.randint(1, 3))]
    for _ in range(rng.randint(0, 2)):
        parts.append(_near(rng, rng.choice(parts)))
    rng.shuffle(parts)
    return f" {outer} ".join(f"({f' {inner} '.join(part)})" for part in parts)


def _near(rng: random.Random, part: list[str]) -> list[str]:
    """A copy with more predicates, one that holds always, or one with a nest inside."""
    kind = rng.random()
    if kind < 0.5:
        return [*part, *(_predicate(rng) for _ in range(rng.randint(1, 2)))]
    if kind < 0.8:
        name, value = rng.choice(NUMBERS), rng.randint(0, 5)
        return [f"{name} = {rng.randint(0, 5)}", f"{name} is null", f"{name} != {value}", f"{name} >= {value}"]
    return [f"({' and '.join(part)} or {_predicate(rng)})", f"({_predicate(rng)} and {rng.choice(part)})"]


def _predicate(rng: random.Random) -> str:
    if rng.random() < 0.2:
        name, value = rng.choice(WORDS), rng.choice(_VALUES)
        told = (f"= '{value}'", f"like '{value[0]}%'", f"like '%{value[-1]}'", f"in ('{value}', 'x')", f"!= '{value}'")
        return f"{name} {rng.choice(told)}"
    if rng.random() < 0.1:
        return f"tags one of ({rng.randint(0, 3)}, {rng.randint(2, 5)})"
    name, low, high = rng.choice(NUMBERS), rng.randint(0, 5), rng.randint(0, 5)
    weak = f"({name} is null or {name} not in ({low}, {high}))"
    told = (f"{name} = {low}", f"{name} in ({low}, {high})", f"{name} <= {low}", f"{name} > {high}", weak)
    rare = (f"{name} between {low} and {high}", f"not {name} = {low}", f"({name} = {low} xor {name} > {high})")
    return rng.choice(told if rng.random() < 0.8 else rare)


def weights(rng: random.Random) -> dict[str, Any]:
    """The options of a rule: some attributes weigh much, some by value."""
    by_attribute: dict[str, Any] = {}
    for name in rng.sample([*NUMBERS, *WORDS, "tags"], rng.randint(0, 3)):
        by_value = {v: rng.uniform(0, 9) for v in rng.sample(_VALUES if name in WORDS else ("0", "1", "2", "4"), 2)}
        by_attribute[name] = rng.choice([rng.uniform(0, 2), 40 * rng.random(), by_value])
    return {"weight": rng.choice([0.0, 1.0, 10 * rng.random()]), "weights": by_attribute}


def event(rng: random.Random) -> dict[str, Any]:
    """An event that has most attributes."""
    whole: dict[str, Any] = {name: rng.randint(0, 6) for name in NUMBERS}
    whole |= {name: rng.choice(_VALUES) for name in WORDS} | {"tags": [rng.randint(0, 5) for _ in range(2)]}
    return {name: value for name, value in whole.items() if rng.random() < 0.8}


def event_weights(rng: random.Random) -> dict[str, float] | None:
    """Weights of an event, below and above 1."""
    return {name: rng.choice([0.0, 0.3, 1.0, 7.0]) for name in rng.sample([*NUMBERS, *WORDS], 3)} or None
