"""`find` by brute force: small domains with a value in every cell, and NULL; sets of values; truth tables."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from matchwood.language import parse
from matchwood.semantics.evaluation import evaluate

DOMAINS: dict[str, list[Any]] = {
    "x": [None, -1, 0, 1, 2, 3, 4],
    "y": [None, -1, 0, 1, 2, 3, 4],
    "s": [None, "", "a", "ab", "b", "c"],
    "v": [None, False, True],
}
"""Constants are 0 to 3 and 'a', 'b': each of them, what lies between any two and beyond them, and NULL."""

TYPES = {"x": "int", "y": "int", "s": "string", "v": "bool"}
SEMANTICS = ["stabbing_subscription", "stabbing_event", "symmetric", "containment", "enclosure", "exact"]
LOGICAL = ["implies", "implied_by"]

Box: TypeAlias = Mapping[str, frozenset[Any]]
NULL = frozenset([None])


def constraint(rng: random.Random, name: str) -> str:
    """A test of one attribute, in words; most do not accept NULL."""
    constants = {"s": ["'a'", "'b'"], "v": ["true", "false"]}.get(name, ["0", "1", "2", "3"])
    one, two = rng.choice(constants), rng.choice(constants)
    made = [
        f"{name} = {one}",
        f"{name} != {one}",
        f"{name} in ({one}, {two})",
        f"{name} is not null",
        f"{name} is null",
    ]
    if name != "v":
        made += [f"{name} < {one}", f"{name} >= {one}", f"{name} between {one} and {two}", f"not {name} <= {one}"]
        made += [f"{name} >= {one}", f"{name} between {one} and 3"] if name != "s" else []
    chosen = rng.choice(made)
    return f"({chosen}) is not false" if rng.random() < 0.2 else chosen


def conjunction(rng: random.Random, most: int = 3) -> list[tuple[str, str]]:
    names = rng.sample(list(DOMAINS), rng.randint(1, most))
    return [(name, constraint(rng, name)) for name in names]


def rule(rng: random.Random, most: int = 3) -> list[list[tuple[str, str]]]:
    return [conjunction(rng) for _ in range(rng.choice((1, 1, 1, 2, most)))]


def written(rows: Sequence[Sequence[tuple[str, str]]]) -> str:
    return " or ".join("(" + " and ".join(text for _, text in row) + ")" for row in rows)


def boxes(rows: Sequence[Sequence[tuple[str, str]]]) -> list[Box]:
    """The conjunctions as sets of values: none that cannot hold, none that another covers, single tests joined."""
    made = [_box(row) for row in rows]
    made = [box for box in made if all(box.values())]
    joined: dict[str, frozenset[Any]] = {}
    for box in made:
        if len(box) == 1:
            ((name, values),) = box.items()
            joined[name] = joined.get(name, frozenset()) | values
    if any(len(values) == len(DOMAINS[name]) for name, values in joined.items()):
        return [{}]
    every = [{name: values} for name, values in joined.items()] + [box for box in made if len(box) != 1]
    distinct = [box for place, box in enumerate(every) if box not in every[:place]]
    return [box for box in distinct if not any(_covers(other, box) for other in distinct if other is not box)]


def _box(row: Sequence[tuple[str, str]]) -> Box:
    sets = {name: _values(name, text) for name, text in row}
    return {name: values for name, values in sets.items() if len(values) < len(DOMAINS[name])}


def _covers(wide: Box, narrow: Box) -> bool:
    return all(name in narrow and narrow[name] <= values for name, values in wide.items())


@cache
def _values(name: str, text: str) -> frozenset[Any]:
    tree = parse(text)
    return frozenset(value for value in DOMAINS[name] if evaluate(tree, {name: value}, TYPES) is True)


# ------------------------------------------------------------- the definitions


def expected(semantics: str, rule: list[Box], query: list[Box]) -> bool:
    """(2) to (7) of TODS 2013, where an attribute that is left out has the set {NULL}."""
    if semantics == "stabbing_subscription":
        return any(_some(own, asked) for own in rule for asked in query)
    if semantics == "stabbing_event":
        return any(_some(asked, own) for own in rule for asked in query)
    if semantics == "symmetric":
        return expected("stabbing_subscription", rule, query) and expected("stabbing_event", rule, query)
    if semantics == "containment":
        return all(any(_all(own, asked) for asked in query) for own in rule)
    if semantics == "enclosure":
        return all(any(_all(asked, own) for own in rule) for asked in query)
    assert semantics == "exact"
    return expected("containment", rule, query) and expected("enclosure", rule, query)


def _some(one: Box, other: Box) -> bool:
    return all(any(value in other.get(name, NULL) for value in values) for name, values in one.items())


def _all(one: Box, other: Box) -> bool:
    return all(all(value in other.get(name, NULL) for value in values) for name, values in one.items())


# ---------------------------------------------------------------- truth tables

EVENTS = [dict(zip(DOMAINS, values, strict=True)) for values in itertools.product(*DOMAINS.values())]


@cache
def truth(text: str) -> list[bool]:
    tree = parse(text)
    return [evaluate(tree, event, TYPES) is True for event in EVENTS]


def by_truth(semantics: str, rule: list[bool], query: list[bool]) -> bool:
    narrow, wide = (rule, query) if semantics == "implies" else (query, rule)
    return not any(one and not other for one, other in zip(narrow, wide, strict=True))
