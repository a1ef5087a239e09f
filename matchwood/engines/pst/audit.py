"""Whether lists of candidates are what the units in them ask for.

VLDB 2018, the invariants of 5 and 6.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import LEVELS
from matchwood.engines.pst._audit_kernels import wrong_candidates
from matchwood.engines.pst._space_list_kernels import COMBINED, write_combinations
from matchwood.engines.pst.candidates import CandidateLists, Candidates, given_counts, space_counts_of
from matchwood.engines.shared._posting_kernels import EMPTY
from matchwood.engines.shared.store import Conjunctions

_LOW_HALF, _PART = np.uint64(2**32 - 1), np.uint64(2**31 - 1)


def audit_candidates(
    candidates: Candidates, conjunctions: Conjunctions, units: NDArray[np.int32], states: NDArray[np.uint8]
) -> list[str]:
    """Whether these units, and of others only stale ones, stand once in each of their lists, with the right tests."""
    view, live = candidates.view(), np.zeros(len(states), dtype=np.bool_)
    live[units] = True
    problems = _lists(candidates, view) + _ways(view)
    lists = view.tests, view.starts, view.counts
    wrong = wrong_candidates(conjunctions, *lists, states, live) if candidates.tested else 0
    if wrong:
        problems.append(f"{wrong} candidates are tested for what their units do not ask for")
    expected = _expected(candidates, conjunctions, units, given_counts(states[units]))
    there = _there(candidates, view, live)
    if expected.shape != there.shape or not np.array_equal(_ordered(expected), _ordered(there)):
        problems.append(f"{len(expected)} candidates should be in the lists, {len(there)} are, and they differ")
    return problems


def _lists(candidates: Candidates, view: CandidateLists) -> list[str]:
    problems = []
    entered = np.sort(np.concatenate([view.table, view.combined_table]))
    if not np.array_equal(entered[entered != EMPTY], np.arange(candidates.lists)):
        problems.append("the tables do not hold every list once")
    capacities = candidates.arrays()["capacities"]
    order = np.argsort(view.starts, kind="stable")
    order = order[capacities[order] > 0]
    if ((view.starts + capacities)[order][:-1] > view.starts[order][1:]).any():
        problems.append("two lists overlap among the tests")
    there = int(view.counts.sum(dtype=np.int64))
    if candidates.total != there:
        problems.append(f"{candidates.total} candidates are counted, {there} are there")
    return problems


def _ways(view: CandidateLists) -> list[str]:
    """Whether the masks lead to every list."""
    problems, combined = [], view.keys >= np.uint64(COMBINED)
    spaces = np.where(combined, view.keys & _LOW_HALF, np.arange(len(view.keys), dtype=np.uint64))
    attributes = (view.keys[spaces] >> np.uint64(32)).astype(np.int64)
    levels = (LEVELS - np.frexp((view.keys[spaces] & _LOW_HALF).astype(np.float64))[1]).astype(np.uint32)
    if ((view.levels[attributes[~combined]] >> levels[~combined]) & np.uint32(1) == 0).any():
        problems.append("a space's level is not marked as in use")
    if combined.any():
        parts = ((view.keys[combined] >> np.uint64(32)) & _PART).astype(np.int64)
        level_bits = (view.next_levels[parts] >> levels[combined]) & np.uint32(1)
        bits = attributes[combined].astype(np.uint64) & np.uint64(63)
        attribute_bits = (view.next_attributes[parts] >> bits) & np.uint64(1)
        if (level_bits == 0).any() or (attribute_bits == 0).any():
            problems.append("a combination cannot be reached from its first part")
    return problems


def _expected(
    candidates: Candidates, conjunctions: Conjunctions, units: NDArray[np.int32], given: NDArray[np.uint8]
) -> NDArray[np.uint64]:
    """A row for each candidate that there should be: the keys of its spaces, 0 where there are fewer, and the unit."""
    wanted, sizes = candidates.wanted, candidates.sizes(conjunctions, units, given)
    rows = np.zeros((int(sizes.sum()), wanted + 1), dtype=np.uint64)
    rows[:, -1] = np.repeat(units, sizes)
    space_counts = space_counts_of(conjunctions, units, given, wanted)
    write_combinations(conjunctions, units, given, wanted, space_counts, rows)
    return rows


def _there(candidates: Candidates, view: CandidateLists, live: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """The same for the candidates of live units that are in the lists."""
    list_of = np.repeat(np.arange(len(view.keys)), view.counts)
    within = np.arange(len(list_of)) - np.repeat(np.cumsum(view.counts) - view.counts, view.counts)
    posted = candidates.units()[view.starts[list_of] + within]
    keys = _spaces(view.keys, candidates.wanted)[list_of]
    rows: NDArray[np.uint64] = np.column_stack((keys, posted.astype(np.uint64)))
    kept: NDArray[np.uint64] = rows[live[posted]]
    return kept


def _spaces(keys: NDArray[np.uint64], wanted: int) -> NDArray[np.uint64]:
    """The keys of the spaces that make up each list, in their order, then 0."""
    found, part = np.zeros((len(keys), wanted), dtype=np.uint64), np.arange(len(keys))
    for _ in range(wanted):
        combined, left = keys[part] >= np.uint64(COMBINED), part >= 0
        space = np.where(combined, keys[part] & _LOW_HALF, part.astype(np.uint64)).astype(np.int64)
        found[left, 1:] = found[left, :-1]
        found[left, 0] = keys[space[left]]
        following = ((keys[part] >> np.uint64(32)) & _PART).astype(np.int64)
        part = np.where(combined & left, following, -1)
    return found


def _ordered(rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return rows[np.lexsort(rows.T[::-1])]
