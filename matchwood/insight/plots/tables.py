"""What charts show, counted from hits: plain rows, before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

MOST_BARS = 30
"""Numbers of hits that have a bar of their own; more of them share bars."""

REASONS = {
    "alone_false": "the only reason, and false",
    "alone_null": "the only reason, and unknown",
    "among_several": "one of several reasons",
}


def events_by_hits(counts: Mapping[int, int]) -> list[dict[str, Any]]:
    """From how many events have so many hits: rows (hits, events), where `hits` is a number or a range of them.

    >>> events_by_hits({0: 5, 2: 1})
    [{'hits': '0', 'events': 5}, {'hits': '1', 'events': 0}, {'hits': '2', 'events': 1}]
    >>> events_by_hits({0: 5, 40: 1})[-1]
    {'hits': '40–41', 'events': 1}
    """
    most = max(counts, default=0)
    width = most // MOST_BARS + 1
    totals = np.zeros(most // width + 1, np.int64)
    for hits, events in counts.items():
        totals[hits // width] += events
    lows = range(0, len(totals) * width, width)
    names = [f"{low:,}" if width == 1 else f"{low:,}–{low + width - 1:,}" for low in lows]
    return [{"hits": name, "events": total} for name, total in zip(names, totals.tolist(), strict=True)]


def counts_of_hits(hits: pa.Table, events: int) -> dict[int, int]:
    """How many of so many events have so many hits; `hits` has a column `event` of positions."""
    each = np.bincount(np.asarray(hits["event"], dtype=np.int64), minlength=events)
    found, counts = np.unique(each, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def rules_by_hits(hits: pa.Table, n: int) -> tuple[list[dict[str, Any]], int]:
    """Rows (rule, hits) of the `n` rules with most, and how many rules have any; ties by their ids."""
    counted = pc.value_counts(hits["rule"].combine_chunks())
    table = pa.table({"rule": counted.field("values"), "hits": counted.field("counts")})
    best = table.sort_by([("hits", "descending"), ("rule", "ascending")]).slice(0, n)
    return best.to_pylist(), table.num_rows


def reason_rows(counts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each part of each bar, from rows as `why_not` has them."""
    return [
        {
            "rule": row["rule"],
            "predicate": row["predicate"],
            "reason": told,
            "order": order,
            "events": row[name],
            "share": row[name] / row["events"] if row["events"] else 0.0,
        }
        for row in counts
        for order, (name, told) in enumerate(REASONS.items())
    ]


def memberships(hits: pa.Table, rules: list[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The hits of these rules: positions of events, and numbers of rules."""
    numbers = pc.index_in(hits["rule"], value_set=pa.array(rules, hits["rule"].type))
    kept = pc.is_valid(numbers)
    events, found = hits["event"].filter(kept), numbers.filter(kept)
    return np.asarray(events, dtype=np.int64), np.asarray(found, dtype=np.int64)
