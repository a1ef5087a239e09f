"""Hits by brute force in NumPy, operator by operator: slow, plain, and independent of everything that it checks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from matchwood.workloads.shared.base import (
    AT_LEAST,
    AT_MOST,
    BETWEEN,
    EQUAL,
    GREATER,
    IN,
    LESS,
    NOT_EQUAL,
    NOT_IN,
    WEAK_NOT_IN,
    Events,
    Rules,
    Workload,
)
from matchwood.workloads.shared.trees import FALSE, TRUE, UNKNOWN, Trees, Verdicts, truth


def hits(workload: Workload, events: Iterable[int]) -> list[NDArray[np.int64]]:
    """For each of these events, the rules that match it, in order."""
    if workload.trees is not None:
        return [_tree_hits(workload.trees, *_dense(workload, event)) for event in events]
    rules = workload.rules
    return [np.flatnonzero(matched(rules, *_dense(workload, event))) for event in events]


def _tree_hits(trees: Trees, values: NDArray[np.int64], present: NDArray[np.bool_]) -> NDArray[np.int64]:
    verdicts = truth(trees, predicate_verdicts(trees.predicates, values, present)[:, None])
    return np.flatnonzero(verdicts[trees.roots, 0] == TRUE)


def predicate_verdicts(rules: Rules, values: NDArray[np.int64], present: NDArray[np.bool_]) -> Verdicts:
    """TRUE, FALSE or UNKNOWN for each predicate, as `trees.truth` takes them."""
    known = np.where(_true_predicates(rules, values, present), TRUE, FALSE)
    return np.where(present[rules.attributes] | (rules.operators == WEAK_NOT_IN), known, UNKNOWN).astype(np.int8)


def matched(rules: Rules, values: NDArray[np.int64], present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each rule is TRUE of the event that has these values where `present`."""
    failed = np.concatenate(([0], np.cumsum(~_true_predicates(rules, values, present))))
    return np.asarray(failed[rules.offsets[1:]] == failed[rules.offsets[:-1]])


def _dense(workload: Workload, event: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    return dense_event(workload.events, event, workload.dimensions)


def dense_event(events: Events, event: int, dimensions: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """An event as a value for each attribute, and which of them it has."""
    pairs = slice(events.offsets[event], events.offsets[event + 1])
    values, present = np.zeros(dimensions, dtype=np.int64), np.zeros(dimensions, dtype=bool)
    values[events.attributes[pairs]], present[events.attributes[pairs]] = events.values[pairs], True
    return values, present


def _true_predicates(rules: Rules, values: NDArray[np.int64], present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    value, starts, codes = values[rules.attributes], rules.constant_offsets[:-1], rules.operators
    first, last = rules.constants[starts], rules.constants[rules.constant_offsets[1:] - 1]
    owners = np.repeat(np.arange(len(codes)), np.diff(rules.constant_offsets))
    listed = np.zeros(len(codes), dtype=bool)
    listed[owners[rules.constants == value[owners]]] = True
    verdicts = {
        EQUAL: value == first,
        NOT_EQUAL: value != first,
        LESS: value < first,
        AT_MOST: value <= first,
        GREATER: value > first,
        AT_LEAST: value >= first,
        IN: listed,
        NOT_IN: ~listed,
        BETWEEN: (value >= first) & (value <= last),
    }
    true = np.zeros(len(codes), dtype=bool)
    for code, verdict in verdicts.items():
        true |= (codes == code) & verdict
    weak = codes == WEAK_NOT_IN
    return np.asarray(np.where(present[rules.attributes], true | weak & ~listed, weak))
