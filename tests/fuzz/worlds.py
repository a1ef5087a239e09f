"""A world: rules that come and go, and what is asked of them in between. Everything follows from (seed, case)."""

from __future__ import annotations

import decimal
import random
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tests.fuzz.domains import KINDS, POOLS, ZONES, Palette, event_value, palette
from tests.fuzz.growing import Grower
from tests.fuzz.judge import key, zone_of
from tests.fuzz.trees import Tree, leaves_of

UNEVEN = (0.0, 0.1, 0.2, 0.3, 0.7, 1.0, 2.0, 3.1, 50.0, 1e-300, 1e16)
"""Sums of these depend on the order of additions."""
CLOSE = (0.0, 0.5, 1.0, 2.0, 5.0, 20.0)
"""Few rules are far ahead by these, so that bounds of scores matter."""
PLAIN = 150
"""So many plain rules at once are read as columns."""
SEMANTICS = (
    *("stabbing_subscription", "stabbing_event", "symmetric", "containment", "enclosure", "exact"),
    *("implies", "implied_by"),
)


@dataclass(eq=False)
class Rule:
    """`weights` are by attribute: a number, or numbers by value; `style` decides how the tree is spelled."""

    id: int | str
    tree: Tree
    weight: float = 0.0
    weights: dict[str, Any] = field(default_factory=dict)
    style: int = 0


@dataclass(eq=False)
class Event:
    """What it holds by attribute, and `given`: the same as a caller would hand it over."""

    holds: dict[str, Any]
    given: dict[str, Any]


@dataclass(eq=False)
class Put:
    """Rules to insert or replace; `how` is set, json, one, many or table."""

    rules: list[Rule]
    how: str


@dataclass(eq=False)
class Delete:
    id: int | str


@dataclass(eq=False)
class Upkeep:
    """compact, clear, reopen, read (open read-only, and ask there), lint."""

    what: str


@dataclass(eq=False)
class Match:
    """`how` is one, many, threads, batches, table or verdicts."""

    events: list[Event]
    how: str


@dataclass(eq=False)
class Top:
    """`weights` are one mapping for all events, or one for each."""

    events: list[Event]
    n: int
    weights: list[dict[str, float]]
    how: str


@dataclass(eq=False)
class Find:
    query: Tree
    semantics: str
    style: int = 0


Step: TypeAlias = Put | Delete | Upkeep | Match | Top | Find


@dataclass
class World:
    """`schema` are declared types; all other types are inferred."""

    schema: dict[str, str] | None
    timezone: str
    dnf_limit: int
    steps: list[Step]


def world(seed: int | str, case: int) -> World:
    """The world of a seed and a case number."""
    return _Maker(random.Random(f"{seed} {case}")).make()


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.dense = rng.random() < 0.5
        """Whether attributes have two or three values each, so that most tests hold of most events."""
        names = rng.sample(list(KINDS), rng.randint(2, 5 if self.dense else 8))
        self.palette: Palette = palette(rng, names, 3 if self.dense else 5)
        self.whole = rng.choice((True, True, False))
        """Whether numbers are all ints or all doubles, as one column holds them."""
        self._settle_numbers()
        self.grower = Grower(rng, self.palette)
        self.zone_name = rng.choice(ZONES)
        self.zone = zone_of(self.zone_name)
        self.text_ids = rng.random() < 0.4
        self.heavy, self.weights = rng.random() < 0.7, rng.choice((UNEVEN, CLOSE))
        self.events = [self._event() for _ in range(rng.choice((2, 4, 8, 12, 20)))]
        self.live: dict[int | str, Rule] = {}

    def _settle_numbers(self) -> None:
        for name in self.palette:
            if KINDS[name] == "number" and self.whole:
                top = 1 if self.dense else 6
                self.palette[name] = [self.rng.randint(0, top) for _ in self.palette[name]]

    def make(self) -> World:
        declared = {name: KINDS[name] for name in self.palette if KINDS[name] != "number"}
        crowd = self.rng.random() < 0.4
        steps: list[Step] = [self._bulk(self.rng.choice((60, 120, 120, PLAIN)) if crowd else self.rng.randint(1, 20))]
        for _ in range(1 if crowd else self.rng.randint(2, 5)):
            steps += self._changes()
            steps += self._questions()
        limit = self.rng.choice((1, 2, 4, 16, 256, 256))
        return World(declared if self.rng.random() < 0.5 else None, self.zone_name, limit, steps)

    # ------------------------------------------------------------------ rules

    def _bulk(self, count: int) -> Put:
        numbers = self.rng.sample(range(2 * count + 10), count)
        how = self.rng.choice(("many", "many", "table"))
        return self._put([self._rule(self._id(number), count) for number in numbers], how)

    def _put(self, rules: list[Rule], how: str) -> Put:
        self.live.update({rule.id: rule for rule in rules})
        return Put(rules, how)

    def _id(self, number: int) -> int | str:
        if self.text_ids:
            return ("", "r", "é '", "😀")[number % 4] + str(number)
        return number * 7 - 40 if number % 11 else -(2**62) - number

    def _rule(self, rule_id: int | str, count: int) -> Rule:
        if count == PLAIN:
            return Rule(rule_id, self.grower.plain(self.rng.randint(1, 4)))
        tree = self.grower.rule(self.rng.randint(1, 8))
        rule = Rule(rule_id, tree, style=self.rng.randrange(1000))
        if self.heavy and self.rng.random() < 0.7:
            rule.weight = self.rng.choice((0.0, *self.weights))
            rule.weights = self._weights(tree)
        return rule

    def _weights(self, tree: Tree) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in sorted({leaf.attribute for leaf in leaves_of(tree) if not leaf.operator.endswith("null")}):
            chance = self.rng.random()
            if chance < 0.35:
                found[name] = self.rng.choice(self.weights)
            elif chance < 0.75:
                found[name] = self._by_value(name)
        return found

    def _by_value(self, name: str) -> dict[Any, float]:
        """Weights of single values, none of them twice."""
        found: dict[Any, Any] = {}
        for _ in range(self.rng.randint(1, 4)):
            value = self.rng.choice(self.palette[name]) if self.rng.random() < 0.8 else self._any(name)
            # Two decimals may be one number to a double, and their weights then contradict each other.
            is_decimal = isinstance(value, decimal.Decimal)
            if value == value and value not in (float("inf"), -float("inf")) and not is_decimal:
                found[key(value, self.zone)] = value
        return {value: self.rng.choice(self.weights) for value in found.values()}

    def _any(self, name: str) -> Any:
        return self.rng.choice(POOLS[KINDS[name]])

    def _changes(self) -> list[Step]:
        steps: list[Step] = []
        for _ in range(self.rng.randint(1, 5)):
            chance = self.rng.random()
            if chance < 0.35 and self.live:
                gone = self.rng.choice(list(self.live))
                del self.live[gone]
                steps.append(Delete(gone))
            elif chance < 0.65:
                steps.append(self._one())
            elif chance < 0.8:
                steps.append(self._bulk(self.rng.randint(1, 12)))
            elif chance < 0.98:
                steps.append(Upkeep(self.rng.choice(("compact", "compact", "reopen", "read"))))
            else:
                self.live.clear()
                steps.append(Upkeep("clear"))
        return steps

    def _one(self) -> Put:
        rule = self._rule(self._id(self.rng.randrange(40)), 1)
        plain = not rule.weights and rule.weight == 0.0
        return self._put([rule], self.rng.choice(("set", "json")) if plain else "one")

    # -------------------------------------------------------------- questions

    def _questions(self) -> list[Step]:
        steps: list[Step] = []
        for _ in range(self.rng.randint(2, 4)):
            chance = self.rng.random()
            if chance < 0.5:
                ways = ("one", "many", "threads", "batches", "table", "table", "verdicts")
                steps.append(Match(self._some(), self.rng.choice(ways)))
            elif chance < 0.8:
                steps.append(self._top())
            elif chance < 0.95:
                steps.append(Find(self._query(), self.rng.choice(SEMANTICS), self.rng.randrange(1000)))
            else:
                steps.append(Upkeep("lint"))
        return steps

    def _some(self) -> list[Event]:
        count = len(self.events) if self.rng.random() < 0.5 else self.rng.randint(1, len(self.events))
        return self.rng.sample(self.events, count)

    def _query(self) -> Tree:
        if self.live and self.rng.random() < 0.3:
            return self.grower.near(self.live[self.rng.choice(list(self.live))].tree)
        return self.grower.rule(self.rng.randint(1, 3))

    def _top(self) -> Top:
        events = self._some()
        how = self.rng.choice(("one", "one", "many", "each", "table"))
        count = {"one": len(events), "each": len(events)}.get(how, 1)
        n = self.rng.choice((1, 1, 1, 2, 3, 5, 20, 1000))
        return Top(events, n, [self._event_weights() for _ in range(count)], how)

    def _event_weights(self) -> dict[str, float]:
        """Of attributes that rules name now."""
        known = sorted({leaf.attribute for rule in self.live.values() for leaf in leaves_of(rule.tree)})
        if self.rng.random() < 0.4:
            return {}
        return {name: self.rng.choice(self.weights) for name in known if self.rng.random() < 0.5}

    # ----------------------------------------------------------------- events

    def _event(self) -> Event:
        holds: dict[str, Any] = {}
        given: dict[str, Any] = {}
        for name, own in self.palette.items():
            chance = self.rng.random()
            if chance < 0.09:
                continue
            holds[name] = None if chance < 0.13 else self._value(name, own)
            self._hand_over(given, name, self._other_form(KINDS[name], holds[name]))
        return Event(holds, given)

    def _value(self, name: str, own: list[Any]) -> Any:
        if KINDS[name] == "number" and self.whole:
            return self.rng.choice(own) if self.rng.random() < 0.9 else self.rng.randint(-2, 7)
        return event_value(self.rng, KINDS[name], own)

    def _hand_over(self, given: dict[str, Any], name: str, value: Any) -> None:
        if name.startswith("`"):
            given[name.strip("`")] = value
        elif "." in name and self.rng.random() < 0.5:
            outer, inner = name.split(".")
            given[outer] = {inner: value}
        else:
            given[name] = value

    def _other_form(self, kind: str, value: Any) -> Any:
        """The same value as NumPy, Decimal or ISO 8601 have it, at times."""
        if value is None or self.rng.random() < 0.8:
            return value
        if kind in ("date", "timestamp"):
            return value.isoformat()
        if isinstance(value, int) and not isinstance(value, bool):
            return self.rng.choice((np.int64(value), decimal.Decimal(value)))
        return np.float64(value) if isinstance(value, float) else value
