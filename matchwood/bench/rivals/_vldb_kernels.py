"""Kernels of the rivals of VLDB 2009: Propagation (Le Subscribe), PSCAN, and a scan of conjunctions of clauses."""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import bare_kernel
from matchwood.engines.kindex._match_kernels import find_lists
from matchwood.engines.kindex._risen_kernels import clauses_true
from matchwood.engines.kindex.layout import EMPTY
from matchwood.engines.shared._verification_kernels import clear, constraint_holds, scatter
from matchwood.engines.shared.constraints._word_kernels import code_at, constraint_at, passes


@bare_kernel
def read_codes(words: Any, sets: Any, bits: int, codes: Any) -> None:
    """The code of each of some predicates."""
    for place in range(len(words)):
        codes[place] = code_at(words, sets, bits, place)


@bare_kernel
def count_true(events: Any, words: Any, sets: Any, bits: int, labels: Any, counts: Any) -> None:
    """For how many events each of some predicates holds."""
    for event in range(len(events.offsets) - 1):
        scatter(events, event, labels)
        for place in range(len(words)):
            counts[place] += constraint_holds(words[place], sets, bits, labels)
        clear(events, event, labels)


@bare_kernel
def match_propagation(
    clusters: Any, sets: Any, bits: int, events: Any, first: int, units: Any, offsets: Any, work: Any
) -> None:
    """Evaluate the predicates of the event's attributes, then the clusters of those that hold, unit by unit."""
    truth, used = clusters.truth, 0
    by_attribute, members = clusters.predicate_offsets, clusters.predicates
    starts, clustered, tests, own = clusters.cluster_offsets, clusters.clustered, clusters.tests, clusters.test_offsets
    for event in range(first, len(events.offsets) - 1):
        if len(units) - used < len(clustered):
            break
        for pair in range(events.offsets[event], events.offsets[event + 1]):
            attribute, label = events.attributes[pair], events.labels[pair]
            if attribute + 1 < len(by_attribute):
                for place in range(by_attribute[attribute], by_attribute[attribute + 1]):
                    predicate = members[place]
                    code, low, high = constraint_at(clusters.words, sets, bits, predicate)
                    truth[predicate] = passes(code, low, high, label, sets)
        # The cluster of no predicate, the last, is looked at for every event.
        for pair in range(events.offsets[event], events.offsets[event + 1] + 1):
            last = pair == events.offsets[event + 1]
            attribute = len(by_attribute) - 1 if last else events.attributes[pair]
            if not last and attribute + 1 >= len(by_attribute):
                continue
            begin = 0 if last else by_attribute[attribute]
            end = 1 if last else by_attribute[attribute + 1]
            for place in range(begin, end):
                predicate = len(truth) if last else members[place]
                if not last and not truth[predicate]:
                    continue
                for position in range(starts[predicate], starts[predicate + 1]):
                    unit, holds = clustered[position], True
                    work[1] += 1
                    for test in range(own[unit], own[unit + 1]):
                        if not truth[tests[test]]:
                            holds = False
                            break
                    if holds:
                        units[used] = unit
                        used += 1
        for pair in range(events.offsets[event], events.offsets[event + 1]):
            attribute = events.attributes[pair]
            if attribute + 1 < len(by_attribute):
                for place in range(by_attribute[attribute], by_attribute[attribute + 1]):
                    truth[members[place]] = clusters.initial[members[place]]
        offsets[event - first + 1] = used
        work[0] += 1
    work[3] = used


@bare_kernel
def match_clauses(
    run: Any, conjunctions: Any, every: bool, events: Any, first: int, cursors: Any, labels: Any, stamps: Any,
    units: Any, offsets: Any, work: Any,
) -> None:  # fmt: skip
    """Evaluate every unit of a run, or those that some list of the event's keys has as IN, and those of size 0."""
    places, words, sets, bits = conjunctions
    used, names = 0, run.units
    zeros = run.size_offsets[1] if len(run.sizes) > 0 and run.sizes[0] == 0 else 0
    for event in range(first, len(events.offsets) - 1):
        if len(units) - used < len(names):
            break
        scatter(events, event, labels)
        for number in range(len(names) if every else zeros):
            work[1] += 1
            if clauses_true(places, words, sets, bits, names[number], labels):
                units[used] = names[number]
                used += 1
        if not every:
            stamps[0] += 1
            find_lists(run, events, event, cursors)
            for index in range(len(run.sizes)):
                head = cursors.heads[index]
                cursors.heads[index], cursors.tallies[index] = EMPTY, 0
                while head >= 0:
                    place = cursors.lists[head]
                    head = cursors.nexts[head]
                    work[4] += run.list_offsets[place + 1] - run.list_offsets[place]
                    for at in range(run.list_offsets[place], run.list_offsets[place + 1]):
                        number = run.entries[at] >> 1
                        if run.entries[at] & 1 == 1 and number >= zeros and stamps[number + 1] != stamps[0]:
                            stamps[number + 1] = stamps[0]
                            work[1] += 1
                            if clauses_true(places, words, sets, bits, names[number], labels):
                                units[used] = names[number]
                                used += 1
        clear(events, event, labels)
        offsets[event - first + 1] = used
        work[0] += 1
    work[2], work[3] = work[1], used
