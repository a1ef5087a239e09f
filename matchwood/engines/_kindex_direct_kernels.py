"""Kernels of `kindex` for conjunctions that are verified one by one: those whose rarest attribute's key the event has.

Every conjunction stands in the group of its rarest attribute, and in that group only in the lists of that attribute's
keys can it be found: the entries of a list that lie in the group of its own attribute, its *own* entries, are side by
side. They are all that must be read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._jit import kernel
from matchwood.engines._kindex_layout import EMPTY
from matchwood.engines._kindex_list_kernels import entry_at
from matchwood.engines._kindex_match_kernels import LIVE, find_lists, group_of
from matchwood.engines._kindex_top_kernels import (
    CANDIDATES,
    DAMAGED,
    EVENTS,
    MATCHED,
    POSTINGS,
    SKIPPED_LISTS,
    SKIPPED_UNITS,
    VERIFIED,
    _offer,
    _unit_bound,
)
from matchwood.engines._record_kernels import SEVERAL, WIDTH
from matchwood.engines._score_kernels import begin_event, end_event
from matchwood.engines._verify_kernels import clear, scatter, verify
from matchwood.engines.bounds import SLACK


@kernel
def own_entries(run: Any, own: Any) -> None:
    """Of each list the places of its own entries: own[2 * l] : own[2 * l + 1]."""
    entries, block_offsets, bases, places, data = run.entries, run.block_offsets, run.bases, run.places, run.data
    for key in range(len(run.keys)):
        attribute = np.int64(run.keys[key] >> np.uint64(32))
        for place in range(run.key_offsets[key], run.key_offsets[key + 1]):
            start, stop, index = run.list_offsets[place], run.list_offsets[place + 1], run.list_sizes[place] >> 1
            own[2 * place] = own[2 * place + 1] = start
            groups = run.group_offsets[index + 1]
            group = group_of(run.group_attributes, run.group_offsets[index], groups, attribute)
            if group == groups or run.group_attributes[group] != attribute:
                continue
            for end in range(2):
                if end == 0:
                    number = run.group_starts[group]
                else:
                    number = run.group_starts[group + 1] if group + 1 < groups else run.size_offsets[index + 1]
                low, high = start, stop
                while low < high:
                    middle = (low + high) >> 1
                    if entry_at(entries, block_offsets, bases, places, data, place, start, middle) < 2 * number:
                        low = middle + 1
                    else:
                        high = middle
                own[2 * place + end] = low


@kernel
def match_direct(
    run: Any, own: Any, conjunctions: Any, alive: Any, events: Any, first: int, last: int, cursors: Any, labels: Any,
    units: Any, offsets: Any, work: Any,
) -> None:  # fmt: skip
    """What `match_run` finds in a run of conjunctions, by verifying the own entries of the event's lists."""
    entries, block_offsets, bases, places, data = run.entries, run.block_offsets, run.bases, run.places, run.data
    heads, tallies, nexts, lists, list_offsets = (
        cursors.heads,
        cursors.tallies,
        cursors.nexts,
        cursors.lists,
        run.list_offsets,
    )
    positions, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    used, names, zeros = 0, run.units, 0
    if len(run.sizes) > 0 and run.sizes[0] == 0:
        zeros = run.size_offsets[1]
    for event in range(first, last):
        if len(units) - used < len(names):
            break
        find_lists(run, events, event, cursors)
        scatter(events, event, labels)
        read = 0
        for index in range(len(run.sizes)):
            head = heads[index]
            heads[index], tallies[index] = EMPTY, 0
            while head >= 0:
                place = lists[head]
                head = nexts[head]
                for at in range(own[2 * place], own[2 * place + 1]):
                    entry = entry_at(entries, block_offsets, bases, places, data, place, list_offsets[place], at)
                    unit = names[entry >> 1]
                    holds = alive[unit] == LIVE and verify(positions, records, intervals, unit, labels)
                    if holds and used < len(units):
                        units[used] = unit
                        used += 1
                read += own[2 * place + 1] - own[2 * place]
        for number in range(zeros):
            unit = names[number]
            if alive[unit] == LIVE and verify(positions, records, intervals, unit, labels) and used < len(units):
                units[used] = unit
                used += 1
        clear(events, event, labels)
        work[1] += read + zeros
        work[2] += read + zeros
        work[4] += read + zeros
        offsets[event - first + 1] = used
        work[0] += 1
    work[3] += used


@kernel
def own_totals(run: Any, own: Any, conjunctions: Any, bounds: Any, constants: Any, rests: Any) -> None:
    """Of each list what its own units promise at most: the greatest constant, and the rest for event weights of 1."""
    offsets, records = conjunctions.offsets, conjunctions.records
    for place in range(len(run.list_sizes)):
        start = run.list_offsets[place]
        for at in range(own[2 * place], own[2 * place + 1]):
            entry = entry_at(run.entries, run.block_offsets, run.bases, run.places, run.data, place, start, at)
            unit = run.units[entry >> 1]
            total, piece = bounds.elsewhere[unit], bounds.offsets[unit]
            for position in range(offsets[unit], offsets[unit + 1]):
                code, heaviest = records[WIDTH * position], 0.0
                count = records[WIDTH * position + 2] - records[WIDTH * position + 1] if code & SEVERAL != 0 else 1
                for _ in range(count):
                    heaviest = max(heaviest, bounds.pieces[piece])
                    piece += 1
                total += heaviest
            constants[place] = max(constants[place], bounds.constants[unit])
            rests[place] = max(rests[place], total)


@kernel
def top_direct(
    run: Any, own: Any, constants: Any, rests: Any, conjunctions: Any, bounds: Any, alive: Any, events: Any, first: int,
    count: int, judging: Any, cursors: Any, promises: Any, labels: Any, n: int, again: bool, seen: Any, stamp: Any,
    rows: Any, best: Any, scores: Any, filled: Any, work: Any,
) -> None:  # fmt: skip
    """What `top_run` finds in a run of conjunctions: lists by what they promise, until none promises enough."""
    entries, block_offsets, bases, places, data = run.entries, run.block_offsets, run.bases, run.places, run.data
    heads, tallies, nexts, lists, list_offsets = (
        cursors.heads,
        cursors.tallies,
        cursors.nexts,
        cursors.lists,
        run.list_offsets,
    )
    positions, records, intervals = conjunctions.offsets, conjunctions.records, conjunctions.intervals
    piece_offsets, pieces, elsewhere, unit_constants = bounds.offsets, bounds.pieces, bounds.elsewhere, bounds.constants
    names, weights, attribute_names, zeros = run.units, judging.scratch.weights, judging.names, 0
    which = cursors.which
    if len(run.sizes) > 0 and run.sizes[0] == 0:
        zeros = run.size_offsets[1]
    for event in range(first, first + count):
        start, size, found = np.int64(event - first) * n, filled[event - first], 0
        begin_event(judging, event)
        scatter(events, event, labels)
        most = 0.0
        for weight in weights:
            most = max(most, weight)
        find_lists(run, events, event, cursors)
        for index in range(len(run.sizes)):
            head = heads[index]
            heads[index], tallies[index] = EMPTY, 0
            while head >= 0:
                place = lists[head]
                head = nexts[head]
                if own[2 * place] < own[2 * place + 1]:
                    which[found], promises[found] = place, constants[place] + rests[place] * most
                    found += 1
        order = np.argsort(promises[:found])
        for turn in range(found, -1, -1):
            if work[DAMAGED] != 0:
                break
            # The units of size 0, which no list holds, come last.
            place = which[order[turn - 1]] if turn > 0 else -1
            if turn > 0 and size == n and promises[order[turn - 1]] * SLACK < scores[start]:
                work[SKIPPED_LISTS] += 1
                continue
            low, high = (own[2 * place], own[2 * place + 1]) if turn > 0 else (np.int64(0), np.int64(zeros))
            begin = list_offsets[place] if turn > 0 else np.int64(0)
            work[POSTINGS] += high - low
            work[CANDIDATES] += high - low
            for at in range(low, high):
                unit = names[entry_at(entries, block_offsets, bases, places, data, place, begin, at) >> 1]
                if alive[unit] != LIVE:
                    continue
                bound = _unit_bound(
                    positions, records, intervals, piece_offsets, pieces, elsewhere, unit, labels, weights,
                    attribute_names, most,
                )  # fmt: skip
                if size == n and (bound + unit_constants[unit]) * SLACK < scores[start]:
                    work[SKIPPED_UNITS] += 1
                    continue
                work[VERIFIED] += 1
                if verify(positions, records, intervals, unit, labels):
                    work[MATCHED] += 1
                    size = _offer(
                        judging,
                        unit,
                        bound,
                        n,
                        again,
                        seen,
                        stamp + event - first,
                        rows,
                        best,
                        scores,
                        start,
                        size,
                        work,
                    )
        clear(events, event, labels)
        end_event(judging, event)
        filled[event - first] = size
        work[EVENTS] += 1
