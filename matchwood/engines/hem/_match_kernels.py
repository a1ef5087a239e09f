"""Kernels of `hem`: plan an event's queue, run its triangles, verify what is left.

Sci. China 2016, 4.2, Algorithms 1 and 2, in the queue of Algorithm 3 (4.3.1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from matchwood.core.hashing import mix64
from matchwood.core.jit import kernel
from matchwood.encoding.codes import NULL_LABEL
from matchwood.engines.hem._optimum_kernels import MOST_STATES, search_optimum
from matchwood.engines.hem._plan_kernels import (
    DECIDED,
    VERIFIED,
    near_optimal,
    plan_cost,
    printed,
    sort_attributes,
    unmatched,
)
from matchwood.engines.hem._plan_kernels import PASSES as IN_PASSES
from matchwood.engines.hem._triangle_kernels import MASKED
from matchwood.engines.hem._walk_kernels import (
    clear_outside,
    list_inside,
    list_new,
    set_inside,
    stretches,
    unsee,
)
from matchwood.engines.shared._verification_kernels import clear, scatter, verify
from matchwood.engines.shared.constraints._word_kernels import attribute_of, constraint_at, passes, stretch
from matchwood.engines.shared.unions._unite_kernels import (
    FETCHED,
    fetch_words,
    list_bits,
    note_missed,
    plan_union,
    rows_of,
    unite,
)
from matchwood.engines.shared.unions.layout import UnionSize

NEAR, OPTIMUM, TRIANGLE, DIRECT, PRINTED = range(5)
"""Plans, as the option names them."""

WALKED, BUILT, SHARED, LISTED, PASSES, CHECKED, UNPROVEN = range(7)
COUNTERS = 7
"""What is counted beside the work: points walked over, masks made and found, events with a list, triangles run,
candidates checked on one attribute by a direct pass, plans that are not proven to be the optimum."""


class Ways(NamedTuple):
    """The options of the engine, as `hem_options` names them; `direct` is `direct_cost`."""

    plan: int
    collect: bool
    passes: bool
    share: bool
    direct: float


class Extent(NamedTuple):
    """How large the triangles are.

    `stride`     words in a row of the bits
    `words`      those of them that tell all units
    `live`       units in all, of which
    `indexed`    have points
    `decidable`  triangles of so many attributes leave nothing to verify; -1 if that cannot be
    `union`      the unions
    """

    stride: int
    words: int
    live: int
    indexed: int
    decidable: int
    union: UnionSize


_POINT = 0.9
"""Nanoseconds to walk over a point."""

_WORD, _SQUARE = 0.3, 1.5
"""What a word of bits and a square of the grid cost, in points walked over."""


@kernel
def _key(attribute: Any, label: Any) -> Any:
    return (np.int64(attribute) << np.int64(31)) | np.int64(label)


@kernel
def _slot(mask_keys: Any, key: Any) -> Any:
    """Where the mask of an attribute and a label is kept: each has one place, and the last that came has it."""
    return np.int64(mix64(np.uint64(key)) & np.uint64(len(mask_keys) - 1))


@kernel
def _price_list(grids: Any, events: Any, event: int, indexed: int, direct: float, listed: Any) -> Any:
    """From which attributes a list of candidates would come, and what it would cost with their verification.

    One attribute does if all units constrain it; otherwise all that the event has: a unit with a point has one there.
    """
    count, total, best, least = 0, 0.0, -1, np.inf
    for pair in range(events.offsets[event], events.offsets[event + 1]):
        attribute = events.attributes[pair]
        if attribute >= len(grids.totals) or grids.totals[attribute] == 0:
            continue
        outside, edge = unmatched(grids, attribute, events.labels[pair])
        inside = float(grids.totals[attribute] - outside)
        tau = grids.taus[attribute]
        walk = inside + edge + _SQUARE * tau * (tau + 1)
        if grids.totals[attribute] == indexed and walk + direct * inside < least:
            best, least = attribute, walk + direct * inside
        listed[count] = attribute
        count += 1
        total += 2 * walk + direct * inside
    if best >= 0 and least <= total:
        listed[0] = best
        return 1, least
    return count, total


@kernel
def _price_triangles(
    grids: Any, words: int, indexed: int, ways: Ways, labels: Any, mask_keys: Any, which: Any, rates: Any, costs: Any
) -> int:
    """The rate and the cost of every attribute's triangle; returns how many attributes have one.

    In direct passes, the costs are those of Formula 4: the points outside, whatever else a triangle takes.
    """
    count = 0
    for attribute in range(len(grids.totals)):
        total = grids.totals[attribute]
        if total == 0:
            continue
        label, tau = labels[attribute], np.int64(grids.taus[attribute])
        outside, edge = unmatched(grids, attribute, label)
        walk = float(outside + edge)
        if ways.collect and (attribute < MASKED or total == indexed):
            walk = min(walk, float(total - outside + edge))
        if ways.passes:
            cost = float(outside)
        elif label == NULL_LABEL:
            cost = _WORD * words if attribute < MASKED else total + _SQUARE * tau * (tau + 1)
        elif mask_keys[_slot(mask_keys, _key(attribute, label))] == _key(attribute, label):
            cost = _WORD * words
        else:
            cost = walk + _SQUARE * tau * (tau + 1) + 2 * _WORD * words
        which[count], rates[count], costs[count] = attribute, 1.0 - outside / indexed, cost
        count += 1
    return count


@kernel
def queue(
    grids: Any, words: int, indexed: int, decidable: int, ways: Ways, events: Any, event: int, labels: Any, scratch: Any
) -> Any:
    """The plan for an event: (whether the candidates are a list, of how many attributes; how many triangles; how many
    attributes have one; the cost in points).

    The attributes are in `scratch.listed`, or at the places of `scratch.order`.
    """
    attributes, list_cost = 0, np.inf
    if ways.collect and ways.plan <= OPTIMUM:
        attributes, list_cost = _price_list(grids, events, event, indexed, ways.direct, scratch.listed)
        # Pricing every attribute would by itself take longer than so short a list.
        if list_cost <= len(grids.totals) + _WORD * words:
            return True, attributes, 0, 0, list_cost
    which, rates, costs, order = scratch.which, scratch.rates, scratch.costs, scratch.order
    count = _price_triangles(grids, words, indexed, ways, labels, scratch.mask_keys, which, rates, costs)
    all_units, way = ways.direct * indexed, VERIFIED if decidable < 0 else DECIDED
    if ways.passes:
        way = IN_PASSES
    if ways.plan == NEAR:
        chosen = near_optimal(rates, costs, count, all_units, way, order)
    elif ways.plan == OPTIMUM:
        chosen, proven = search_optimum(rates, costs, count, all_units, way, MOST_STATES, order)
        scratch.counters[UNPROVEN] += not proven
    elif ways.plan == PRINTED:
        chosen = printed(rates, costs, count, all_units, order)
    else:
        sort_attributes(rates, costs, count, order)
        chosen = count if ways.plan == TRIANGLE else 0
    cost = _WORD * words + plan_cost(rates, costs, count, all_units, way, order, chosen)
    return list_cost < cost, attributes, chosen, count, min(list_cost, cost)


@kernel
def _mask(
    grids: Any, stride: int, words: int, indexed: int, collect: bool, attribute: int, label: Any, mask: Any,
    scratch: Any,
) -> None:  # fmt: skip
    """Make the mask of the units that an attribute does not exclude, by the way with the fewer points."""
    bits, begins, stops, edges = grids.bits, scratch.begins, scratch.stops, scratch.edges
    total = grids.totals[attribute]
    outside, _ = unmatched(grids, attribute, label)
    inside = collect and (attribute < MASKED or total == indexed) and total - outside < outside
    row = (attribute + 1) * stride
    for word in range(words):
        if not inside:
            mask[word] = bits[word]
        else:
            mask[word] = bits[word] & ~bits[row + word] if attribute < MASKED else np.uint64(0)
    found = stretches(grids, attribute, label, inside, begins, stops, edges)
    if inside:
        scratch.counters[WALKED] += set_inside(grids.pool, grids.bounds, label, begins, stops, edges, found, mask)
    else:
        scratch.counters[WALKED] += clear_outside(grids.pool, grids.bounds, label, begins, stops, edges, found, mask)
    scratch.counters[BUILT] += 1


@kernel
def _run_triangles(
    grids: Any, stride: int, words: int, indexed: int, ways: Ways, chosen: int, labels: Any, scratch: Any
) -> None:  # fmt: skip
    """Leave the units in `scratch.left` that none of the chosen attributes excludes.

    Where neither masks are shared nor insides collected, points are excluded from what is left at once (Algorithm 1).
    """
    bits, left, masks, keys = grids.bits, scratch.left, scratch.masks, scratch.mask_keys
    for word in range(words):
        left[word] = bits[word]
    for place in range(chosen):
        attribute = scratch.which[scratch.order[place]]
        label = labels[attribute]
        scratch.counters[PASSES] += 1
        if label == NULL_LABEL and attribute < MASKED:
            row = (attribute + 1) * stride
            for word in range(words):
                left[word] &= ~bits[row + word]
        elif label == NULL_LABEL or not (ways.share or ways.collect):
            begins, stops, edges = scratch.begins, scratch.stops, scratch.edges
            found = stretches(grids, attribute, label, False, begins, stops, edges)
            walked = clear_outside(grids.pool, grids.bounds, label, begins, stops, edges, found, left)
            scratch.counters[WALKED] += grids.totals[attribute] if label == NULL_LABEL else walked
        else:
            key = _key(attribute, label)
            slot = _slot(keys, key)
            if keys[slot] != key:
                mask = masks[slot * words : (slot + 1) * words]
                _mask(grids, stride, words, indexed, ways.collect, attribute, label, mask, scratch)
                keys[slot] = key if ways.share else -1
            else:
                scratch.counters[SHARED] += 1
            start = slot * words
            for word in range(words):
                left[word] &= masks[start + word]


@kernel
def _list(grids: Any, attributes: int, labels: Any, scratch: Any) -> Any:
    """Write the units that the listed attributes do not exclude to `scratch.candidates`; returns how many."""
    begins, stops, edges, count = scratch.begins, scratch.stops, scratch.edges, 0
    for place in range(attributes):
        attribute = scratch.listed[place]
        label = labels[attribute]
        found = stretches(grids, attribute, label, True, begins, stops, edges)
        if attributes == 1:
            count, walked = list_inside(
                grids.pool, grids.bounds, label, begins, stops, edges, found, scratch.candidates, count
            )
        else:
            count, walked = list_new(
                grids.pool, grids.bounds, label, begins, stops, edges, found, scratch.seen, scratch.candidates, count
            )
        scratch.counters[WALKED] += walked
    if attributes > 1:
        unsee(scratch.seen, scratch.candidates, 0, count)
    scratch.counters[LISTED] += 1
    return count


@kernel
def _pass_directly(
    conjunctions: Any, count: Any, chosen: int, attributes: int, labels: Any, scratch: Any
) -> Any:  # fmt: skip
    """Algorithm 2 for each attribute without a triangle in turn: keep the candidates whose constraint on it holds.

    Returns how many are left.
    """
    places, words, sets, bits = conjunctions
    candidates = scratch.candidates
    for turn in range(chosen, attributes):
        attribute, kept = scratch.which[scratch.order[turn]], 0
        label = labels[attribute]
        scratch.counters[CHECKED] += count
        for place in range(count):
            unit, holds = candidates[place], True
            first, last = stretch(places, words, unit)
            for position in range(first, last):
                if attribute_of(words, sets, bits, position) == attribute:
                    code, low, high = constraint_at(words, sets, bits, position)
                    holds = holds and passes(code, low, high, label, sets)
            candidates[kept] = unit
            kept += holds
        count = kept
    return count


@kernel
def _verified(conjunctions: Any, candidates: Any, count: int, labels: Any, units: Any, used: int) -> Any:
    """Write the candidates that hold behind `used`; returns the new end."""
    places, words, sets, bits = conjunctions
    end = used
    for start in range(0, count, FETCHED):
        stop = min(start + FETCHED, count)
        fetch_words(places, words, candidates, start, stop)
        for place in range(start, stop):
            unit = np.uint64(np.uint32(candidates[place]))
            if verify(places, words, sets, bits, unit, labels) and end < len(units):
                units[end] = np.int32(unit)
                end += 1
    return end


@kernel
def _exclude_event(
    conjunctions: Any, grids: Any, extent: Extent, always: Any, ways: Ways, events: Any, event: int, labels: Any,
    scratch: Any, output: Any, used: int,
) -> Any:  # fmt: skip
    """Write the hits of an event behind `used`, by its plan; returns the new end, and what the plan should cost."""
    stride, words, indexed, decidable = extent.stride, extent.words, extent.indexed, extent.decidable
    units, work, cost = output.units, output.work, 0.0
    count, decided, listed, chosen, priced = 0, True, False, 0, 0
    if indexed > 0:
        listed, attributes, chosen, priced, cost = queue(
            grids, words, indexed, decidable, ways, events, event, labels, scratch
        )
        if listed:
            count = _list(grids, attributes, labels, scratch)
            decided = attributes == 1 and decidable == 1
        else:
            _run_triangles(grids, stride, words, indexed, ways, chosen, labels, scratch)
            count = list_bits(scratch.left, words, scratch.candidates, 0)
            decided = chosen == decidable
    work[1] += count
    if not decided and ways.passes and not listed:
        work[2] += count
        count = _pass_directly(conjunctions, count, chosen, priced, labels, scratch)
        # What triangles and passes both cannot tell is verified, and was counted before.
        decided = decidable >= 0
        work[2] -= 0 if decided else count
    if decided:
        kept = count if count < len(units) - used else len(units) - used
        units[used : used + kept] = scratch.candidates[:kept]
        used += kept
    else:
        work[2] += count
        used = _verified(conjunctions, scratch.candidates, count, labels, units, used)
    for unit in always:
        work[1] += 1
        work[2] += 1
        if used < len(units) and verify(
            conjunctions.places, conjunctions.words, conjunctions.sets, conjunctions.bits, unit, labels
        ):
            units[used] = unit
            used += 1
    return used, _POINT * cost


@kernel
def match_hem(
    conjunctions: Any, grids: Any, unions: Any, extent: Extent, always: Any, ways: Ways, events: Any, first: int,
    labels: Any, scratch: Any, output: Any,
) -> None:  # fmt: skip
    """All hits of the events from `first` on, while a whole event's hits have room."""
    size, union, used, enough = extent.union, scratch.union, 0, False
    for event in range(first, len(events.offsets) - 1):
        if len(output.units) - used < extent.live or enough:
            break
        scatter(events, event, labels)
        rows, taken, cost, listing = 0, 0, np.inf, np.inf
        if size.ready:
            rows, _ = rows_of(unions, labels, union)
            taken, cost, _ = plan_union(unions, size, rows, union)
            if ways.collect and not size.always:
                _, points = _price_list(grids, events, event, extent.indexed, ways.direct, scratch.listed)
                listing = _POINT * points
        if size.ready and cost < listing:
            used = unite(conjunctions, unions, size, rows, taken, labels, union, output, used)
        else:
            used, cost = _exclude_event(
                conjunctions, grids, extent, always, ways, events, event, labels, scratch, output, used
            )
        enough = note_missed(size, unions, events.offsets[event + 1] - events.offsets[event], cost, union)
        clear(events, event, labels)
        output.offsets[event - first + 1] = used
        output.work[0] += 1
    output.work[3] = used


@kernel
def queue_all(
    grids: Any, words: int, indexed: int, decidable: int, ways: Ways, events: Any, labels: Any, scratch: Any
) -> int:
    """Plan every event, and do no more; returns how many triangles would be run."""
    triangles = 0
    for event in range(len(events.offsets) - 1):
        scatter(events, event, labels)
        if indexed > 0:
            listed, attributes, chosen, _, _ = queue(
                grids, words, indexed, decidable, ways, events, event, labels, scratch
            )
            triangles += attributes if listed else chosen
        clear(events, event, labels)
    return triangles
