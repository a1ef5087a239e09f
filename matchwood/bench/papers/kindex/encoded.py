"""The contracts of VLDB 2009 as codes, without their text: a million rules in seconds, for every engine over a store.

A value is its own label, so each set of values is the intervals that the encoding would make of it. Each conjunction of
a rule in DNF, and each rule in CNF, becomes one unit of the store, and equal ones the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.bench.frame.encoded_rules import add_cuts, timed_events
from matchwood.encoding import BOTTOM_LABEL, TOP_LABEL, EncodedConjunctions, EncodedEvents, Encoder, Schema
from matchwood.engines import ConjunctionStore, read_only_events
from matchwood.workloads import WEAK_NOT_IN, Rules, Workload, offsets_of

Integers = NDArray[np.int64]


class EncodedContracts(NamedTuple):
    """A store with all units, the events, and of each conjunction (or rule in CNF) its rule and its unit."""

    store: ConjunctionStore
    events: EncodedEvents
    owners: Integers
    units: NDArray[np.int32]

    def rules_of(self, units: NDArray[np.int32]) -> int:
        """How many rules are true where these units are."""
        holds = np.zeros(self.store.count, np.bool_)
        holds[units] = True
        return len(np.unique(self.owners[holds[self.units]]))


def encoded_contracts(workload: Workload, form: str) -> EncodedContracts:
    """The contracts of a workload in a store of their own."""
    owners, conjunctions = _conjunctions(workload) if form == "dnf" else _clauses(workload)
    store, events = ConjunctionStore(clauses=True), workload.events
    units = store.add(conjunctions).units
    codes = EncodedEvents(events.offsets, events.attributes, events.values.astype(np.int32))
    return EncodedContracts(store, read_only_events(codes), owners, units)


def locating_us(workload: Workload) -> float:
    """Microseconds to find the spaces of an event, as an index over these contracts would: here values are labels."""
    assert workload.trees is not None
    encoder = Encoder(Schema(dict.fromkeys(workload.attributes, "int")))
    add_cuts(encoder, workload, workload.trees.predicates)
    return timed_events(encoder, workload)[0]


def _conjunctions(workload: Workload) -> tuple[Integers, EncodedConjunctions]:
    trees = workload.trees
    assert trees is not None
    offsets, children = trees.children_of(trees.inner(2))
    by_rule, parts = trees.children_of(trees.inner(3))
    owners = np.empty(len(offsets) - 1, np.int64)
    owners[parts - trees.levels[1]] = np.repeat(np.arange(len(by_rule) - 1), np.diff(by_rule))
    within = np.repeat(np.arange(len(owners)), np.diff(offsets))
    order = np.lexsort((trees.predicates.attributes[children], within))
    return owners, _of_predicates(trees.predicates, offsets, children[order], np.zeros(len(children), np.bool_))


def _clauses(workload: Workload) -> tuple[Integers, EncodedConjunctions]:
    trees = workload.trees
    assert trees is not None
    part_offsets, children = trees.children_of(trees.inner(2))
    by_rule, parts = trees.children_of(trees.inner(3))
    # The month, which the generator puts last, comes first in the encoding of a text: a scan then ends there.
    owners, later = np.repeat(np.arange(len(by_rule) - 1), np.diff(by_rule)), np.ones(len(parts), np.bool_)
    later[by_rule[1:] - 1] = False
    parts = parts[np.lexsort((later, owners))]
    sizes = np.diff(part_offsets)[parts - trees.levels[1]]
    starts = part_offsets[parts - trees.levels[1]]
    ends = np.cumsum(sizes)
    places = np.arange(int(ends[-1])) + np.repeat(starts - ends + sizes, sizes)
    alternatives = np.ones(len(places), np.bool_)
    alternatives[ends - sizes] = False
    offsets = np.concatenate(([0], ends))[by_rule]
    return np.arange(len(by_rule) - 1), _of_predicates(trees.predicates, offsets, children[places], alternatives)


def _of_predicates(
    predicates: Rules, offsets: Integers, numbers: Integers, alternatives: NDArray[np.bool_]
) -> EncodedConjunctions:
    """Units whose constraints are these predicates."""
    starts, low, high = _intervals(predicates)
    sizes = np.diff(starts)[numbers]
    ends = np.cumsum(sizes)
    places = np.arange(int(ends[-1])) + np.repeat(starts[numbers] - ends + sizes, sizes)
    return EncodedConjunctions(
        offsets.astype(np.int64),
        predicates.attributes[numbers],
        predicates.operators[numbers] == WEAK_NOT_IN,
        np.concatenate(([0], ends)),
        low[places],
        high[places],
        alternatives if alternatives.any() else np.empty(0, np.bool_),
    )


def _intervals(predicates: Rules) -> tuple[Integers, NDArray[np.int32], NDArray[np.int32]]:
    """Of each predicate the intervals of labels that it accepts."""
    ends: list[list[int]] = []
    bounds, constants = predicates.constant_offsets.tolist(), predicates.constants.tolist()
    for place, operator in enumerate(predicates.operators.tolist()):
        values = constants[bounds[place] : bounds[place + 1]]
        edges = [edge for value in values for edge in (value, value + 1)]
        if operator == WEAK_NOT_IN:
            edges = [BOTTOM_LABEL, *edges, TOP_LABEL]
        ends.append(_merged(edges))
    flat = np.array([edge for edges in ends for edge in edges], np.int32)
    return offsets_of(np.array([len(edges) // 2 for edges in ends])), flat[::2].copy(), flat[1::2].copy()


def _merged(edges: list[int]) -> list[int]:
    """Intervals as their ends in turn, without those that meet or are empty."""
    kept: list[int] = []
    for edge in edges:
        if kept and kept[-1] == edge:
            kept.pop()
        else:
            kept.append(edge)
    return kept
