"""What keeps an index from being fast, and what its events are like: the part of `index.stats()` called `health`.

Everything is worked out when it is asked for, from the store and from a sample of the events that were matched last; so
matching does not pay for it. Of many units, some at even distances are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding import BOTTOM_LABEL, TOP_LABEL, EncodedConjunctions, EncodedEvents, leaf_name, leaf_text
from matchwood.engines import ConjunctionStore
from matchwood.errors import CorruptSnapshot, MatchwoodError
from matchwood.insight.drawing.atree_nodes import located
from matchwood.insight.health._kernels import find_led_to
from matchwood.language import parse
from matchwood.logic import Clauses, Form, Leaf
from matchwood.matching import EngineMatcher, SampleShares, StorePart, busy

NAMED = 10
"""Rules, predicates and attributes that are named of each kind."""

MOST_UNITS = 20_000
MOST_SECONDS = 0.05
"""Hits by rule are counted over as many events of the sample as can be matched in this time; at least some."""

AT_LEAST_EVENTS = 16


def report(matcher: EngineMatcher) -> dict[str, Any]:
    """The health of an index, as plain data."""
    sample = matcher.ledger.sample.frozen()
    counted = _Constraints.of(matcher, SampleShares(sample))
    events, hits = _hits(matcher, sample)
    return {
        "always": _always(matcher),
        "fallback": _fallback(matcher),
        "hot_predicates": counted.hottest(matcher),
        "hits": _hits_by_rule(matcher, events, hits),
        "skew": {"attributes": counted.attributes(matcher), "top_percent_of_hits": _top_percent(matcher, hits)},
    }


# ------------------------------------------------------------------ always, fall-back


def _always(matcher: EngineMatcher) -> dict[str, Any]:
    """Rules that every event looks at: no value leads to them."""
    units, true = _never_led_to(_store_of(matcher))
    whole = matcher.part("forms").store.always()
    everywhere = np.union1d(_rows_of(matcher, true, "conjunctions"), _rows_of(matcher, whole, "forms"))
    rows = np.union1d(_rows_of(matcher, units, "conjunctions"), everywhere)
    why = {
        "true of every event": len(everywhere),
        "NULL satisfies each of their predicates": len(rows) - len(everywhere),
    }
    return {"rules": len(rows), "ids": matcher.table.id_list(rows[:NAMED]), "why": _some(why)}


def _never_led_to(store: ConjunctionStore) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The units without a constraint that refuses NULL, and those of them without any constraint."""
    led_to = np.empty(store.count, np.bool_)
    find_led_to(store.view(), led_to)
    units = np.flatnonzero(store.alive & ~led_to).astype(np.int32)
    return units, units[store.sizes(units) == 0]


def _fallback(matcher: EngineMatcher) -> dict[str, Any]:
    rows = matcher.rows_beside()
    why = {f"more than {matcher.dnf_limit} conjunctions (dnf_limit)": len(rows)}
    return {"rules": len(rows), "ids": matcher.table.id_list(rows[:NAMED]), "why": _some(why)}


def _some(why: dict[str, int]) -> dict[str, int]:
    return {reason: count for reason, count in why.items() if count}


def _rows_of(matcher: EngineMatcher, units: NDArray[np.int32], kind: Any) -> NDArray[np.int32]:
    if not len(units):
        return units
    rows, linked = matcher.table.pairs(kind)
    found: NDArray[np.int32] = np.unique(rows[np.isin(linked, units)])
    return found


# --------------------------------------------------------------------- hits


def _hits(matcher: EngineMatcher, sample: EncodedEvents) -> tuple[int, NDArray[np.int64]]:
    """How many events of the sample were matched, and how many of them hit each row."""
    hits, position, started = np.zeros(matcher.table.row_count, np.int64), 0, perf_counter()
    while position < sample.count and (position < AT_LEAST_EVENTS or perf_counter() - started < MOST_SECONDS):
        some = EncodedEvents(sample.offsets[: min(position + AT_LEAST_EVENTS, sample.count) + 1], *sample[1:])
        units = {each.kind: each.engine.match(some, position, matcher.workspace) for each in busy(matcher.parts)}
        found = matcher.table.rows(units, position, matcher.workspace)
        hits += np.bincount(found.rows, minlength=len(hits))
        position += found.count
    return position, hits


def _hits_by_rule(matcher: EngineMatcher, events: int, hits: NDArray[np.int64]) -> dict[str, Any]:
    order = np.argsort(-hits, kind="stable")[:NAMED]
    top = order[hits[order] > 0]
    shares = (hits[top] / max(1, events)).round(4).tolist()
    names = matcher.table.id_list(top.astype(np.int32))
    return {
        "events": events,
        "rules_hit": int(np.count_nonzero(hits)),
        "top": [{"rule": name, "share": share} for name, share in zip(names, shares, strict=True)],
    }


def _top_percent(matcher: EngineMatcher, hits: NDArray[np.int64]) -> float:
    """The share of all hits that the hundredth part of the rules with the most of them has."""
    if not hits.any():
        return 0.0
    most = np.sort(hits)[::-1][: max(1, math.ceil(len(matcher.table) / 100))]
    return round(float(most.sum() / hits.sum()), 4)


# --------------------------------------------------------------- constraints


class _Constraints(NamedTuple):
    """The constraints of some units, each distinct one once: how many units have it, and what share of events passes.

    `scale`  units for each one that was looked at
    """

    units: NDArray[np.int32]
    encoded: EncodedConjunctions
    first: NDArray[np.int64]
    counts: NDArray[np.int64]
    shares: NDArray[np.float64]
    scale: float
    events: int

    @classmethod
    def of(cls, matcher: EngineMatcher, statistics: SampleShares) -> _Constraints:
        store = _store_of(matcher)
        live = store.live_units()
        units = live[:: max(1, math.ceil(len(live) / MOST_UNITS))]
        encoded = store.encoded(units)
        _, first, counts = np.unique(_hashes(encoded), return_index=True, return_counts=True)
        scale = len(live) / max(1, len(units))
        return cls(units, encoded, first, counts, _shares(encoded, statistics)[first], scale, statistics.events)

    def hottest(self, matcher: EngineMatcher) -> list[dict[str, Any]]:
        """The predicates that are looked at most: by the units that have them and the events that pass them."""
        weights = self.counts * self.shares if self.events else self.counts.astype(np.float64)
        order = np.argsort(-weights, kind="stable")[:NAMED]
        return [self._told(matcher, int(place)) for place in order if weights[place] > 0]

    def _told(self, matcher: EngineMatcher, place: int) -> dict[str, Any]:
        leaf = self._leaf(matcher, int(self.first[place]))
        kind = matcher.encoder.schema.types().get(leaf.attribute, "any")
        told = {"predicate": leaf_text(leaf, kind), "units": round(float(self.counts[place]) * self.scale)}
        return {**told, "share": round(float(self.shares[place]), 4)} if self.events else told

    def attributes(self, matcher: EngineMatcher) -> list[dict[str, Any]]:
        """The attributes that most units name."""
        _, first, counts = np.unique(self.encoded.attributes, return_index=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:NAMED]
        names = [leaf_name(self._leaf(matcher, int(first[place]))) for place in order]
        pairs = zip(names, counts[order].tolist(), strict=True)
        return [{"attribute": name, "share": round(count / max(1, len(self.units)), 4)} for name, count in pairs]

    def _leaf(self, matcher: EngineMatcher, constraint: int) -> Leaf:
        """A constraint in terms of the language. Labels do not tell their values: a rule that has it is read again."""
        unit = int(self.units[places_in(self.encoded.offsets, constraint, "right") - 1])
        wanted = self._said(constraint)
        for row in matcher.table.rows_of_unit(unit, "conjunctions").tolist():
            for leaf in _leaves(matcher, row):
                if located(matcher.encoder, leaf) == wanted:
                    return leaf
        raise CorruptSnapshot(f"no rule has a predicate of unit {unit}: the snapshot is damaged")

    def _said(self, constraint: int) -> tuple[int, bool, tuple[int, ...]]:
        pieces = slice(int(self.encoded.pieces[constraint]), int(self.encoded.pieces[constraint + 1]))
        ends = np.stack((self.encoded.low[pieces], self.encoded.high[pieces]), axis=1).ravel().tolist()
        attribute, null = int(self.encoded.attributes[constraint]), bool(self.encoded.accepts_null[constraint])
        return attribute, null, tuple(ends)


def _store_of(matcher: EngineMatcher) -> ConjunctionStore:
    """The store of the first part; an empty one where that is a tree."""
    first = matcher.parts[0]
    return first.store if isinstance(first, StorePart) else ConjunctionStore()


def _shares(encoded: EncodedConjunctions, statistics: SampleShares) -> NDArray[np.float64]:
    """The share of events for which each constraint holds, NULL included where it is accepted."""
    count = len(encoded.attributes)
    owners = np.repeat(np.arange(count), np.diff(encoded.pieces))
    passing = statistics.shares(encoded.attributes[owners], encoded.low, encoded.high)
    bottom, top = np.full((2, count), [[BOTTOM_LABEL], [TOP_LABEL]], np.int32)
    absent = np.where(encoded.accepts_null, 1.0 - statistics.shares(encoded.attributes, bottom, top), 0.0)
    return np.asarray(np.bincount(owners, passing, count), np.float64) + absent


def _leaves(matcher: EngineMatcher, row: int) -> Iterator[Leaf]:
    """The predicates of a rule's conjunctions or clauses."""
    text = matcher.table.text(row)
    try:
        normal = matcher.normal(parse(text))
    except MatchwoodError as error:
        raise CorruptSnapshot(f"the text of a rule is damaged ({error}): {text!r:.80}") from error
    if isinstance(normal, Clauses):
        yield from (leaf for clauses in normal.rows for leaf in clauses)
    elif not isinstance(normal, Form):
        yield from (leaf for conjunction in normal for leaf in conjunction)


def _hashes(encoded: EncodedConjunctions) -> NDArray[np.uint64]:
    """A number for each constraint, the same for equal ones."""
    with np.errstate(over="ignore"):
        mixed = (encoded.low.astype(np.uint64) << np.uint64(32)) + encoded.high.astype(np.uint64)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
        sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)))
        own = sums[encoded.pieces[1:]] - sums[encoded.pieces[:-1]]
        heads = 2 * encoded.attributes.astype(np.uint64) + encoded.accepts_null
        found: NDArray[np.uint64] = own * np.uint64(0xC2B2AE3D27D4EB4F) + heads * np.uint64(0x94D049BB133111EB)
        return found
