"""Kernels of `kindex` that rank: Algorithms 1 and 2 with the prunings of VLDB 2009, section 5."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from matchwood.core.jit import bare_kernel, kernel
from matchwood.encoding.spaces.dyadic import block_code, block_end, next_level
from matchwood.engines.kindex._match_kernels import (
    LIVE,
    NUMBER_BITS,
    SLOT_BITS,
    SLOT_MASK,
    advance,
    clauses_hold,
    drop_sorted,
    enter_group,
    entries_of,
    find_lists,
    group_of,
    insert_sorted,
    open_lists,
    slots_of,
    sort,
)
from matchwood.engines.kindex.layout import EMPTY, BoundedUnits, RunBounds, TopHeaps, TopScratch
from matchwood.engines.shared._bound_kernels import unit_bound
from matchwood.engines.shared._posting_kernels import key_of, slot_of
from matchwood.engines.shared._scoring_kernels import begin_event, end_event, push, score_rows, settle
from matchwood.engines.shared._verification_kernels import clear, scatter
from matchwood.engines.shared.bounds import SLACK
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    ALTERNATIVE,
    FLAG_BITS,
    code_at,
    constraint_at,
    has,
    piece_at,
    pieces_of,
    stretch,
)
from matchwood.engines.shared.scoring import AHEAD

EVENTS, CANDIDATES, VERIFIED, MATCHED, POSTINGS, SCORED, DAMAGED = range(7)
SKIPPED_UNITS, SKIPPED_INDEXES, SKIPPED_LISTS, PASSED_RULES = range(7, 11)
"""What `top_run` counts. `DAMAGED` is set if a rule matched that cannot be scored."""


class IndexSearch(NamedTuple):
    """One K-index, or a group of it, that is searched.

    `of_clauses`, `shortcuts`  as in `top_run`
    `need`     lists that must agree on a unit
    `ceiling`  its numbers lie below
    `most`     the greatest weight of the event
    `extra`    what its units may add beside their lists, for a weight of 1
    """

    of_clauses: bool
    shortcuts: bool
    need: int
    ceiling: Any
    most: float
    extra: float


@bare_kernel
def _raise_list(run: Any, index: Any, attribute: Any, low: Any, high: Any, bound: Any, ubs: Any) -> None:
    """Let the lists of a K-index for an interval's blocks have at least this bound."""
    start, end = np.int64(low), block_end(high)
    while start < end:
        level = next_level(start, end)
        key = run.table[slot_of(run.table, run.keys, key_of(attribute, block_code(level, start >> level)))]
        if key != EMPTY:
            for place in range(run.key_offsets[key], run.key_offsets[key + 1]):
                if run.list_sizes[place] >> 1 == index:
                    ubs[place] = max(ubs[place], bound)
        start += np.int64(1) << level


@kernel
def raise_bounds(run: Any, conjunctions: Any, bounds: Any, units: Any, promised: RunBounds) -> None:
    """Let the lists and K-indexes of a run have at least what these units promise."""
    ubs, constants, extras = promised.lists, promised.constants, promised.extras
    places, words, sets, bits = conjunctions
    for unit in units:
        first, last = stretch(places, words, unit)
        size, weak = 0, False
        for position in range(first, last):
            code = code_at(words, sets, bits, position)
            if position == first or not has(words[position], ALTERNATIVE):
                size += 1
                weak = False
            if code & ACCEPTS_NULL != 0 and not weak:
                size -= 1
                weak = True
        index = np.searchsorted(run.sizes, size)
        if index == len(run.sizes) or run.sizes[index] != size:
            continue
        piece, extra = bounds.offsets[unit], bounds.elsewhere[unit]
        for position in range(first, last):
            code, low, high = constraint_at(words, sets, bits, position)
            heaviest = 0.0
            for number in range(pieces_of(code, high)):
                bound = bounds.pieces[piece]
                piece += 1
                if code & ACCEPTS_NULL != 0:
                    heaviest = max(heaviest, bound)
                    continue
                start, stop = piece_at(sets, code, low, high, number)
                _raise_list(run, index, code >> FLAG_BITS, start, stop, bound, ubs)
            extra += heaviest
        constants[index] = max(constants[index], bounds.constants[unit])
        extras[index] = max(extras[index], extra)


@bare_kernel
def _is_there(best: Any, start: Any, size: Any, row: Any) -> bool:
    found = False
    for place in range(start, start + size):
        found |= best[place] == row
    return found


@bare_kernel
def collect(
    context: Any, unit: Any, bound: Any, scratch: TopScratch, heaps: TopHeaps, stamp: Any, pending: int, start: Any,
    size: Any,
) -> Any:  # fmt: skip
    """Put the rules of a unit that were not met before and can be among the best behind those that are `pending`.

    `bound` is what the unit promises without the constant weight, which each rule has of its own. Rules met `again` in
    another run are found among the best, or fail again. Returns how many are pending, and how many are among the best:
    where `rows` are full, they are scored.
    """
    seen, rows, n, again = scratch.seen, scratch.rows, heaps.n, heaps.again
    best, scores, work = heaps.best, heaps.scores, heaps.work
    heads, chain, constants = context.heads, context.chain, context.programs.constants
    node = np.int64(-2) - np.int64(heads[unit])
    row = np.int64(heads[unit])
    while row != -1:
        following = np.int64(-1)
        if node >= 0:
            if 2 * node + 1 >= len(chain):
                work[DAMAGED] = 1
                break
            row, following = np.int64(chain[2 * node]), np.int64(chain[2 * node + 1])
        if row < 0 or row >= len(seen) or following >= node >= 0:
            work[DAMAGED] = 1
            break
        if seen[row] != stamp and constants[row] >= 0 and not (again and _is_there(best, start, size, row)):
            if size == n and (bound + constants[row]) * SLACK < scores[start]:
                work[PASSED_RULES] += 1
            else:
                seen[row] = stamp
                rows[pending] = row
                pending += 1
                if pending == AHEAD:
                    size = flush(context, rows, pending, heaps, start, size)
                    pending = 0
        if following < 0:
            break
        node = following
    return pending, size


@bare_kernel
def flush(context: Any, rows: Any, pending: int, heaps: TopHeaps, start: Any, size: Any) -> Any:
    """Score the rules that are pending; returns how many are among the best by now."""
    n, best, scores, work = heaps.n, heaps.best, heaps.scores, heaps.work
    score_rows(context.programs, rows, 0, pending, context.scratch)
    work[SCORED] += pending
    found = context.scratch.scores
    for place in range(pending):
        if found[place] < 0:
            work[DAMAGED] = 1
            return size
        size = push(scores, best, start, size, n, found[place], rows[place])
    return size


@bare_kernel
def _search_top(
    run: Any, units: BoundedUnits, context: Any, cursors: Any, scratch: TopScratch, heaps: TopHeaps,
    index: IndexSearch, count: int, stamp: Any, start: Any, size: Any,
) -> Any:  # fmt: skip
    """`_search` with the first pruning: units whose lists cannot add up to the worst of the best so far are skipped.

    A rule of the same score and a lower row would still come before, so only what is truly below is skipped.
    """
    lists, slots, names, clauses = entries_of(run), slots_of(cursors), run.units, run.clauses
    which, positions, now = cursors.which, cursors.positions, cursors.entries
    order, counters = cursors.order, cursors.counters
    conjunctions, bounds, alive = units
    of_clauses, shortcuts, need, ceiling, most, extra = index
    slot_bounds, labels, rows, n = scratch.promises, scratch.labels, scratch.rows, heaps.n
    scores, work, unit_constants = heaps.scores, heaps.work, bounds.constants
    weights, attribute_names = context.scratch.weights, context.names
    while count >= need and work[DAMAGED] == 0:
        number, pivot = order[0] >> NUMBER_BITS, order[need - 1] >> NUMBER_BITS
        moving, least, pruned = need - 1, pivot, False
        if size == n:
            bound, reach = unit_constants[names[pivot]] + extra * most, 0
            while reach < count and order[reach] >> NUMBER_BITS <= pivot:
                bound += slot_bounds[order[reach] & SLOT_MASK]
                reach += 1
            if bound * SLACK < scores[start]:
                moving, least, pruned = reach, pivot + 1, True
                work[SKIPPED_UNITS] += 1
        if number == pivot and not pruned:
            moving, least = need, number + 1
            while moving < count and order[moving] >> NUMBER_BITS == number:
                moving += 1
            work[CANDIDATES] += 1
            unit = names[number]
            if alive[unit] == LIVE:
                holds = (order[0] >> SLOT_BITS) & 1 == 1
                if of_clauses:
                    work[VERIFIED] += 1
                    holds = clauses_hold(conjunctions, unit, clauses, which, positions, order, moving, counters)
                if holds:
                    work[MATCHED] += 1
                    bound = np.inf
                    if shortcuts:
                        bound = unit_bound(conjunctions, bounds, unit, labels, weights, attribute_names, most)
                    if size < n or (bound + unit_constants[unit]) * SLACK >= scores[start]:
                        pending, size = collect(context, unit, bound, scratch, heaps, stamp, 0, start, size)
                        size = flush(context, rows, pending, heaps, start, size)
        for place in range(moving - 1, -1, -1):
            if order[place] >> NUMBER_BITS < least:
                slot = order[place] & SLOT_MASK
                work[POSTINGS] += advance(lists, slots, slot, 2 * least)
                if now[slot] < 2 * ceiling:
                    insert_sorted(order, place, count, (now[slot] << SLOT_BITS) | slot)
                else:
                    drop_sorted(order, place, count)
                    count -= 1
    return size


@bare_kernel
def _greatest_sum(slot_bounds: Any, count: int, need: int, chosen: Any) -> Any:
    """The sum of the `need` greatest bounds of the first `count` slots."""
    total, taken = 0.0, 0
    for slot in range(count):
        value, place = slot_bounds[slot], taken
        if taken == need:
            if need == 0 or value <= chosen[need - 1]:
                continue
            total -= chosen[need - 1]
            place = need - 1
        else:
            taken += 1
        while place > 0 and chosen[place - 1] < value:
            chosen[place] = chosen[place - 1]
            place -= 1
        chosen[place] = value
        total += value
    return total


@bare_kernel
def top_run(
    run: Any, units: BoundedUnits, promised: RunBounds, of_clauses: bool, shortcuts: bool, events: Any, first: int,
    context: Any, cursors: Any, scratch: TopScratch, heaps: TopHeaps,
) -> None:  # fmt: skip
    """Offer the rules of one run to the best of each event from `first` on, as many as there are heaps.

    K-indexes of conjunctions are passed over as a whole if the K greatest bounds of their lists do not reach the worst
    of the best: the second pruning, which does not hold for clauses, more than K of which may add something.
    """
    sizes, size_offsets, group_offsets = run.sizes, run.size_offsets, run.group_offsets
    heads, tallies, names, weights = cursors.heads, cursors.tallies, context.names, context.scratch.weights
    ubs, constants, extras, slot_bounds = promised.lists, promised.constants, promised.extras, scratch.promises
    labels, n, scores, filled, work = scratch.labels, heaps.n, heaps.scores, heaps.filled, heaps.work
    lists, places = entries_of(run), slots_of(cursors)
    for event in range(first, first + len(filled)):
        start, size = np.int64(event - first) * n, filled[event - first]
        stamp = heaps.stamp + event - first
        begin_event(context, event)
        scatter(events, event, labels)
        most = 0.0
        for weight in weights:
            most = max(most, weight)
        find_lists(run, events, event, cursors)
        for index in range(len(sizes) - 1, -1, -1):
            head, tally, need = heads[index], tallies[index], max(1, sizes[index])
            heads[index], tallies[index] = EMPTY, 0
            zeros = size_offsets[index + 1] - size_offsets[index] if sizes[index] == 0 else 0
            if (tally < need and zeros == 0) or work[DAMAGED] != 0:
                continue
            slots, _, _ = open_lists(run, cursors, head, tally, zeros, 0, 0)
            for slot in range(slots):
                slot_bounds[slot] = 0.0
                if cursors.which[slot] >= 0:
                    name = names[events.attributes[cursors.pair_of[slot]]]
                    slot_bounds[slot] = ubs[cursors.which[slot]] * weights[name]
            rest = constants[index] + extras[index] * most
            if size == n and not of_clauses:
                rest += _greatest_sum(slot_bounds, slots, need, scratch.chosen)
                if rest * SLACK < scores[start]:
                    work[SKIPPED_INDEXES] += 1
                    continue
            work[POSTINGS] += slots
            group, groups = group_offsets[index], group_offsets[index + 1]
            if group == groups:
                for slot in range(slots):
                    cursors.order[slot] = (cursors.entries[slot] << SLOT_BITS) | slot
                sort(cursors.order, slots)
                ceiling = np.int64(size_offsets[index + 1])
                search = IndexSearch(of_clauses, shortcuts, need, ceiling, most, extras[index])
                size = _search_top(run, units, context, cursors, scratch, heaps, search, slots, stamp, start, size)
                continue
            own = 0
            for pair in range(events.offsets[event], events.offsets[event + 1]):
                while own < slots and cursors.pair_of[own] < pair:
                    own += 1
                group = group_of(run.group_attributes, group, groups, events.attributes[pair])
                if group == groups:
                    break
                if run.group_attributes[group] != events.attributes[pair]:
                    continue
                low = np.int64(run.group_starts[group])
                high = np.int64(run.group_starts[group + 1] if group + 1 < groups else size_offsets[index + 1])
                agreeing, read = enter_group(
                    lists, places, cursors.order, cursors.pair_of, slots, pair, own, 0, need, low, high
                )
                work[POSTINGS] += read
                if agreeing >= need:
                    search = IndexSearch(of_clauses, shortcuts, need, high, most, extras[index])
                    size = _search_top(
                        run, units, context, cursors, scratch, heaps, search, agreeing, stamp, start, size
                    )
        clear(events, event, labels)
        end_event(context, event)
        filled[event - first] = size
        work[EVENTS] += 1


@bare_kernel
def settle_all(n: int, best: Any, scores: Any, filled: Any) -> None:
    """Put the heap of each event in order."""
    for event in range(len(filled)):
        settle(scores, best, np.int64(event) * n, filled[event])
