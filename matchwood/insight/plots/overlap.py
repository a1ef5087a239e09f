"""Which rules are true of the same events, as a graph: rules are circles, and lines join those that share events."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.insight.plots.tables import memberships, rules_by_hits

_STEPS = 200


class Overlap(NamedTuple):
    """Rules (rule, hits, x, y) and pairs of them (rule, other, shared, jaccard, and where they stand)."""

    rules: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    total: int


def overlap_of(hits: pa.Table, n: int, least: float) -> Overlap:
    """The `n` rules with most hits, and all pairs whose Jaccard index (shared / in either) is at least `least`."""
    best, total = rules_by_hits(hits, n)
    rules = [row["rule"] for row in best]
    shared = _shared(*memberships(hits, rules), len(rules))
    return graph_of(best, shared, least, total)


def graph_of(best: list[dict[str, Any]], shared: NDArray[np.int64], least: float, total: int) -> Overlap:
    """The graph of rules with their hits, from the events that each two share."""
    counts = np.array([row["hits"] for row in best], np.int64)
    either = counts[:, None] + counts[None, :] - shared
    jaccard = np.divide(shared, either, out=np.zeros(shared.shape), where=either > 0)
    np.fill_diagonal(jaccard, 0.0)
    places = _laid_out(jaccard)
    rules = [row | {"x": x, "y": y} for row, (x, y) in zip(best, places.tolist(), strict=True)]
    return Overlap(rules, _pairs(rules, shared, jaccard, least), total)


def _shared(events: NDArray[np.int64], numbers: NDArray[np.int64], rules: int) -> NDArray[np.int64]:
    """How many events each two rules share."""
    distinct, rows = np.unique(events, return_inverse=True)
    together = np.zeros((rules, rules), np.int64)
    for first in range(0, len(distinct), _EVENTS_AT_ONCE):
        inside = (rows >= first) & (rows < first + _EVENTS_AT_ONCE)
        matrix = np.zeros((_EVENTS_AT_ONCE, rules), np.float64)
        matrix[rows[inside] - first, numbers[inside]] = 1.0
        together += (matrix.T @ matrix).astype(np.int64)
    return together


_EVENTS_AT_ONCE = 16_384


def _pairs(
    rules: list[dict[str, Any]], shared: NDArray[np.int64], jaccard: NDArray[np.float64], least: float
) -> list[dict[str, Any]]:
    first, second = np.nonzero(np.triu((jaccard >= least) & (shared > 0), 1))
    return [
        {
            "rule": rules[a]["rule"],
            "other": rules[b]["rule"],
            "shared": int(shared[a, b]),
            "jaccard": float(jaccard[a, b]),
            "x": rules[a]["x"],
            "y": rules[a]["y"],
            "x2": rules[b]["x"],
            "y2": rules[b]["y"],
        }
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    ]


def _laid_out(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places on a plane (Fruchterman and Reingold): all push each other away, lines pull; it begins on a circle."""
    count = len(weights)
    angles = 2 * np.pi * np.arange(count) / max(count, 1)
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    ideal = 1.0 / np.sqrt(max(count, 1))
    for step in range(_STEPS):
        apart = places[:, None, :] - places[None, :, :]
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-6)
        force = ideal**2 / distance**2 - weights * distance / ideal
        moved = (apart * force[:, :, None]).sum(axis=1)
        length = np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-9)
        places += moved / length * np.minimum(length, 0.1 * (1 - step / _STEPS))
    return np.round(places - places.mean(axis=0), 6) if count else places
