"""What a generator returns: rules and events as integer columns, and the same as text, tables and dicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.workloads.shared.texts import rule_texts
from matchwood.workloads.shared.tree_texts import tree_texts
from matchwood.workloads.shared.trees import Trees, sharing_by_level

OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "in", "not in", "between", "weak not in")
"""`Rules.operators` holds positions in this list. A weak not-in holds for NULL as well."""

EQUAL, NOT_EQUAL, LESS, AT_MOST, GREATER, AT_LEAST, IN, NOT_IN, BETWEEN, WEAK_NOT_IN = range(len(OPERATORS))


@dataclass(frozen=True)
class Rules:
    """Rules in three levels: rule, predicate, constant.

    Rule r has the predicates offsets[r] : offsets[r + 1]: of a conjunction ordered by attribute, each attribute at most
    once; of an arbitrary expression in the order of its text.
    Predicate k tests attributes[k] with operators[k] against constants[constant_offsets[k] : constant_offsets[k + 1]]:
    one constant for a comparison, low and high for between, the increasing elements for in and not in.
    """

    offsets: NDArray[np.int64]
    attributes: NDArray[np.int32]
    operators: NDArray[np.int8]
    constant_offsets: NDArray[np.int64]
    constants: NDArray[np.int64]

    @property
    def count(self) -> int:
        return len(self.offsets) - 1


def joined_rules(parts: Sequence[Rules]) -> Rules:
    """The rules of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, Any] = {}
    for name in ("attributes", "operators", "constants"):
        columns[name] = np.concatenate([getattr(part, name) for part in parts])
    for name in ("offsets", "constant_offsets"):
        lengths = [np.diff(getattr(part, name)) for part in parts]
        columns[name] = np.concatenate(([0], np.cumsum(np.concatenate(lengths)))).astype(np.int64)
    return Rules(**columns)


@dataclass(frozen=True)
class Events:
    """Event e has the pairs offsets[e] : offsets[e + 1], ordered by attribute; no two events are equal."""

    offsets: NDArray[np.int64]
    attributes: NDArray[np.int32]
    values: NDArray[np.int64]

    @property
    def count(self) -> int:
        return len(self.offsets) - 1


NO_EVENTS = Events(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
"""What a workload of one block of rules has."""


@dataclass(frozen=True)
class Workload:
    """Rules and the events to match them with; integers only, attributes are called a0, a1, …

    Without `trees` each rule is the conjunction of its predicates.
    """

    name: str
    dimensions: int
    rules: Rules
    events: Events
    parameters: dict[str, Any] = field(default_factory=dict)
    trees: Trees | None = None

    @cached_property
    def attributes(self) -> list[str]:
        return [f"a{number}" for number in range(self.dimensions)]

    @cached_property
    def rule_ids(self) -> NDArray[np.int64]:
        return np.arange(self.rules.count, dtype=np.int64)

    def rules_text(self) -> list[str]:
        """Every rule in Matchwood's language, in the order of `rule_ids`."""
        texts: list[str] = self.rules_table()["expression"].to_pylist()
        return texts

    def rules_table(self) -> pa.Table:
        """Columns id and expression, as `Index.insert_many` takes them."""
        if self.trees is None:
            texts = rule_texts(self.rules, self.attributes, OPERATORS)
        else:
            texts = tree_texts(self.trees, self.attributes, OPERATORS)
        return pa.table({"id": self.rule_ids, "expression": texts})

    def events_dicts(self) -> list[dict[str, int]]:
        names, offsets = self.attributes, self.events.offsets.tolist()
        pairs = [
            (names[a], v) for a, v in zip(self.events.attributes.tolist(), self.events.values.tolist(), strict=True)
        ]
        return [dict(pairs[start:stop]) for start, stop in pairwise(offsets)]

    def events_table(self) -> pa.Table:
        """One int64 column for each attribute, NULL where an event lacks it."""
        owners = np.repeat(np.arange(self.events.count), np.diff(self.events.offsets))
        order = np.argsort(self.events.attributes, kind="stable")
        ordered = self.events.attributes[order]
        bounds = places_in(ordered, np.arange(self.dimensions + 1, dtype=ordered.dtype))
        columns = {}
        for number, name in enumerate(self.attributes):
            chosen = order[bounds[number] : bounds[number + 1]]
            columns[name] = _sparse_column(self.events.count, owners[chosen], self.events.values[chosen])
        return pa.table(columns)

    def describe(self) -> dict[str, Any]:
        """Sizes as they came out, JSON-able; `sharing` is the number of predicates over that of distinct ones.

        Of arbitrary expressions also `sharing_by_level`, with predicates as level 1, and `depth`, that of the deepest.
        """
        predicates = len(self.rules.attributes)
        return {
            "workload": self.name,
            "rules": self.rules.count,
            "events": self.events.count,
            "dimensions": self.dimensions,
            "predicates_per_rule": predicates / max(1, self.rules.count),
            "pairs_per_event": len(self.events.attributes) / max(1, self.events.count),
            "sharing": predicates / max(1, distinct_predicates(self.rules)),
            **self.parameters,
            **self._describe_trees(),
        }

    def _describe_trees(self) -> dict[str, Any]:
        if self.trees is None:
            return {}
        return {"sharing_by_level": sharing_by_level(self.trees), "depth": self.trees.depth}


def _sparse_column(count: int, rows: NDArray[np.int64], values: NDArray[np.int64]) -> pa.Array:
    column, absent = np.zeros(count, dtype=np.int64), np.ones(count, dtype=bool)
    column[rows], absent[rows] = values, False
    return pa.array(column, mask=absent)


def distinct_predicates(rules: Rules) -> int:
    """How many different predicates there are, by a 64-bit hash of each."""
    scale = np.uint64(0x9E3779B97F4A7C15)
    mixed = (rules.constants.astype(np.uint64) + np.uint64(1)) * scale
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9) + np.uint64(2) * _positions(rules.constant_offsets)
    sums = np.add.reduceat(mixed, rules.constant_offsets[:-1]) if len(mixed) else mixed
    heads = rules.attributes.astype(np.uint64) * np.uint64(16) + rules.operators.astype(np.uint64)
    return len(np.unique((sums ^ (sums >> np.uint64(32))) * scale + heads * np.uint64(0x94D049BB133111EB)))


def _positions(offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The position of each element within its own list."""
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    return (np.arange(offsets[-1]) - starts).astype(np.uint64)
